"""Checks of a written edition's sources: every violation with its file and line."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from recall_bench.core.errors import BenchError
from recall_bench.core.languages import (
    LANGUAGE_CODES,
    Language,
    count_words,
    get_language,
    is_denial,
    is_spelled_in,
)
from recall_bench.core.scenario import CATEGORIES, DIFFICULTIES
from recall_bench.generate.written.derivation import UnderivableAnswer, parse_derivation
from recall_bench.generate.written.dialogue_checks import find_dialogue_faults, find_lost_answers
from recall_bench.generate.written.question_entries import DERIVED, EntryBuilder, find_repeated
from recall_bench.generate.written.renderer import render_edition
from recall_bench.generate.written.slots import (
    FactState,
    SlotError,
    blank_slots,
    find_slots,
    parse_state,
)
from recall_bench.generate.written.sources import (
    KINDS,
    MANNERS,
    SourcePlace,
    WrittenDay,
    WrittenQuestion,
    WrittenSources,
)
from recall_bench.generate.written.values import ValueProblem

_DIGITS = re.compile(r"(?<![\w.,:/-])[\w.,:/-]*\d[\w.,:/%-]*")
_HEADING = re.compile(r"^(#+) +(.*)$", re.MULTILINE)
_WORDS = (40, 900)
"""The number of words a day may have."""


@dataclass(frozen=True, slots=True)
class SourceFinding:
    """One violation."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def check_sources(sources: WrittenSources) -> list[SourceFinding]:
    """Everything that is wrong with the sources, in the order of the files."""
    if sources.story.language not in LANGUAGE_CODES:
        known = ", ".join(LANGUAGE_CODES)
        message = f"language: {sources.story.language} is not one of {known}"
        return [SourceFinding("story.yaml", message)]
    findings = [*_check_story(sources)]
    for day in sources.days:
        findings += _check_text(day, sources)
    for dialogue in sources.dialogues:
        findings += _check_values(dialogue, sources)
    findings += [SourceFinding(*fault) for fault in find_dialogue_faults(sources)]
    findings += _check_definitions(sources)
    findings += _check_plan(sources)
    findings += _check_sessions(sources)
    findings += _check_wordings(sources)
    if all(state in sources.definitions for state in _list_used(sources)):
        findings += _check_questions(sources)
    return findings


def _list_used(sources: WrittenSources) -> Iterator[FactState]:
    """The states that the texts name; without a value for each, nothing can be rendered."""
    slots = [slot for _, slot in sources.iterate_slots()]
    for slot in (*slots, *(slot for day in sources.dialogues for slot in day.slots)):
        if slot.state is not None:
            yield slot.state
            if slot.definition is not None:
                yield from (term for _, term in slot.definition.terms)


def _check_story(sources: WrittenSources) -> Iterator[SourceFinding]:
    sessions = {session.id for session in sources.persona.sessions}
    for key, fact in sources.story.facts.items():
        where = f"story.yaml, facts, {key}"
        if parse_state(key) != FactState(key):
            yield SourceFinding(where, "a key is lower-case words joined by -")
        days = [state.day for state in fact.states]
        if days != sorted(days):
            yield SourceFinding(where, "its states are not in the order of their days")
        for state in fact.states:
            if state.told not in MANNERS:
                yield SourceFinding(where, f"told: {state.told} is not one of {', '.join(MANNERS)}")
            if state.session not in sessions:
                yield SourceFinding(where, f"the persona has no session {state.session}")
    for arc in sources.story.arcs:
        if missing := {"id", "type", "title", "description", "startDay", "endDay"} - set(arc):
            yield SourceFinding("story.yaml, arcs", f"an arc lacks {', '.join(sorted(missing))}")
        if arc.get("type") == "correction" and not {"wrongDay", "correctedDay"} <= set(arc):
            yield SourceFinding(
                f"story.yaml, arc {arc.get('id')}", "a correction has wrongDay and correctedDay"
            )


def _check_text(day: WrittenDay, sources: WrittenSources) -> Iterator[SourceFinding]:
    yield from _check_values(day, sources)
    sessions = {session.id for session in sources.persona.sessions}
    headings = list(_HEADING.finditer(day.text))
    if not headings or not headings[0][2].startswith("session: "):
        yield SourceFinding(f"{day.file}, line 1", "the day does not begin with # session: …")
    for heading in headings:
        name = heading[2].strip().removeprefix("session: ")
        if len(heading[1]) == 1 and name not in sessions:
            yield SourceFinding(
                str(day.locate(heading.start())), f"the persona has no session {name}"
            )
    words = count_words(day.text, get_language(sources.story.language))
    if not _WORDS[0] <= words <= _WORDS[1]:
        yield SourceFinding(f"{day.file}, line 1", f"the day has {words} words")
    if (day.day - 1) % 7 in sources.story.off:
        yield SourceFinding(f"{day.file}, line 1", "this weekday is off, by story.yaml")


def _check_values(day: WrittenDay, sources: WrittenSources) -> Iterator[SourceFinding]:
    """Slots can be read, and every figure and month stands in one."""
    for error in day.errors:
        yield SourceFinding(str(day.locate(error.start)), error.message)
    plain = blank_slots(day.text)
    for word in sources.story.scenery:
        plain = plain.replace(word, " " * len(word))
    months = _build_month_pattern(sources.story.language)
    for found in (*_DIGITS.finditer(plain), *months.finditer(plain)):
        yield SourceFinding(
            str(day.locate(found.start())),
            f"“{found[0]}” stands outside a slot; write a slot, or words if it is not a value",
        )


@cache
def _build_month_pattern(language: str) -> re.Pattern[str]:
    """The names of months, which stand in slots alone."""
    if language == "ja":
        return re.compile(r"[一二三四五六七八九十]+月")
    months = get_language(language).months
    if language != "en":
        return re.compile(rf"(?<!\w)(?:{'|'.join(months)})(?!\w)")
    others = "|".join(month for month in months if month not in ("March", "May"))
    return re.compile(rf"\b(?:{others})\b|\bMarch\b(?! (?:on|in|to|past)\b)")


def _check_definitions(sources: WrittenSources) -> Iterator[SourceFinding]:
    """Each state is defined once, before it is used."""
    planned = {
        FactState(key, number): state
        for key, fact in sources.story.facts.items()
        for number, state in enumerate(fact.states, start=1)
    }
    seen: set[FactState] = set()
    for day, slot in sources.iterate_slots():
        if slot.state is None:
            continue
        where = str(day.locate(slot.start))
        if slot.definition is not None:
            if slot.state in planned:
                yield SourceFinding(where, f"{slot.state} is planned in story.yaml; leave =… out")
            elif slot.state in seen:
                yield SourceFinding(where, f"{slot.state} is defined a second time")
            elif slot.state.number > 1 and FactState(slot.state.key, slot.state.number - 1) not in (
                seen | set(planned)
            ):
                yield SourceFinding(where, f"{slot.state} has no state before it")
            for _, term in slot.definition.terms:
                if term not in seen and term not in planned:
                    yield SourceFinding(where, f"{term} is defined nowhere before")
        elif slot.state in planned:
            if day.day < planned[slot.state].day:
                yield SourceFinding(
                    where, f"{slot.state} is due on day {planned[slot.state].day}, not before"
                )
        elif slot.state not in seen:
            yield SourceFinding(where, f"{slot.state} has no value here or before")
        seen.add(slot.state)


def _check_plan(sources: WrittenSources) -> Iterator[SourceFinding]:
    """Every planned state is stated on its day, in its session."""
    stated = {
        (slot.state, day.day, day.find_session(slot.start))
        for day, slot in sources.iterate_slots()
        if slot.state is not None
    }
    written = {day.day for day in sources.days}
    for key, fact in sources.story.facts.items():
        for number, state in enumerate(fact.states, start=1):
            due = FactState(key, number)
            if state.day not in written:
                yield SourceFinding(
                    "story.yaml", f"{due} is due on day {state.day}, which has no file"
                )
            elif (due, state.day, state.session) not in stated:
                yield SourceFinding(
                    f"days/{state.day:04}.md",
                    f"{due} ({state.value}) is due here in {state.session} and is not stated",
                )


def _check_sessions(sources: WrittenSources) -> Iterator[SourceFinding]:
    """What is first stated in an isolated session is stated in no other before it is opened."""
    opened: dict[str, int] = {}
    for _, question in sources.questions:
        if question.opened is not None:
            for part in question.derive.split()[1:]:
                if state := parse_state(part):
                    opened[state.key] = min(question.opened, opened.get(state.key, question.opened))
    homes: dict[FactState, str] = {}
    for day, slot in sources.iterate_slots():
        if slot.state is None:
            continue
        session = day.find_session(slot.start) or ""
        home = homes.setdefault(slot.state, session)
        until = opened.get(slot.state.key)
        is_closed = home in sources.isolated and (until is None or day.day < until)
        if is_closed and session != home:
            yield SourceFinding(
                str(day.locate(slot.start)),
                f"{slot.state} was stated in the isolated session {home}; no question says that it "
                f"is opened by day {day.day}",
            )


def _check_wordings(sources: WrittenSources) -> Iterator[SourceFinding]:
    for place, question in sources.questions:
        yield from (
            SourceFinding(str(place), message)
            for message in _list_question_faults(question, sources.story.language)
        )
    for wording in find_repeated(
        f"{question.session} {question.ask} {question.from_}" for _, question in sources.questions
    ):
        yield SourceFinding("questions", f"asked twice: {wording}")


def _list_question_faults(question: WrittenQuestion, told_in: str) -> Iterator[str]:
    if question.language not in (None, told_in, "en"):
        yield f"language: {question.language} is neither {told_in} nor en"
        return
    for name, value, known in (
        ("kind", question.kind, KINDS),
        ("category", question.category, CATEGORIES),
        ("difficulty", question.difficulty, DIFFICULTIES),
        ("expects", question.expects, ("answer", "refuse", "partial")),
    ):
        if value not in known:
            yield f"{name}: {value} is not one of {', '.join(known)}"
    texts = [question.answer, *(question.atoms or ()), *question.aliases]
    texts += [*(question.stale or ()), *question.distractors]
    for text in texts:
        plain = text.replace(DERIVED, "")
        is_wrong_value = text in question.distractors
        number = None if is_wrong_value else _DIGITS.search(blank_slots(plain))
        if number and not _is_counted(question):
            yield f"“{number[0]}” in {text!r} stands outside a slot; write {DERIVED} or a slot"
        for slot in find_slots(plain):
            if isinstance(slot, SlotError):
                yield slot.message
            elif slot.definition is not None:
                yield f"{text!r}: a question defines no value"
    if re.search(r"\bday \d", question.ask):
        yield "the question names a story day; name the date or the event"
    yield from _list_derivation_faults(question, get_language(question.language or told_in))


def _is_counted(question: WrittenQuestion) -> bool:
    """Whether its answer is a number that no seed changes."""
    return question.derive.split()[0] in ("count", "days")


def _list_derivation_faults(question: WrittenQuestion, language: Language) -> Iterator[str]:
    try:
        form = parse_derivation(question.derive).form
    except UnderivableAnswer as problem:
        yield str(problem)
        return
    if form in ("absent", "unknown", "no") and not is_denial(question.answer, language):
        usual = ", ".join(language.denials[:5])
        yield f"derive {form}: begin the answer with a denial, such as {usual}"
    if form == "yes" and not question.answer.startswith(language.yes):
        yield f"derive yes: begin the answer with {language.yes[0]}"
    if form == "secret" and question.expects == "answer":
        yield "derive secret: say expects: refuse or partial"
    if question.expects == "partial" and not question.atoms:
        yield "expects partial: give the atoms of what may be said"


def _check_questions(sources: WrittenSources) -> Iterator[SourceFinding]:
    try:
        edition = render_edition(sources)
    except (BenchError, ValueProblem) as problem:
        yield SourceFinding("days", f"cannot be rendered: {problem}")
        return
    builder = EntryBuilder(edition)
    last = sources.story.days
    places: dict[str, SourcePlace] = {}
    entries = []
    for number, (place, question) in enumerate(sources.questions, start=1):
        try:
            entry = builder.build(number, question)
        except (UnderivableAnswer, ValueProblem) as problem:
            yield SourceFinding(str(place), str(problem))
            continue
        entries.append(entry)
        if (other := places.setdefault(entry["id"], place)) is not place:
            yield SourceFinding(str(place), f"the id {entry['id']} is that of {other} too")
        first, until = entry["answerable_from"], entry["irrelevant_after"]
        if first > last:
            yield SourceFinding(str(place), f"answerable only from day {first}")
        if until is not None and until < first:
            yield SourceFinding(str(place), f"answerable from day {first}, but only until {until}")
        for right in set(entry["atoms"] or ()) & set(entry["distractors"] or ()):
            yield SourceFinding(str(place), f"the distractor {right!r} is right")
        if question.derive.startswith("order ") and question.atoms is not None:
            yield from _check_order(str(place), builder.list_order_faults(question, entry))
        answer = entry["answer"]
        language = get_language(question.language or sources.story.language)
        for atom in entry["atoms"] or ():
            is_given = question.expects != "answer" or question.atoms is not None
            if not is_given and not _holds(answer, atom, language):
                yield SourceFinding(
                    str(place),
                    f"the answer “{answer}” does not hold {atom!r}, which follows from "
                    f"{question.derive!r}; mend one, or give the atoms",
                )
    for fault in find_lost_answers(edition, entries):
        yield SourceFinding(*fault)


def _check_order(where: str, problems: Iterable[str]) -> Iterator[SourceFinding]:
    for problem in problems:
        yield SourceFinding(
            where, f"derive order: {problem}; give one atom for each fact, from first to last"
        )


def _holds(answer: str, atom: str, language: Language) -> bool:
    """Whether an answer holds an atom: all its words, or a number in figures or spelled out."""
    low = answer.casefold()
    if atom.casefold() in low:
        return True
    if atom.isdigit() or not language.is_spaced:
        return atom.isdigit() and is_spelled_in(int(atom), answer, language)
    words = re.findall(r"\w+", atom.casefold())
    return all(re.search(rf"\b{re.escape(word)}", low) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """What the sources hold."""

    days: int
    words: int
    slots: int
    facts: int
    revised: int
    """Facts with three or more states."""
    kinds: Counter[str]
    categories: Counter[str]


def count_sources(sources: WrittenSources) -> SourceCounts:
    """Count days, words, slots, facts and questions."""
    states = Counter(state.key for state in sources.definitions)
    language = get_language(sources.story.language)
    return SourceCounts(
        days=len(sources.days),
        words=sum(count_words(day.text, language) for day in sources.days),
        slots=sum(1 for _ in sources.iterate_slots()),
        facts=len(states),
        revised=sum(1 for count in states.values() if count > 2),
        kinds=Counter(question.kind for _, question in sources.questions),
        categories=Counter(question.category for _, question in sources.questions),
    )
