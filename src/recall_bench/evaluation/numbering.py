"""Where a report goes: the next free number, so that none is ever written over."""

import re
from pathlib import Path

import msgspec

from recall_bench.errors import UsageError
from recall_bench.evaluation.markdown import markdown_of
from recall_bench.evaluation.report import Report
from recall_bench.replacement import Replacement

_RUN = re.compile(r"run-(\d+)")


def write_report(report: Report, reports: Path) -> Path:
    """Write `<dataset>/<eval_version>/run-N/<dataset>.{md,json}`; the folder it went to.

    A run that was reported already, to the last figure, is not reported twice: its folder is
    given again.
    """
    place = reports / report.dataset.name / report.protocol.eval_version
    name = report.dataset.name
    content = msgspec.json.format(msgspec.json.encode(report), indent=1)
    try:
        if (known := _known(place, name, content)) is not None:
            return known
        folder = _next(place)
        with (
            Replacement(folder / f"{name}.md") as page,
            Replacement(folder / f"{name}.json") as record,
        ):
            page.write(markdown_of(report).encode())
            record.write(content)
            page.commit()
            record.commit()
    except OSError as error:
        raise UsageError(
            f"--reports: cannot write below {reports} ({error.strerror or error}); "
            "name another folder"
        ) from error
    return folder


def _known(place: Path, name: str, content: bytes) -> Path | None:
    for number in sorted(_numbers(place), reverse=True):
        path = place / f"run-{number}" / f"{name}.json"
        if path.is_file() and path.read_bytes() == content:
            return path.parent
    return None


def _numbers(place: Path) -> list[int]:
    if not place.is_dir():
        return []
    found = (_RUN.fullmatch(path.name) for path in place.iterdir())
    return [int(each[1]) for each in found if each]


def _next(place: Path) -> Path:
    """A folder that did not exist before; another process may be at the same thing."""
    number = max(_numbers(place), default=0)
    while True:
        number += 1
        folder = place / f"run-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
