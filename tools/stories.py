"""The packed stories of the package, for their authors: unpack one, pack it, see what changed.

    python tools/stories.py unpack executive-assistant arcs-180d.yaml --into work
    python tools/stories.py diff work/executive-assistant
    python tools/stories.py pack work/executive-assistant

A story is a persona folder in the public format with one story in it. `pack` refuses a folder in
which a run would find problems, and writes the archive and the entry of the catalogue; a release
that changes the days or questions of a story gives it a new --edition, so that scores under one
name stay comparable. The archive is the same for the same files.
"""

import argparse
import difflib
import io
import lzma
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from recall_bench.core.errors import BenchError, Problems, UsageError
from recall_bench.stories import shipped
from recall_bench.stories.persona import inspect_persona
from recall_bench.stories.persona_files import list_stories
from recall_bench.stories.persona_story import read_persona
from recall_bench.stories.shipped import (
    ShippedPersona,
    ShippedStory,
    digest_folder,
    load_catalogue,
    locate_pack,
    unpack_story,
)


def unpack(persona: str, arcs: str | None, edition: int | None, into: Path) -> Path:
    """Copy a shipped story to `into`, to be worked on."""
    folder = into / persona
    if folder.exists():
        raise UsageError(f"{folder} exists already; remove it, or name another place with --into")
    shutil.copytree(unpack_story(persona, arcs, edition=edition), folder)
    return folder


def pack(folder: Path, edition: int | None) -> ShippedStory:
    """Pack a folder as a story of the package, and record it in the catalogue."""
    arcs = find_only_story(folder)
    inspection = inspect_persona(folder, arcs=arcs)
    if inspection.problems or inspection.card is None:
        raise Problems(inspection.problems)
    persona = load_catalogue().get(folder.name)
    released = {} if persona is None else persona.list_stories()
    newest = released[arcs].edition if arcs in released else 1
    story = ShippedStory(
        arcs=arcs,
        edition=edition or newest,
        digest=digest_folder(folder),
        days=inspection.card.episodes,
        questions=inspection.card.items,
    )
    locate_pack(folder.name, story).write_bytes(build_archive(folder))
    write_catalogue(folder, story)
    return story


def find_only_story(folder: Path) -> str:
    """The story of a folder; UsageError unless it has exactly one."""
    stories = list_stories(folder) if folder.is_dir() else ()
    if len(stories) != 1:
        raise UsageError(f"{folder} should hold one story, and holds {len(stories)}")
    return stories[0]


def build_archive(folder: Path) -> bytes:
    """The archive of a folder: names and bytes alone, in order, so that it can be made again."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def write_catalogue(folder: Path, story: ShippedStory) -> None:
    """Record the story; it replaces one of the same arcs and edition, newer editions are first."""
    described = read_persona(folder)
    catalogue = dict(load_catalogue())
    before = catalogue[folder.name].stories if folder.name in catalogue else ()
    kept = [one for one in before if (one.arcs, one.edition) != (story.arcs, story.edition)]
    catalogue[folder.name] = ShippedPersona(
        id=folder.name,
        name=described.name,
        role=described.role,
        domain=described.domain,
        stories=tuple(sorted([*kept, story], key=lambda one: (-one.edition, one.arcs))),
    )
    content = msgspec.json.encode(list(catalogue.values()))
    shipped.CATALOGUE.write_bytes(msgspec.json.format(content, indent=1) + b"\n")
    load_catalogue.cache_clear()


def diff(folder: Path, edition: int | None) -> Iterator[str]:
    """The lines in which a folder differs from the story as released."""
    released = unpack_story(folder.name, find_only_story(folder), edition=edition)
    before, after = read_files(released), read_files(folder)
    for name in sorted(before.keys() | after.keys()):
        yield from difflib.unified_diff(
            before.get(name, ()), after.get(name, ()), f"released/{name}", str(folder / name)
        )


def read_files(folder: Path) -> Mapping[str, Sequence[str]]:
    """The lines of every file of a folder by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8").splitlines(keepends=True)
        for path in folder.rglob("*")
        if path.is_file()
    }


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line; the exit code is that of `recall-bench`, and 1 for differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    unpacking = commands.add_parser("unpack", help="copy a shipped story to a folder")
    unpacking.add_argument("persona")
    unpacking.add_argument("arcs", nargs="?")
    unpacking.add_argument("--into", type=Path, default=Path())
    packing = commands.add_parser("pack", help="pack a folder and record its digest")
    comparing = commands.add_parser("diff", help="show what changed since the release")
    for command in (packing, comparing):
        command.add_argument("folder", type=Path)
    for command in (unpacking, packing, comparing):
        command.add_argument("--edition", type=int)
    given = parser.parse_args(words)
    try:
        if given.command == "unpack":
            print(unpack(given.persona, given.arcs, given.edition, given.into))
        elif given.command == "pack":
            story = pack(given.folder, given.edition)
            print(f"{given.folder.name} {story.arcs}, edition {story.edition}: {story.digest}")
        else:
            lines = list(diff(given.folder, given.edition))
            sys.stdout.writelines(lines)
            return int(bool(lines))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
