"""The verdicts that follow from labels of people on the recorded answers of a run."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import LabelsCard, Trial
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.judging.human_labels import (
    LABELS,
    HumanLabel,
    LabelLine,
    find_bad_questions,
    make_verdict,
    read_label_file,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanVerdicts:
    """What people decided about a run."""

    path: Path
    card: LabelsCard
    verdicts: Mapping[Trial, Verdict]
    unused: int
    """Labels of answers that the run does not have."""

    def list_notes(self) -> Iterator[str]:
        """What a user should know besides the counts."""
        if self.unused:
            yield f"{self.path}: {self.unused} labels are about other answers and are not used"


def read_people(folder: RunFolder, labels: Path) -> HumanVerdicts:
    """Read the labels of a file or run folder; UsageError if none is about an answer of the run."""
    path = labels / LABELS if labels.is_dir() else labels
    if not path.is_file():
        raise UsageError(f"--labels: there is no {path}; recall-bench view writes it as you label")
    lines = read_label_file(path)
    trials = _find_trials(folder, lines)
    fitting = [line for line in lines if line.trial in trials]
    if not fitting:
        raise UsageError(
            f"--labels: {path} has no label of an answer in {folder.path}; name its own labels"
        )
    bad = find_bad_questions(fitting)
    decided: dict[Trial, list[LabelLine]] = {}
    for line in fitting:
        if line.question_id not in bad and line.label is not HumanLabel.BAD_QUESTION:
            decided.setdefault(trials[line.trial], []).append(line)
    card = LabelsCard(
        sha256=_digest_labels(fitting),
        people=tuple(sorted({line.by for line in fitting})),
        answers=len(decided),
        left_out=bad,
    )
    verdicts = {trial: make_verdict(lines) for trial, lines in decided.items()}
    return HumanVerdicts(path=path, card=card, verdicts=verdicts, unused=len(lines) - len(fitting))


def _find_trials(folder: RunFolder, labels: Sequence[LabelLine]) -> dict[str, Trial]:
    """The labelled trials whose answer in the run is the one that was labelled, by name."""
    texts = {label.trial: label.answer for label in labels}
    questions = {label.question_id for label in labels}
    trials: dict[str, Trial] = {}
    for scenario in folder.scenarios:
        start = f"{scenario}/"
        ids = {question.removeprefix(start) for question in questions if question.startswith(start)}
        for result in folder.read_results_of(scenario, partial(_is_among, ids)):
            name, answered = str(result.trial), result.answered
            if answered is not None and texts.get(name) == answered.answer.text:
                trials[name] = result.trial
    return trials


def _is_among(ids: Collection[str], item: Item) -> bool:
    return item.id in ids


def _digest_labels(labels: Sequence[LabelLine]) -> str:
    lines = sorted(f"{label.trial}\0{label.by}\0{label.label.value}" for label in labels)
    return sha256("\n".join(lines).encode()).hexdigest()
