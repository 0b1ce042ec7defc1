"""The records of a world as the public format writes them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from recall_bench.world.difficulty import get_difficulty
from recall_bench.world.ledger import Thread
from recall_bench.world.play import Simulation
from recall_bench.world.questions.draft import LedgerQuestion
from recall_bench.world.sources import WorldSources
from recall_bench.world.stage import FillContext, get_template

_ARC_KEYS = (
    "id",
    "type",
    "title",
    "description",
    "startDay",
    "endDay",
    "primarySession",
    "referencedSessions",
    "participants",
    "forbiddenSessions",
    "wrongDay",
    "correctedDay",
    "wrongBelief",
    "correctedBelief",
)


def build_persona_file(sources: WorldSources) -> Mapping[str, object]:
    """persona.yaml, without what only the simulator needs."""
    return {key: part for key, part in sources.persona_file.items() if key != "alternatives"}


def build_arcs_file(sources: WorldSources, play: Simulation, days: int) -> Mapping[str, object]:
    """The arcs that begin within the story, as the public format has them."""
    plots = {plot.arc.id: plot for plot in play.plots}
    arcs = []
    for raw in sources.story_file["arcs"]:
        if raw["directives"][0]["day"] > days:
            continue
        plot = plots[raw["id"]]
        entry = {key: raw[key] for key in _ARC_KEYS if raw.get(key) is not None}
        entry["endDay"] = min(raw["endDay"], days)
        thread = plot.thread
        final = {name: list(known) for name, known in plot.versions.items()}
        scene = FillContext(play.stage, raw["startDay"], replace(thread, held=final))
        for key in ("wrongBelief", "correctedBelief", "title", "description"):
            if key in entry:
                entry[key] = play.stage.deck.render(get_template(entry[key]), scene).text
        entry["directives"] = [
            {"day": directive["day"], "event": directive["event"]}
            for directive in raw["directives"]
            if directive["day"] <= days
        ]
        arcs.append(entry)
    return {
        "epoch": play.dates.epoch.isoformat(),
        "gaps": True,
        "away": [span for span in sources.story.away if span[0] <= days],
        "sessions": sources.story_file.get("sessions"),
        "arcs": arcs,
    }


def build_ledger_entries(thread: Thread) -> Iterator[Mapping[str, object]]:
    """Each fact of a thread for ledger.jsonl: what was true, and when and where it was told."""
    for slot, facts in thread.facts.items():
        for fact in facts:
            yield {
                "subject": fact.subject,
                "name": thread.name,
                "attribute": fact.attribute,
                "value": fact.value.text,
                "true_from": fact.true_from,
                "true_until": fact.true_until,
                "learned": fact.learned,
                "session": fact.told.session,
                "start": fact.told.start,
                "end": fact.told.end,
                "arc": thread.source if thread.is_authored else None,
                "supersedes": fact.supersedes.value.text if fact.supersedes else None,
                "is_secret": thread.slots[slot].secret,
            }


def build_question_entry(
    name: str, text: str, kind: str, draft: LedgerQuestion
) -> Mapping[str, object]:
    """One entry of questions.yaml: the public keys, then ours."""
    spans = sorted(draft.evidence, key=lambda span: (span.day, span.start))
    until = draft.known_until
    return {
        "id": name,
        "question": text,
        "answer": draft.reference,
        "category": draft.category,
        "difficulty": get_difficulty(kind),
        "relevant_days": list(dict.fromkeys(span.day for span in spans)),
        "requires_synthesis": draft.is_synthesis,
        "query_session": draft.session,
        "forbidden_sessions": draft.forbidden or None,
        "expected_disclosure": str(draft.disclosure) if draft.disclosure else None,
        "irrelevant_after": until,
        "answerable_from": draft.known_from,
        "changes_on": None if until is None else until + 1,
        "aliases": draft.aliases or None,
        "atoms": draft.atoms or None,
        "stale": draft.stale or None,
        "distractors": draft.distractors or None,
        "canaries": draft.canaries or None,
        "withheld": draft.withheld or None,
        "evidence": [
            {"day": span.day, "session": span.session, "start": span.start, "end": span.end}
            for span in spans
        ],
        "kind": kind,
        "derive": draft.query,
    }
