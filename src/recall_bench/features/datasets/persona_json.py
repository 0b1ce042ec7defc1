"""The simple persona JSON of the harness that scores snippets against documents.

A file is one persona: dated sessions of messages, and questions with the wordings of their answer.
Its own harness loads it unchecked; here every deviation is an error with its place. Its own
scoring gets three things wrong:

* The aliases of an adversarial question are the trap: related facts that a careless answer names.
  They are never facts to find. Some are wordings of the right denial ("no cat", "does not have"):
  an alias that denies, or that occurs in the answer, is left out.
* A multi-hop question has several facts, and its aliases are one flat list, of which its harness
  accepts any. If all occur in the answer, they are its parts, and each is a fact to find; a part
  of another alias is a wording of it, and the whole answer is no part. Otherwise they are wordings
  of one fact. A list of lists names the facts, one inner list each.
* `source_session` was never used. It is the evidence: whole sessions, or `none`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Literal

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Episode, Evidence, Expects, Item, Scenario, Truth, Turn
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.features.datasets.loading import build_dialogue, refuse_corrections
from recall_bench.text.words import contains_phrase, normalise_words

MULTI_HOP = "multi-hop"
ADVERSARIAL = "adversarial"

Category = Literal["single-hop", "multi-hop", "temporal", "adversarial", "open-domain"]

NOWHERE = "none"
"""The source of an answer without a session."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_DENIALS = frozenset(
    "no not none never nothing nobody neither nor without cannot cant dont doesnt didnt isnt arent"
    " wasnt werent hasnt havent hadnt wont wouldnt couldnt".split()
)
"""Words that deny, normalised as in `core.words`."""


class _PersonaJsonMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    role: Literal["user", "assistant"]
    content: str


class _PersonaJsonSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    session_id: str
    date: str
    messages: list[_PersonaJsonMessage]


class _PersonaJsonQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    category: Category
    question: str
    answer: str
    answer_aliases: list[str | list[str]] | None = None
    source_session: str | None = None
    note: str | None = None


class _PersonaJson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    persona_id: str
    sessions: list[_PersonaJsonSession]
    questions: list[_PersonaJsonQuestion]
    description: str | None = None


def load(path: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read one persona's file, or all `*.json` in a folder: a scenario for each persona."""
    refuse_corrections("persona-json", layers)
    paths: dict[str, Path] = {}
    scenarios = []
    for file in _list_files(path):
        scenario = _PersonaJsonReader(file).build_scenario()
        if scenario.id in paths:
            raise Malformed(
                f"{file}, persona_id", f"{scenario.id!r} is used in {paths[scenario.id]} already"
            )
        paths[scenario.id] = file
        scenarios.append(scenario)
    return scenarios


def _list_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"there is no {path}; name a persona's JSON file or a folder of them")
    if files := sorted(path.glob("*.json")):
        return files
    raise UsageError(f"{path} holds no .json file; name a persona's file or a folder of them")


class _PersonaJsonReader:
    """Reads one file; its errors name the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._persona = decode_untrusted_json(read_regular_file(path), _PersonaJson)
        except msgspec.ValidationError as error:
            raise Malformed(str(path), f"is not a persona: {error}") from error
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Malformed(str(path), f"cannot be read as JSON ({error})") from error

    def build_scenario(self) -> Scenario:
        """Build the persona's story and questions."""
        persona = self._persona
        self._check_text("persona_id", persona.persona_id)
        self._check_distinct(
            "sessions", "session_id", [session.session_id for session in persona.sessions]
        )
        self._check_distinct("questions", "id", [question.id for question in persona.questions])
        if not persona.sessions:
            raise self._make_error("sessions", "there are none")
        dated = [self._parse_date(number) for number in range(len(persona.sessions))]
        order = sorted(range(len(dated)), key=dated.__getitem__)
        days = {persona.sessions[place].session_id: day for day, place in enumerate(order, start=1)}
        episodes = tuple(
            self._build_episode(place, day, dated[place])
            for day, place in enumerate(order, start=1)
        )
        return Scenario(
            id=persona.persona_id,
            epoch=episodes[0].at.date(),
            episodes=episodes,
            items=tuple(self._build_item(number, days) for number in range(len(persona.questions))),
        )

    def _parse_date(self, number: int) -> date:
        written = self._persona.sessions[number].date
        try:
            if _DAY.match(written):
                return date.fromisoformat(written)
        except ValueError:
            pass
        raise self._make_error(
            f"sessions[{number}].date", f"{written!r} is not a day as YYYY-MM-DD"
        )

    def _build_episode(self, place: int, day: int, on: date) -> Episode:
        messages = self._persona.sessions[place].messages
        if not messages:
            raise self._make_error(f"sessions[{place}].messages", "there are none")
        for number, message in enumerate(messages):
            self._check_text(f"sessions[{place}].messages[{number}].content", message.content)
        turns = tuple(Turn(speaker=message.role, text=message.content) for message in messages)
        return build_dialogue(
            f"session-{day:03}", day=day, at=datetime.combine(on, time()), turns=turns
        )

    def _build_item(self, number: int, days: Mapping[str, int]) -> Item:
        raw_question = self._persona.questions[number]
        place = f"questions[{number}]"
        self._check_text(f"{place}.question", raw_question.question)
        self._check_text(f"{place}.answer", raw_question.answer)
        listed = self._read_aliases(f"{place}.answer_aliases", raw_question)
        evidence = tuple(self._find_evidence(f"{place}.source_session", raw_question, days))
        is_trap = raw_question.category == ADVERSARIAL
        facts = () if is_trap else _collect_facts(raw_question, listed)
        return Item(
            id=f"q{number:03}",
            text=raw_question.question,
            truth=Truth(
                reference=raw_question.answer,
                category=raw_question.category,
                expects=Expects.ABSTAIN if is_trap else Expects.ANSWER,
                evidence=evidence,
                aliases=tuple(_list_aliases(raw_question, facts)),
                distractors=tuple(_find_traps(raw_question, listed)) if is_trap else (),
                facts=facts,
                source=raw_question.id,
            ),
            known_from=len(days),
        )

    def _read_aliases(self, place: str, asked: _PersonaJsonQuestion) -> list[tuple[str, ...]]:
        """Return the aliases as lists of wordings: each inner list, or the flat list."""
        aliases = asked.answer_aliases
        if aliases is None:
            if not normalise_words(asked.answer):
                raise self._make_error(
                    place, f"the answer {asked.answer!r} needs a wording in words"
                )
            return []
        flat = [alias for alias in aliases if isinstance(alias, str)]
        if flat and len(flat) < len(aliases):
            raise self._make_error(place, "mixes wordings and lists of them")
        listed = [tuple(flat)] if flat else [tuple(wordings) for wordings in aliases]
        if not listed or not all(listed):
            raise self._make_error(
                place, "is empty; leave it out, and the answer is its only wording"
            )
        for wording in (one for group in listed for one in group):
            if not normalise_words(wording):
                raise self._make_error(place, f"{wording!r} holds no word to look for")
        return [tuple(dict.fromkeys(wordings)) for wordings in listed]

    def _find_evidence(
        self, place: str, asked: _PersonaJsonQuestion, days: Mapping[str, int]
    ) -> Iterator[Evidence]:
        source = asked.source_session
        if source is None or source.strip() == NOWHERE:
            return
        for name in dict.fromkeys(part.strip() for part in source.split(",")):
            if name not in days:
                raise self._make_error(place, f"no session is named {name!r}")
            yield Evidence(day=days[name])

    def _check_distinct(self, place: str, key: str, names: Sequence[str]) -> None:
        for number, name in enumerate(names):
            self._check_text(f"{place}[{number}].{key}", name)
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise self._make_error(place, f"two have the {key} {twice[0]!r}")

    def _check_text(self, place: str, text: str) -> None:
        if not text.strip():
            raise self._make_error(place, "is empty")

    def _make_error(self, place: str, problem: str) -> Malformed:
        return Malformed(f"{self._path}, {place}", problem)


def _collect_facts(
    asked: _PersonaJsonQuestion, listed: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Return the facts of a complete answer, each with its wordings."""
    if not listed:
        return ((asked.answer,),)
    is_flat = asked.answer_aliases is not None and isinstance(asked.answer_aliases[0], str)
    if asked.category != MULTI_HOP or not is_flat:
        return tuple(listed)
    whole = normalise_words(asked.answer)
    parts = [one for one in listed[0] if normalise_words(one) != whole]
    if len(parts) > 1 and all(contains_phrase(asked.answer, part) for part in parts):
        return tuple(_group_parts(parts))
    return tuple(listed)


def _list_aliases(asked: _PersonaJsonQuestion, facts: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """List other wordings of the whole answer; none if it has several facts."""
    return (one for fact in facts if len(facts) == 1 for one in fact if one != asked.answer)


def _group_parts(parts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Group the parts, longest first, each with the parts it contains."""
    groups: list[list[str]] = []
    for part in sorted(parts, key=lambda one: -len(normalise_words(one))):
        home = next((group for group in groups if contains_phrase(group[0], part)), None)
        if home is None:
            groups.append([part])
        else:
            home.append(part)
    return map(tuple, groups)


def _find_traps(asked: _PersonaJsonQuestion, listed: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Find the aliases that name the trap."""
    for wording in (one for group in listed for one in group):
        if _DENIALS.isdisjoint(normalise_words(wording)) and not contains_phrase(
            asked.answer, wording
        ):
            yield wording
