"""Labelled answers about an orchard, and judges that read them in known ways."""

import json
from collections.abc import Mapping
from pathlib import Path

from recall_bench.core.errors import JudgeFault
from recall_bench.core.scenario import Scenario
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES, Exhibit, JudgeCard, Verdict
from recall_bench.features.judges.labelled_verdicts import LabelledVerdict

RECORD: dict[str, object] = {
    "question": "Which tree was felled?",
    "reference": "The old quince.",
    "answer": "The quince by the gate.",
    "category": "factual-recall",
    "relevant_days": [2],
    "correctness": 3,
    "completeness": 2,
    "hallucination": 1,
}


def written(folder: Path, *records: Mapping[str, object] | str) -> Path:
    """A file of labelled verdicts; a record given as text is written as it is."""
    path = folder / "judged.jsonl"
    lines = (part if isinstance(part, str) else json.dumps(part) for part in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def labelled(
    answer: str,
    marks: tuple[int, int, int] = (3, 2, 1),
    *,
    question: str = "Which tree was felled?",
    category: str = "factual-recall",
    checkpoint: int | None = None,
) -> LabelledVerdict:
    return LabelledVerdict(
        question=question,
        reference="The old quince.",
        answer=answer,
        category=category,
        labels=dict(zip(SCALES, marks, strict=True)),
        relevant_days=(2,),
        checkpoint_days=checkpoint,
    )


class Reader:
    """Gives the marks an answer names: `3 2 1` is a perfect one. Anything else is a fault.

    The probabilities are those after a bar, one for each mark: `3 2 1 | 0.9 0.8 0.7`.
    """

    def __init__(self, *, computes: bool = True, cost_usd: float = 0.0) -> None:
        self.card = JudgeCard(name="reader", version="1", computes=computes)
        self.studied: list[str] = []
        self.seen: list[Exhibit] = []
        self._cost_usd = cost_usd

    def study(self, scenario: Scenario) -> None:
        self.studied.append(scenario.id)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        self.seen.append(exhibit)
        if self._cost_usd:
            exhibit.bill(Usage(calls=1, input_tokens=10, output_tokens=2, cost_usd=self._cost_usd))
        marks, _, chances = exhibit.answer.text.partition("|")
        try:
            correctness, completeness, grounded = map(int, marks.split())
            verdict = Verdict.of(correctness, completeness, grounded)
        except ValueError as error:
            raise JudgeFault(f"cannot read {marks!r}") from error
        stated = dict(zip(PASS, map(float, chances.split()), strict=False))
        return verdict.replace(probabilities=stated)
