"""Find and read the public files of a run, recognised by content, not by name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import clean_text
from recall_bench.core.plan import FileCard
from recall_bench.core.untrusted_json import (
    decode_untrusted_json,
    decode_untrusted_line,
    read_regular_file,
)
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.result_format import (
    ProgressLine,
    ReadLogRow,
    ResultDocument,
)


class RunFileKind(StrEnum):
    """The kind of a file."""

    RESULT = "result"
    QUESTIONS = "question log"
    FAILURES = "failure log"
    PROGRESS = "progress file"


USUAL_NAMES = {
    "result.json": RunFileKind.RESULT,
    "questions.jsonl": RunFileKind.QUESTIONS,
    "failures.jsonl": RunFileKind.FAILURES,
    "progress.jsonl": RunFileKind.PROGRESS,
}
"""The default names of these files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The files of one run, read."""

    paths: dict[RunFileKind, Path]
    cards: tuple[FileCard, ...]
    result: ResultDocument | None = None
    questions: Sequence[ReadLogRow] = field(default=())
    failures: Sequence[ReadLogRow] = field(default=())
    progress: Sequence[ProgressLine] = field(default=())


def read_files(paths: Iterable[Path]) -> RunFiles:
    """Read the files of one run; UsageError if there are none, or those of several runs."""
    files: dict[RunFileKind, tuple[Path, bytes]] = {}
    for path, content, kind in _recognise_files(paths):
        if kind in files:
            raise UsageError(
                f"{files[kind][0]} and {path}: each is a {kind.value}; import one run at a time"
            )
        files[kind] = path, content
    failures = _decode_rows(files.get(RunFileKind.FAILURES), ReadLogRow, _is_feed_failure)
    return RunFiles(
        paths={kind: path for kind, (path, _) in files.items()},
        cards=tuple(
            FileCard(name=path.name, sha256=sha256(content).hexdigest(), bytes=len(content))
            for path, content in (files[kind] for kind in RunFileKind if kind in files)
        ),
        result=_decode_result(*files[RunFileKind.RESULT]) if RunFileKind.RESULT in files else None,
        questions=_decode_rows(files.get(RunFileKind.QUESTIONS), ReadLogRow),
        failures=failures,
        progress=_decode_rows(files.get(RunFileKind.PROGRESS), ProgressLine),
    )


def _recognise_files(paths: Iterable[Path]) -> Iterator[tuple[Path, bytes, RunFileKind]]:
    for path in paths:
        if path.is_dir():
            yield from _scan_folder(path)
            continue
        content = _read_bytes(path)
        kind = _detect_kind(path, content, is_meant=True)
        if kind is None:
            raise DataError(
                f"{path}: is not a file of a run; name a {_join_or(USUAL_NAMES)}, or the folder "
                "that holds them"
            )
        yield path, content, kind


def _scan_folder(folder: Path) -> Iterator[tuple[Path, bytes, RunFileKind]]:
    if (folder / JOURNAL).exists():
        raise UsageError(
            f"{folder}: is a run folder already, and every view reads it as it is; to import its "
            "files all the same, name them"
        )
    is_empty = True
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".jsonl") or path.name.startswith(".") or path.is_dir():
            continue
        content = _read_bytes(path)
        kind = _detect_kind(path, content, is_meant=path.name in USUAL_NAMES and bool(content))
        if kind is not None:
            is_empty = False
            yield path, content, kind
        elif path.name in USUAL_NAMES and content:
            raise DataError(f"{path}: is not a {USUAL_NAMES[path.name].value}")
    if is_empty:
        raise UsageError(
            f"{folder}: holds no file of a run; there should be a {_join_or(USUAL_NAMES)}"
        )


def _detect_kind(path: Path, content: bytes, *, is_meant: bool) -> RunFileKind | None:
    """Detect the kind of a file by the keys of its document or first line.

    Raises DataError if it cannot be read and was named.
    """
    if path.suffix == ".jsonl":
        content = next((line for line in content.splitlines() if line.strip()), b"")
    try:
        keys = decode_untrusted_json(content, dict[str, msgspec.Raw]).keys()
    except (msgspec.DecodeError, ValueError) as error:
        if is_meant:
            raise DataError(f"{path}: cannot be read as JSON ({clean_text(str(error))})") from error
        return None
    if path.suffix != ".jsonl":
        return RunFileKind.RESULT if keys >= {"personas", "adapterName"} else None
    if "type" in keys:
        return RunFileKind.PROGRESS
    if "qa" in keys:
        return RunFileKind.FAILURES if "appellateScore" in keys else RunFileKind.QUESTIONS
    return RunFileKind.FAILURES if keys >= {"stage", "unasked"} else None


def _read_bytes(path: Path) -> bytes:
    try:
        return read_regular_file(path)
    except FileNotFoundError as error:
        raise UsageError(
            f"{path}: does not exist; name a {_join_or(USUAL_NAMES)}, or a folder"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def _decode_result(path: Path, content: bytes) -> ResultDocument:
    try:
        return decode_untrusted_json(content, ResultDocument)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{path}: {clean_text(str(error))}") from error


def _decode_rows(
    file: tuple[Path, bytes] | None,
    kind: Any,  # noqa: ANN401 - a type
    leaves_out: Callable[[bytes], bool] = lambda _: False,
) -> list[Any]:
    """Decode every line; a torn last line of a killed harness is skipped."""
    rows: list[Any] = []
    path, content = file or (Path(), b"")
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip() or leaves_out(line):
            continue
        try:
            rows.append(decode_untrusted_line(decoder, line))
        except (msgspec.DecodeError, ValueError) as error:
            is_last = not content.endswith(b"\n") and content.endswith(line)
            if is_last and not isinstance(error, msgspec.ValidationError):
                break
            raise DataError(f"{path}, line {number}: {clean_text(str(error))}") from error
    return rows


def _is_feed_failure(line: bytes) -> bool:
    """Whether a line of a failure log says why nothing was asked."""
    try:
        keys = decode_untrusted_json(line, dict[str, msgspec.Raw]).keys()
    except (msgspec.DecodeError, ValueError):
        return False
    return keys >= {"stage", "unasked"} and "qa" not in keys


def _join_or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}"
