"""Audit items with known marks, and the question, history and chance they are written from."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from hashlib import sha256
from random import Random
from typing import TypeVar

from recall_bench.core.memory import Answer
from recall_bench.core.number_words import spell_number
from recall_bench.core.record import Record
from recall_bench.core.scenario import SYNTHESIS, Episode, Item, Scenario, StoryTime, Truth
from recall_bench.core.sentences import Sentence, read_sentences
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.lab.audit.answer_key import (
    AnswerKey,
    AnswerShape,
    AuditValue,
    ValueKind,
    is_any_in_text,
    list_answer_strings,
    list_traces,
)
from recall_bench.judging.lab.audit.audit_report import AuditClass, Labels
from recall_bench.judging.lab.audit.phrase_bank import fill_frame, list_frames
from recall_bench.judging.lab.audit.wordings import Wording, list_wordings

CLASS_LABELS: dict[AuditClass, Labels] = {
    AuditClass.RIGHT: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.OTHER_WORDS: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.PADDED: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.EXTRA: {"correctness": True, "completeness": True, "grounded": False},
    AuditClass.CLEAN_REFUSAL: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.VAGUE: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.PADDED_VAGUE: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.NEAR_MISS: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.ONE_OF_N: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.SUPERSEDED: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.WRONG: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.FALSE_REFUSAL: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.NON_ANSWER: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.LEAK: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.INJECTION: {"correctness": False, "completeness": False, "grounded": None},
}
"""The labels of a whole class; an item may change some."""


class AuditItem(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One answer to one question, with the marks it must and must not get."""

    id: str
    scenario: str
    item: Item
    answer: str
    days: int
    """The last story day known when it is asked; the question is open then."""
    asked_at: StoryTime
    kind: AuditClass
    recipe: str
    """How the answer was written, to trace a judge's weakness."""
    labels: Labels

    def make_exhibit(self, excerpts: Sequence[Episode] = ()) -> Exhibit:
        """What a judge is shown, without class, recipe and labels."""
        return Exhibit(
            scenario=self.scenario,
            item=self.item,
            answer=Answer(text=self.answer),
            asked_at=self.asked_at,
            days=self.days,
            excerpts=excerpts,
        )


T = TypeVar("T")


class SeededChoice:
    """Seeded random choices for one purpose, independent of those for other purposes."""

    def __init__(self, *names: object) -> None:
        self._names = tuple(str(name) for name in names)
        seed = sha256("\0".join(self._names).encode()).digest()
        self._random = Random(int.from_bytes(seed[:8]))  # noqa: S311 - no secrets here

    def derive(self, *names: object) -> "SeededChoice":
        """Independent choices for a part of the purpose."""
        return SeededChoice(*self._names, *names)

    def pick_below(self, limit: int) -> int:
        """A whole number from 0 to below the limit."""
        # Only `random` itself is guaranteed never to change its sequence.
        return int(self._random.random() * limit)

    def pick(self, things: Sequence[T]) -> T:
        """One of the things."""
        return things[self.pick_below(len(things))]

    def shuffle(self, things: Sequence[T]) -> list[T]:
        """All of them, in random order."""
        order = list(things)
        for last in range(len(order) - 1, 0, -1):
            other = self.pick_below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


_TOKEN = re.compile(r"\w+(?:[-.,:]\w+)*")

_QUOTE_WORDS = range(9, 36)
"""The length, in words, of sentences that can be quoted alone."""

_DEPENDENT_OPENING = re.compile(
    r"(?:it|its|he|she|they|his|her|their|that|this|these|those|such|one|both|so|then|there|"
    r"and|but|or|neither|either|the same|the other|another|which|who)\b",
    re.IGNORECASE,
)
"""Openings that depend on the sentence before."""


@dataclass(frozen=True, slots=True)
class HistoryQuote:
    """A sentence of the history and its date."""

    date: date
    text: str


class HistoryLookup:
    """Looks up what the history says, when, and in which session."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._sentences: dict[int, tuple[Sentence, ...]] = {}
        self._quotes: dict[int, tuple[str, ...]] = {}
        self._by_day = {episode.day: episode for episode in scenario.episodes}
        self._closed = frozenset(
            session for item in scenario.items for session in item.truth.forbidden_sessions
        )
        self._secret_texts: dict[str, bool] = {}
        self._secrets = tuple(
            {
                word.casefold()
                for item in scenario.items
                for word in (*item.truth.canaries, *item.truth.withheld)
            }
        )

    @cached_property
    def text(self) -> str:
        """The whole history with its questions and references, in lower case."""
        parts = [episode.text for episode in self.scenario.episodes]
        for item in self.scenario.items:
            parts += [item.text, item.truth.reference, *item.truth.aliases, *item.truth.distractors]
        return "\n".join(parts).casefold()

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self.text))

    def is_known(self, words: str) -> bool:
        """Whether the words occur in the history or its questions."""
        folded = words.casefold()
        # Most invented words have a token that never occurs, which saves searching the whole text.
        if any(token not in self._tokens for token in _TOKEN.findall(folded)):
            return False
        return folded in self.text

    def draw_asides(self, item: Item, days: int, chooser: SeededChoice) -> Iterator[HistoryQuote]:
        """Open sentences known by then that are irrelevant to the question.

        They can be quoted alone, and hold neither the answer nor anything that could be one.
        """
        traces = list_traces(item)
        marks = set(re.findall(r"\b[\w-]*\d[\w-]*\b", item.text))
        past = [episode.day for episode in self.scenario.episodes if episode.day <= days]
        seen = {evidence.day for evidence in item.truth.evidence}
        for _ in range(len(past)):
            day = chooser.pick(past)
            quotable = () if day in seen else self._list_quotable(day)
            seen.add(day)
            if not quotable:
                continue
            text = chooser.pick(quotable)
            is_spoilt = any(mark in text for mark in marks) or is_any_in_text(text, traces)
            if not is_spoilt and not self._is_secret(text):
                yield HistoryQuote(self._by_day[day].at.date(), text)

    def find_neighbours(self, item: Item) -> Iterator[str]:
        """Sentences of the evidence's paragraph that do not state the answer."""
        traces = list_traces(item)
        for cited in item.truth.evidence:
            if cited.start is None or cited.session in self._closed:
                continue
            evidence = self._by_day[cited.day].text[cited.start : cited.end]
            sentences = self.split_day(cited.day)
            blocks = {
                one.block for one in sentences if one.text in evidence or evidence in one.text
            }
            for one in sentences:
                is_beside = one.block in blocks and one.text not in evidence
                if (
                    is_beside
                    and len(one.text.split()) >= _QUOTE_WORDS[0]
                    and not is_any_in_text(one.text, traces)
                ):
                    yield one.text

    def get_evidence(self, item: Item) -> str | None:
        """The one sentence that states the answer; None if there are several."""
        cited = item.truth.evidence
        if len(cited) != 1 or cited[0].start is None:
            return None
        return self._by_day[cited[0].day].text[cited[0].start : cited[0].end].strip()

    def split_day(self, day: int) -> tuple[Sentence, ...]:
        """The sentences of one day."""
        found = self._sentences.get(day)
        if found is None:
            found = self._sentences[day] = read_sentences(self._by_day[day])
        return found

    def _list_quotable(self, day: int) -> tuple[str, ...]:
        found = self._quotes.get(day)
        if found is None:
            fit = (one.text for one in self.split_day(day) if self._is_quotable(one))
            found = self._quotes[day] = tuple(fit)
        return found

    def _is_quotable(self, sentence: Sentence) -> bool:
        text = sentence.text
        return (
            sentence.session not in self._closed
            and len(text.split()) in _QUOTE_WORDS
            and text[0].isupper()
            and not _DEPENDENT_OPENING.match(text)
        )

    def _is_secret(self, text: str) -> bool:
        found = self._secret_texts.get(text)
        if found is None:
            folded = text.casefold()
            found = any(secret in folded for secret in self._secrets)
            self._secret_texts[text] = found
        return found


_VERB = (
    r"(?:was|were|is|had|has|took|won|made|came|gave|got|kept|put|went|stood|held|brought|found|"
    r"caught|led|wrote|spoke|set|lent|sold|sent|asked|\w{3,}ed)"
)
_NAME_KINDS = frozenset({ValueKind.PERSON, ValueKind.NAME})
_FIGURE_KINDS = frozenset({ValueKind.NUMBER, ValueKind.MEASURE, ValueKind.MONEY, ValueKind.PERCENT})
_RESTATED_KINDS = frozenset(ValueKind) - {ValueKind.PHRASE}


@dataclass(frozen=True, slots=True)
class _QuestionPattern:
    kinds: frozenset[ValueKind]
    question: re.Pattern[str]
    answer: Callable[[re.Match[str], str], str]


_PATTERNS = (
    _QuestionPattern(
        _NAME_KINDS,
        re.compile(rf"Who (?P<rest>{_VERB} .+)\?"),
        lambda match, value_text: f"{value_text} {match['rest']}.",
    ),
    _QuestionPattern(
        _NAME_KINDS,
        re.compile(rf"Which (?:[a-z-]+ ){{1,3}}?(?P<rest>{_VERB} .+)\?"),
        lambda match, value_text: f"{value_text} {match['rest']}.",
    ),
    _QuestionPattern(
        frozenset({ValueKind.NUMBER}),
        re.compile(r"How many (?P<counted>.+?) were there (?P<rest>.+)\?"),
        lambda match, value_text: f"There were {value_text} {match['counted']} {match['rest']}.",
    ),
    _QuestionPattern(
        _RESTATED_KINDS,
        re.compile(r"What (?P<verb>was|is) (?P<what>(?:the|our|its) .+)(?<! worth)(?<! like)\?"),
        lambda match, value_text: f"{_capitalise(match['what'])} {match['verb']} {value_text}.",
    ),
    _QuestionPattern(
        _FIGURE_KINDS,
        re.compile(r"(?:How much|What) did (?P<what>the .+) come to\?"),
        lambda match, value_text: f"{_capitalise(match['what'])} came to {value_text}.",
    ),
    _QuestionPattern(
        frozenset({ValueKind.DATE, ValueKind.TIME}),
        re.compile(
            r"(?:When|On what date|On what day|On which day|On which date) was (?P<what>.+) "
            r"(?P<done>(?:first |finally )?\w{3,}ed)\?"
        ),
        lambda match, value_text: (
            f"{_capitalise(match['what'])} was {match['done']} on {value_text}."
        ),
    ),
)


def restate(question: str, kind: ValueKind, text: str) -> Iterator[str]:
    """Statements of the text in the question's words, where its form is known."""
    for pattern in _PATTERNS:
        match = pattern.question.fullmatch(question)
        if match and kind in pattern.kinds:
            yield pattern.answer(match, text)


_POLAR_FORMS = (
    (re.compile(r"(Was|Were|Has|Have|Is|Are) (.+?) ever (.+)\?"), "{1} {aux} {how} {2}."),
    (re.compile(r"(Did) (we|they|anything) (?:ever )?(.+)\?"), "{1} {did}{2}."),
    (re.compile(r"(Did) (.+?) ever (.+)\?"), "{1} {did}{2}."),
)
_THERE_FORM = re.compile(r"(Was|Were|Has|Have) there (?:ever )?(?:been )?(?:a|an|any) (.+)\?")


def deny(question: str) -> Iterator[str]:
    """Denials in the question's words, where its form is known."""
    yield from _state(question, how="never", did="did not ")
    if match := _THERE_FORM.fullmatch(question):
        verb = {"Was": "was", "Were": "were", "Has": "has been", "Have": "have been"}[match[1]]
        yield f"There {verb} no {match[2]}."


def affirm(question: str) -> Iterator[str]:
    """Affirmations in the question's words, where its form is known."""
    yield from _state(question, how="indeed", did="did ")
    if match := _THERE_FORM.fullmatch(question):
        verb = {"Was": "was", "Were": "were", "Has": "has been", "Have": "have been"}[match[1]]
        yield f"There {verb} indeed a {match[2]}."


def _state(question: str, *, how: str, did: str) -> Iterator[str]:
    for pattern, frame in _POLAR_FORMS:
        if match := pattern.fullmatch(question):
            sentence = frame.replace("{aux}", match[1].lower()).replace("{how}", how)
            sentence = sentence.replace("{did}", did)
            yield _capitalise(sentence.replace("{1}", match[2]).replace("{2}", match[3]))
            return


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


_RESTATE_EVERY = 3
"""One sentence in this many uses the question's words, where its form allows it."""


@dataclass(frozen=True, slots=True)
class AuditDraft:
    """An answer, its recipe, and the labels that differ from those of its class."""

    recipe: str
    answer: str
    labels: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCase:
    """A question with its truth, the history around it and a source of chance."""

    history: HistoryLookup
    item: Item
    key: AnswerKey
    days: int
    asked: date
    chooser: SeededChoice
    parts: tuple["AuditCase", ...] = ()
    """The questions that a joint question consists of."""

    @property
    def truth(self) -> Truth:
        """The truth about the question."""
        return self.item.truth

    def frame(self, value: AuditValue, text: str) -> str:
        """The text in a sentence fit for the value, sometimes in the question's words."""
        turned = list(restate(self.item.text, value.kind, text))
        if turned and self.chooser.pick_below(_RESTATE_EVERY) == 0:
            return self.chooser.pick(turned)
        return fill_frame(self.chooser.pick(list_frames(value.kind)), text)

    def list_giveaways(self) -> tuple[str, ...]:
        """Every wording that gives away the answer or a part of it."""
        worded = [way for value in self.key.values for _, way in self.list_wordings(value)]
        # `Two` gives `2 days` away; `one` is in every other sentence and gives nothing away.
        counts = [atom for atom in self.truth.atoms if atom.isdigit() and atom != "1"]
        worded += [spell_number(int(atom)) for atom in counts]
        return (*list_answer_strings(self.item), *worded)

    def list_wordings(self, value: AuditValue) -> list[Wording]:
        """The value in other words, including the dataset's aliases."""
        aliases = self.truth.aliases if self.key.shape is AnswerShape.VALUE else ()
        return list_wordings(value, aliases, self.asked)

    def reword(self, value: AuditValue) -> Wording:
        """The value in other words; as written where there are none."""
        ways = self.list_wordings(value)
        return self.chooser.pick(ways) if ways else ("as written", value.text)


Writer = Callable[[AuditCase], Iterator[AuditDraft]]
"""Writes every answer of one class to a question; none where the class does not apply."""

UNSURE_COMPLETENESS: Labels = {"completeness": None}


_PART_COUNT = 3
_JOINT_QUESTIONS = (
    "I need three answers. {0} {1} {2}",
    "Please answer all three: {0} {1} {2}",
    "Three things in one go. {0} {1} {2}",
)
_JOINABLE_KINDS = frozenset(ValueKind) - {ValueKind.PHRASE, ValueKind.NUMBER}
"""Kinds that can be distinguished in one answer: free text and bare counts would run together."""


def join_cases(cases: Sequence[AuditCase], chooser: SeededChoice) -> Iterator[AuditCase]:
    """Joint questions of three parts, all open on the day of asking and distinguishable."""
    fit = [
        case
        for case in cases
        if case.key.shape is AnswerShape.VALUE
        and case.key.value.kind in _JOINABLE_KINDS
        and case.truth.atoms
        and case.truth.disclosure is None
        and case.item.session is None
        and not case.truth.stale
    ]
    order = chooser.shuffle(fit)
    for start in range(0, len(order) - _PART_COUNT + 1, _PART_COUNT):
        parts = order[start : start + _PART_COUNT]
        days = max(part.days for part in parts)
        if all(part.item.is_open(days) for part in parts) and _are_unlike(parts):
            yield _make_joint_case(parts, days, chooser)


def _are_unlike(parts: Sequence[AuditCase]) -> bool:
    """Whether no part's answer can be taken for another's, in any unit."""
    values = [part.key.value for part in parts]
    measures = [value for value in values if value.kind is ValueKind.MEASURE]
    return len({value.text for value in values}) == len(values) and len(measures) <= 1


def _make_joint_case(parts: Sequence[AuditCase], days: int, chooser: SeededChoice) -> AuditCase:
    first = parts[0]
    history = first.history
    values = tuple(part.key.value for part in parts)
    categories = {part.truth.category for part in parts}
    item = Item(
        id="+".join(part.item.id for part in parts),
        text=chooser.pick(_JOINT_QUESTIONS).format(*(part.item.text for part in parts)),
        known_from=max(part.item.known_from for part in parts),
        truth=Truth(
            reference="; ".join(value.text for value in values) + ".",
            category=categories.pop() if len(categories) == 1 else SYNTHESIS,
            evidence=tuple(cited for part in parts for cited in part.truth.evidence),
            atoms=tuple(value.text for value in values),
            requires_synthesis=True,
        ),
    )
    asked = history.scenario.compute_date(days).date()
    again = tuple(
        # The joint truth has no aliases, so no judge could know a part's.
        replace(
            part,
            item=part.item.replace(truth=part.truth.replace(aliases=())),
            days=days,
            asked=asked,
        )
        for part in parts
    )
    return AuditCase(
        history=history,
        item=item,
        key=AnswerKey(AnswerShape.SEVERAL, values),
        days=days,
        asked=asked,
        chooser=chooser.derive(item.id),
        parts=again,
    )
