"""The stub judges nothing and says so."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import Verdict
from recall_bench.judging.judges import StubJudge
from tests.judging.harbour import exhibit, harbour, item


@pytest.mark.anyio
async def test_it_gives_no_marks_and_says_why() -> None:
    judge = StubJudge({})
    judge.study(harbour())

    verdict = await judge.judge(exhibit(item("What?", "$465"), "$465"))

    assert verdict == Verdict.of(0, 0, 0, "stub judge: nothing was read")
    assert judge.card.name == "stub"


def test_it_takes_no_settings() -> None:
    with pytest.raises(UsageError, match="no setting 'mood'"):
        StubJudge({"mood": "kind"})
