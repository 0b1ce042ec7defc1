"""The files of a world in the public format: persona, arcs, ledger, questions, lexicon."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from recall_bench.generate.world.context import FillContext, get_template
from recall_bench.generate.world.ledger import Thread
from recall_bench.generate.world.question_draft import LedgerQuestion
from recall_bench.generate.world.simulation import Simulation
from recall_bench.generate.world.sources import FactSlot, WorldSources


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


_MEASURED: dict[str, str] = {
    "factual-recall/choice": "hard",  # 15% of 203
    "factual-recall/choice/named": "medium",  # 47% of 202
    "factual-recall/code/named": "medium",  # 23% of 10
    "factual-recall/date": "hard",  # 20% of 34
    "factual-recall/date/named": "medium",  # 35% of 41
    "factual-recall/money": "hard",  # 13% of 56
    "factual-recall/money/named": "medium",  # 49% of 46
    "factual-recall/number": "hard",  # 10% of 104
    "factual-recall/number/named": "medium",  # 37% of 90
    "factual-recall/percent": "hard",  # 19% of 14
    "factual-recall/percent/named": "easy",  # 56% of 18
    "factual-recall/person": "medium",  # 24% of 46
    "factual-recall/person/named": "medium",  # 46% of 61
    "factual-recall/time": "hard",  # 12% of 11
    "factual-recall/time/named": "medium",  # 43% of 10
    "temporal-reasoning/date": "hard",  # 10% of 226
    "temporal-reasoning/date/named": "easy",  # 58% of 220
    "temporal-reasoning/gap": "hard",  # 4% of 145
    "temporal-reasoning/gap/named": "hard",  # 8% of 108
    "temporal-reasoning/order2/named": "easy",  # 54% of 206
    "temporal-reasoning/order3/named": "hard",  # 7% of 204
    "decision-tracking/choice": "hard",  # 17% of 152
    "decision-tracking/choice/named": "easy",  # 56% of 147
    "decision-tracking/person": "medium",  # 34% of 95
    "decision-tracking/person/named": "easy",  # 61% of 101
    "contradiction-resolution/now": "hard",  # 12% of 222
    "contradiction-resolution/now/named": "easy",  # 54% of 237
    "contradiction-resolution/then": "hard",  # 14% of 135
    "contradiction-resolution/then/named": "medium",  # 35% of 123
    "cross-reference/shared": "hard",  # 15% of 213
    "cross-reference/shared/named": "medium",  # 44% of 240
    "recency-bias-resistance/choice": "hard",  # 14% of 113
    "recency-bias-resistance/choice/named": "easy",  # 52% of 107
    "recency-bias-resistance/date": "medium",  # 22% of 27
    "recency-bias-resistance/date/named": "medium",  # 39% of 23
    "recency-bias-resistance/money": "hard",  # 13% of 25
    "recency-bias-resistance/money/named": "medium",  # 41% of 30
    "recency-bias-resistance/number": "hard",  # 12% of 55
    "recency-bias-resistance/number/named": "medium",  # 46% of 59
    "recency-bias-resistance/percent": "hard",  # 13% of 10
    "recency-bias-resistance/person": "hard",  # 15% of 33
    "recency-bias-resistance/person/named": "medium",  # 44% of 36
    "recency-bias-resistance/time": "hard",  # 17% of 12
    "recency-bias-resistance/time/named": "hard",  # 10% of 10
    "synthesis/count": "hard",  # 5% of 202
    "synthesis/highest": "hard",  # 2% of 202
    "synthesis/lowest": "hard",  # 6% of 34
    "synthesis/total": "hard",  # 0% of 202
    "negative-recall/no": "hard",  # 20% of 208
    "negative-recall/no/named": "hard",  # 7% of 200
    "negative-recall/yes": "hard",  # 10% of 213
    "negative-recall/yes/named": "hard",  # 9% of 195
    "group-session-attribution/person": "medium",  # 34% of 213
    "group-session-attribution/person/named": "easy",  # 57% of 235
    "information-boundary/answer": "hard",  # 12% of 265
    "information-boundary/answer/named": "medium",  # 48% of 314
    "information-boundary/partial": "hard",  # 0% of 52
    "information-boundary/partial/named": "hard",  # 6% of 67
    "information-boundary/refuse": "medium",  # 38% of 259
    "information-boundary/refuse/named": "hard",  # 7% of 270
}
"""Kind of question to difficulty, measured on the baselines by `benchmarks/difficulty.py`."""


def get_difficulty(kind: str) -> str:
    """The difficulty of a kind of question; medium if it was never measured.

    A kind ends in `/named` if the question uses the name that the text uses for its subject.
    """
    return _MEASURED.get(kind, "medium")


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
        entry = {key: raw[key] for key in _ARC_KEYS if raw.get(key) is not None}
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
