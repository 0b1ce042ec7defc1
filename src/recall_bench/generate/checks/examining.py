"""A question examined against its story and the questions kept before it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from recall_bench.datasets.layout import Layout
from recall_bench.generate.checks.answer_atoms import contradicting
from recall_bench.generate.checks.answer_kind import unfitting
from recall_bench.generate.checks.checker import Checker, Examined, Kind, Problem, Repair
from recall_bench.generate.checks.day_words import DayWords
from recall_bench.generate.checks.lints import OF_ONE, OF_SEVERAL, linted
from recall_bench.generate.checks.repairs import applied, changes_of, combined, repairs
from recall_bench.generate.checks.secrecy import inconsistent, undeclared
from recall_bench.generate.checks.staleness import Changes
from recall_bench.generate.checks.story import read_entry, read_story_days
from recall_bench.generate.checks.support import unsupported
from recall_bench.generate.checks.wording import unanchored
from recall_bench.lint import duplicates
from recall_bench.lint.asked import Asked
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.wording import undated_present
from recall_bench.lint.words import plain, words


def open_checker(layout: Layout, known: Sequence[Mapping[str, object]] = ()) -> Checker:
    """A checker of questions on a story, which is read once, beside those known already.

    UsageError or DataError if persona, arcs or days are not whole.
    """
    checker = StoryChecker(read_story_days(layout))
    for entry in known:
        checker.keep(entry)
    return checker


class StoryChecker:
    """Holds questions against one story."""

    def __init__(self, corpus: Corpus, beside: Sequence[Mapping[str, object]] = ()) -> None:
        """`beside` are questions of the same file, whose answers may show that one changes."""
        self.corpus = corpus
        self._said = DayWords(corpus)
        self._changes = Changes(corpus)
        self._usual = frozenset(words(corpus.persona.name)) if corpus.persona else frozenset()
        self._alike: dict[Collection[str], list[Asked]] = {}
        read = (read_entry(corpus, entry) for entry in beside)
        self._known = [asked for asked in read if isinstance(asked, Asked)]

    def examine(self, entry: Mapping[str, object]) -> Examined:
        """What is wrong with a question, and what would put it right."""
        asked = read_entry(self.corpus, entry)
        if not isinstance(asked, Asked):
            found = (Problem(kind=Kind.FORMAT, message=each, is_grave=True) for each in asked)
            return Examined(problems=tuple(found))
        problems = self.problems(asked)
        if not problems:
            return Examined(problems=())
        return Examined(problems=problems, repair=self._repair(entry, asked, problems))

    def keep(self, entry: Mapping[str, object]) -> None:
        """The question is kept: none after it may repeat it. One that is malformed is not."""
        asked = read_entry(self.corpus, entry)
        if isinstance(asked, Asked):
            self._known.append(asked)
            for key in self._keys(asked):
                self._alike.setdefault(key, []).append(asked)

    def release(self, entry: Mapping[str, object]) -> None:
        """The question is not kept any more."""
        asked = read_entry(self.corpus, entry)
        if isinstance(asked, Asked):
            for key in self._keys(asked):
                kept = self._alike.get(key, [])
                self._alike[key] = [other for other in kept if other.extra != asked.extra]
            self._known = [other for other in self._known if other.extra != asked.extra]

    def problems(self, asked: Asked) -> tuple[Problem, ...]:
        """Everything wrong with a question whose fields are sound, each once."""
        found = chain(
            undeclared(self.corpus, asked),
            tuple(contradicting(asked)) or unfitting(self.corpus, asked),
            linted(self.corpus.asking([asked]), OF_ONE),
            unsupported(self.corpus, self._said, asked),
            self._stale(asked),
            unanchored(asked),
            self._repeated(asked),
            inconsistent(self.corpus, asked),
        )
        return tuple(dict.fromkeys(found))

    def _keys(self, asked: Asked) -> tuple[Collection[str], ...]:
        """Under what questions that repeat it find it.

        Of a secret a part may be asked for, and the whole in nearly the same words: these differ
        in what is disclosed.
        """
        alike = duplicates.particulars(asked, self._usual)
        return duplicates.wording(asked), alike | {f"disclosing {asked.item.truth.disclosure}"}

    def _others(self, asked: Asked) -> list[Asked]:
        """The kept questions that it may repeat, in their order."""
        alike = chain.from_iterable(self._alike.get(key, ()) for key in self._keys(asked))
        return list({id(other): other for other in alike}.values())

    def _stale(self, asked: Asked) -> Iterator[Problem]:
        change = self._changes.of(asked)
        if change is not None:
            yield Problem(kind=Kind.STALENESS, message=change.message, is_grave=True)
        elif message := undated_present(self.corpus.asking(self._known), asked):
            yield Problem(kind=Kind.STALENESS, message=message)

    def _repeated(self, asked: Asked) -> Iterator[Problem]:
        """What it repeats of the questions kept so far."""
        others = self._others(asked)
        if not others:
            return iter(())
        before = set(linted(self.corpus.asking(others), OF_SEVERAL))
        both = linted(self.corpus.asking([*others, asked]), OF_SEVERAL)
        return (problem for problem in both if problem not in before)

    def _repair(
        self, entry: Mapping[str, object], asked: Asked, problems: tuple[Problem, ...]
    ) -> Repair | None:
        """Those repairs after which less is wrong and nothing new is."""
        twin = next((other for other in self._others(asked) if _is_same(asked, other)), None)
        if twin is not None:
            return Repair(changes={}, why=f"{twin.item.id} asks and answers the same", removes=True)
        kept: list[Repair] = []
        while True:
            found = self._next(entry, asked, problems, kept)
            if found is None:
                return combined(kept)
            repair, asked, problems = found
            kept.append(repair)

    def _next(
        self,
        entry: Mapping[str, object],
        asked: Asked,
        problems: tuple[Problem, ...],
        kept: list[Repair],
    ) -> tuple[Repair, Asked, tuple[Problem, ...]] | None:
        """One more repair that does good after those kept, and what is left after it.

        One that brings a new problem is tried once more together with a repair of that.
        """
        for repair in self._repairs(asked):
            trial = read_entry(self.corpus, applied(entry, changes_of([*kept, repair])))
            if not isinstance(trial, Asked):
                continue
            if is_better(left := self.problems(trial), problems):
                return repair, trial, left
            for second in self._repairs(trial):
                both = Repair(
                    changes={**repair.changes, **second.changes},
                    why=f"{repair.why}; {second.why}",
                )
                trial = read_entry(self.corpus, applied(entry, changes_of([*kept, both])))
                if isinstance(trial, Asked) and is_better(left := self.problems(trial), problems):
                    return both, trial, left
        return None

    def _repairs(self, asked: Asked) -> Iterator[Repair]:
        return repairs(self.corpus, asked, self._changes.of(asked))


def is_better(after: Collection[Problem], before: Collection[Problem]) -> bool:
    """Whether there are fewer problems, and of no kind more."""
    return len(after) < len(before) and is_no_worse(after, before)


def is_no_worse(after: Collection[Problem], before: Collection[Problem]) -> bool:
    """Whether there are of no kind more problems."""
    now, then = (Counter(problem.kind for problem in each) for each in (after, before))
    return now <= then


def _is_same(one: Asked, other: Asked) -> bool:
    """Whether question, answer and asker are the same to a reader."""
    return (
        duplicates.wording(one) == duplicates.wording(other)
        and words(plain(one.reference)) == words(plain(other.reference))
        and one.is_open_with(other)
    )
