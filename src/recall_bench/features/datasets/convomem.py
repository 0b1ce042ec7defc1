"""ConvoMem: conversations of a user with an assistant, and one question about them.

Six facts about the published files shape this one:

* An item has its own conversations; a test case mixes them with others, in one order for all its
  items. Either way each item is a scenario, so that no item's history helps another.
* The folder is the category of a question, one of six. The item's own `category` is its subject.
* There are no dates, only the order of the conversations. They are dated a day apart from `EPOCH`,
  which is arbitrary.
* Gold is text. Three quarters of it is a message word for word. Most of the rest is part of a
  message, without its opening or its end, and is matched as a part, as upstream's own check does.
* The rest is reworded. It belongs to the conversation of its own number, which is then evidence
  as a whole; if the numbers do not match, it is dropped.
* A text that occurs in several messages is evidence in all of them by its speaker.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Expects,
    Item,
    Scenario,
    Truth,
    Turn,
    compute_story_date,
)
from recall_bench.core.untrusted_json import (
    decode_untrusted_json,
    read_regular_file,
    refuse_deep_nesting,
)
from recall_bench.features.datasets.loading import (
    build_dialogue,
    list_json_files,
    load_file_by_file,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of the first conversation; the dataset has no dates."""

CATEGORIES = {
    "user_evidence": "user",
    "assistant_facts_evidence": "assistant-facts",
    "changing_evidence": "changing",
    "abstention_evidence": "abstention",
    "preference_evidence": "preference",
    "implicit_connection_evidence": "implicit-connection",
}
"""Our category by upstream's folder."""

_ABSTENTION = "abstention_evidence"
_QUESTIONS = ("core_benchmark/evidence_questions", "evidence_questions")
_MOST = 0.8
"""The share of the gold that a shorter message must contain to match; upstream's figure."""
_LEAST = 30
"""The shortest part of a message that counts as a match: `yes` is part of too many."""


class _ConvoMemMessage(msgspec.Struct):
    speaker: str
    text: str


class _ConvoMemQuote(msgspec.Struct):
    text: str
    speaker: str | None = None


class _ConvoMemConversation(msgspec.Struct):
    messages: list[_ConvoMemMessage]
    id: str | None = None


class _ConvoMemQuestion(msgspec.Struct):
    question: str
    answer: str
    message_evidences: list[_ConvoMemQuote]
    conversations: list[_ConvoMemConversation] = []
    category: str | None = None


class _ConvoMemBundle(msgspec.Struct):
    """A file of items, or one test case; its items are decoded on demand."""

    plain: list[msgspec.Raw] | None = msgspec.field(name="evidence_items", default=None)
    mixed: list[msgspec.Raw] | None = msgspec.field(name="evidenceItems", default=None)
    conversations: list[msgspec.Raw] | None = None


class _ConvoMemRow(NamedTuple):
    """One item of a file, with the history it is mixed into, if any."""

    number: int
    """Its number within the file, from 1."""
    item: msgspec.Raw
    history: list[msgspec.Raw] | None


_DatedConversation = tuple[int, _ConvoMemConversation]
"""A conversation and its story day."""


def load(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read a file of items or of test cases, or a folder of them: a scenario for each item.

    Of a whole download the items are read, not the test cases mixed from them.
    """
    refuse_corrections("convomem", layers)

    def build(path: Path, row: _ConvoMemRow) -> Scenario:
        try:
            return _build_scenario(_locate_source(path, data), row)
        except ValueError as error:
            raise Malformed(f"{path}, item {row.number}", str(error)) from error

    files = list_json_files(data, "ConvoMem's evidence_questions", _QUESTIONS, "**/*.json")
    return load_file_by_file(files, _read, build)


def _read(path: Path) -> list[_ConvoMemRow]:
    try:
        raw = read_regular_file(path)
        with refuse_deep_nesting():
            content = msgspec.json.decode(raw, type=_ConvoMemBundle | list[_ConvoMemBundle])
    except (OSError, ValueError) as error:
        raise Malformed(str(path), f"is not as ConvoMem has it ({error})") from error
    rows: list[tuple[msgspec.Raw, list[msgspec.Raw] | None]] = []
    for bundle in content if isinstance(content, list) else [content]:
        if bundle.plain is not None:
            rows += [(item, None) for item in bundle.plain]
        elif bundle.mixed is not None and bundle.conversations is not None:
            rows += [(item, bundle.conversations) for item in bundle.mixed]
        else:
            problem = "holds neither evidence_items nor evidenceItems with their conversations"
            raise Malformed(str(path), f"{problem}; name ConvoMem's evidence_questions")
    return [
        _ConvoMemRow(number, item, history) for number, (item, history) in enumerate(rows, start=1)
    ]


def _locate_source(path: Path, data: Path) -> tuple[str, ...]:
    """Return the file's place in upstream's tree, as far as known: category, size and name."""
    parts = path.absolute().parts
    named = [place for place, part in enumerate(parts[:-1]) if part in CATEGORIES]
    if named:
        return parts[named[-1] :]
    return path.relative_to(data).parts if path != data else (path.name,)


def _build_scenario(source: tuple[str, ...], row: _ConvoMemRow) -> Scenario:
    raw_question = decode_untrusted_json(row.item, _ConvoMemQuestion)
    dated = list(enumerate(_read_history(raw_question, row), start=1))
    if not dated:
        raise ValueError("has no conversation to remember")
    name = f"{'/'.join(source)}#{row.number}"
    key = source[0] if source[0] in CATEGORIES else raw_question.category
    if key is None:
        raise ValueError("has no category, and neither has its folder")
    if not raw_question.answer.strip():
        raise ValueError("has an empty answer")
    truth = Truth(
        reference=raw_question.answer,
        category=CATEGORIES.get(key, key),
        expects=Expects.ABSTAIN if key == _ABSTENTION else Expects.ANSWER,
        evidence=tuple(dict.fromkeys(_find_evidence(raw_question, dated))),
        source=name if source[0] == key else f"{key}: {name}",
    )
    return Scenario(
        # The id is opaque to systems: its source would reveal the category.
        id=sha256(f"convomem\0{name}".encode()).hexdigest()[:16],
        epoch=EPOCH,
        episodes=tuple(_build_episode(day, conversation) for day, conversation in dated),
        items=(Item(id="q1", text=raw_question.question, truth=truth, known_from=len(dated)),),
    )


def _read_history(asked: _ConvoMemQuestion, row: _ConvoMemRow) -> list[_ConvoMemConversation]:
    if row.history is None:
        return asked.conversations
    return [decode_untrusted_json(one, _ConvoMemConversation) for one in row.history]


def _build_episode(day: int, conversation: _ConvoMemConversation) -> Episode:
    if not conversation.messages:
        raise ValueError(f"conversation {day} holds no message")
    turns = tuple(Turn(speaker=one.speaker.lower(), text=one.text) for one in conversation.messages)
    return build_dialogue(f"session-{day}", day=day, at=compute_story_date(EPOCH, day), turns=turns)


def _find_evidence(asked: _ConvoMemQuestion, dated: list[_DatedConversation]) -> Iterator[Evidence]:
    own = [_find_conversation(one, dated) for one in asked.conversations] or dated
    for place, quote in enumerate(asked.message_evidences):
        places = list(_find_places(quote, own))
        if places:
            yield from places
        elif len(asked.conversations) == len(asked.message_evidences):
            yield Evidence(day=own[place][0])


def _find_conversation(
    conversation: _ConvoMemConversation, dated: list[_DatedConversation]
) -> _DatedConversation:
    for day, one in dated:
        if one.messages == conversation.messages:
            return day, one
    raise ValueError("has a conversation that is not in the history it is mixed into")


def _find_places(quote: _ConvoMemQuote, own: list[_DatedConversation]) -> Iterator[Evidence]:
    """Find every message with the quote, by the strictest comparison that finds one."""
    messages = [(day, turn, m) for day, one in own for turn, m in enumerate(one.messages)]
    places = [place for place in messages if place[2].text == quote.text]
    if not places:
        quoted = _normalise(quote.text)
        alike = [(place, _normalise(place[2].text)) for place in messages]
        places = [place for place, text in alike if text == quoted]
        places = places or [place for place, text in alike if _is_part(quoted, text)]
    if quote.speaker is not None:
        who = quote.speaker.lower()
        places = [place for place in places if place[2].speaker.lower() == who] or places
    for day, turn, message in places:
        yield Evidence(day=day, turn=turn, speaker=message.speaker.lower())


def _is_part(quoted: str, message: str) -> bool:
    if min(len(quoted), len(message)) < _LEAST:
        return False
    return quoted in message or (message in quoted and len(message) >= _MOST * len(quoted))


def _normalise(text: str) -> str:
    return " ".join(text.split()).casefold()
