"""`datasets`: what there is, what is here, how to get it, and what it holds."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from recall_bench.cli.answer import json_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from recall_bench.downloading.cards import Card, Counts, Entry, FilePresence, Note
    from recall_bench.downloading.fetching import Watch

_WIDTH = 100

_HEADS: tuple[str, ...] = (
    "dataset",
    "here",
    "on disk",
    "published",
    "pinned",
    "licence",
    "title",
)

_LARGE = 50_000_000
"""From this size on a log is told of every tenth."""


@click.group("datasets")
def datasets_command() -> None:
    """List, download and describe the public datasets."""


@datasets_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every file in it.")
def list_command(as_json: bool) -> None:
    """List the datasets, and how much of each is here."""
    from recall_bench.downloading.cards import entries
    from recall_bench.downloading.places import datasets_folder

    found = entries()
    if as_json:
        click.echo(json_text(found))
        return
    rows = [_HEADS, *map(_row, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
    click.echo(f"\nDownloads lie in {datasets_folder()}.")


@datasets_command.command("download")
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option(
    "--from",
    "own",
    type=click.Path(path_type=Path),
    help="A file or folder you have; it is checked, and linked or copied. Nothing is fetched.",
)
@click.option(
    "--mirror", metavar="URL", help="Try URL/<dataset>/<file> before the published addresses."
)
@click.option(
    "--unpinned", is_flag=True, help="Take files whose sha-256 nobody has published, and print it."
)
def download_command(
    names: tuple[str, ...], own: Path | None, mirror: str | None, *, unpinned: bool
) -> None:
    """Bring datasets here, whole and as published.

    What was interrupted goes on where it ended when the same command is given again. Every file is
    checked against the sha-256 on record. Exits with 9 if a file could not be had, with 3 if a file
    of yours is not the published one, with 2 if there is nothing to check a file against.
    """
    from recall_bench.downloading.downloads import Ways, download
    from recall_bench.errors import Interrupted

    ways = Ways(own=own, mirror=mirror, takes_unpinned=unpinned)
    try:
        with watching() as watch:
            download(names, ways, watch)
    except KeyboardInterrupt:
        raise Interrupted(signal.SIGINT) from None


@datasets_command.command("show")
@click.argument("name")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Count this file or folder, not the download."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(name: str, data: Path | None, as_json: bool) -> None:
    """Show a dataset's card.

    Its licence, what to know before quoting a number, its errata, corrections that others published
    and, if it is here or given with --data, what it holds.
    """
    from recall_bench.cli.doing import doing
    from recall_bench.downloading.cards import card_of
    from recall_bench.evaluation.denominators import denominators

    with doing() as telling:
        # A dataset may have tens of thousands of scenarios, which no log wants to hear of.
        heard = telling if sys.stderr.isatty() else None
        card = card_of(name, data, denominators=denominators, telling=heard)
    click.echo(json_text(card) if as_json else "\n".join(_card_lines(card)))


@contextmanager
def watching() -> "Iterator[Watch]":
    """A progress bar if stderr is a terminal, plain lines otherwise."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        yield _Bar(progress, progress.add_task("starting", total=None))


class _Lines:
    """Plain lines on stderr, and of large files every tenth."""

    def __init__(self) -> None:
        self._told: tuple[str, int] = ("", 0)

    def at(self, what: str, done: int, total: int | None) -> None:
        if total is None or total < _LARGE:
            return
        now = what, done * 10 // total
        if self._told[0] == what and now[1] > self._told[1]:
            click.echo(f"{what}: {now[1] * 10} %", err=True)
        self._told = now

    def say(self, line: str) -> None:
        click.echo(line, err=True)


class _Bar:
    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress = progress
        self._task = task
        self._what = ""

    def at(self, what: str, done: int, total: int | None) -> None:
        if what != self._what:
            self._what = what
            self._progress.reset(self._task, description=what, total=total, completed=done)
        self._progress.update(self._task, completed=done, total=total)

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _row(entry: "Entry") -> tuple[str, ...]:
    from recall_bench.downloading.digests import size_words

    is_published = entry.state is not None
    return (
        entry.name,
        entry.state if entry.state is not None else "your own",
        size_words(entry.bytes_here) if entry.bytes_here else "-",
        size_words(entry.bytes) if entry.bytes is not None else "unknown" if is_published else "-",
        "-" if entry.is_pinned is None else "yes" if entry.is_pinned else "no",
        entry.licence,
        entry.title,
    )


def _card_lines(card: "Card") -> Iterator[str]:
    entry = card.entry
    yield entry.title
    yield ""
    family = "" if card.family == entry.name else f", measured by the protocols of {card.family}"
    yield _field("name", f"{entry.name}{family}")
    yield _field("licence", f"{entry.licence}. {entry.terms}" if entry.terms else entry.licence)
    if entry.homepage is not None:
        yield _field("homepage", entry.homepage)
    yield _field("dates", "real" if card.has_dates else "none; its sessions are put a day apart")
    yield from _file_lines(entry)
    if card.notes:
        yield "\nTo know before quoting a number:"
        yield from (_wrapped(f"* {note}") for note in card.notes)
    yield from _named("Errata, dealt with when it is read:", card.errata)
    yield from _named("Corrections by others, laid over only with --errata NAME:", card.layers)
    yield ""
    if card.counts is None:
        yield fill(_how_to_get(entry), _WIDTH)
    else:
        yield f"{card.data} ({_origin(card)}) holds:"
        yield from _count_lines(card.counts)


def _file_lines(entry: "Entry") -> Iterator[str]:
    """The files by name; of a tree of them, how many there are."""
    if len(entry.files) > 30:
        here = sum(file.state == "complete" for file in entry.files)
        yield _field("files", f"{len(entry.files):,}, of which {here:,} are here")
        return
    for number, file in enumerate(entry.files):
        yield _field("" if number else "files", _file_words(file))


def _file_words(file: "FilePresence") -> str:
    from recall_bench.downloading.digests import size_words

    words = [file.name, size_words(file.bytes) if file.bytes is not None else "size unknown"]
    words += [] if file.is_pinned else ["not pinned"]
    words += [f"layer {file.layer}"] if file.layer is not None else []
    return ", ".join([*words, file.state])


def _how_to_get(entry: "Entry") -> str:
    if entry.state is None:
        return "Nothing was counted: give your files with --data."
    return (
        f"Nothing was counted: {entry.name} is not here as published; `recall-bench datasets "
        f"download {entry.name}` fetches it, and --data counts files you have."
    )


def _origin(card: "Card") -> str:
    if card.is_published is None:
        return "nobody can say whether as published" if card.entry.state else "your own"
    return "as published" if card.is_published else "NOT the published bytes"


def _count_lines(counts: "Counts") -> Iterator[str]:
    yield _wrapped(
        f"{counts.scenarios:,} scenarios, {counts.sessions:,} sessions, {counts.turns:,} turns, "
        f"{counts.questions:,} questions"
    )
    if counts.first_session is not None:
        yield f"  sessions from {counts.first_session} to {counts.last_session}"
    yield _wrapped(
        f"{counts.abstaining:,} questions expect abstention, {counts.choices:,} offer options; "
        f"{counts.turn_evidence:,} cite turns, {counts.session_evidence:,} whole sessions only, "
        f"{counts.no_evidence:,} nothing"
    )
    for title, table in (("category", counts.categories), ("denominator", counts.denominators)):
        if table:
            width = max(len(title), *map(len, table))
            yield f"\n  {title:{width}}  questions"
            yield from (f"  {name:{width}}  {count:9,}" for name, count in table.items())


def _named(title: str, notes: "tuple[Note, ...]") -> Iterator[str]:
    if notes:
        yield f"\n{title}"
        yield from (_wrapped(f"{note.name}: {note.concerns}") for note in notes)


def _field(name: str, text: str) -> str:
    return fill(text, _WIDTH, initial_indent=f"  {name:10}", subsequent_indent=" " * 12)


def _wrapped(text: str) -> str:
    return fill(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
