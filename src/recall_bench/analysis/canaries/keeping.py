"""The file canaries are kept in: JSON that people read and that changes only where they do."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.analysis.canaries.finding import CANARY_RULE
from recall_bench.analysis.canaries.views import CanaryQuestion
from recall_bench.analysis.trials import TrialTable
from recall_bench.core.record import Record
from recall_bench.errors import DataError, UsageError
from recall_bench.replacement import replace_file

FILE_VERSION: Final = 1


class CanarySource(Record, frozen=True, kw_only=True):
    """A run that a file of canaries was last updated from."""

    plan: str
    """The beginning of its plan's digest."""
    system: str
    judge: str
    judged: int
    """Answers with a verdict."""
    hallucinated: int


class CanaryFile(Record, frozen=True, kw_only=True):
    """What is on file."""

    version: int
    rule: str
    runs: tuple[CanarySource, ...]
    """Those of the last update; a canary they did not ask is from an earlier one."""
    canaries: tuple[CanaryQuestion, ...]
    """By persona and question."""


class _CanaryFileHead(msgspec.Struct):
    version: int


def read_canaries(path: Path) -> tuple[CanaryQuestion, ...]:
    """The canaries on file; DataError says where it is not what it should be."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); `recall-bench canaries update` makes a "
            "file of canaries from runs"
        ) from error
    try:
        version = msgspec.json.decode(content, type=_CanaryFileHead).version
        if version != FILE_VERSION:
            raise DataError(
                f"{path}: is a file of canaries of version {version}, and only version {FILE_VERSION} "
                "can be read here; update it from its runs again"
            )
        kept = msgspec.json.decode(content, type=CanaryFile).canaries
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: is no file of canaries: {error}") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{path}{_locate_error(content)}: is no JSON: {error}") from error
    _check_canaries(path, kept)
    return kept


def write_canaries(
    path: Path, canaries: Iterable[CanaryQuestion], tables: Sequence[TrialTable]
) -> None:
    """Put them on file, whole or not at all; the same canaries and runs give the same bytes."""
    content = CanaryFile(
        version=FILE_VERSION,
        rule=CANARY_RULE,
        runs=tuple(sorted(map(_describe_source, tables), key=msgspec.json.encode)),
        canaries=tuple(sorted(canaries, key=lambda each: (each.persona, each.question))),
    )
    replace_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def _describe_source(table: TrialTable) -> CanarySource:
    plan, marks = table.plan, table.hallucinations
    return CanarySource(
        plan=plan.digest[:16],
        system=f"{plan.system.name} {plan.system.version}",
        judge=f"{plan.judge.name} {plan.judge.version}",
        judged=len(marks),
        hallucinated=int(sum(marks.values())),
    )


def _locate_error(content: bytes) -> str:
    """Where it stops being JSON, as far as that can be said."""
    try:
        json.loads(content.decode())
    except json.JSONDecodeError as error:
        return f", line {error.lineno}"
    except UnicodeDecodeError as error:
        before = content[: error.start]
        return f", line {len(before.splitlines()) or 1}"
    return ""


def _check_canaries(path: Path, kept: Sequence[CanaryQuestion]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for number, canary in enumerate(kept):
        where = f"{path}: `$.canaries[{number}]`"
        if not 0 <= canary.hallucinated <= canary.asked or canary.asked == 0:
            raise DataError(
                f"{where} hallucinated {canary.hallucinated} times of {canary.asked}, which cannot "
                "be; update the file from its runs again"
            )
        key = canary.persona, canary.question
        if (first := seen.setdefault(key, number)) != number:
            raise DataError(
                f"{where} is the same question as `$.canaries[{first}]`; remove one of them"
            )
