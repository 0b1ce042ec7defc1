"""Where a report goes: the next free number, so that none is ever written over."""

import re
from pathlib import Path

import msgspec

from recall_bench.errors import UsageError
from recall_bench.evaluation.markdown import render_page
from recall_bench.evaluation.report import EvalReport
from recall_bench.replacement import AtomicFile

_RUN = re.compile(r"run-(\d+)")


def write_report(report: EvalReport, reports: Path) -> Path:
    """Write `<dataset>/<eval_version>/run-N/<dataset>.{md,json}`; the folder it went to.

    A run that was reported already, to the last figure, is not reported twice: its folder is
    given again.
    """
    place = reports / report.dataset.name / report.protocol.eval_version
    name = report.dataset.name
    content = msgspec.json.format(msgspec.json.encode(report), indent=1)
    try:
        if (known := _find_known(place, name, content)) is not None:
            return known
        folder = _make_next_folder(place)
        with (
            AtomicFile(folder / f"{name}.md") as page,
            AtomicFile(folder / f"{name}.json") as record,
        ):
            page.write(render_page(report).encode())
            record.write(content)
            page.commit()
            record.commit()
    except OSError as error:
        raise UsageError(
            f"--reports: cannot write below {reports} ({error.strerror or error}); "
            "name another folder"
        ) from error
    return folder


def _find_known(place: Path, name: str, content: bytes) -> Path | None:
    for number in sorted(_list_numbers(place), reverse=True):
        path = place / f"run-{number}" / f"{name}.json"
        if path.is_file() and path.read_bytes() == content:
            return path.parent
    return None


def _list_numbers(place: Path) -> list[int]:
    if not place.is_dir():
        return []
    found = (_RUN.fullmatch(path.name) for path in place.iterdir())
    return [int(each[1]) for each in found if each]


def _make_next_folder(place: Path) -> Path:
    """A folder that did not exist before; another process may be at the same thing."""
    number = max(_list_numbers(place), default=0)
    while True:
        number += 1
        folder = place / f"run-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
