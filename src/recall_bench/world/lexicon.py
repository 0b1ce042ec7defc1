"""What a reader of the text must know to look things up: names, cues and kinds; no values."""

import json

from recall_bench.world.play import Simulation
from recall_bench.world.sources import FactSlot, ProcessStep, WorldSources


class LexiconWriter:
    """Collects the names of threads as they come up, and writes the file."""

    def __init__(self, play: Simulation, sources: WorldSources) -> None:
        self._play = play
        self._sources = sources
        self._threads: list[tuple[str, str, str]] = []

    def add(self, key: str, source: str, name: str) -> None:
        """A thread that has begun."""
        self._threads.append((key, source, name))

    def render(self) -> str:
        """The file's text."""
        content = {
            "epoch": self._play.dates.epoch.isoformat(),
            "people": self._play.cast.surfaces,
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
        for plot in self._play.plots:
            for name, slot in plot.arc.facts.items():
                if slot.cue:
                    value = plot.versions[name][0]
                    options = list(value.others) if value.kind == "choice" else []
                    entry = self._build_slot(slot, options) | {"kind": value.kind}
                    found.append((f"{plot.arc.id}.{name}", entry))
        return found

    def _list_options(self, slot: FactSlot) -> list[str]:
        if isinstance(slot.choice, str):
            return self._play.stage.words[slot.choice.removeprefix("@")]
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
                    found.append(
                        (f"{process.id}.{step.id}", _build_step(step, is_first=number == 0))
                    )
        for arc in self._sources.story.arcs:
            for number, directive in enumerate(arc.directives):
                if directive.when is not None and directive.when.cue:
                    entry: dict[str, object] = {
                        "cues": directive.when.cue,
                        "first": number == 0,
                    }
                    found.append((f"{arc.id}.d{number:02}", entry))
        return found


def _build_step(step: ProcessStep, *, is_first: bool) -> dict[str, object]:
    return {"cues": step.when.cue if step.when else [], "first": is_first}
