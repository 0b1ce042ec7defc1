"""Answers to a scenario's questions whose marks are known by construction.

The texts are data (`audit_texts.yaml`). A class is here only if its label follows from how its
answers are made: the reference itself, with quotes or an invention added, another value in its
place, a refusal, a secret, an instruction to the judge. Answers that need a reader to label are in
files of marked answers, for `judge-lab answers`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Answer
from recall_bench.core.record import Record
from recall_bench.core.scenario import (
    NEGATIVE,
    Disclosure,
    Episode,
    Expects,
    Item,
    Scenario,
    StoryTime,
    order_categories,
)
from recall_bench.core.verdict import Exhibit
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.judges.audit_report import AuditClass, Labels
from recall_bench.text.sentences import read_sentences

_RIGHT: Labels = {"correctness": True, "completeness": True, "grounded": True}
_WRONG: Labels = {"correctness": False, "completeness": False, "grounded": None}
_GOOD_CLASSES = (AuditClass.RIGHT, AuditClass.PADDED, AuditClass.CLEAN_REFUSAL)
CLASS_LABELS: dict[AuditClass, Labels] = {
    **{kind: _RIGHT if kind in _GOOD_CLASSES else _WRONG for kind in AuditClass},
    AuditClass.EXTRA: {**_RIGHT, "grounded": False},
}
"""The labels of a whole class; an item may change some."""

_QUOTE_WORDS = range(9, 36)
"""The length, in words, of sentences that can be quoted alone."""
_QUOTES = 8
_DEPENDENT_OPENING = re.compile(
    r"(?:it|its|he|she|they|his|her|their|that|this|these|those|such|one|both|so|then|there|"
    r"and|but|or|neither|either|the same|the other|another|which|who)\b",
    re.IGNORECASE,
)
"""Openings that depend on the sentence before."""
_NEGATION = re.compile(r"\b(?:no|not|never|without|fail)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-z]{4,}|\d[\d.,:]*\d|\d")
_TOPIC = re.compile(r"(?<=[a-z] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})?")


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
    """How the answer was made, to trace a judge's weakness."""
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


def build_audit_set(scenario: Scenario, *, seed: int, per_class: int) -> tuple[AuditItem, ...]:
    """At most `per_class` answers of each class, in the order of the classes.

    The same scenario and seed give the same answers. Categories take turns, and within them recipes
    do, so that no text dominates a class. A class that the scenario's truths cannot support is left
    out: `find_missing_classes` names it.
    """
    if per_class < 1:
        raise UsageError(f"an audit needs at least one answer a class; got {per_class}")
    story = _QuotableHistory(scenario)
    writer = _Writer(story, seed)
    cases = [
        _AuditQuestion(item, scenario, Random(f"audit {scenario.id} {seed} {item.id}"))  # noqa: S311
        for item in scenario.items
        if item.known_from <= scenario.last_day
    ]
    items: list[AuditItem] = []
    for kind in AuditClass:
        order = _mix_categories(cases, Random(f"audit {scenario.id} {seed} {kind}"))  # noqa: S311
        drafts = {case.item.id: writer.write(kind, case) for case in order}
        for number, (case, draft) in enumerate(_draw_answers(order, drafts, per_class), start=1):
            items.append(
                AuditItem(
                    id=f"{scenario.id}/{kind.name.lower()}-{number:04}",
                    scenario=scenario.id,
                    item=case.item,
                    answer=draft.answer,
                    days=case.days,
                    asked_at=scenario.compute_date(case.days),
                    kind=kind,
                    recipe=draft.recipe,
                    labels={**CLASS_LABELS[kind], **draft.labels},
                )
            )
    return tuple(items)


def find_missing_classes(items: Iterable[AuditItem]) -> tuple[AuditClass, ...]:
    """The classes without any item."""
    present = {item.kind for item in items}
    return tuple(kind for kind in AuditClass if kind not in present)


@dataclass(frozen=True, slots=True)
class _Draft:
    """An answer, how it was made, and the labels that differ from those of its class."""

    recipe: str
    answer: str
    labels: Mapping[str, bool | None] = field(default_factory=dict)


class _AuditQuestion:
    """A question, the day it is asked, and its own source of chance."""

    def __init__(self, item: Item, scenario: Scenario, rng: Random) -> None:
        last = min(scenario.last_day, item.known_until or scenario.last_day)
        self.item = item
        self.truth = item.truth
        self.rng = rng
        self.days = rng.choice((item.known_from, rng.randint(item.known_from, last), last))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """Every string that gives away the answer or a part of it."""
        truth = self.truth
        facts = (word for fact in truth.facts for word in fact)
        bare = truth.reference.strip().rstrip(".")
        return tuple(dict.fromkeys((*truth.atoms, *truth.aliases, *facts, bare)))

    @cached_property
    def traces(self) -> tuple[str, ...]:
        """What an irrelevant sentence must not hold: values, and words of the reference."""
        truth = self.truth
        words = _WORD.findall(truth.reference)
        others = (*truth.stale, *truth.distractors, *truth.withheld, *truth.canaries)
        return tuple(dict.fromkeys((*self.answers, *others, *words)))

    @property
    def is_answerable(self) -> bool:
        return self.truth.is_answerable and self.truth.disclosure not in _GUARDED


_GUARDED = (Disclosure.REFUSE, Disclosure.PARTIAL)


class _QuotableHistory:
    """What the history says, and which of its sentences can be quoted beside the point."""

    def __init__(self, scenario: Scenario) -> None:
        self.items = scenario.items
        truths = [item.truth for item in scenario.items]
        self._closed = {session for truth in truths for session in truth.forbidden_sessions}
        self._secrets = {
            word.casefold() for truth in truths for word in (*truth.canaries, *truth.withheld)
        }
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._quotable: dict[int, list[str]] = {}

    @cached_property
    def _text(self) -> str:
        questions = (f"{item.text}\n{item.truth.reference}" for item in self.items)
        return "\n".join((*(e.text for e in self._episodes.values()), *questions)).casefold()

    def is_known(self, words: str) -> bool:
        """Whether the history or a question holds any of the words."""
        return any(word.casefold() in self._text for word in words.split())

    def list_asides(self, case: _AuditQuestion) -> list[str]:
        """Up to eight dated open sentences, known by then, that have nothing to do with it."""
        cited = {evidence.day for evidence in case.truth.evidence}
        days = [day for day in self._episodes if day <= case.days and day not in cited]
        quotes: dict[int, str] = {}
        for day in case.rng.sample(days, min(len(days), 6 * _QUOTES)):
            date = f"{self._episodes[day].at:%d %B %Y}".lstrip("0")
            # The date is quoted too, and its figures may be an answer.
            sentences = [] if _holds_any(date, case.traces) else self._list_quotable(day)
            sentences = [text for text in sentences if not _holds_any(text, case.traces)]
            if sentences:
                quotes[day] = f"{date}\0{case.rng.choice(sentences)}"
            if len(quotes) == _QUOTES:
                break
        return [quotes[day] for day in sorted(quotes)]

    def _list_quotable(self, day: int) -> list[str]:
        if day not in self._quotable:
            self._quotable[day] = [
                sentence.text
                for sentence in read_sentences(self._episodes[day])
                if sentence.session not in self._closed
                and len(sentence.text.split()) in _QUOTE_WORDS
                and sentence.text[0].isupper()
                and not _DEPENDENT_OPENING.match(sentence.text)
                and not any(secret in sentence.text.casefold() for secret in self._secrets)
            ]
        return self._quotable[day]


class _Padding(msgspec.Struct, frozen=True):
    opening: str
    line: str
    joint: str


class _Texts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of `audit_texts.yaml`."""

    frames: list[str]
    stale: list[str]
    ignorance: list[str]
    secrecy: list[str]
    denials: list[str]
    vague: list[str]
    silence: list[str]
    paddings: list[_Padding]
    inventions: list[str]
    names: list[str]
    places: list[str]
    leaks: list[str]
    injections: list[str]


class _Writer:
    """Writes every answer of a class to a question; none where the class does not apply."""

    def __init__(self, story: _QuotableHistory, seed: int) -> None:
        self._story = story
        self._seed = seed
        path = Path(__file__).with_name("audit_texts.yaml")
        self._texts = msgspec.convert(load_yaml(path), _Texts)

    def write(self, kind: AuditClass, case: _AuditQuestion) -> list[_Draft]:
        """The answers of one class, in random order, each once."""
        # Labels depend on these texts alone, so a class is written in one method.
        writers = {
            AuditClass.RIGHT: self._write_right,
            AuditClass.PADDED: lambda case: self._pad(case, self._write_right(case)),
            AuditClass.EXTRA: self._write_extra,
            AuditClass.CLEAN_REFUSAL: self._write_clean_refusal,
            AuditClass.VAGUE: self._write_vague,
            AuditClass.PADDED_VAGUE: lambda case: self._pad(case, self._write_vague(case)),
            AuditClass.NEAR_MISS: self._write_near_miss,
            AuditClass.SUPERSEDED: self._write_superseded,
            AuditClass.WRONG: self._write_wrong,
            AuditClass.FALSE_REFUSAL: self._write_false_refusal,
            AuditClass.NON_ANSWER: self._write_non_answer,
            AuditClass.LEAK: self._write_leak,
            AuditClass.INJECTION: self._write_injection,
        }
        drafts = list({draft.answer: draft for draft in writers[kind](case)}.values())
        case.rng.shuffle(drafts)
        return drafts

    def _fill_frames(self, frames: Sequence[str], text: str, name: str) -> Iterator[_Draft]:
        sentence = text if text.endswith((".", "!", "?")) else f"{text}."
        for frame in frames:
            yield _Draft(f"{name}: {frame}", frame.replace("{v}", sentence))

    def _write_right(self, case: _AuditQuestion) -> Iterator[_Draft]:
        if case.truth.is_answerable:
            yield _Draft("reference without a stop", case.truth.reference.rstrip("."))
            yield from self._fill_frames(self._texts.frames, case.truth.reference, "reference")

    def _pad(self, case: _AuditQuestion, answers: Iterable[_Draft]) -> Iterator[_Draft]:
        """An answer at each place among true sentences about other things."""
        drafts = list(answers)
        asides = self._story.list_asides(case) if drafts and case.is_answerable else []
        if len(asides) < _QUOTES // 2:
            return
        for place, start in (("first", 0), ("in the middle", len(asides) // 2), ("last", None)):
            padding, draft = case.rng.choice(self._texts.paddings), case.rng.choice(drafts)
            lines = []
            for aside in asides:
                date, _, text = aside.partition("\0")
                lines.append(padding.line.format(date=date, text=text))
            parts = [lines[:start], lines[start:] if start is not None else []]
            before, after = (padding.joint.join((padding.opening, *p)) if p else "" for p in parts)
            text = "\n\n".join(filter(None, (before, f"To your question: {draft.answer}", after)))
            yield _Draft(f"answer {place}", text, draft.labels)

    def _write_extra(self, case: _AuditQuestion) -> Iterator[_Draft]:
        """Right, with a detail that no record has and that is no answer of the question's kind."""
        if not case.is_answerable:
            return
        has_number = any(letter.isdigit() for letter in case.truth.reference)
        asks_name = case.item.text.lower().startswith(("who", "which", "where"))
        details = {
            "name": case.rng.choice(self._texts.names),
            "place": case.rng.choice(self._texts.places),
            "code": f"QZX-{case.rng.randint(10_000, 99_999)}",
            "money": f"${case.rng.randint(13_000, 99_000):,}.{case.rng.randint(11, 98)}",
        }
        for slot, detail in details.items():
            is_same_kind = asks_name if slot in {"name", "place"} else has_number
            if is_same_kind or self._story.is_known(detail):
                continue
            for frame in (frame for frame in self._texts.inventions if f"{{{slot}}}" in frame):
                base = case.truth.reference.rstrip(". ")
                addition = frame.replace(f"{{{slot}}}", detail)
                yield _Draft(f"invented {slot}: {frame}", f"{base}. {addition}")

    def _write_clean_refusal(self, case: _AuditQuestion) -> Iterator[_Draft]:
        match case.truth.expects:
            case Expects.WITHHOLD:
                texts = self._texts.secrecy
            case Expects.ABSTAIN:
                # A denial is ambiguous where the question is about something not done.
                texts = [] if _NEGATION.search(case.item.text) else self._texts.denials
            case _:
                return
        yield _Draft("reference", case.truth.reference)
        yield from (_Draft(text, text) for text in texts)

    def _write_vague(self, case: _AuditQuestion) -> Iterator[_Draft]:
        """On the topic, without anything that was asked for."""
        if not case.is_answerable and case.truth.expects is not Expects.ABSTAIN:
            return
        match = _TOPIC.search(case.item.text)
        topic = "that matter" if match is None or _holds_any(match[0], case.answers) else match[0]
        for text in self._texts.vague:
            filled = text.replace("{t}", topic)
            yield _Draft(text, filled[0].upper() + filled[1:])

    def _write_near_miss(self, case: _AuditQuestion) -> Iterator[_Draft]:
        """The one value of the reference with another number in it."""
        truth = case.truth
        if not case.is_answerable or len(truth.atoms) != 1:
            return
        value = truth.atoms[0]
        match = _NUMBER.search(value)
        if match is None:
            return
        last = int(match[0][-1])
        for other in {(last + 1) % 10, (last + 3) % 10, (last + 7) % 10}:
            changed = f"{value[: match.end() - 1]}{other}{value[match.end() :]}"
            if not _holds_any(changed, case.answers):
                yield from self._fill_frames(self._texts.frames, changed, "a digit changed")

    def _write_superseded(self, case: _AuditQuestion) -> Iterator[_Draft]:
        frames = [*self._texts.stale, *self._texts.frames]
        for value in case.truth.stale if case.is_answerable else ():
            if not _holds_any(value, case.answers) and not _is_held(value, case.answers):
                yield from self._fill_frames(frames, value, "superseded value")

    def _write_wrong(self, case: _AuditQuestion) -> Iterator[_Draft]:
        """A plausible wrong value, or the answer to another question of the category."""
        truth = case.truth
        if not case.is_answerable or truth.category == NEGATIVE:
            return
        others = [value for value in truth.distractors if value not in truth.stale]
        recipe = "distractor"
        if not others:
            recipe = "answer to another question"
            words = {
                word.casefold() for word in _WORD.findall(f"{truth.reference} {case.item.text}")
            }
            others = [
                item.truth.reference
                for item in self._story.items
                if item.truth.category == truth.category
                and item.truth.is_answerable
                and item.truth.disclosure is None
                and words.isdisjoint(map(str.casefold, _WORD.findall(item.truth.reference)))
            ]
        for value in case.rng.sample(others, min(len(others), 3)):
            if not _holds_any(value, case.answers) and not _is_held(value, case.answers):
                yield from self._fill_frames(self._texts.frames, value, recipe)

    def _write_false_refusal(self, case: _AuditQuestion) -> Iterator[_Draft]:
        if case.is_answerable:
            # To know nothing invents nothing; what a claim of secrecy is, readers dispute.
            yield from (_Draft(text, text, {"grounded": True}) for text in self._texts.ignorance)
            yield from (_Draft(text, text) for text in self._texts.secrecy)

    def _write_non_answer(self, case: _AuditQuestion) -> Iterator[_Draft]:
        if not case.is_answerable and case.truth.expects is not Expects.ABSTAIN:
            return
        yield from (_Draft(text.strip() or "empty", text) for text in self._texts.silence)
        if not _holds_any(case.item.text, case.answers):
            yield _Draft("echo", f"You are asking: {case.item.text}")

    def _write_leak(self, case: _AuditQuestion) -> Iterator[_Draft]:
        if case.truth.disclosure not in _GUARDED and case.truth.expects is not Expects.WITHHOLD:
            return
        for secret in (*case.truth.withheld, *case.truth.canaries):
            for frame in self._texts.leaks:
                yield _Draft(f"secret told: {frame}", frame.replace("{v}", secret))

    def _write_injection(self, case: _AuditQuestion) -> Iterator[_Draft]:
        """A worthless answer that instructs the judge."""
        bases = [*self._write_wrong(case), *self._write_vague(case), *self._write_leak(case)]
        if case.is_answerable:
            bases.append(_Draft("ignorance", "I don't know."))
        for words in self._texts.injections if bases else ():
            base = case.rng.choice(bases)
            yield _Draft(words, words.replace("{answer}", base.answer).strip())


def _holds_any(text: str, words: Iterable[str]) -> bool:
    """Whether any of the words occur in the text as whole words."""
    lowered = text.casefold()
    return any(
        word.casefold() in lowered
        and re.search(rf"(?<![\w-]){re.escape(word.casefold())}(?![\w-])", lowered) is not None
        for word in words
        if word
    )


def _is_held(value: str, texts: Iterable[str]) -> bool:
    return any(_holds_any(text, [value.rstrip(".")]) for text in texts)


def _mix_categories(cases: Sequence[_AuditQuestion], rng: Random) -> list[_AuditQuestion]:
    """The cases with categories taking turns, each in random order."""
    groups: dict[str, list[_AuditQuestion]] = defaultdict(list)
    for case in rng.sample(cases, len(cases)):
        groups[case.truth.category].append(case)
    order = [groups[name] for name in order_categories(groups)]
    longest = max(map(len, order), default=0)
    return [group[i] for i in range(longest) for group in order if i < len(group)]


def _draw_answers(
    cases: Sequence[_AuditQuestion], drafts: Mapping[str, list[_Draft]], limit: int
) -> list[tuple[_AuditQuestion, _Draft]]:
    """One answer for each case, then a second, until there are enough; rare recipes come first."""
    uses: Counter[str] = Counter()
    answers: list[tuple[_AuditQuestion, _Draft]] = []
    while len(answers) < limit and any(drafts.values()):
        for case in cases:
            ways = drafts[case.item.id]
            if ways and len(answers) < limit:
                draft = min(ways, key=lambda way: uses[way.recipe])
                ways.remove(draft)
                uses[draft.recipe] += 1
                answers.append((case, draft))
    return answers
