"""The command `datasets`: list, download and describe the public datasets."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import format_json, print_table
from recall_bench.cli.options import add_json_option

if TYPE_CHECKING:
    from recall_bench.features.datasets.dataset_card import (
        DatasetCounts,
        DatasetDescription,
        DatasetEntry,
        DatasetNote,
        FilePresence,
    )
    from recall_bench.features.datasets.download import DownloadProgress

_WIDTH = 100

_HEADS = (
    "dataset",
    "here",
    "on disk",
    "published",
    "download",
    "licence",
    "measures",
    "embedded default",
)

_LARGE = 50_000_000
"""Larger files get a log line for every tenth."""


@click.group("datasets")
def datasets_command() -> None:
    """List, download and describe the public datasets."""


@datasets_command.command("list")
@add_json_option("Print JSON, every file in it.")
def list_command(as_json: bool) -> None:
    """List the datasets and how much of each is downloaded."""
    from recall_bench.core.plain_text import make_table
    from recall_bench.features.datasets.dataset_card import list_entries
    from recall_bench.stories.dataset_folder import get_datasets_folder

    entries = list_entries()
    if as_json:
        click.echo(format_json(entries))
        return
    print_table(make_table(_HEADS, map(_make_row, entries), text=range(len(_HEADS))))
    click.echo(f"\nDownloads are in {get_datasets_folder()}.")


@datasets_command.command("download")
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option(
    "--from",
    "own",
    type=click.Path(path_type=Path),
    help="Your own file or folder: it is checked, and linked or copied instead of fetched.",
)
@click.option(
    "--mirror", metavar="URL", help="Try URL/<dataset>/<file> before the published addresses."
)
@click.option(
    "--unpinned", is_flag=True, help="Accept files without a published sha-256, and print it."
)
def download_command(
    names: tuple[str, ...], own: Path | None, mirror: str | None, *, unpinned: bool
) -> None:
    """Download datasets and check them.

    The same command continues an interrupted download. Every file is checked against its published
    sha-256. Exits with 9 if a file could not be downloaded, with 3 if your file is not the
    published one, with 2 if there is no sha-256 to check.
    """
    from recall_bench.core.errors import Interrupted
    from recall_bench.features.datasets.download import DownloadOptions, download

    ways = DownloadOptions(own=own, mirror=mirror, takes_unpinned=unpinned)
    try:
        with open_watch() as watch:
            download(names, ways, watch)
    except KeyboardInterrupt:
        raise Interrupted(signal.SIGINT) from None


@datasets_command.command("show")
@click.argument("name")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Count this file or folder, not the download."
)
@add_json_option("Print JSON.")
def show_command(name: str, data: Path | None, as_json: bool) -> None:
    """Show a dataset's card: licence, notes, errata, published corrections.

    If it is downloaded or given with --data, also what it contains.
    """
    from recall_bench.cli.console import show_activity
    from recall_bench.features.datasets.dataset_card import build_card
    from recall_bench.judging.methodologies import list_denominators

    with show_activity() as show:
        # A dataset may have tens of thousands of scenarios: too many lines for a log.
        on_progress = show if sys.stderr.isatty() else lambda _: None
        card = build_card(name, data, denominators=list_denominators, on_progress=on_progress)
    click.echo(format_json(card) if as_json else "\n".join(_render_card(card)))


@contextmanager
def open_watch() -> "Iterator[DownloadProgress]":
    """One line that counts along if stderr is a terminal, a line for every tenth otherwise."""
    from recall_bench.cli.console import show_activity

    with show_activity() as show:
        yield _DownloadWatch(show)


class _DownloadWatch:
    """Shows every percent at a terminal; else of large files every tenth."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._is_terminal = sys.stderr.isatty()
        self._shown = ("", 0)

    def update(self, what: str, done: int, total: int | None) -> None:
        if total is None or not (self._is_terminal or total >= _LARGE):
            return
        step = 1 if self._is_terminal else 10
        now = what, 100 * done // total // step * step
        if now != self._shown and (self._is_terminal or now[1] > 0):
            self._show(f"{what}: {now[1]} %")
        self._shown = now

    def note(self, line: str) -> None:
        if self._is_terminal:
            self._show("")
        click.echo(f"\r{line}" if self._is_terminal else line, err=True)


def _make_row(entry: "DatasetEntry") -> tuple[str, ...]:
    from recall_bench.stories.dataset_folder import format_size

    is_published = entry.state is not None
    return (
        entry.name,
        entry.state if entry.state is not None else "by hand" if entry.obtain else "your own",
        format_size(entry.bytes_here) if entry.bytes_here else "-",
        format_size(entry.bytes) if entry.bytes is not None else "unknown" if is_published else "-",
        _describe_download(entry),
        entry.licence,
        entry.measures or entry.title,
        entry.default or "not run",
    )


def _describe_download(entry: "DatasetEntry") -> str:
    """Whether we can download it, and whether what arrives can be checked."""
    if entry.is_pinned is None:
        return "no"
    return "yes" if entry.is_pinned else "--unpinned"


def _render_card(card: "DatasetDescription") -> Iterator[str]:
    entry = card.entry
    yield entry.title
    yield ""
    family = "" if card.family == entry.name else f", measured by the protocols of {card.family}"
    yield _format_field("name", f"{entry.name}{family}")
    yield _format_field(
        "licence", f"{entry.licence}. {entry.terms}" if entry.terms else entry.licence
    )
    if entry.homepage is not None:
        yield _format_field("homepage", entry.homepage)
    if entry.measures:
        yield _format_field("measures", entry.measures)
    if entry.default is not None:
        yield _format_field("default", f"{entry.default} (`hybrid`, protocol `strict`)")
    yield _format_field(
        "dates", "real" if card.has_dates else "none; its sessions are put a day apart"
    )
    yield from _render_files(entry)
    yield from _render_list("To know before quoting a number:", card.notes)
    yield from _render_list("What the loader assumes:", card.assumptions)
    yield from _render_list("Published figures:", card.published)
    yield from _render_notes("Errata, dealt with when it is read:", card.errata)
    yield from _render_notes(
        "Corrections by others, laid over only with --errata NAME:", card.layers
    )
    yield ""
    if card.counts is None:
        yield fill(_explain_download(entry), _WIDTH)
    else:
        yield f"{card.data} ({_describe_origin(card)}) holds:"
        yield from _render_counts(card.counts)


def _render_files(entry: "DatasetEntry") -> Iterator[str]:
    """The files by name; of many files only their number."""
    if len(entry.files) > 30:
        here = sum(file.state == "complete" for file in entry.files)
        yield _format_field("files", f"{len(entry.files):,}, of which {here:,} are here")
        return
    for number, file in enumerate(entry.files):
        yield _format_field("" if number else "files", _describe_file(file))


def _describe_file(file: "FilePresence") -> str:
    from recall_bench.stories.dataset_folder import format_size

    words = [file.name, format_size(file.bytes) if file.bytes is not None else "size unknown"]
    words += [] if file.is_pinned else ["not pinned"]
    words += [f"layer {file.layer}"] if file.layer is not None else []
    return ", ".join([*words, file.state])


def _explain_download(entry: "DatasetEntry") -> str:
    if entry.state is None:
        obtain = f"{entry.obtain} " if entry.obtain else ""
        return f"{obtain}Nothing was counted: give your files with --data."
    return (
        f"Nothing was counted: {entry.name} is not here as published; `recall-bench datasets "
        f"download {entry.name}` fetches it, and --data counts files you have."
    )


def _describe_origin(card: "DatasetDescription") -> str:
    if card.is_published is None:
        return "not known whether as published" if card.entry.state else "your own"
    return "as published" if card.is_published else "NOT the published bytes"


def _render_counts(counts: "DatasetCounts") -> Iterator[str]:
    from recall_bench.core.plain_text import make_table, render_text

    yield _wrap_text(
        f"{counts.scenarios:,} scenarios, {counts.sessions:,} sessions, {counts.turns:,} turns, "
        f"{counts.questions:,} questions"
    )
    if counts.first_session is not None:
        yield f"  sessions from {counts.first_session} to {counts.last_session}"
    yield _wrap_text(
        f"{counts.abstaining:,} questions expect abstention, {counts.choices:,} offer options; "
        f"{counts.turn_evidence:,} cite turns, {counts.session_evidence:,} whole sessions only, "
        f"{counts.no_evidence:,} nothing"
    )
    for title, counted in (("category", counts.categories), ("denominator", counts.denominators)):
        if counted:
            rows = [(name, f"{count:,}") for name, count in counted.items()]
            yield ""
            yield from (f"  {line}" for line in render_text(make_table((title, "questions"), rows)))


def _render_list(title: str, sentences: tuple[str, ...]) -> Iterator[str]:
    if sentences:
        yield f"\n{title}"
        yield from (_wrap_text(f"* {sentence}") for sentence in sentences)


def _render_notes(title: str, notes: "tuple[DatasetNote, ...]") -> Iterator[str]:
    if notes:
        yield f"\n{title}"
        yield from (_wrap_text(f"{note.name}: {note.concerns}") for note in notes)


def _format_field(name: str, text: str) -> str:
    return fill(text, _WIDTH, initial_indent=f"  {name:10}", subsequent_indent=" " * 12)


def _wrap_text(text: str) -> str:
    return fill(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
