"""The personas that come with the package: sources there, corpora in the user's cache.

A shipped persona is played once, on first use, and kept. The digest of every corpus is in the
package; what was played must have it to the byte, and so must what the cache holds.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from recall_bench.core.record import Record
from recall_bench.datasets.layout import choose_story
from recall_bench.errors import CorpusMismatch, UsageError

SOURCES = Path(__file__).parent / "personas"
"""Where the sources of the shipped personas lie, and the persona that needs no playing."""

_CATALOGUE = SOURCES / "catalogue.json"


class ShippedCorpus(Record, frozen=True, kw_only=True):
    """What is known of a shipped story before it is played."""

    digest: str
    days: int
    """How many days have a file."""
    questions: int


BuildProgress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows that a persona of so many days is being played; what it yields is told each day."""


def load_catalogue() -> Mapping[str, Mapping[str, ShippedCorpus]]:
    """Every shipped story that has to be played: persona, arcs file, corpus."""
    return _read_catalogue()


def materialise(persona: str, arcs: str | None, building: BuildProgress | None = None) -> Path:
    """The folder of a shipped persona's story, played first if the cache does not hold it."""
    story = _choose_story(persona, arcs)
    corpus = load_catalogue()[persona][story]
    folder = find_cache_folder() / "worlds" / corpus.digest[:16] / persona
    if _is_corpus(folder, corpus):
        return folder
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not _is_corpus(folder, corpus):
            for left in folder.parent.glob(f".{persona}.partial-*"):
                shutil.rmtree(left, ignore_errors=True)
            _simulate(persona, story, folder, building or show_nothing)
        found = digest_folder(folder)
        if found != corpus.digest:
            shutil.rmtree(folder)
            raise CorpusMismatch(
                f"{persona} as played here has the digest {found[:12]}, not {corpus.digest[:12]} "
                "as released, so its scores would not compare; reinstall the package"
            )
    return folder


def _is_corpus(folder: Path, corpus: ShippedCorpus) -> bool:
    """Whether the folder is the corpus; one that another process is replacing is not."""
    try:
        return folder.is_dir() and digest_folder(folder) == corpus.digest
    except OSError:
        return False


def digest_folder(folder: Path) -> str:
    """One digest for a whole folder: every file's name and bytes."""
    total = sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            total.update(f"{name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def measure_corpus(folder: Path) -> ShippedCorpus:
    """What a played folder comes to."""
    (questions,) = folder.glob("qa-*/questions.yaml")
    asked = questions.read_text(encoding="utf-8")
    return ShippedCorpus(
        digest=digest_folder(folder),
        days=len(list(folder.glob("memories-*/day-*.md"))),
        questions=len(re.findall(r"^- id:", asked, re.MULTILINE)),
    )


def find_cache_folder() -> Path:
    """Where played personas are kept: `RECALL_BENCH_CACHE`, or the platform's cache folder."""
    if named := os.environ.get("RECALL_BENCH_CACHE"):
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "recall-bench"


def parse_story_days(arcs: str) -> int | None:
    """The days an arcs file is named for; None if its name does not say."""
    named = re.fullmatch(r"arcs-(\d+)d\.ya?ml", arcs)
    return int(named[1]) if named else None


@cache
def _read_catalogue() -> dict[str, dict[str, ShippedCorpus]]:
    if not _CATALOGUE.is_file():
        return {}
    return msgspec.json.decode(_CATALOGUE.read_bytes(), type=dict[str, dict[str, ShippedCorpus]])


def write_catalogue(found: Mapping[str, Mapping[str, ShippedCorpus]]) -> None:
    """Put the digests of what was played on record, for a release."""
    plain = msgspec.json.format(msgspec.json.encode(found), indent=1)
    _CATALOGUE.write_bytes(plain + b"\n")
    _read_catalogue.cache_clear()


def _choose_story(persona: str, arcs: str | None) -> str:
    told = load_catalogue()[persona]
    if arcs is None:
        return choose_story(told) or next(iter(told))
    if arcs not in told:
        raise UsageError(f"--arcs: {persona} has no {arcs}; it has {', '.join(told)}")
    return arcs


def _simulate(persona: str, story: str, folder: Path, building: BuildProgress) -> None:
    from recall_bench.world.build import build_folder
    from recall_bench.world.knobs import WorldOptions
    from recall_bench.world.sources import read_sources

    sources = read_sources(SOURCES / persona, story)
    days = parse_story_days(story) or max(arc.end_day for arc in sources.story.arcs)
    shutil.rmtree(folder, ignore_errors=True)
    with building(persona, days) as told:
        build_folder(sources, WorldOptions(days=days), folder.parent, told)


def show_nothing(_persona: str, _days: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show nothing."""
    return nullcontext(lambda _: None)
