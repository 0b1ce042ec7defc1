"""Digests that notice a changed byte in a history or its questions."""

from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import sha256

import msgspec

from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import DatasetCard, Plan, ScenarioCard
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.verdict import JudgeCard

DayDigest = tuple[int, date, str, tuple[str, ...]]
"""What a day is known by: its number, its date, its text's digest and its arcs."""


def digest_text(text: str) -> str:
    """Names one day's text."""
    return sha256(text.encode()).hexdigest()


def digest_history(leaves: Iterable[DayDigest]) -> str:
    """Names everything a system is fed, in order, and after it the days if it is fed others."""
    digest = sha256()
    for day, at, text, arcs in leaves:
        digest.update(f"{day} {at.isoformat()} {text} {','.join(arcs)}\n".encode())
    return digest.hexdigest()


def digest_questions(items: Sequence[Item]) -> str:
    """Names the questions with everything that is true about them."""
    return sha256(msgspec.json.encode(tuple(items), order="deterministic")).hexdigest()


def build_scenario_card(scenario: Scenario) -> ScenarioCard:
    """The card of a scenario as it was loaded."""
    told = scenario.episodes if scenario.retold is None else scenario.retold + scenario.episodes
    leaves = (
        (episode.day, episode.at.date(), digest_text(episode.text), episode.arcs)
        for episode in told
    )
    return ScenarioCard(
        id=scenario.id,
        epoch=scenario.epoch,
        episodes=len(scenario.episodes),
        last_day=scenario.last_day,
        items=len(scenario.items),
        history_digest=digest_history(leaves),
        questions_digest=digest_questions(scenario.items),
    )


def list_differences(one: Plan, other: Plan, *, between: str = ", now ") -> list[str]:
    """Each field in which the plans differ, with both values; empty if they are one plan."""
    if one.digest == other.digest:
        return []
    return [
        f"{name.replace('_', ' ')} ({_describe_change(old, new, between)})"
        for name in Plan.__struct_fields__
        if (old := getattr(one, name)) != (new := getattr(other, name))
    ]


def _describe_change(old: object, new: object, between: str) -> str:
    """Both values in words; where the words are the same, their digests tell them apart."""
    before, after = _describe_value(old), _describe_value(new)
    if before == after:
        before, after = (f"{before} {_hash_value(value)}" for value in (old, new))
    return f"{before}{between}{after}"


def _describe_value(value: object) -> str:
    match value:
        case SystemCard() | JudgeCard() | ReaderCard():
            return f"{value.name} {value.version}"
        case DatasetCard():
            return f"{value.name} ({value.protocol}, {len(value.files)} files)"
        case tuple():
            return " ".join(
                str(getattr(part, "label", getattr(part, "id", part))) for part in value
            )
        case _:
            return str(value)


def _hash_value(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:8]
