"""The shipped stories: packed persona folders, unpacked into the user's cache on first use.

A story is packed alone, as `PERSONA_ARCS_EDITION.tar.xz`. The catalogue records the digest of the
unpacked folder, and a folder in the cache is used only while it has that digest, so that scores
under one name are comparable.
"""

import shutil
import tarfile
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from recall_bench.core.atomic_file import name_beside, sweep_folder
from recall_bench.core.errors import DISK_FULL, CorpusMismatch, JournalLost, UsageError
from recall_bench.core.folders import digest_file, find_cache_folder, make_cache_folder
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.record import Record
from recall_bench.stories.persona_files import parse_story_days

SAMPLE = "harbour-office"
"""The sample persona of thirty days."""

DEMO: tuple[str, ...] = ("executive-assistant", "er-physician")
"""The personas of a run that names none."""

CATALOGUE = Path(__file__).with_name("catalogue.json")
PACKED = Path(__file__).with_name("packed")


class ShippedStory(Record, frozen=True, kw_only=True):
    """One edition of one story, as released."""

    arcs: str
    edition: int
    digest: str
    """Of the unpacked folder."""
    days: int
    """Number of day files."""
    questions: int


class ShippedPersona(Record, frozen=True, kw_only=True):
    """A persona of the package; the newest edition of a story comes first."""

    id: str
    name: str
    role: str
    domain: str
    stories: tuple[ShippedStory, ...]

    def list_stories(self, edition: int | None = None) -> dict[str, ShippedStory]:
        """The stories of an edition, or the newest of each, by arcs file."""
        stories: dict[str, ShippedStory] = {}
        for story in self.stories:
            if edition in (None, story.edition):
                stories.setdefault(story.arcs, story)
        return stories

    def choose_story(self, arcs: str | None = None, edition: int | None = None) -> ShippedStory:
        """The named story, else the shortest; UsageError if there is none."""
        stories = self.list_stories(edition)
        if not stories:
            raise UsageError(f"--edition: {self.id} has no edition {edition}; leave --edition out")
        if arcs is None:
            return min(stories.values(), key=lambda story: parse_story_days(story.arcs) or 0)
        if arcs not in stories:
            raise UsageError(f"--arcs: {self.id} has no {arcs}; it has {', '.join(stories)}")
        return stories[arcs]


@cache
def load_catalogue() -> Mapping[str, ShippedPersona]:
    """The shipped personas by id."""
    personas = msgspec.json.decode(CATALOGUE.read_bytes(), type=list[ShippedPersona])
    return {persona.id: persona for persona in personas}


def find_persona(name: str) -> ShippedPersona:
    """The shipped persona of this name; UsageError if there is none."""
    catalogue = load_catalogue()
    if name not in catalogue:
        hint = suggest_or_list(name, tuple(catalogue), f"it has {', '.join(catalogue)}")
        raise UsageError(f"--personas: the package has no persona {name!r}; {hint}")
    return catalogue[name]


def unpack_story(persona: str, arcs: str | None = None, *, edition: int | None = None) -> Path:
    """The folder of a shipped persona with one of its stories; without `arcs` the usual one."""
    story = find_persona(persona).choose_story(arcs, edition)
    folder = find_cache_folder() / "worlds" / story.digest[:16] / persona
    if _is_intact(folder, story):
        return folder
    from filelock import FileLock

    make_cache_folder(folder.parent)
    with FileLock(folder.with_suffix(".lock")):
        # Another process may have unpacked it meanwhile.
        if not _is_intact(folder, story):
            _unpack(locate_pack(persona, story), folder)
            if (digest := digest_folder(folder)) != story.digest:
                shutil.rmtree(folder)
                raise CorpusMismatch(
                    f"{persona} in this package has the digest {digest[:12]}, not "
                    f"{story.digest[:12]} as released, so its scores would not compare; "
                    "reinstall the package"
                )
    return folder


def locate_pack(persona: str, story: ShippedStory) -> Path:
    """The packed story."""
    return PACKED / f"{persona}_{story.arcs.removesuffix('.yaml')}_{story.edition}.tar.xz"


def _unpack(pack: Path, folder: Path) -> None:
    """Unpack beside the folder first, so that it is whole as soon as it exists."""
    sweep_folder(folder.parent)
    partial = name_beside(folder)
    try:
        with tarfile.open(pack) as archive:
            # Not extractall: its filter is missing before Python 3.11.4.
            for member in archive:
                path = partial / member.name
                content = archive.extractfile(member)
                if content is None or not path.resolve().is_relative_to(partial.resolve()):
                    raise tarfile.ExtractError(f"{member.name} is no file of the story")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    except (OSError, EOFError, tarfile.TarError) as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise JournalLost(f"{folder}: {JournalLost.FULL_DISK}") from error
        raise CorpusMismatch(
            f"{pack.name} cannot be unpacked to {folder} ({error}); reinstall the package"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _is_intact(folder: Path, story: ShippedStory) -> bool:
    """Whether the folder is the story; False while another process replaces it."""
    try:
        return folder.is_dir() and digest_folder(folder) == story.digest
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


class LongestStory(NamedTuple):
    """The longest story that several shipped personas have under one name."""

    arcs: str
    days: int


def find_longest_story(personas: Sequence[str]) -> LongestStory | None:
    """Find the longest story that all of them have; None if there is none."""
    catalogue = load_catalogue()
    names = [
        set(catalogue[name].list_stories()) if name in catalogue else set() for name in personas
    ]
    shared = set.intersection(*names) if names else set()
    stories = [LongestStory(arcs, days) for arcs in shared if (days := parse_story_days(arcs))]
    return max(stories, key=lambda story: story.days, default=None)
