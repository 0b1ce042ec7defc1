"""For people who write plugins: fakes to test against, the contract of systems, broken adapters.

Ours are tested with the same.
"""

from recall_bench.testing.check_context import CheckResult, ContractReport, Outcome, Seen
from recall_bench.testing.contract import (
    CHECKS,
    assert_contract,
    assert_contract_async,
    check_system,
)
from recall_bench.testing.fakes import (
    CopiesInMemory,
    ExactJudge,
    Script,
    ScriptedMemory,
    ScriptedSystem,
)
from recall_bench.testing.faults import (
    FAULTS,
    AnswersErrors,
    BuriesFinds,
    ConfusesPeople,
    CountsWrong,
    CrashesOnSeventh,
    DropsWrites,
    Faulty,
    ForgetsUnicode,
    Hallucinates,
    IgnoresDates,
    KeepsOldMemories,
    LeaksSessions,
    LosesTail,
    MisreadsFinds,
    MixesTenants,
    NeverSettles,
    OverlooksBest,
    RefusesFinds,
    RemembersQuestions,
    ReversesTime,
    SlowsDown,
)
from recall_bench.testing.honest import Honest

__all__ = [
    "CHECKS",
    "FAULTS",
    "AnswersErrors",
    "BuriesFinds",
    "CheckResult",
    "ConfusesPeople",
    "ContractReport",
    "CopiesInMemory",
    "CountsWrong",
    "CrashesOnSeventh",
    "DropsWrites",
    "ExactJudge",
    "Faulty",
    "ForgetsUnicode",
    "Hallucinates",
    "Honest",
    "IgnoresDates",
    "KeepsOldMemories",
    "LeaksSessions",
    "LosesTail",
    "MisreadsFinds",
    "MixesTenants",
    "NeverSettles",
    "Outcome",
    "OverlooksBest",
    "RefusesFinds",
    "RemembersQuestions",
    "ReversesTime",
    "Script",
    "ScriptedMemory",
    "ScriptedSystem",
    "Seen",
    "SlowsDown",
    "assert_contract",
    "assert_contract_async",
    "check_system",
]
