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
    given = read_label_file(path)
    trials = _find_trials(folder, given)
    fitting = [each for each in given if each.trial in trials]
    if not fitting:
        raise UsageError(
            f"--labels: {path} has no label of an answer in {folder.path}; name its own labels"
        )
    bad = find_bad_questions(fitting)
    decided: dict[Trial, list[LabelLine]] = {}
    for each in fitting:
        if each.question_id not in bad and each.label is not HumanLabel.BAD_QUESTION:
            decided.setdefault(trials[each.trial], []).append(each)
    card = LabelsCard(
        sha256=_digest_labels(fitting),
        people=tuple(sorted({each.by for each in fitting})),
        answers=len(decided),
        left_out=bad,
    )
    verdicts = {trial: make_verdict(lines) for trial, lines in decided.items()}
    return HumanVerdicts(path=path, card=card, verdicts=verdicts, unused=len(given) - len(fitting))


def _find_trials(folder: RunFolder, labels: Sequence[LabelLine]) -> dict[str, Trial]:
    """The labelled trials whose answer in the run is the one that was labelled, by name."""
    texts = {each.trial: each.answer for each in labels}
    questions = {each.question_id for each in labels}
    found: dict[str, Trial] = {}
    for scenario in folder.scenarios:
        start = f"{scenario}/"
        wanted = {each.removeprefix(start) for each in questions if each.startswith(start)}
        for result in folder.read_results_of(scenario, partial(_is_among, wanted)):
            name, answered = str(result.trial), result.answered
            if answered is not None and texts.get(name) == answered.answer.text:
                found[name] = result.trial
    return found


def _is_among(ids: Collection[str], item: Item) -> bool:
    return item.id in ids


def _digest_labels(labels: Sequence[LabelLine]) -> str:
    lines = sorted(f"{each.trial}\0{each.by}\0{each.label.value}" for each in labels)
    return sha256("\n".join(lines).encode()).hexdigest()
