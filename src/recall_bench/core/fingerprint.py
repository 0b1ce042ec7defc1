"""What identifies histories, questions and plans: their digests, and their differences."""

from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import sha256

from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import BehaviourCard, DatasetCard, Plan, ScenarioCard
from recall_bench.core.record import digest_content
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.verdict import JudgeCard

DayDigest = tuple[int, date, str, tuple[str, ...]]
"""A day's number, date, digest of its text, and arcs."""


def digest_text(text: str) -> str:
    """Digest one day's text."""
    return sha256(text.encode()).hexdigest()


def digest_history(leaves: Iterable[DayDigest]) -> str:
    """Digest everything a system is fed, in order, and then the days if it is fed another form."""
    digest = sha256()
    for day, at, text, arcs in leaves:
        digest.update(f"{day} {at.isoformat()} {text} {','.join(arcs)}\n".encode())
    return digest.hexdigest()


def digest_questions(items: Sequence[Item]) -> str:
    """Digest the questions with their truth.

    Templates and kinds are left out: they change no question, only intervals and tables.
    """
    questions = tuple(
        item.replace(template=None, kind=None) if item.template or item.kind else item
        for item in items
    )
    return digest_content(questions)


def build_scenario_card(scenario: Scenario) -> ScenarioCard:
    """Build the card of a loaded scenario."""
    fed = scenario.episodes if scenario.retold is None else scenario.retold + scenario.episodes
    leaves = (
        (episode.day, episode.at.date(), digest_text(episode.text), episode.arcs) for episode in fed
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
    """List the fields in which two plans differ, with both values."""
    if one.digest == other.digest:
        return []
    return [
        f"{name.replace('_', ' ')} ({_describe_change(old, new, between)})"
        for name in Plan.__struct_fields__
        if (old := getattr(one, name)) != (new := getattr(other, name))
    ]


def _describe_change(old: object, new: object, between: str) -> str:
    """Describe both values, with digests where the descriptions are equal."""
    before, after = _describe_value(old), _describe_value(new)
    if before == after:
        before, after = (
            f"{before} {sha256(repr(value).encode()).hexdigest()[:8]}" for value in (old, new)
        )
    return f"{before}{between}{after}"


def _describe_value(value: object) -> str:
    match value:
        case SystemCard() | JudgeCard() | ReaderCard():
            return f"{value.name} {value.version}"
        case BehaviourCard():
            return f"{value.suite} {value.version}"
        case DatasetCard():
            return f"{value.name} ({value.protocol}, {len(value.files)} files)"
        case tuple():
            return " ".join(
                str(getattr(part, "label", getattr(part, "id", part))) for part in value
            )
        case _:
            return str(value)
