"""Which trials of two runs are the same, and what differs between the runs besides the system.

A trial is the same if persona, checkpoint, days and repeat are equal, and the question in every
word and truth: a repaired question keeps its id.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import ReaderCard
from recall_bench.core.plan import (
    UNRECORDED,
    Checkpoint,
    DatasetCard,
    Plan,
    SampleMode,
    ScenarioCard,
    Trial,
    parse_range,
)
from recall_bench.core.record import Record
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.bootstrap import TemplateNames
from recall_bench.metrics.comparison import MarkPair, TrialMarks

_MAX_SHOWN = 6
_NO_DATASET = DatasetCard(name="a dataset", files=(), protocol="", eval_version="")
_DIGEST_LENGTH = 8


class RunDifference(Record, frozen=True, kw_only=True):
    """One difference between two runs."""

    what: str
    first: str
    second: str
    is_condition: bool
    """Whether it affects the trials that both runs have, and may explain a difference."""

    def __str__(self) -> str:
        return f"{self.what} ({self.first} against {self.second})"


def find_differences(first: Plan, second: Plan) -> tuple[RunDifference, ...]:
    """All differences that matter: in what was asked, then in how."""
    return (
        *_compare_facets(first, second, _ASKED_FACETS),
        *_compare_scenarios(first, second),
        *_compare_conditions(first, second),
    )


def explain_other_measure(first: Plan, second: Plan, *, intersect: bool = False) -> str | None:
    """Why the scores of two runs do not mean the same; None if they do.

    Other bytes of one dataset are allowed with `intersect`, because questions are paired by words.
    """
    ours, theirs = first.dataset, second.dataset
    if ours is None and theirs is None:
        return None
    if ours is None or theirs is None:
        name = (ours or theirs or _NO_DATASET).name
        return f"one is on {name} and the other on personas"
    if ours.name != theirs.name:
        return f"one is on {ours.name} and the other on {theirs.name}"
    if (ours.protocol, ours.eval_version) != (theirs.protocol, theirs.eval_version):
        protocols = (f"{dataset.protocol} ({dataset.eval_version})" for dataset in (ours, theirs))
        return "they are measured by " + " and ".join(protocols)
    if not intersect and (ours.files, ours.layers) != (theirs.files, theirs.layers):
        return f"they read different data of {ours.name}"
    return None


def list_differences(found: Sequence[RunDifference], most: int = 3) -> str:
    """The first differences in words, the others counted."""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return " and ".join(map(str, found[:most])) + more


def list_visits(plan: Plan) -> tuple[Checkpoint, ...]:
    """The checkpoints that the plan visits."""
    return plan.checkpoints[:1] if plan.dry_run else plan.checkpoints


_Words = tuple[str, ...]
_Facets = dict[str, Callable[[Plan], _Words]]


def _compare_facets(
    first: Plan, second: Plan, facets: _Facets, *, is_condition: bool = False
) -> Iterator[RunDifference]:
    for what, words in facets.items():
        ours, theirs = words(first), words(second)
        if ours != theirs:
            yield RunDifference(
                what=what,
                first=_format_words(ours, theirs),
                second=_format_words(theirs, ours),
                is_condition=is_condition,
            )


def _compare_scenarios(first: Plan, second: Plan) -> Iterator[RunDifference]:
    """Compare histories and questions of the personas that both have.

    An imported run holds only the questions that were asked, and no days unless its files state a
    digest.
    """
    if (stated := _get_stated_digest(first)) is not None and stated == _get_stated_digest(second):
        return
    ours, theirs = _index_scenarios(first), _index_scenarios(second)
    both = [name for name in ours if name in theirs]
    questions = [n for n in both if ours[n].questions_digest != theirs[n].questions_digest]
    if questions:
        yield _describe_change("questions", questions, ours, theirs)
    if first.ingest is not second.ingest:
        return
    days = [
        n
        for n in both
        if ours[n].history_digest != theirs[n].history_digest
        and UNRECORDED not in (ours[n].history_digest, theirs[n].history_digest)
    ]
    if days:
        yield _describe_change("days", days, ours, theirs)


def _get_stated_digest(plan: Plan) -> str | None:
    """The digest of histories and questions; None if the files of an import state none."""
    return plan.dataset_digest if plan.imported is None else plan.imported.dataset


def _describe_change(
    what: str, names: list[str], ours: dict[str, ScenarioCard], theirs: dict[str, ScenarioCard]
) -> RunDifference:
    name = names[0]
    is_days = what == "days"
    digests = [
        (card.history_digest if is_days else card.questions_digest)[:_DIGEST_LENGTH]
        for card in (ours[name], theirs[name])
    ]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return RunDifference(
        what=f"{what} of {name}{more}", first=digests[0], second=digests[1], is_condition=is_days
    )


def _compare_conditions(first: Plan, second: Plan) -> Iterator[RunDifference]:
    yield from _compare_facets(first, second, _CONDITION_FACETS, is_condition=True)
    # A system that answers itself uses no reader: a property of the system, not of the run.
    if first.reader is not None and second.reader is not None:
        yield from _compare_facets(first, second, _READER_FACET, is_condition=True)


def _index_scenarios(plan: Plan) -> dict[str, ScenarioCard]:
    return {card.id: card for card in plan.scenarios}


def _format_words(words: _Words, others: _Words) -> str:
    """All words if they are few; else their number and those the other run lacks."""
    if len(words) <= _MAX_SHOWN:
        return ", ".join(words)
    own = [word for word in words if word not in others]
    some = ", ".join(own[:3]) + (" …" if len(own) > 3 else "")
    return f"{len(words)}" + (f", among them {some}" if own else "")


def _list_checkpoints(plan: Plan) -> _Words:
    return tuple(
        visit.label if _is_plain(visit) else f"{visit.label} = {visit.days}d"
        for visit in list_visits(plan)
    )


def _is_plain(checkpoint: Checkpoint) -> bool:
    """Whether the label alone says how many days it is, as `90d`, `6mo` and `full` do."""
    try:
        return parse_range(checkpoint.label) == checkpoint
    except UsageError:
        return False


def _describe_sampling(plan: Plan) -> _Words:
    if plan.imported is not None and plan.imported.asked is not None:
        return (f"drawn as in {plan.imported.asked[:_DIGEST_LENGTH]}",)
    if plan.sample is None:
        return ("all",)
    core = ", half of them the same" if plan.sampling is SampleMode.CORE else ""
    return (f"{plan.sample} by seed {plan.seed}{core}",)


def _name_card(card: JudgeCard | ReaderCard) -> str:
    if isinstance(card, JudgeCard):
        # `computes` changes no verdict, and result files do not hold it.
        card = card.replace(computes=False)
    return f"{card.name} {card.version} {card.digest[:_DIGEST_LENGTH]}"


def _describe_passages(plan: Plan) -> _Words:
    tokens = plan.max_context_tokens
    return (f"top {plan.top_k}" + ("" if tokens is None else f", {tokens:,} tokens"),)


_ASKED_FACETS: _Facets = {
    "personas": lambda plan: tuple(sorted(card.id for card in plan.scenarios)),
    "checkpoints": _list_checkpoints,
    "group questions": lambda plan: ("on" if plan.groups_enabled else "off",),
    "repeats": lambda plan: (str(plan.repeats),),
    "older questions": _describe_sampling,
}
_READER_FACET: _Facets = {
    "reader": lambda plan: () if plan.reader is None else (_name_card(plan.reader),)
}
_CONDITION_FACETS: _Facets = {
    "dataset protocol": lambda plan: (
        f"{plan.dataset.protocol} {plan.dataset.eval_version}" if plan.dataset else "none",
    ),
    "ingest": lambda plan: (plan.ingest.value,),
    "calendar": lambda plan: (plan.calendar.value,),
    "judge": lambda plan: (_name_card(plan.judge),),
    "appellate judge": lambda plan: (
        f"{_name_card(plan.appellate)} on {plan.review.value}" if plan.appellate else "none",
    ),
    "labels of people": lambda plan: (
        f"{plan.labels.answers} answers, {plan.labels.sha256[:_DIGEST_LENGTH]}"
        if plan.labels
        else "none",
    ),
    "days shown to the judge": lambda plan: (str(plan.judge_memory_window),),
    "passages looked at": _describe_passages,
}


def list_settings(plan: Plan) -> dict[str, str]:
    """What two runs may differ in besides the system, in words."""
    facets = {**_ASKED_FACETS, **_READER_FACET, **_CONDITION_FACETS}
    return {what: ", ".join(words(plan)) for what, words in facets.items()}


NO_PERSONA = "of a persona that the other run does not have"
NO_QUESTION = "about a question that the other run does not have"
CHANGED_QUESTION = "about a question that differs in the other run"
NO_CHECKPOINT = "at a checkpoint that the other run does not have, or after other days"
NO_REPEAT = "repeated more often than in the other run"
NOT_ASKED = "not asked in the other run"
"""Reasons to leave a trial out, the first that holds. The last is due to a sample, to group
categories, or to a system that does not see who asks."""


class DroppedTrials(Record, frozen=True, kw_only=True):
    """Trials left out of a comparison for one reason."""

    reason: str
    first: int
    second: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPairs:
    """The trials that both runs owe, and those left out."""

    trials: frozenset[Trial]
    dropped: tuple[DroppedTrials, ...]
    templates: TemplateNames
    """Templates are no part of a question: one run may know them, and an older one not."""

    def select_marks(self, marks: TrialMarks) -> dict[Trial, float]:
        """The marks of these trials."""
        return {trial: mark for trial, mark in marks.items() if trial in self.trials}

    def is_identical(self, first: TrialTable, second: TrialTable) -> bool:
        """Whether every one of these trials has the same outcome and marks in both runs."""
        ours = {row.trial: (row.status, row.score) for row in first.rows}
        theirs = {row.trial: (row.status, row.score) for row in second.rows}
        return all(ours[trial] == theirs[trial] for trial in self.trials)


def pair_points(first: TrialTable, second: TrialTable) -> MarkPair:
    """The points of the trials that are the same in both runs."""
    pairs = pair_trials(first, second)
    marks = pairs.select_marks(first.points), pairs.select_marks(second.points)
    return MarkPair(*marks, templates=pairs.templates)


def pair_trials(first: TrialTable, second: TrialTable) -> TrialPairs:
    """The trials that are the same in both runs."""
    ours, theirs = _find_objections(first, second), _find_objections(second, first)
    left_out = {trial: reason for trial, reason in ours.items() if reason is not None}
    counts = Counter(left_out.values()), Counter(reason for reason in theirs.values() if reason)
    return TrialPairs(
        trials=frozenset(ours.keys() - left_out.keys()),
        dropped=tuple(
            DroppedTrials(reason=reason, first=counts[0][reason], second=counts[1][reason])
            for reason in (
                NO_PERSONA,
                NO_QUESTION,
                CHANGED_QUESTION,
                NO_CHECKPOINT,
                NO_REPEAT,
                NOT_ASKED,
            )
            if counts[0][reason] or counts[1][reason]
        ),
        templates={**second.templates, **first.templates},
    )


def _find_objections(own: TrialTable, other: TrialTable) -> dict[Trial, str | None]:
    """For each trial, the first reason that the other run does not have it, if any."""
    alike = _match_questions(own, other)
    places, trials = {_locate_row(row) for row in other.rows}, {row.trial for row in other.rows}
    objections: dict[Trial, str | None] = {}
    for row in own.rows:
        trial = row.trial
        if trial.scenario not in other.items:
            reason: str | None = NO_PERSONA
        elif (same := alike[trial.scenario].get(trial.item)) is None:
            reason = NO_QUESTION
        elif not same:
            reason = CHANGED_QUESTION
        elif _locate_row(row) not in places:
            reason = NO_CHECKPOINT
        elif trial.repeat >= other.plan.repeats:
            reason = NO_REPEAT
        else:
            reason = None if trial in trials else NOT_ASKED
        objections[trial] = reason
    return objections


def _match_questions(own: TrialTable, other: TrialTable) -> dict[str, dict[str, bool]]:
    """For each question id that both know, whether the question is the same."""
    alike: dict[str, dict[str, bool]] = {}
    for scenario in own.items.keys() & other.items.keys():
        theirs = {item.id: item for item in other.items[scenario]}
        alike[scenario] = {
            item.id: item == theirs[item.id].replace(template=item.template)
            for item in own.items[scenario]
            if item.id in theirs
        }
    return alike


def _locate_row(row: TrialRow) -> tuple[str, str, int, int]:
    return row.trial.scenario, row.trial.checkpoint, row.days, row.cutoff
