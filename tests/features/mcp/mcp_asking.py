"""Questions and the contract for the tests of MCP servers."""

import pytest

from recall_bench.core.memory import MemorySystem
from recall_bench.core.scenario import PRINCIPAL, Question, compute_story_date
from recall_bench.features.doctor import recall_checks
from recall_bench.testing import ContractReport, check_system
from tests.conftest import EPOCH
from tests.thoroughness import choose_number


def asked(
    text: str, *, day: int = 5, top_k: int | None = None, session: str = PRINCIPAL
) -> Question:
    return Question(
        id="q",
        text=text,
        asked_at=compute_story_date(EPOCH, day),
        scenario="ada",
        session=session,
        top_k=top_k,
    )


async def check_contract(system: MemorySystem) -> ContractReport:
    """Check the contract with a large day of some hundred notes, each of which is a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recall_checks, "LARGE_BYTES", choose_number(100_000, 1_000_000))
        return await check_system(system)
