"""For people who write plugins: the contract of systems and its checks.

Names are imported on first use: a served adapter needs `Honest` alone.
"""

from typing import TYPE_CHECKING

from recall_bench.core.runtime import make_lazy_exports

if TYPE_CHECKING:
    from recall_bench.features.doctor.check_context import CheckResult as CheckResult
    from recall_bench.features.doctor.check_context import ContractReport as ContractReport
    from recall_bench.features.doctor.check_context import Outcome as Outcome
    from recall_bench.features.doctor.check_context import Seen as Seen
    from recall_bench.features.doctor.contract import CHECKS as CHECKS
    from recall_bench.features.doctor.contract import assert_contract as assert_contract
    from recall_bench.features.doctor.contract import assert_contract_async as assert_contract_async
    from recall_bench.features.doctor.contract import check_system as check_system
    from recall_bench.features.doctor.honest import Honest as Honest

_EXPORTS_BY_MODULE = {
    ".features.doctor.check_context": "CheckResult ContractReport Outcome Seen",
    ".features.doctor.contract": "CHECKS assert_contract assert_contract_async check_system",
    ".features.doctor.honest": "Honest",
}

__all__, __getattr__, __dir__ = make_lazy_exports(__name__, _EXPORTS_BY_MODULE)
