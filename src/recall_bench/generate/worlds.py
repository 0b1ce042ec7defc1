"""Worlds by name: shipped personas and user folders, simulated, verified and linted."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.errors import DataError, Problems, UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.generate.shipped_personas import (
    SAMPLE,
    SOURCES,
    BuildProgress,
    ShippedCorpus,
    find_story,
    load_catalogue,
    load_earlier_editions,
    materialise,
    measure_corpus,
    parse_story_days,
    show_nothing,
    write_catalogue,
)
from recall_bench.generate.world.sources import WorldSources
from recall_bench.generate.world_seeds import WorldSeed

if TYPE_CHECKING:
    from recall_bench.datasets.lint.lint_report import LintReport
    from recall_bench.generate.verification.findings import VerificationReport
    from recall_bench.generate.written.renderer import RenderedEdition


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One story of one persona, which may have to be simulated first."""

    persona: str
    arcs: str
    folder: Path | None = None
    """None for a shipped story, which is in the cache."""

    @property
    def name(self) -> str:
        """The persona, and its story unless it is the default one."""
        is_usual = self.folder is not None or self.arcs == DEFAULT_ARCS
        return self.persona if is_usual else f"{self.persona} {self.arcs}"

    def find_folder(self, building: BuildProgress = show_nothing) -> Path:
        """The folder, simulated first if it is not cached."""
        return self.folder or materialise(self.persona, self.arcs, building)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldReport:
    """The verification and lint reports of one world."""

    persona: str
    arcs: str
    proof: "VerificationReport"
    lint: "LintReport"

    @property
    def is_sound(self) -> bool:
        """Whether every answer follows from the text and lint found no error."""
        from recall_bench.datasets.lint.lint_corpus import Severity

        return self.proof.is_verified and not self.lint.count(Severity.ERROR)


def find_worlds(names: Collection[str] = (), *, arcs: str | None = None) -> tuple[World, ...]:
    """The worlds of these shipped personas and folders; without names, all shipped ones.

    A shipped persona has all its stories unless `arcs` names one. A folder holds one persona or
    several. Nothing is simulated yet.
    """
    if not names and not load_catalogue():
        raise UsageError("this package ships no persona; name a persona's folder")
    wanted = dict.fromkeys(names or load_catalogue())
    return tuple(world for name in wanted for world in _find_by_name(name, arcs))


def verify_and_lint(
    world: World,
    *,
    building: BuildProgress = show_nothing,
    on_progress: Callable[[str], None] | None = None,
) -> WorldReport:
    """Verify every answer against the text, then lint the dataset.

    `on_progress` is called with each stage, as both take some seconds.
    """
    from recall_bench.datasets.lint.lint_report import lint_story
    from recall_bench.generate.verification.verifier import verify_world

    report = on_progress or (lambda _: None)
    folder = world.find_folder(building)
    report(f"deriving the answers of {world.name}")
    proof = verify_world(folder, world.arcs)
    report(f"looking for faults in {world.name}")
    lint = lint_story(folder, arcs=world.arcs)
    return WorldReport(persona=world.persona, arcs=world.arcs, proof=proof, lint=lint)


def _find_by_name(name: str, arcs: str | None) -> Iterator[World]:
    from recall_bench.datasets.persona_files import Layout, list_persona_ids

    stories = load_catalogue().get(name)
    if stories is not None:
        for story in stories if arcs is None else (arcs,):
            yield World(persona=name, arcs=story)
        return
    folder = SOURCES / name if name == SAMPLE else Path(name)
    if not folder.is_dir():
        known = ", ".join((*load_catalogue(), SAMPLE))
        raise UsageError(
            f"{name} is neither a folder nor a shipped persona; the package has {known}"
        )
    within = () if (folder / "persona.yaml").is_file() else list_persona_ids(folder)
    for place in [folder / one for one in within] or [folder]:
        chosen = find_story(place, arcs).arcs
        yield World(persona=Layout(place, chosen).id, arcs=chosen, folder=place)


def build_world(
    persona: str,
    out: Path,
    *,
    arcs: str | None = None,
    days: int | None = None,
    edition: int | None = None,
    building: BuildProgress = show_nothing,
    knobs: Mapping[str, float] | None = None,
) -> Path:
    """Build a shipped persona, or the sources in a folder, into `out`; returns the folder.

    A story that has a life or a written edition is built from it, unless edition 1 is asked for.
    """
    from recall_bench.generate.world.build import build_folder
    from recall_bench.generate.world.sources import WorldOptions
    from recall_bench.generate.world.validation import find_source_problems

    if edition != 1 and (life := find_life_story(persona, arcs, edition)) is not None:
        return _build_life(life, out, days, knobs or {})
    if edition != 1 and (written := find_written_story(persona, arcs)) is not None:
        return _build_written(written, out, days, knobs or {})
    sources = load_sources(persona, arcs)
    if found := find_source_problems(sources):
        raise Problems(found)
    length = days or get_story_length(sources)
    settings = msgspec.convert({**(knobs or {}), "days": length}, WorldOptions)
    with building(sources.persona.id, length) as on_day:
        return build_folder(sources, settings, out, on_day)


SHORT_STORY_DAYS = (42, 84)
"""The lengths of a story drawn to examine a system: its end cannot be guessed."""


def draw_short_story(seed: WorldSeed) -> Scenario:
    """Draw the first weeks of some shipped persona; persona, length and values follow the seed."""
    from recall_bench.core.temporary_files import TemporaryFolder
    from recall_bench.datasets.persona import load_persona
    from recall_bench.generate.written.build import write_edition

    edition, last = render_short_story(seed)
    with TemporaryFolder("story") as scratch:
        folder = Path(scratch, edition.sources.persona.id)
        write_edition(edition, folder, until=last)
        return load_persona(folder, arcs=f"arcs-{edition.sources.story.days}d.yaml")


def render_short_story(seed: WorldSeed) -> tuple["RenderedEdition", int]:
    """Render the edition that a short story is the beginning of; with the last day of the story.

    It is the shortest written edition of a persona, which was checked when it was released.
    """
    from recall_bench.generate.world.random_stream import RandomStream
    from recall_bench.generate.written.renderer import render_edition
    from recall_bench.generate.written.sources import find_written, read_written

    chance = RandomStream(seed.value, "short story")
    persona = chance.choose(list_shipped_personas())
    last = chance.draw_between(*SHORT_STORY_DAYS)
    written = find_written(SOURCES / persona)
    arcs = min(written, key=lambda name: parse_story_days(name) or 0)
    return render_edition(read_written(written[arcs]), seed.value), last


def record_release(
    personas: Collection[str] = (), building: BuildProgress = show_nothing
) -> Mapping[str, Mapping[str, ShippedCorpus]]:
    """Build every story of these shipped personas, or of all, and record its digest.

    A life edition whose sources are complete and whose answers are proved is the newest of its
    story; the simulated one stays on record as the earlier edition.
    """
    shipped = (*list_shipped_personas(), *list_written_personas())
    if unknown := sorted(set(personas) - set(shipped)):
        raise UsageError(f"{unknown[0]} is not a shipped persona; there is {', '.join(shipped)}")
    found = {persona: _measure_stories(persona, building) for persona in personas or shipped}
    newest: dict[str, Mapping[str, ShippedCorpus]] = {
        persona: stories for persona, (stories, _) in found.items()
    }
    earlier: dict[str, Mapping[str, ShippedCorpus]] = {
        persona: stories for persona, (_, stories) in found.items() if stories
    }
    if personas:
        newest = {**load_catalogue(), **newest}
        earlier = {**load_earlier_editions(), **earlier}
    write_catalogue(newest, earlier)
    return {persona: newest[persona] for persona in found}


def _measure_stories(
    persona: str, building: BuildProgress
) -> tuple[dict[str, ShippedCorpus], dict[str, ShippedCorpus]]:
    """The stories of a shipped persona: the newest of each, and those that it replaced."""
    from recall_bench.core.temporary_files import TemporaryFolder
    from recall_bench.generate.written.sources import find_written

    lives = _find_complete_lives(persona)
    replacing = {**find_written(SOURCES / persona), **lives}
    simulated = {path.name for path in (SOURCES / persona).glob("arcs-*.yaml")}
    stories = [(arcs, 1) for arcs in simulated] + [(arcs, 2) for arcs in replacing]
    newest: dict[str, ShippedCorpus] = {}
    earlier: dict[str, ShippedCorpus] = {}
    for arcs, edition in sorted(stories):
        with TemporaryFolder("story") as scratch:
            folder = build_world(
                persona, Path(scratch), arcs=arcs, edition=edition, building=building
            )
            if edition == 2 and arcs in lives:
                _require_sound(World(persona=persona, arcs=arcs, folder=folder))
            corpus = measure_corpus(folder, edition)
        (earlier if edition == 1 and arcs in replacing else newest)[arcs] = corpus
    return newest, earlier


def _require_sound(world: World) -> None:
    """DataError unless every answer is proved and lint finds neither error nor warning."""
    from recall_bench.datasets.lint.lint_corpus import Severity

    report = verify_and_lint(world)
    remarks = report.lint.count(Severity.ERROR) + report.lint.count(Severity.WARNING)
    if not report.is_sound or remarks:
        raise DataError(
            f"{world.persona} {world.arcs} is not released: {len(report.proof.findings)} findings "
            f"and {remarks} remarks of the lints; build it with --edition 2 and check it"
        )


def _find_complete_lives(persona: str) -> dict[str, Path]:
    """The life editions of a shipped persona whose sources hold everything: arcs file to folder."""
    from recall_bench.generate.life.checks import find_faults
    from recall_bench.generate.life.sources import find_lives, read_life
    from recall_bench.generate.life.sufficiency import find_shortages

    found = {}
    for arcs, folder in find_lives(SOURCES / persona).items():
        sources = read_life(folder)
        if not find_faults(sources) and not find_shortages(sources):
            found[arcs] = folder
    return found


def find_written_story(persona: str, arcs: str | None) -> Path | None:
    """The folder of a written edition: of a shipped persona, or the named folder itself."""
    from recall_bench.generate.written.sources import find_written

    if persona in list_written_personas():
        (only,) = find_written(SOURCES / persona).items()
        return only[1] if arcs in (None, only[0]) else None
    if persona in list_shipped_personas():
        return find_written(SOURCES / persona).get(arcs) if arcs else None
    folder = Path(persona)
    return folder if (folder / "story.yaml").is_file() else None


def find_life_story(persona: str, arcs: str | None, edition: int | None = None) -> Path | None:
    """The folder of a life edition: of a shipped persona, or the named folder itself.

    A shipped one that is not released yet is found only if edition 2 is asked for.
    """
    from recall_bench.generate.life.sources import find_lives, is_life

    if persona not in list_shipped_personas():
        return Path(persona) if is_life(Path(persona)) else None
    story = arcs or DEFAULT_ARCS
    released = load_catalogue().get(persona, {}).get(story)
    is_wanted = edition == 2 or (released is not None and released.edition == 2)
    return find_lives(SOURCES / persona).get(story) if is_wanted else None


def _build_life(folder: Path, out: Path, days: int | None, knobs: Mapping[str, float]) -> Path:
    from recall_bench.generate.life.build import build_life_folder
    from recall_bench.generate.life.sources import read_life

    _refuse_knobs(days, knobs, "life")
    return build_life_folder(read_life(folder), out, seed=int(knobs.get("seed", 0)))


def _build_written(folder: Path, out: Path, days: int | None, knobs: Mapping[str, float]) -> Path:
    from recall_bench.generate.written.build import build_written_folder
    from recall_bench.generate.written.sources import read_written

    _refuse_knobs(days, knobs, "written")
    return build_written_folder(read_written(folder), out, seed=int(knobs.get("seed", 0)))


def _refuse_knobs(days: int | None, knobs: Mapping[str, float], kind: str) -> None:
    """UsageError if a knob is turned that this kind of edition does not have."""
    from recall_bench.generate.world.sources import WorldOptions

    usual = WorldOptions(days=1)
    changed = [name for name, value in knobs.items() if value != getattr(usual, name)]
    if others := [name for name in changed if name != "seed"] + (["days"] if days else []):
        raise UsageError(
            f"--{others[0]}: a {kind} edition has no such knob; leave it out, "
            "or simulate the story with --edition 1"
        )


def list_shipped_personas() -> tuple[str, ...]:
    """The personas whose sources for the simulator ship with the package, by name."""
    return tuple(sorted(path.parent.name for path in SOURCES.glob("*/routine.yaml")))


def list_written_personas() -> tuple[str, ...]:
    """The shipped personas that have a written edition and nothing for the simulator."""
    written = {path.parent.parent.name for path in SOURCES.glob("*/written-*d/story.yaml")}
    return tuple(sorted(written - set(list_shipped_personas())))


def load_sources(persona: str, arcs: str | None = None) -> WorldSources:
    """The sources of a shipped persona, or of a user's folder."""
    from recall_bench.generate.world.sources import read_sources

    folder = SOURCES / persona if persona in list_shipped_personas() else Path(persona)
    if not folder.is_dir():
        raise UsageError(
            f"--persona: {persona} is neither a folder nor a shipped persona; "
            f"there is {', '.join(list_shipped_personas()) or 'none'}"
        )
    return read_sources(folder, find_story(folder, arcs).arcs)


def get_story_length(sources: WorldSources) -> int:
    """The length of a story in days: from its file name, else the end of its last arc."""
    return parse_story_days(sources.arcs_name) or max(arc.end_day for arc in sources.story.arcs)
