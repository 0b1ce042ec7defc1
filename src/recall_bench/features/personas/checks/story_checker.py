"""Checks questions against their story and against the questions kept before."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.yaml12 import Document, Key
from recall_bench.features.personas.checks.answer_check import check_answer_kind, check_atoms
from recall_bench.features.personas.checks.boundary_check import (
    check_declared_sessions,
    check_disclosure,
)
from recall_bench.features.personas.checks.check_result import (
    ProblemKind,
    QuestionCheck,
    QuestionChecker,
    QuestionProblem,
    QuestionRepair,
    make_format_problem,
)
from recall_bench.features.personas.checks.repair import (
    apply_changes,
    combine_repairs,
    merge_changes,
    suggest_repairs,
)
from recall_bench.features.personas.checks.support_check import DayWords, check_support
from recall_bench.features.personas.checks.time_check import ChangeFinder, check_anchor
from recall_bench.stories.lint import (
    answer_checks,
    boundary_checks,
    history_checks,
    question_checks,
)
from recall_bench.stories.lint.lint_corpus import Lint, LintCorpus, Severity
from recall_bench.stories.lint.question_checks import describe_undated_present
from recall_bench.stories.lint.value_index import DayLog, LintQuestion
from recall_bench.stories.persona import Inspection
from recall_bench.stories.persona_files import Layout, list_days
from recall_bench.stories.persona_questions import parse_questions
from recall_bench.stories.persona_story import read_persona, read_story
from recall_bench.stories.yaml_fields import describe_value, raise_problems
from recall_bench.text.text_values import list_words, normalise_text

_NAME = "question"
_MAX_SHOWN = 60


def read_corpus(layout: Layout) -> LintCorpus:
    """The story without questions; UsageError or DataError if it is incomplete."""
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    if not layout.memories.is_dir():
        raise UsageError(
            f"{layout.name(layout.memories)}, the days of {layout.arcs}, does not exist; "
            "`recall-bench generate` writes them"
        )
    problems: list[BenchError] = []
    files = list_days(layout, problems, [])
    raise_problems(problems)
    return LintCorpus(
        layout=layout,
        inspection=Inspection(),
        persona=persona,
        story=story,
        arc_lines={},
        days=tuple(DayLog(file.day, file.name, file.read()) for file in files),
        questions=(),
        is_indexed_whole=True,
    )


def parse_entry(corpus: LintCorpus, entry: Mapping[str, object]) -> LintQuestion | tuple[str, ...]:
    """The question of an entry, or the problems of its fields."""
    named = {"id": _make_stand_in(entry), **{str(key): value for key, value in entry.items()}}
    problems: list[BenchError] = []
    items = parse_questions(
        _UnfiledDocument([named]),
        days=corpus.by_number,
        sessions=(),
        problems=problems,
        warnings=[],
    )
    if not items:
        return tuple(str(problem).removeprefix(f"{_NAME}: ") for problem in problems)
    return LintQuestion(items[0], None, named)


class _UnfiledDocument(Document):
    """Content without a file, and so without lines."""

    def __init__(self, content: object) -> None:
        self.name = _NAME
        self.content = content

    def find_line(self, *keys: Key) -> int:  # noqa: ARG002
        """Always 1."""
        return 1

    def describe_place(self, *keys: Key) -> str:  # noqa: ARG002
        """The beginning of messages."""
        return self.name


def _make_stand_in(entry: Mapping[str, object]) -> str:
    """The name of a question without id in messages: its first words."""
    text = " ".join(str(entry.get("question", "")).split())
    return f"“{text[:_MAX_SHOWN]}…”" if len(text) > _MAX_SHOWN else f"“{text}”"


_KINDS = {
    "answer-unsupported": ProblemKind.SUPPORT,
    "answer-partly-unsupported": ProblemKind.SUPPORT,
    "no-but-stated": ProblemKind.SUPPORT,
    "synthesis-one-day": ProblemKind.SUPPORT,
    "misdated": ProblemKind.SUPPORT,
    "wrong-weekday": ProblemKind.SUPPORT,
    "unnamed-period": ProblemKind.VAGUENESS,
    "day-number": ProblemKind.VAGUENESS,
    "benchmark-words": ProblemKind.VAGUENESS,
    "answer-in-question": ProblemKind.VAGUENESS,
    "two-answers": ProblemKind.DUPLICATE,
    "repeated-question": ProblemKind.DUPLICATE,
    "near-repeat": ProblemKind.DUPLICATE,
    "boundary-discloses": ProblemKind.BOUNDARY,
    "boundary-incomplete": ProblemKind.BOUNDARY,
    "boundary-asker": ProblemKind.BOUNDARY,
    "boundary-insider": ProblemKind.BOUNDARY,
    "canary-misplaced": ProblemKind.BOUNDARY,
}


def _select_lints(*several: Sequence[Lint]) -> tuple[Lint, ...]:
    return tuple(lint for lint in chain(*several) if lint.code in _KINDS)


OF_ONE = _select_lints(
    answer_checks.ANSWER_LINTS,
    answer_checks.NEGATIVE_LINTS,
    answer_checks.EVIDENCE_LINTS,
    history_checks.DATE_LINTS,
    question_checks.WORDING_LINTS,
    boundary_checks.BOUNDARY_LINTS,
)
"""Lints of a question by itself."""

OF_SEVERAL = _select_lints(question_checks.DUPLICATE_LINTS)
"""Lints of a question among others."""


def run_lints(corpus: LintCorpus, lints: Sequence[Lint]) -> Iterator[QuestionProblem]:
    """The problems that these lints find in the corpus's questions."""
    for lint in lints:
        for remark in lint.check(corpus):
            yield QuestionProblem(
                kind=_KINDS[lint.code],
                message=remark.message,
                is_severe=lint.severity is Severity.ERROR,
            )


def open_checker(layout: Layout, known: Sequence[Mapping[str, object]] = ()) -> QuestionChecker:
    """A checker of questions on a story, given the questions known already.

    UsageError or DataError if persona, arcs or days are incomplete.
    """
    checker = StoryChecker(read_corpus(layout))
    for entry in known:
        checker.keep(entry)
    return checker


class StoryChecker:
    """Checks questions against one story."""

    def __init__(self, corpus: LintCorpus, beside: Sequence[Mapping[str, object]] = ()) -> None:
        """`beside` are questions of the same file, whose answers may reveal changes."""
        self.corpus = corpus
        self._said = DayWords(corpus)
        self._changes = ChangeFinder(corpus)
        self._usual = frozenset(list_words(corpus.persona.name)) if corpus.persona else frozenset()
        self._alike: dict[Collection[str], list[LintQuestion]] = {}
        reading = (parse_entry(corpus, entry) for entry in beside)
        self._known = [question for question in reading if isinstance(question, LintQuestion)]

    def check(self, entry: Mapping[str, object]) -> QuestionCheck:
        """The problems of a question and a repair."""
        question = parse_entry(self.corpus, entry)
        if not isinstance(question, LintQuestion):
            results = (make_format_problem(item, is_severe=True) for item in question)
            return QuestionCheck(problems=tuple(results))
        problems = self.list_problems(question)
        if not problems:
            return QuestionCheck(problems=())
        return QuestionCheck(problems=problems, repair=self._find_repair(entry, question, problems))

    def keep(self, entry: Mapping[str, object]) -> None:
        """Note that a question is kept, so that later ones must not repeat it."""
        question = parse_entry(self.corpus, entry)
        if isinstance(question, LintQuestion):
            self._known.append(question)
            for key in self._make_keys(question):
                self._alike.setdefault(key, []).append(question)

    def release(self, entry: Mapping[str, object]) -> None:
        """Note that a question is no longer kept."""
        question = parse_entry(self.corpus, entry)
        if isinstance(question, LintQuestion):
            for key in self._make_keys(question):
                similar = self._alike.get(key, [])
                self._alike[key] = [other for other in similar if other.extra != question.extra]
            self._known = [other for other in self._known if other.extra != question.extra]

    def list_problems(self, asked: LintQuestion) -> tuple[QuestionProblem, ...]:
        """The problems of a question with valid fields, each once."""
        declared_sessions = chain(
            check_declared_sessions(self.corpus, asked),
            tuple(check_atoms(asked)) or check_answer_kind(self.corpus, asked),
            run_lints(self.corpus.replace_questions([asked]), OF_ONE),
            check_support(self.corpus, self._said, asked),
            self._check_staleness(asked),
            check_anchor(asked),
            self._check_duplicates(asked),
            check_disclosure(self.corpus, asked),
        )
        return tuple(dict.fromkeys(declared_sessions))

    def _make_keys(self, asked: LintQuestion) -> tuple[Collection[str], ...]:
        """The keys that a question shares with its repetitions.

        The disclosure is part of them: a part of a secret and the whole may be asked alike.
        """
        alike = question_checks.find_particulars(asked, self._usual)
        return question_checks.normalise_wording(asked), alike | {
            f"disclosing {asked.item.truth.disclosure}"
        }

    def _find_similar(self, asked: LintQuestion) -> list[LintQuestion]:
        """The kept questions that it may repeat."""
        alike = chain.from_iterable(self._alike.get(key, ()) for key in self._make_keys(asked))
        return list({id(other): other for other in alike}.values())

    def _check_staleness(self, asked: LintQuestion) -> Iterator[QuestionProblem]:
        change = self._changes.find_change(asked)
        if change is not None:
            yield QuestionProblem(
                kind=ProblemKind.STALENESS, message=change.message, is_severe=True
            )
        elif message := describe_undated_present(self.corpus.replace_questions(self._known), asked):
            yield QuestionProblem(kind=ProblemKind.STALENESS, message=message)

    def _check_duplicates(self, asked: LintQuestion) -> Iterator[QuestionProblem]:
        """Problems with kept questions that it repeats."""
        others = self._find_similar(asked)
        if not others:
            return iter(())
        before = set(run_lints(self.corpus.replace_questions(others), OF_SEVERAL))
        both = run_lints(self.corpus.replace_questions([*others, asked]), OF_SEVERAL)
        return (problem for problem in both if problem not in before)

    def _find_repair(
        self,
        entry: Mapping[str, object],
        asked: LintQuestion,
        problems: tuple[QuestionProblem, ...],
    ) -> QuestionRepair | None:
        """The repairs that remove problems and add none."""
        twin = next((other for other in self._find_similar(asked) if _is_same(asked, other)), None)
        if twin is not None:
            return QuestionRepair(
                changes={}, why=f"{twin.item.id} asks and answers the same", removes=True
            )
        repairs: list[QuestionRepair] = []
        while True:
            next_repair = self._find_next_repair(entry, asked, problems, repairs)
            if next_repair is None:
                return combine_repairs(repairs)
            repair, asked, problems = next_repair
            repairs.append(repair)

    def _find_next_repair(
        self,
        entry: Mapping[str, object],
        asked: LintQuestion,
        problems: tuple[QuestionProblem, ...],
        kept: list[QuestionRepair],
    ) -> tuple[QuestionRepair, LintQuestion, tuple[QuestionProblem, ...]] | None:
        """One more repair that helps, with the repaired question and its remaining problems.

        A repair with a new problem is tried together with a repair of that problem.
        """
        for repair in self._suggest_repairs(asked):
            trial = parse_entry(self.corpus, apply_changes(entry, merge_changes([*kept, repair])))
            if not isinstance(trial, LintQuestion):
                continue
            if is_better(remaining := self.list_problems(trial), problems):
                return repair, trial, remaining
            for second in self._suggest_repairs(trial):
                both = QuestionRepair(
                    changes={**repair.changes, **second.changes},
                    why=f"{repair.why}; {second.why}",
                )
                trial = parse_entry(self.corpus, apply_changes(entry, merge_changes([*kept, both])))
                if isinstance(trial, LintQuestion) and is_better(
                    remaining := self.list_problems(trial), problems
                ):
                    return both, trial, remaining
        return None

    def _suggest_repairs(self, asked: LintQuestion) -> Iterator[QuestionRepair]:
        return suggest_repairs(self.corpus, asked, self._changes.find_change(asked))


def is_better(after: Collection[QuestionProblem], before: Collection[QuestionProblem]) -> bool:
    """Whether there are fewer problems and of no kind more."""
    return len(after) < len(before) and is_no_worse(after, before)


def is_no_worse(after: Collection[QuestionProblem], before: Collection[QuestionProblem]) -> bool:
    """Whether there are no more problems of any kind."""
    now, then = (Counter(problem.kind for problem in item) for item in (after, before))
    return now <= then


def _is_same(one: LintQuestion, other: LintQuestion) -> bool:
    """Whether question, answer and asker are equivalent."""
    return (
        question_checks.normalise_wording(one) == question_checks.normalise_wording(other)
        and list_words(normalise_text(one.reference)) == list_words(normalise_text(other.reference))
        and one.is_open_with(other)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuestion:
    """An entry of a file and the result of its check."""

    place: int
    name: str
    """Its id, or a substitute."""
    entry: Mapping[str, object] | None
    """None if it is not a mapping."""
    result: QuestionCheck

    @property
    def repaired(self) -> Mapping[str, object] | None:
        """The entry with its repair; None if it is removed or no mapping."""
        repair = self.result.repair
        if self.entry is None or (repair is not None and repair.removes):
            return None
        return self.entry if repair is None else apply_changes(self.entry, repair.changes)


def check_file(corpus: LintCorpus, rows: Sequence[object]) -> tuple[CheckedQuestion, ...]:
    """Check every entry, given the repaired entries before it."""
    entries = [
        ({str(key): value for key, value in row.items()} if isinstance(row, dict) else None)
        for row in rows
    ]
    checker = StoryChecker(corpus, [entry for entry in entries if entry is not None])
    first: dict[str, int] = {}
    results = []
    for place, (row, entry) in enumerate(zip(rows, entries, strict=True)):
        named = entry.get("id") if entry is not None else None
        name = named if isinstance(named, str) and named else f"question number {place + 1}"
        result = _check_row(checker, row, entry)
        if isinstance(named, str) and first.setdefault(named, place) != place:
            result = _add_problem(
                result, f"question number {first[named] + 1} has this id; rename it"
            )
        checked = CheckedQuestion(place=place, name=name, entry=entry, result=result)
        if checked.repaired is not None:
            checker.keep(checked.repaired)
        results.append(checked)
    return tuple(results)


def _check_row(
    checker: StoryChecker, row: object, entry: Mapping[str, object] | None
) -> QuestionCheck:
    if entry is None:
        return _add_problem(
            QuestionCheck(problems=()),
            f"it is {describe_value(row)}; write a mapping of its fields",
        )
    result = checker.check(entry)
    return result if "id" in entry else _add_problem(result, "it has no id; add one")


def _add_problem(result: QuestionCheck, message: str) -> QuestionCheck:
    problem = make_format_problem(message, is_severe=True)
    return replace(result, problems=(problem, *result.problems))
