"""A judge for trying out everything else."""

from collections.abc import Mapping

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from recall_bench.errors import UsageError


class StubJudge:
    """No marks for anybody, at once."""

    card = JudgeCard(name="stub", version="1", computes=True)

    def __init__(self, config: Mapping[str, object]) -> None:
        if config:
            raise UsageError(
                f"the stub judge has no setting {min(config)!r}; it takes none, so remove it"
            )

    def study(self, scenario: Scenario) -> None:
        """Nothing to prepare."""

    async def judge(self, exhibit: Exhibit) -> Verdict:  # noqa: ARG002
        """Nothing, and it says so."""
        return Verdict.of(0, 0, 0, "stub judge: nothing was read")
