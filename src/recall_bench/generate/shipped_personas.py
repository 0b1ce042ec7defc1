"""The shipped personas: sources in the package, built corpora in the user's cache.

A shipped story is simulated, or rendered from its written edition, on first use and cached. The
package records the digest of every corpus; the built or cached corpus must match it byte for byte.
The stories of an earlier run are recognised by their digests.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from recall_bench.core.cache_folder import find_cache_folder, make_cache_folder
from recall_bench.core.errors import CorpusMismatch, DataError, UsageError
from recall_bench.core.file_digest import digest_file
from recall_bench.core.plan import DrawnStory, Plan, ScenarioCard, WorldCard
from recall_bench.core.record import Record
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.suggestion import suggest_or_list
from recall_bench.datasets.persona_files import choose_story, list_stories
from recall_bench.generate.drawn_worlds import locate_world, lock_world, mark_use, sweep_worlds

if TYPE_CHECKING:
    # Loading stories takes modules that `list` can do without.
    from recall_bench.core.event import Declared
    from recall_bench.datasets.persona import Inspection
    from recall_bench.generate.world_seeds import WorldSeed

SOURCES = Path(__file__).parent / "persona_sources"
"""The sources of the shipped personas, and the sample persona, which needs no simulation."""

_CATALOGUE = SOURCES / "catalogue.json"


class ShippedCorpus(Record, frozen=True, kw_only=True):
    """The recorded properties of a shipped story."""

    digest: str
    days: int
    """Number of day files."""
    questions: int
    edition: int = 1
    """1 for the first simulated stories, 2 for written ones and those of lives."""


BuildProgress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows the simulation of a persona of that many days; yields a callback for each day."""


def load_catalogue(edition: int | None = None) -> Mapping[str, Mapping[str, ShippedCorpus]]:
    """Every shipped story that needs building: persona, arcs file, corpus.

    Without an edition, the newest of each story; with one, the stories of that edition.
    """
    newest = _read_catalogue(_CATALOGUE)
    if edition is None:
        return newest
    earlier = load_earlier_editions()
    return {
        persona: found
        for persona, stories in newest.items()
        if (
            found := {
                arcs: corpus
                for arcs, corpus in (*stories.items(), *earlier.get(persona, {}).items())
                if corpus.edition == edition
            }
        )
    }


def materialise(
    persona: str,
    arcs: str | None,
    building: BuildProgress | None = None,
    *,
    edition: int | None = None,
) -> Path:
    """The folder of a shipped persona's story, built first if it is not cached."""
    story = _choose_story(persona, arcs, edition)
    corpus = load_catalogue(edition)[persona][story]
    folder = find_cache_folder() / "worlds" / corpus.digest[:16] / persona
    if _is_corpus(folder, corpus):
        return folder
    from filelock import FileLock

    make_cache_folder(folder.parent)
    with FileLock(folder.with_suffix(".lock")):
        if not _is_corpus(folder, corpus):
            named = DrawnStory(persona=persona, arcs=story, edition=corpus.edition)
            _build_story(named, folder, building or show_nothing)
        found = digest_folder(folder)
        if found != corpus.digest:
            shutil.rmtree(folder)
            raise CorpusMismatch(
                f"{persona} as simulated here has the digest {found[:12]}, not "
                f"{corpus.digest[:12]} "
                "as released, so its scores would not compare; reinstall the package"
            )
    return folder


def materialise_drawn(
    story: DrawnStory, seed: "WorldSeed", building: BuildProgress | None = None
) -> Path:
    """The folder of a shipped story drawn from a seed, built first if it is not cached."""
    folder = find_drawn_folder(story, seed.commitment)
    if _is_intact(folder):
        return folder
    with lock_world(folder.parent):
        if not _is_intact(folder):
            make_cache_folder(folder.parent)
            build = building or show_nothing
            _build_story(story, folder, build, seed.value)
            _get_digest_file(folder).write_text(digest_folder(folder), encoding="ascii")
    sweep_worlds(folder.parent.parent)
    return folder


def find_drawn_folder(story: DrawnStory, commitment: str) -> Path:
    """Where the cache holds a story drawn from the seed of this commitment.

    The digest of the story as released is part of the name: another generator draws another story.
    """
    released = load_catalogue(story.edition).get(story.persona, {}).get(story.arcs)
    if released is None:
        raise UsageError(
            f"the package has no edition {story.edition} of {story.persona} {story.arcs}; "
            "install the version of recall-bench that drew it"
        )
    named = "\0".join((commitment, story.persona, story.arcs, released.digest))
    digest = sha256(named.encode()).hexdigest()
    return locate_world(find_cache_folder() / "worlds", digest) / story.persona


def _is_intact(folder: Path) -> bool:
    """Whether the cache holds the drawn story as it was built, which counts as a use."""
    mark_use(folder.parent)
    try:
        return digest_folder(folder) == _get_digest_file(folder).read_text(encoding="ascii")
    except OSError:
        return False


def _get_digest_file(folder: Path) -> Path:
    return folder.with_suffix(".digest")


def choose_drawn_stories(settings: Settings) -> tuple[DrawnStory, ...]:
    """The shipped stories that the settings name, to be drawn from a seed."""
    if settings.data is not None:
        raise UsageError(
            "--world-seed: draws shipped personas only; leave --data out, or build your own "
            "sources with `recall-bench world build --seed`"
        )
    wanted = _choose_shipped(settings)
    if SAMPLE in wanted:
        raise UsageError(f"--world-seed: {SAMPLE} is written by hand; name other --personas")
    edition = settings.edition
    found = []
    for persona in wanted:
        arcs = _choose_story(persona, settings.arcs, edition)
        corpus = load_catalogue(edition)[persona][arcs]
        found.append(DrawnStory(persona=persona, arcs=arcs, edition=corpus.edition))
    return tuple(found)


def _is_corpus(folder: Path, corpus: ShippedCorpus) -> bool:
    """Whether the folder is the corpus; False while another process replaces it."""
    try:
        return folder.is_dir() and digest_folder(folder) == corpus.digest
    except OSError:
        return False


def digest_folder(folder: Path) -> str:
    """The digest of a folder: every file's name and bytes."""
    total = sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            total.update(f"{name}\0{digest_file(path)}\n".encode())
    return total.hexdigest()


def measure_corpus(folder: Path, edition: int = 1) -> ShippedCorpus:
    """The properties of a built folder."""
    (questions,) = folder.glob("qa-*/questions.yaml")
    asked = questions.read_text(encoding="utf-8")
    return ShippedCorpus(
        digest=digest_folder(folder),
        days=len(list(folder.glob("memories-*/day-*.md"))),
        questions=len(re.findall(r"^- id:", asked, re.MULTILINE)),
        edition=edition,
    )


def parse_story_days(arcs: str) -> int | None:
    """The number of days in the name of an arcs file; None if there is none."""
    named = re.fullmatch(r"arcs-(\d+)d\.ya?ml", arcs)
    return int(named[1]) if named else None


class LongestStory(NamedTuple):
    """The longest story that several shipped personas have under one name."""

    arcs: str
    days: int


def find_longest_story(personas: Sequence[str]) -> LongestStory | None:
    """Find the longest story that all of them have; None if there is none."""
    catalogue = load_catalogue()
    names = [set(catalogue.get(persona, {})) for persona in personas]
    shared = set.intersection(*names) if names else set()
    found = [LongestStory(arcs, days) for arcs in shared if (days := parse_story_days(arcs))]
    return max(found, key=lambda each: each.days, default=None)


@cache
def _read_catalogue(path: Path) -> dict[str, dict[str, ShippedCorpus]]:
    if not path.is_file():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, ShippedCorpus]])


def load_earlier_editions() -> dict[str, dict[str, ShippedCorpus]]:
    """Stories that a newer edition replaced; they stay buildable, so that runs can be repeated."""
    return _read_catalogue(_CATALOGUE.with_name("earlier-editions.json"))


def write_catalogue(
    found: Mapping[str, Mapping[str, ShippedCorpus]],
    earlier: Mapping[str, Mapping[str, ShippedCorpus]] | None = None,
) -> None:
    """Record the digests of built corpora, for a release."""
    files = {_CATALOGUE: found, _CATALOGUE.with_name("earlier-editions.json"): earlier or {}}
    for path, corpora in files.items():
        path.write_bytes(msgspec.json.format(msgspec.json.encode(corpora), indent=1) + b"\n")
    _read_catalogue.cache_clear()


def _choose_story(persona: str, arcs: str | None, edition: int | None) -> str:
    stories = load_catalogue(edition).get(persona)
    if stories is None:
        raise UsageError(f"--edition: {persona} has no edition {edition}; leave --edition out")
    if arcs is None:
        newer = [name for name, corpus in stories.items() if corpus.edition > 1]
        shortest = min(newer, key=lambda name: parse_story_days(name) or 0, default=None)
        return shortest or choose_story(stories) or next(iter(stories))
    if arcs not in stories:
        raise UsageError(f"--arcs: {persona} has no {arcs}; it has {', '.join(stories)}")
    return arcs


def _build_story(drawn: DrawnStory, folder: Path, building: BuildProgress, seed: int = 0) -> None:
    from recall_bench.generate.life.build import build_life_folder
    from recall_bench.generate.life.sources import find_lives, read_life
    from recall_bench.generate.world.build import build_folder
    from recall_bench.generate.world.sources import WorldOptions, read_sources
    from recall_bench.generate.written.build import build_written_folder
    from recall_bench.generate.written.sources import find_written, read_written

    persona, story = drawn.persona, drawn.arcs
    if drawn.edition > 1:
        shutil.rmtree(folder, ignore_errors=True)
        life = find_lives(SOURCES / persona).get(story)
        if life is not None:
            build_life_folder(read_life(life), folder.parent, seed=seed)
            return
        written = read_written(find_written(SOURCES / persona)[story])
        build_written_folder(written, folder.parent, seed=seed)
        return
    sources = read_sources(SOURCES / persona, story)
    days = parse_story_days(story) or max(arc.end_day for arc in sources.story.arcs)
    shutil.rmtree(folder, ignore_errors=True)
    with building(persona, days) as on_day:
        build_folder(sources, WorldOptions(days=days, seed=seed), folder.parent, on_day)


def show_nothing(_persona: str, _days: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show nothing."""
    return nullcontext(lambda _: None)


SAMPLE = "harbour-office"
SAMPLE_DAYS, SAMPLE_QUESTIONS = 30, 91
"""The size of its only story, so that `list` need not read it."""
"""The sample persona of thirty days: hand-written, ships as it is."""

DEMO: tuple[str, ...] = ("executive-assistant", "er-physician")
"""The personas of a run that names none: their written editions of half a year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFolder:
    """One persona's folder and one of its stories."""

    folder: Path
    arcs: str

    def load(self, settings: Settings) -> Scenario:
        """Load the whole story with its questions."""
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
    """The folders of the requested personas, by id; all of them if none is named.

    A shipped persona is simulated on first use.
    """
    if settings.world_seed is not None:
        from recall_bench.generate.world_seeds import parse_world_seed

        stories = choose_drawn_stories(settings)
        seed = parse_world_seed(settings.world_seed)
        return {story.persona: materialise_drawn(story, seed, building) for story in stories}
    if settings.data is None:
        return _resolve_shipped_personas(settings, building)
    from recall_bench.datasets.persona_files import list_persona_ids

    data = settings.data
    if not data.is_dir():
        raise UsageError(f"--data: {data} is not a folder; name the one that holds the personas")
    known = list_persona_ids(data)
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
    catalogue = load_catalogue()
    return {
        name: materialise(name, settings.arcs, building, edition=settings.edition)
        if name in catalogue
        else SOURCES / name
        for name in _choose_shipped(settings)
    }


def _choose_shipped(settings: Settings) -> tuple[str, ...]:
    if not settings.personas:
        return DEMO
    return _choose_personas(settings, (*load_catalogue(), SAMPLE), "the package")


def _choose_personas(settings: Settings, known: tuple[str, ...], where: str) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(settings.personas)) or known
    if unknown := [name for name in wanted if name not in known]:
        hint = suggest_or_list(unknown[0], known, f"it has {', '.join(known)}")
        raise UsageError(
            f"--personas: {where} has no persona {' or '.join(map(repr, unknown))}; {hint}"
        )
    return wanted


def find_story(folder: Path, arcs: str | None) -> StoryFolder:
    """The named story, else the default one, else the only one."""
    from recall_bench.datasets.persona_files import Layout, choose_story, list_stories

    stories = list_stories(folder)
    chosen = arcs or choose_story(stories)
    if chosen is None:
        # Of several stories, the only complete one.
        whole = [name for name in stories if not Layout(folder, name).find_missing()]
        chosen = whole[0] if len(whole) == 1 else None
    if chosen is None:
        raise UsageError(
            f"{folder.name} has several stories; name one with --arcs: {', '.join(stories)}"
        )
    return StoryFolder(folder=folder, arcs=chosen)


FoundStory: TypeAlias = "tuple[StoryFolder, Declared]"
"""A story, and its declared questions."""


def find_stories(
    plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[str, FoundStory]:
    """Every scenario of the plan, below `data` or among the shipped personas.

    UsageError if one is missing, DataError if it is not the one of the plan.
    """
    return {card.id: _find_story(card, plan, data, building) for card in plan.scenarios}


def _find_story(
    card: ScenarioCard, plan: Plan, data: Path | None, building: BuildProgress | None
) -> FoundStory:
    from recall_bench.core.event import Declared
    from recall_bench.datasets.persona import inspect_persona

    seen: list[Inspection] = []
    for story in list_candidates(card, plan.world, data, building):
        found = inspect_persona(
            story.folder,
            arcs=story.arcs,
            allow_gaps=True,
            calendar=plan.calendar,
            ingest=plan.ingest,
        )
        if found.card == card:
            asked = Declared(
                at=datetime.now(UTC), scenario=card.id, items=found.items, days=found.days
            )
            return story, asked
        seen.append(found)
    raise DataError(_explain_difference(card, seen, "the package" if data is None else str(data)))


def name_released_story(persona: str, story: StoryFolder) -> DrawnStory:
    """Name a story as released, with the edition whose digest its folder in the cache has."""
    editions = (
        corpus.edition
        for catalogue in (load_catalogue(), load_earlier_editions())
        for arcs, corpus in catalogue.get(persona, {}).items()
        if arcs == story.arcs and story.folder.parent.name == corpus.digest[:16]
    )
    return DrawnStory(persona=persona, arcs=story.arcs, edition=next(editions, 1))


def list_candidates(
    card: ScenarioCard, world: WorldCard | None, data: Path | None, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    """Stories that may be the one of the card; UsageError if there is none."""
    if data is not None:
        return _list_below(data, card)
    if world is not None:
        return _list_drawn_stories(card, world, building)
    return _list_shipped_stories(card, building)


def _list_drawn_stories(
    card: ScenarioCard, world: WorldCard, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    from recall_bench.generate.world_seeds import parse_world_seed

    for story in world.stories:
        if story.persona != card.id:
            continue
        if world.seed is not None:
            folder = materialise_drawn(story, parse_world_seed(world.seed), building)
        else:
            folder = find_drawn_folder(story, world.commitment)
            if not _is_intact(folder):
                raise UsageError(
                    f"{card.id}: the run was drawn from a secret seed, which is not known here; "
                    "once it is revealed, `recall-bench challenge verify` draws it again"
                )
        yield StoryFolder(folder=folder, arcs=story.arcs)


def _list_below(data: Path, card: ScenarioCard) -> Iterator[StoryFolder]:
    folder = data / card.id
    if not (folder / "persona.yaml").is_file():
        raise UsageError(
            f"--data: {data} has no persona {card.id}, which the run used; "
            "name the folder that holds it"
        )
    for arcs in list_stories(folder):
        yield StoryFolder(folder=folder, arcs=arcs)


def _list_shipped_stories(
    card: ScenarioCard, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    if card.id == SAMPLE:
        for arcs in list_stories(SOURCES / SAMPLE):
            yield StoryFolder(folder=SOURCES / SAMPLE, arcs=arcs)
        return
    if card.id not in load_catalogue():
        raise UsageError(
            f"{card.id}, which the run used, does not ship with the package; "
            "name the folder that holds it with --data"
        )
    for stories in (load_catalogue()[card.id], load_earlier_editions().get(card.id, {})):
        for arcs, corpus in stories.items():
            if (corpus.days, corpus.questions) == (card.episodes, card.items):
                folder = materialise(card.id, arcs, building, edition=corpus.edition)
                yield StoryFolder(folder=folder, arcs=arcs)


def _explain_difference(card: ScenarioCard, seen: "Sequence[Inspection]", where: str) -> str:
    cards = [found.card for found in seen if found.card is not None]
    advice = "restore it, or name its folder with --data"
    if any(other.history_digest == card.history_digest for other in cards):
        return f"{card.id}: its questions in {where} are not those of the run; {advice}"
    if any(other.questions_digest == card.questions_digest for other in cards):
        return f"{card.id}: its days in {where} are not those of the run; {advice}"
    return f"{card.id}: no story of it in {where} is the one the run used; {advice}"


def load_day_texts(
    plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[str, dict[int, str]]:
    """The text of each day of each persona, below `data` or among the shipped personas.

    UsageError if one is missing, DataError if its days are not those of the run.
    """
    return {card.id: find_story_days(card, plan, data, building).texts for card in plan.scenarios}


class StoryTexts(NamedTuple):
    """A story, and the text of each of its days."""

    story: StoryFolder
    texts: dict[int, str]


def find_story_days(
    card: ScenarioCard, plan: Plan, data: Path | None, building: BuildProgress | None
) -> StoryTexts:
    """The days that the run fed of one scenario; errors as of `load_day_texts`."""
    from recall_bench.datasets.persona import read_story_days

    if plan.imported is not None:
        raise UsageError(f"{card.id}: the run was imported, and its files do not hold its days")
    for story in list_candidates(card, plan.world, data, building):
        found = read_story_days(
            story.folder, arcs=story.arcs, calendar=plan.calendar, ingest=plan.ingest
        )
        if found.history_digest == card.history_digest:
            return StoryTexts(story, dict(found.texts))
    where = "the package" if data is None else str(data)
    raise DataError(
        f"{card.id}: its days in {where} are not those of the run; name their folder with --data"
    )
