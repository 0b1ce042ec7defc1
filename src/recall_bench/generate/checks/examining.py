"""A question examined against its story and the questions kept before it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from recall_bench.datasets.layout import Layout
from recall_bench.generate.checks.answer_atoms import check_atoms
from recall_bench.generate.checks.answer_kind import check_answer_kind
from recall_bench.generate.checks.checker import (
    ProblemKind,
    QuestionCheck,
    QuestionChecker,
    QuestionProblem,
    QuestionRepair,
)
from recall_bench.generate.checks.day_words import DayWords
from recall_bench.generate.checks.lints import OF_ONE, OF_SEVERAL, run_lints
from recall_bench.generate.checks.repairs import (
    apply_changes,
    combine_repairs,
    merge_changes,
    suggest_repairs,
)
from recall_bench.generate.checks.secrecy import check_declared_sessions, check_disclosure
from recall_bench.generate.checks.staleness import ChangeFinder
from recall_bench.generate.checks.story import parse_entry, read_corpus
from recall_bench.generate.checks.support import check_support
from recall_bench.generate.checks.wording import check_anchor
from recall_bench.lint import duplicates
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.wording import describe_undated_present
from recall_bench.lint.words import normalise_text, split_words


def open_checker(layout: Layout, known: Sequence[Mapping[str, object]] = ()) -> QuestionChecker:
    """A checker of questions on a story, which is read once, beside those known already.

    UsageError or DataError if persona, arcs or days are not whole.
    """
    checker = StoryChecker(read_corpus(layout))
    for entry in known:
        checker.keep(entry)
    return checker


class StoryChecker:
    """Holds questions against one story."""

    def __init__(self, corpus: LintCorpus, beside: Sequence[Mapping[str, object]] = ()) -> None:
        """`beside` are questions of the same file, whose answers may show that one changes."""
        self.corpus = corpus
        self._said = DayWords(corpus)
        self._changes = ChangeFinder(corpus)
        self._usual = frozenset(split_words(corpus.persona.name)) if corpus.persona else frozenset()
        self._alike: dict[Collection[str], list[LintQuestion]] = {}
        read = (parse_entry(corpus, entry) for entry in beside)
        self._known = [asked for asked in read if isinstance(asked, LintQuestion)]

    def examine(self, entry: Mapping[str, object]) -> QuestionCheck:
        """What is wrong with a question, and what would put it right."""
        asked = parse_entry(self.corpus, entry)
        if not isinstance(asked, LintQuestion):
            found = (
                QuestionProblem(kind=ProblemKind.FORMAT, message=each, is_grave=True)
                for each in asked
            )
            return QuestionCheck(problems=tuple(found))
        problems = self.list_problems(asked)
        if not problems:
            return QuestionCheck(problems=())
        return QuestionCheck(problems=problems, repair=self._find_repair(entry, asked, problems))

    def keep(self, entry: Mapping[str, object]) -> None:
        """The question is kept: none after it may repeat it. One that is malformed is not."""
        asked = parse_entry(self.corpus, entry)
        if isinstance(asked, LintQuestion):
            self._known.append(asked)
            for key in self._make_keys(asked):
                self._alike.setdefault(key, []).append(asked)

    def release(self, entry: Mapping[str, object]) -> None:
        """The question is not kept any more."""
        asked = parse_entry(self.corpus, entry)
        if isinstance(asked, LintQuestion):
            for key in self._make_keys(asked):
                kept = self._alike.get(key, [])
                self._alike[key] = [other for other in kept if other.extra != asked.extra]
            self._known = [other for other in self._known if other.extra != asked.extra]

    def list_problems(self, asked: LintQuestion) -> tuple[QuestionProblem, ...]:
        """Everything wrong with a question whose fields are sound, each once."""
        found = chain(
            check_declared_sessions(self.corpus, asked),
            tuple(check_atoms(asked)) or check_answer_kind(self.corpus, asked),
            run_lints(self.corpus.replace_questions([asked]), OF_ONE),
            check_support(self.corpus, self._said, asked),
            self._check_staleness(asked),
            check_anchor(asked),
            self._check_duplicates(asked),
            check_disclosure(self.corpus, asked),
        )
        return tuple(dict.fromkeys(found))

    def _make_keys(self, asked: LintQuestion) -> tuple[Collection[str], ...]:
        """Under what questions that repeat it find it.

        Of a secret a part may be asked for, and the whole in nearly the same words: these differ
        in what is disclosed.
        """
        alike = duplicates.find_particulars(asked, self._usual)
        return duplicates.normalise_wording(asked), alike | {
            f"disclosing {asked.item.truth.disclosure}"
        }

    def _find_similar(self, asked: LintQuestion) -> list[LintQuestion]:
        """The kept questions that it may repeat, in their order."""
        alike = chain.from_iterable(self._alike.get(key, ()) for key in self._make_keys(asked))
        return list({id(other): other for other in alike}.values())

    def _check_staleness(self, asked: LintQuestion) -> Iterator[QuestionProblem]:
        change = self._changes.find_change(asked)
        if change is not None:
            yield QuestionProblem(kind=ProblemKind.STALENESS, message=change.message, is_grave=True)
        elif message := describe_undated_present(self.corpus.replace_questions(self._known), asked):
            yield QuestionProblem(kind=ProblemKind.STALENESS, message=message)

    def _check_duplicates(self, asked: LintQuestion) -> Iterator[QuestionProblem]:
        """What it repeats of the questions kept so far."""
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
        """Those repairs after which less is wrong and nothing new is."""
        twin = next((other for other in self._find_similar(asked) if _is_same(asked, other)), None)
        if twin is not None:
            return QuestionRepair(
                changes={}, why=f"{twin.item.id} asks and answers the same", removes=True
            )
        kept: list[QuestionRepair] = []
        while True:
            found = self._find_next_repair(entry, asked, problems, kept)
            if found is None:
                return combine_repairs(kept)
            repair, asked, problems = found
            kept.append(repair)

    def _find_next_repair(
        self,
        entry: Mapping[str, object],
        asked: LintQuestion,
        problems: tuple[QuestionProblem, ...],
        kept: list[QuestionRepair],
    ) -> tuple[QuestionRepair, LintQuestion, tuple[QuestionProblem, ...]] | None:
        """One more repair that does good after those kept, and what is left after it.

        One that brings a new problem is tried once more together with a repair of that.
        """
        for repair in self._suggest_repairs(asked):
            trial = parse_entry(self.corpus, apply_changes(entry, merge_changes([*kept, repair])))
            if not isinstance(trial, LintQuestion):
                continue
            if is_better(left := self.list_problems(trial), problems):
                return repair, trial, left
            for second in self._suggest_repairs(trial):
                both = QuestionRepair(
                    changes={**repair.changes, **second.changes},
                    why=f"{repair.why}; {second.why}",
                )
                trial = parse_entry(self.corpus, apply_changes(entry, merge_changes([*kept, both])))
                if isinstance(trial, LintQuestion) and is_better(
                    left := self.list_problems(trial), problems
                ):
                    return both, trial, left
        return None

    def _suggest_repairs(self, asked: LintQuestion) -> Iterator[QuestionRepair]:
        return suggest_repairs(self.corpus, asked, self._changes.find_change(asked))


def is_better(after: Collection[QuestionProblem], before: Collection[QuestionProblem]) -> bool:
    """Whether there are fewer problems, and of no kind more."""
    return len(after) < len(before) and is_no_worse(after, before)


def is_no_worse(after: Collection[QuestionProblem], before: Collection[QuestionProblem]) -> bool:
    """Whether there are of no kind more problems."""
    now, then = (Counter(problem.kind for problem in each) for each in (after, before))
    return now <= then


def _is_same(one: LintQuestion, other: LintQuestion) -> bool:
    """Whether question, answer and asker are the same to a reader."""
    return (
        duplicates.normalise_wording(one) == duplicates.normalise_wording(other)
        and split_words(normalise_text(one.reference))
        == split_words(normalise_text(other.reference))
        and one.is_open_with(other)
    )
