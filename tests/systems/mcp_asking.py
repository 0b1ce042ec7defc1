"""Questions for the tests of MCP servers."""

from recall_bench.core.scenario import PRINCIPAL, Question, compute_story_date
from tests.conftest import EPOCH


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
