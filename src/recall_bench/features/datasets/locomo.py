"""LoCoMo: ten long chats between two friends, and questions about them.

Five facts about the upstream file shape this one:

* It numbers its categories without naming them; a test checks our names against the questions.
* A fifth of its turns share a photo with a caption, and two fifths of the questions cite such a
  turn. The caption is part of the turn.
* Nine of its evidence references are misspelt. `_MEANT` repairs those whose meaning is plain and
  drops the three that name no turn.
* Category 5 asks for what never happened: its `adversarial_answer` is the trap, not the truth.
* Sessions are keys of one mapping (so `session_10` needs sorting), and some dates have no session.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Episode, Evidence, Expects, Item, Scenario, Truth, Turn
from recall_bench.features.datasets.loading import (
    JsonArray,
    NonBlank,
    build_dialogue,
    locate_file,
)

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""What the numbers in the file mean, also to the official script."""

AUDIT = "audit"
"""The layer of corrections that a public audit found."""

NOT_MENTIONED = "That was not mentioned in the conversation."
"""The right answer to every question of category 5."""

_SPOKEN = "%I:%M %p on %d %B, %Y"
_PLACE = re.compile(r"D(\d+):(\d+)\Z")
_SESSION = re.compile(r"session_(\d+)\Z")
_AUDIT_ID = re.compile(r"locomo_(\d+)_qa(\d+)\Z", re.ASCII)

_MEANT: dict[tuple[str, str], tuple[str, ...]] = {
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
"""The intended turns, by conversation and reference as written."""


class _LocomoAuditEntry(msgspec.Struct):
    """One entry of the public audit: what it found, and its correction."""

    question_id: str
    error_type: Literal[
        "HALLUCINATION",
        "TEMPORAL_ERROR",
        "ATTRIBUTION_ERROR",
        "INCOMPLETE",
        "AMBIGUOUS",
        "WRONG_CITATION",
    ]
    question: str
    golden_answer: str
    cited_evidence: list[str]
    correct_answer: NonBlank
    correct_evidence: list[str]


def load(data: Path, layers: Mapping[str, Path]) -> tuple[Scenario, ...]:
    """Read `locomo10.json`: a scenario for each conversation, an episode for each session.

    The layer `audit` is the list of errors that a public audit of that file found.
    """
    if unknown := set(layers) - {AUDIT}:
        raise UsageError(f"LoCoMo has no corrections named {min(unknown)!r}; available: {AUDIT!r}")
    elements = JsonArray(locate_file(data, "locomo10.json"), "conversation")
    scenarios = tuple(_decode_scenario(elements, number) for number in range(len(elements)))
    return _apply_audit(scenarios, layers[AUDIT]) if AUDIT in layers else scenarios


def _decode_scenario(elements: JsonArray, number: int) -> Scenario:
    raw = elements.decode(number, dict[str, Any])
    try:
        return _build_scenario(raw)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        where = elements.describe(number)
        raise Malformed(where, f"is not as LoCoMo has it ({error!r})") from error


def _build_scenario(raw: dict[str, Any]) -> Scenario:
    episodes = tuple(_build_episodes(raw["conversation"]))
    name = str(raw["sample_id"])
    items = tuple(
        _build_item(name, number, raw_question, episodes)
        for number, raw_question in enumerate(raw["qa"])
    )
    return Scenario(id=name, epoch=episodes[0].at.date(), episodes=episodes, items=items)


def _build_episodes(chat: dict[str, Any]) -> Iterator[Episode]:
    numbers = sorted(int(match[1]) for key in chat if (match := _SESSION.match(key)))
    for number in numbers:
        turns = tuple(
            Turn(speaker=turn["speaker"], text=_read_turn(turn))
            for turn in chat[f"session_{number}"]
        )
        if turns:
            yield build_dialogue(
                f"D{number}",
                day=number,
                at=datetime.strptime(chat[f"session_{number}_date_time"], _SPOKEN),  # noqa: DTZ007
                turns=turns,
            )


def _read_turn(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares a photo: {caption}]" if caption else str(turn["text"])


def _build_item(name: str, number: int, asked: dict[str, Any], episodes: Sequence[Episode]) -> Item:
    category = CATEGORIES[asked["category"]]
    is_trap = category == "adversarial"
    return Item(
        id=f"q{number:03}",
        text=asked["question"],
        truth=Truth(
            reference=NOT_MENTIONED if is_trap else _read_answer(number, asked, "answer"),
            category=category,
            expects=Expects.ABSTAIN if is_trap else Expects.ANSWER,
            evidence=tuple(_find_evidence(name, asked.get("evidence", ()), episodes)),
            distractors=(_read_answer(number, asked, "adversarial_answer"),) if is_trap else (),
            source=f"{name}:q{number}",
            cited=tuple(asked.get("evidence", ())),
        ),
        known_from=episodes[-1].day,
    )


def _read_answer(number: int, asked: dict[str, Any], key: str) -> str:
    """Return the answer, a text or a whole number as text; ValueError for anything else."""
    answer = asked.get(key)
    if isinstance(answer, int) and not isinstance(answer, bool):
        return str(answer)
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError(f"question q{number} has no {key} that is text or a whole number")
    return answer


def _find_evidence(
    name: str, references: Sequence[str], episodes: Sequence[Episode]
) -> Iterator[Evidence]:
    lengths = {episode.day: len(episode.turns) for episode in episodes}
    meant = (place for one in references for place in _MEANT.get((name, one), (one,)))
    for place in dict.fromkeys(meant):
        match = _PLACE.match(place)
        if match is None:
            raise ValueError(f"evidence {place!r} names no turn")
        day, turn = int(match[1]), int(match[2]) - 1
        if not 0 <= turn < lengths.get(day, 0):
            raise ValueError(f"evidence {place!r} names a turn that does not exist")
        yield Evidence(day=day, turn=turn)


def _apply_audit(scenarios: tuple[Scenario, ...], path: Path) -> tuple[Scenario, ...]:
    """Return the scenarios with the corrections of the audit."""
    findings = JsonArray(path, "entry")
    corrected: dict[tuple[int, int], Item] = {}
    for number in range(len(findings)):
        finding = findings.decode(number, _LocomoAuditEntry)
        try:
            place = _locate_entry(finding.question_id, scenarios, corrected)
            corrected[place] = _correct_item(scenarios[place[0]], place[1], finding)
        except ValueError as error:
            problem = f"does not fit this edition of LoCoMo: {error}"
            raise Malformed(findings.describe(number), problem) from error
    return tuple(
        scenario.replace(
            items=tuple(corrected.get((place, n), item) for n, item in enumerate(scenario.items))
        )
        for place, scenario in enumerate(scenarios)
    )


def _locate_entry(
    name: str, scenarios: Sequence[Scenario], taken: Container[tuple[int, int]]
) -> tuple[int, int]:
    """Return the numbers of the conversation and of the question, both from 0."""
    match = _AUDIT_ID.match(name)
    place, number = (int(match[1]), int(match[2])) if match else (-1, -1)
    if not 0 <= place < len(scenarios) or number >= len(scenarios[place].items):
        raise ValueError(f"there is no question {name}")
    if (place, number) in taken:
        raise ValueError(f"{name} has an entry already")
    return place, number


def _correct_item(scenario: Scenario, number: int, finding: _LocomoAuditEntry) -> Item:
    item = scenario.items[number]
    truth, episodes = item.truth, scenario.episodes
    name = finding.question_id
    if item.text != finding.question:
        raise ValueError(f"{name} is {item.text!r} and not {finding.question!r}")
    if truth.reference != finding.golden_answer:
        raise ValueError(f"{name} has the answer {truth.reference!r}, not the one it corrects")
    if truth.evidence != tuple(_find_evidence(scenario.id, finding.cited_evidence, episodes)):
        raise ValueError(f"{name} does not cite {', '.join(finding.cited_evidence)}")
    right = tuple(_find_evidence(scenario.id, finding.correct_evidence, episodes))
    match finding.error_type:
        case "AMBIGUOUS":
            return item
        case "WRONG_CITATION":
            # Where the answer was right all along, the entry repeats it with remarks.
            return item.replace(truth=truth.replace(evidence=right))
        case _:
            return item.replace(
                truth=truth.replace(reference=finding.correct_answer, evidence=right)
            )
