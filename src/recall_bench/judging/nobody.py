"""The judge of a run that has none."""

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from recall_bench.errors import JudgeFault


class NoJudge:
    """Stands where a plan names a judge and no answer is judged."""

    card = JudgeCard(name="nobody", version="1", computes=True)

    def study(self, scenario: Scenario) -> None:
        """Nothing to prepare."""

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """Nobody can be asked: a run without a judge asks for no verdict."""
        raise JudgeFault(f"{exhibit.scenario}: nobody judges this run")
