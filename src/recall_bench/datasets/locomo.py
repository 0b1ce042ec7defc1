"""LoCoMo: ten long chats between two friends, and what was asked about them.

Five facts about the upstream file shape this one:

* It numbers its categories and never names them; a test lets the questions vouch for our names.
* A fifth of its turns share a photo that is known by its caption alone, and two fifths of the
  questions cite such a turn. A caption is part of what was said.
* Nine of its evidence references are misspelt. `_ERRATA` mends those whose meaning is plain and
  drops the three that name no turn.
* Category 5 asks for what never happened: its `adversarial_answer` is the trap, not the truth.
* Sessions are keys of one mapping, `session_10` among them, and some dates have no session.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from recall_bench.core.history import Episode, Turn
from recall_bench.core.question import Evidence, Expects, Item, Scenario, Truth
from recall_bench.datasets.public import PublicDataset
from recall_bench.errors import Malformed, UsageError

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

NOT_MENTIONED = "That was not mentioned in the conversation."
"""The right answer to whatever category 5 asks."""

_SPOKEN = "%I:%M %p on %d %B, %Y"
_PLACE = re.compile(r"D(\d+):(\d+)\Z")
_SESSION = re.compile(r"session_(\d+)\Z")

_ERRATA: dict[tuple[str, str], tuple[str, ...]] = {
    ("conv-26", "D8:6; D9:17"): ("D8:6", "D9:17"),
    ("conv-42", "D10:19"): (),
    ("conv-42", "D"): (),
    ("conv-43", "D:11:26"): ("D11:26",),
    ("conv-47", "D4:36"): (),
    ("conv-49", "D9:1 D4:4 D4:6"): ("D9:1", "D4:4", "D4:6"),
    ("conv-49", "D22:1 D22:2 D9:10 D9:11"): ("D22:1", "D22:2", "D9:10", "D9:11"),
    ("conv-49", "D21:18 D21:22 D11:15 D11:19"): ("D21:18", "D21:22", "D11:15", "D11:19"),
    ("conv-50", "D30:05"): ("D30:5",),
}
"""By conversation and reference as written: the turns that are meant."""


def load(path: Path) -> Iterator[Scenario]:
    """Read `locomo10.json`: a scenario for each conversation, an episode for each session."""
    try:
        conversations = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; name the locomo10.json you have") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed(str(path), f"cannot be read as JSON ({error})") from error
    for number, raw in enumerate(conversations):
        try:
            yield _scenario(raw)
        except (KeyError, TypeError, ValueError) as error:
            name = f"{path}, conversation {number + 1}"
            raise Malformed(name, f"is not as LoCoMo has it ({error!r})") from error


def _scenario(raw: dict[str, Any]) -> Scenario:
    episodes = tuple(_episodes(raw["conversation"]))
    name = str(raw["sample_id"])
    items = tuple(_item(name, number, asked, episodes) for number, asked in enumerate(raw["qa"]))
    return Scenario(id=name, epoch=episodes[0].at.date(), episodes=episodes, items=items)


def _episodes(chat: dict[str, Any]) -> Iterator[Episode]:
    numbers = sorted(int(found[1]) for key in chat if (found := _SESSION.match(key)))
    for number in numbers:
        turns = tuple(
            Turn(speaker=turn["speaker"], text=_said(turn)) for turn in chat[f"session_{number}"]
        )
        if turns:
            yield Episode(
                id=f"D{number}",
                day=number,
                at=datetime.strptime(chat[f"session_{number}_date_time"], _SPOKEN),  # noqa: DTZ007
                text="\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns),
                turns=turns,
            )


def _said(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares a photo: {caption}]" if caption else str(turn["text"])


def _item(name: str, number: int, asked: dict[str, Any], episodes: tuple[Episode, ...]) -> Item:
    category = CATEGORIES[asked["category"]]
    is_trap = category == "adversarial"
    return Item(
        id=f"q{number:03}",
        text=asked["question"],
        truth=Truth(
            reference=NOT_MENTIONED if is_trap else str(asked["answer"]),
            category=category,
            expects=Expects.ABSTAIN if is_trap else Expects.ANSWER,
            evidence=tuple(_evidence(name, asked.get("evidence", ()), episodes)),
            distractors=(str(asked["adversarial_answer"]),) if is_trap else (),
        ),
        known_from=episodes[-1].day,
    )


def _evidence(
    name: str, references: list[str], episodes: tuple[Episode, ...]
) -> Iterator[Evidence]:
    lengths = {episode.day: len(episode.turns) for episode in episodes}
    meant = (place for one in references for place in _ERRATA.get((name, one), (one,)))
    for place in dict.fromkeys(meant):
        found = _PLACE.match(place)
        if found is None:
            raise ValueError(f"evidence {place!r} names no turn")
        day, turn = int(found[1]), int(found[2]) - 1
        if not 0 <= turn < lengths.get(day, 0):
            raise ValueError(f"evidence {place!r} names a turn that does not exist")
        yield Evidence(day=day, turn=turn)

DATASETS: tuple[PublicDataset, ...] = ()
