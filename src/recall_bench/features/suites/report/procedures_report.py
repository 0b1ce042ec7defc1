"""The figures of the procedures suite: whether tasks follow the conventions stated earlier."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core.event import Answered, TrialResult
from recall_bench.engine.runs.evidence import FoundPassages
from recall_bench.features.suites.outcome_checks import OutcomeForm
from recall_bench.features.suites.procedures.task_source import KINDS
from recall_bench.features.suites.stories.procedures import ACTING, CEILING, FLOOR, MEMORY, VARIANTS
from recall_bench.features.suites.task_grading import (
    TaskGrade,
    TaskGrading,
    decode_grading,
    grade_reply,
)
from recall_bench.reporting.suites.figures import Case, Figure, SuiteResults, make_share

NOTHING_ACTS = (
    "nothing acts here: let a model do the tasks with what is recalled (--reader provider:model), "
    "or an agent (--adapter loop:MEMORY --agent-model provider:model)"
)
_NO_PASSAGES = "it returns no passages"
_KIND_WORDS = {
    "stated": "a rule stated on purpose",
    "in-passing": "a rule stated in passing",
    "revised": "a rule that replaced another",
    "exception": "an exception",
    "combined": "two rules or more",
}


@dataclass(frozen=True, slots=True)
class GradedTask:
    """One task, as it was done."""

    story: str
    result: TrialResult
    grading: TaskGrading
    grade: TaskGrade

    @property
    def persona(self) -> str:
        """Whose task it is."""
        return self.story.partition("-")[2]

    @property
    def is_unreadable(self) -> bool:
        """Whether there is a reply, but not in the form that was asked for."""
        return self.result.answered is not None and self.grade.outcome is None

    @property
    def is_recalled(self) -> bool:
        """Whether passages tell every rule that the task needs."""
        return not list_missing_rules(self.result.answered, self.grading)

    def make_case(self, subject: str, happened: float) -> Case:
        """A case of a figure; tasks that need the same rule are resampled together."""
        group = f"{self.story}/{self.result.item.template}"
        return Case(story=self.story, subject=subject, happened=happened, group=group)

    @staticmethod
    def of(story: str, result: TrialResult) -> "GradedTask":
        """Grade a task by what its run folder holds."""
        grading = decode_grading(result.item.truth)
        reply = "" if result.answered is None else result.answered.answer.text
        return GradedTask(story, result, grading, grade_reply(reply, grading))


def list_missing_rules(answered: Answered | None, grading: TaskGrading) -> tuple[str, ...]:
    """List the rules that a task needs and no passage of the reply tells."""
    if answered is None or not answered.answer.passages:
        return tuple(grading.needs)
    spans = () if answered.delivery is None else answered.delivery.spans
    found = FoundPassages.from_passages(answered.answer.passages, spans)
    return tuple(
        rule for rule, places in grading.needs.items() if not any(map(found.contains, places))
    )


_Tasks = Sequence[GradedTask]


def build_procedure_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the procedures suite."""
    by_variant: dict[str, list[GradedTask]] = {variant: [] for variant in VARIANTS}
    for story in results.stories:
        graded = [GradedTask.of(story, each) for each in results.list_results(story)]
        by_variant[story.partition("-")[0]] += graded
    card = results.folder.plan.behaviour
    can_act = card is None or ACTING not in card.not_offered
    tasks = by_variant[MEMORY]
    figures = [
        _count_done("done", "tasks done as stated", tasks, is_headline=True),
        # A floor above 0 is no merit: these tasks are done without the memory.
        _count_done("floor", "floor: nothing stated", by_variant[FLOOR], best=0.0),
        _count_done("ceiling", "ceiling: stated with the task", by_variant[CEILING]),
    ]
    acted = [*figures, *_list_failures(tasks), *_list_parts(tasks)]
    if not can_act:
        acted = [_mark_not_offered(each) for each in acted]
    return (*acted[:3], *_list_recall(tasks, can_act=can_act), *acted[3:])


def _mark_not_offered(figure: Figure) -> Figure:
    return figure.replace(estimate=None, cases=(), is_offered=False, note=NOTHING_ACTS)


def _make_share(
    name: str,
    label: str,
    tasks: _Tasks,
    chosen: Callable[[GradedTask], float],
    *,
    best: float = 1.0,
    is_headline: bool = False,
) -> Figure:
    cases = [each.make_case(each.result.item.id, chosen(each)) for each in tasks]
    return make_share(cases, name=name, label=label, best=best, is_headline=is_headline)


def _count_done(
    name: str, label: str, tasks: _Tasks, *, best: float = 1.0, is_headline: bool = False
) -> Figure:
    return _make_share(
        name, label, tasks, lambda each: each.grade.is_done, best=best, is_headline=is_headline
    )


def _list_recall(tasks: _Tasks, *, can_act: bool) -> Iterator[Figure]:
    has_passages = any(
        each.result.answered is not None and each.result.answered.answer.passages for each in tasks
    )
    found = _make_share(
        "recalled",
        "passages tell every rule needed",
        tasks,
        lambda each: each.is_recalled,
        is_headline=True,
    )
    if not has_passages:
        yield found.replace(estimate=None, cases=(), is_offered=False, note=_NO_PASSAGES)
        return
    yield found
    for kind in KINDS:
        chosen = [each for each in tasks if each.result.item.kind == kind]
        label = f"recalled: {_KIND_WORDS[kind]}"
        yield _make_share(f"recalled/{kind}", label, chosen, lambda each: each.is_recalled)
    if can_act:
        with_it = [each for each in tasks if each.is_recalled]
        without = [each for each in tasks if not each.is_recalled]
        yield _count_done("done/recalled", "done, where all was recalled", with_it)
        yield _count_done("done/not-recalled", "done, where something was not", without)


def _list_failures(tasks: _Tasks) -> Iterator[Figure]:
    rules = [
        each.make_case(f"{each.result.item.id}/{rule}", rule not in each.grade.broken)
        for each in tasks
        for rule in each.grading.needs
    ]
    yield make_share(rules, name="done/rules-kept", label="rules kept, each counted", best=1.0)
    revised = [each for each in tasks if each.grading.old]
    yield _make_share(
        "stale", "replaced rule followed", revised, lambda each: each.grade.is_old, best=0.0
    )
    replied = [each for each in tasks if each.result.answered is not None]
    yield _make_share(
        "failed/form",
        "reply not in the form asked for",
        replied,
        lambda each: each.is_unreadable,
        best=0.0,
    )
    yield _make_share(
        "failed/off-task",
        "something other than the task done",
        [each for each in tasks if each.grade.outcome is not None],
        lambda each: each.grade.is_off,
        best=0.0,
    )


def _list_parts(tasks: _Tasks) -> Iterator[Figure]:
    for kind in KINDS:
        chosen = [each for each in tasks if each.result.item.kind == kind]
        yield _count_done(f"done/{kind}", f"done: {_KIND_WORDS[kind]}", chosen)
    for form in OutcomeForm:
        chosen = [each for each in tasks if each.grading.form is form]
        yield _count_done(f"done/form-{form}", f"done: {_FORM_WORDS[form]}", chosen)
    for persona in dict.fromkeys(each.persona for each in tasks):
        chosen = [each for each in tasks if each.persona == persona]
        yield _count_done(f"done/{persona}", f"done: {persona}", chosen)


_FORM_WORDS = {
    OutcomeForm.TEXT: "a text",
    OutcomeForm.JSON: "a JSON document",
    OutcomeForm.CALLS: "tool calls",
}
