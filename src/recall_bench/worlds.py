"""Worlds by name: the shipped personas and people's own, played into folders and proved."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.datasets.layout import DEFAULT_ARCS
from recall_bench.errors import Problems, UsageError
from recall_bench.resolve.personas import SAMPLE, story_in
from recall_bench.shipped import (
    SOURCES,
    Building,
    Corpus,
    catalogue,
    corpus_in,
    materialised,
    silently,
    story_days,
    write_catalogue,
)
from recall_bench.world.sources import Sources

if TYPE_CHECKING:
    from recall_bench.lint.report import Report as LintReport
    from recall_bench.proof.finding import Report as ProofReport


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One story of one persona, which may have to be played first."""

    persona: str
    arcs: str
    folder: Path | None = None
    """None for a shipped story, which lives in the cache."""

    @property
    def name(self) -> str:
        """The persona, and which of its stories unless it is the usual one."""
        is_usual = self.folder is not None or self.arcs == DEFAULT_ARCS
        return self.persona if is_usual else f"{self.persona} {self.arcs}"

    def place(self, building: Building = silently) -> Path:
        """The folder, played first where the cache does not hold it."""
        return self.folder or materialised(self.persona, self.arcs, building)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What a proof and the lints say about one world."""

    persona: str
    arcs: str
    proof: "ProofReport"
    lint: "LintReport"

    @property
    def is_sound(self) -> bool:
        """Whether every answer follows from the text, and no lint found an error."""
        from recall_bench.lint.finding import Severity

        return self.proof.is_proved and not self.lint.count(Severity.ERROR)


def named_worlds(names: Collection[str] = (), *, arcs: str | None = None) -> tuple[World, ...]:
    """The worlds of these shipped personas and folders; without a name, all shipped ones.

    A shipped persona has all its stories unless `arcs` names one. A folder holds a persona, or
    several. Nothing is played yet.
    """
    if not names and not catalogue():
        raise UsageError("this package has no persona to play; name a persona's folder")
    wanted = dict.fromkeys(names or catalogue())
    return tuple(world for name in wanted for world in _called(name, arcs))


def examine_world(
    world: World, *, building: Building = silently, telling: Callable[[str], None] | None = None
) -> Examined:
    """Derive every answer from the text again, then look for what any dataset can have wrong.

    `telling` hears what is being done, as it takes some seconds.
    """
    from recall_bench.lint.report import examine
    from recall_bench.proof.check import check

    say = telling or (lambda _: None)
    folder = world.place(building)
    say(f"deriving the answers of {world.name}")
    proof = check(folder, world.arcs)
    say(f"looking for faults in {world.name}")
    lint = examine(folder, arcs=world.arcs)
    return Examined(persona=world.persona, arcs=world.arcs, proof=proof, lint=lint)


def _called(name: str, arcs: str | None) -> Iterator[World]:
    from recall_bench.datasets.layout import Layout, persona_ids

    told = catalogue().get(name)
    if told is not None:
        for story in told if arcs is None else (arcs,):
            yield World(persona=name, arcs=story)
        return
    folder = SOURCES / name if name == SAMPLE else Path(name)
    if not folder.is_dir():
        known = ", ".join((*catalogue(), SAMPLE))
        raise UsageError(
            f"{name} is neither a folder nor a shipped persona; the package has {known}"
        )
    within = () if (folder / "persona.yaml").is_file() else persona_ids(folder)
    for place in [folder / one for one in within] or [folder]:
        chosen = story_in(place, arcs).arcs
        yield World(persona=Layout(place, chosen).id, arcs=chosen, folder=place)


def build_world(
    persona: str,
    out: Path,
    *,
    arcs: str | None = None,
    days: int | None = None,
    building: Building = silently,
    knobs: Mapping[str, float] | None = None,
) -> Path:
    """Play a shipped persona, or the sources in a folder, into `out`; the folder written."""
    from recall_bench.world.build import build
    from recall_bench.world.knobs import Knobs
    from recall_bench.world.validation import problems

    sources = sources_of(persona, arcs)
    if found := problems(sources):
        raise Problems(found)
    length = days or story_length(sources)
    settings = msgspec.convert({**(knobs or {}), "days": length}, Knobs)
    with building(sources.persona.id, length) as told:
        return build(sources, settings, out, told)


def release(building: Building = silently) -> Mapping[str, Mapping[str, Corpus]]:
    """Play every story whose sources ship and put its digest on record; what was recorded."""
    from tempfile import TemporaryDirectory

    found: dict[str, dict[str, Corpus]] = {}
    for persona in shipped():
        found[persona] = {}
        for arcs in sorted(path.name for path in (SOURCES / persona).glob("arcs-*.yaml")):
            with TemporaryDirectory() as scratch:
                folder = build_world(persona, Path(scratch), arcs=arcs, building=building)
                found[persona][arcs] = corpus_in(folder)
    write_catalogue(found)
    return found


def shipped() -> tuple[str, ...]:
    """The personas that come with the package as sources, by name."""
    return tuple(sorted(path.parent.name for path in SOURCES.glob("*/routine.yaml")))


def sources_of(persona: str, arcs: str | None = None) -> Sources:
    """The sources of a shipped persona, or of a folder of one's own."""
    from recall_bench.world.sources import read_sources

    folder = SOURCES / persona if persona in shipped() else Path(persona)
    if not folder.is_dir():
        raise UsageError(
            f"--persona: {persona} is neither a folder nor a shipped persona; "
            f"there is {', '.join(shipped()) or 'none'}"
        )
    return read_sources(folder, story_in(folder, arcs).arcs)


def story_length(sources: Sources) -> int:
    """The days a story lasts: what its file is named for, else the end of its last arc."""
    return story_days(sources.arcs_name) or max(arc.end_day for arc in sources.story.arcs)
