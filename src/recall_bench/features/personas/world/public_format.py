"""The files of a world in the public format: persona, arcs, ledger, questions."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from recall_bench.features.personas.world.context import FillContext, get_template
from recall_bench.features.personas.world.ledger import Thread
from recall_bench.features.personas.world.question_draft import LedgerQuestion
from recall_bench.features.personas.world.simulation import Simulation
from recall_bench.features.personas.world.sources import WorldSources

_DIFFICULTY = Path(__file__).parent / "difficulty.toml"


@cache
def _load_difficulties() -> dict[str, str]:
    return tomllib.loads(_DIFFICULTY.read_text(encoding="utf-8"))


def get_difficulty(kind: str) -> str:
    """The difficulty of a kind of question; medium if it was never measured."""
    return _load_difficulties().get(kind, "medium")


PUBLIC_ARC_KEYS = (
    "id type title description startDay endDay primarySession referencedSessions participants "
    "forbiddenSessions wrongDay correctedDay wrongBelief correctedBelief"
).split()


def build_persona_file(sources: WorldSources) -> Mapping[str, object]:
    """persona.yaml without the keys only the simulator needs."""
    return {key: part for key, part in sources.persona_file.items() if key != "alternatives"}


def build_arcs_file(
    sources: WorldSources, simulation: Simulation, days: int
) -> Mapping[str, object]:
    """The arcs that start within the story, in the public format."""
    active_arcs = {active.arc.id: active for active in simulation.active_arcs}
    arcs = []
    for raw in sources.story_file["arcs"]:
        if raw["directives"][0]["day"] > days:
            continue
        active = active_arcs[raw["id"]]
        entry = {key: raw[key] for key in PUBLIC_ARC_KEYS if raw.get(key) is not None}
        entry["endDay"] = min(raw["endDay"], days)
        thread = active.thread
        final = {name: list(version) for name, version in active.versions.items()}
        context = FillContext(simulation.world, raw["startDay"], replace(thread, slot_values=final))
        for key in ("wrongBelief", "correctedBelief", "title", "description"):
            if key in entry:
                entry[key] = simulation.world.picker.render(get_template(entry[key]), context).text
        entry["directives"] = [
            {"day": directive["day"], "event": directive["event"]}
            for directive in raw["directives"]
            if directive["day"] <= days
        ]
        arcs.append(entry)
    return {
        "epoch": simulation.dates.epoch.isoformat(),
        "gaps": True,
        "away": [span for span in sources.story.away if span[0] <= days],
        "sessions": sources.story_file.get("sessions"),
        "arcs": arcs,
    }


def build_ledger_entries(thread: Thread) -> Iterator[Mapping[str, object]]:
    """Each fact of a thread for ledger.jsonl: what was true, and when and where it is stated."""
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
                "session": fact.span.session,
                "start": fact.span.start,
                "end": fact.span.end,
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
