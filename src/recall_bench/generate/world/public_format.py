"""The files of a world in the public format: persona, arcs, ledger, questions, lexicon."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from recall_bench.generate.world.context import FillContext, get_template
from recall_bench.generate.world.ledger import Thread
from recall_bench.generate.world.question_draft import LedgerQuestion
from recall_bench.generate.world.simulation import Simulation
from recall_bench.generate.world.sources import FactSlot, WorldSources

_DIFFICULTY = Path(__file__).parent / "difficulty.toml"


class LexiconWriter:
    """Collects the names of threads and renders lexicon.json.

    The lexicon holds what a reader needs to look things up: names, cues and kinds, but no values.
    """

    def __init__(self, simulation: Simulation, sources: WorldSources) -> None:
        self._simulation = simulation
        self._sources = sources
        self._threads: list[tuple[str, str, str]] = []

    def add(self, key: str, source: str, name: str) -> None:
        """Add a thread that has started."""
        self._threads.append((key, source, name))

    def render(self) -> str:
        """The text of the file."""
        content = {
            "epoch": self._simulation.dates.epoch.isoformat(),
            "people": self._simulation.cast.surfaces,
            "sessions": {
                session.id: {
                    "isolated": session.isolated,
                    "participants": session.participants,
                }
                for session in self._sources.persona.sessions
            },
            "threads": {
                key: {"process": source, "name": name} for key, source, name in self._threads
            },
            "slots": dict(self._list_slots()),
            "steps": dict(self._list_steps()),
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    def _list_slots(self) -> "list[tuple[str, dict[str, object]]]":
        found = []
        for process in self._sources.routine.processes:
            for name, slot in process.slots.items():
                if slot.cue:
                    found.append(
                        (f"{process.id}.{name}", self._build_slot(slot, self._list_options(slot)))
                    )
        for active in self._simulation.active_arcs:
            for name, slot in active.arc.facts.items():
                if slot.cue:
                    value = active.versions[name][0]
                    options = list(value.others) if value.kind == "choice" else []
                    entry = self._build_slot(slot, options) | {"kind": value.kind}
                    found.append((f"{active.arc.id}.{name}", entry))
        return found

    def _list_options(self, slot: FactSlot) -> list[str]:
        if isinstance(slot.choice, str):
            return self._simulation.world.words[slot.choice.removeprefix("@")]
        return slot.choice or []

    def _build_slot(self, slot: FactSlot, options: list[str]) -> dict[str, object]:
        entry: dict[str, object] = {"kind": slot.get_kind(), "cues": slot.cue}
        if slot.unit:
            entry["unit"] = slot.unit
        if options:
            entry["options"] = options
        if slot.code:
            entry["shape"] = slot.code
        return entry

    def _list_steps(self) -> "list[tuple[str, dict[str, object]]]":
        found = []
        for process in self._sources.routine.processes:
            for number, step in enumerate(process.steps):
                if step.when is not None and step.when.cue:
                    entry: dict[str, object] = {"cues": step.when.cue, "first": number == 0}
                    found.append((f"{process.id}.{step.id}", entry))
        for arc in self._sources.story.arcs:
            for number, directive in enumerate(arc.directives):
                if directive.when is not None and directive.when.cue:
                    entry = {"cues": directive.when.cue, "first": number == 0}
                    found.append((f"{arc.id}.d{number:02}", entry))
        return found


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
        final = {name: list(known) for name, known in active.versions.items()}
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
