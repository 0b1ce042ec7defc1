"""Digests that notice a changed byte in a history or its questions."""

from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import sha256

import msgspec

from recall_bench.core.plan import ScenarioCard
from recall_bench.core.question import Item, Scenario

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
