"""From the personas people name to the stories they tell."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.question import Scenario
from recall_bench.errors import UsageError
from recall_bench.settings import Settings
from recall_bench.shipped import SOURCES, BuildProgress

SAMPLE = "harbour-office"
"""The persona of thirty days that a first run uses: written by hand, and there at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFolder:
    """One persona's folder and which of its stories is told."""

    folder: Path
    arcs: str

    def load(self, settings: Settings) -> Scenario:
        """The whole story with its questions."""
        from recall_bench.datasets.persona import load_persona

        return load_persona(
            self.folder,
            arcs=self.arcs,
            calendar=settings.calendar,
            allow_gaps=settings.allow_gaps,
            ingest=settings.ingest,
        )


def resolve_personas(
    settings: Settings, building: BuildProgress | None = None
) -> Mapping[str, Path]:
    """The folders of the personas asked for, by id; all there are where none was named.

    A shipped persona that was never used before is played first.
    """
    if settings.data is None:
        return _resolve_shipped_personas(settings, building)
    from recall_bench.datasets.persona import persona_ids

    data = settings.data
    if not data.is_dir():
        raise UsageError(f"--data: {data} is not a folder; name the one that holds the personas")
    known = persona_ids(data)
    if not known and (data / "persona.yaml").exists():
        raise UsageError(f"--data: {data} is a persona itself; name the folder that holds it")
    if not known:
        raise UsageError(
            f"--data: {data} holds no persona; "
            "it should contain one folder with a persona.yaml for each"
        )
    return {name: data / name for name in _choose_personas(settings, known, str(data))}


def _resolve_shipped_personas(
    settings: Settings, building: BuildProgress | None
) -> Mapping[str, Path]:
    from recall_bench.shipped import load_catalogue, materialise

    played = load_catalogue()
    wanted = (
        _choose_personas(settings, (*played, SAMPLE), "the package")
        if settings.personas
        else (SAMPLE,)
    )
    return {
        name: materialise(name, settings.arcs, building) if name in played else SOURCES / name
        for name in wanted
    }


def _choose_personas(settings: Settings, known: tuple[str, ...], where: str) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(settings.personas)) or known
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(
            f"--personas: {where} has no persona {' or '.join(map(repr, unknown))}; "
            f"it has {', '.join(known)}"
        )
    return wanted


def find_story(folder: Path, arcs: str | None) -> StoryFolder:
    """The story named; else the usual one; else the only one."""
    from recall_bench.datasets.layout import Layout, choose_story, list_stories

    told = list_stories(folder)
    chosen = arcs or choose_story(told)
    if chosen is None:
        # Of several, the only one that can be run.
        whole = [name for name in told if not Layout(folder, name).find_missing()]
        chosen = whole[0] if len(whole) == 1 else None
    if chosen is None:
        raise UsageError(
            f"{folder.name} has several stories; name one with --arcs: {', '.join(told)}"
        )
    return StoryFolder(folder=folder, arcs=chosen)
