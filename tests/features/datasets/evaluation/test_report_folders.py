"""A report gets the next free number; none is written over, and none appears in part."""

import re
import threading
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.datasets import eval_page
from recall_bench.features.datasets.eval_page import write_report
from recall_bench.features.datasets.eval_report import EvalReport
from tests.features.datasets.evaluation.eval_datasets import (
    finding,
    report_on,
    request_for,
    write_locomo,
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> EvalReport:
    home = tmp_path_factory.mktemp("numbering")
    data = write_locomo(home / "locomo10.json")
    return report_on(request_for("locomo", data, home, skip_qa=True, floors=False), finding({}))


def numbered(report: EvalReport, number: int) -> EvalReport:
    """The same report with something else in it."""
    return report.replace(title=f"{report.title} {number}")


def test_the_path_names_dataset_and_version_and_no_date(report: EvalReport, tmp_path: Path) -> None:
    place = write_report(report, tmp_path)

    assert place.relative_to(tmp_path).as_posix() == "locomo/strict-2/run-1"
    assert sorted(path.name for path in place.iterdir()) == ["locomo.json", "locomo.md"]
    assert not re.search(r"\d{4}", place.relative_to(tmp_path).as_posix())


def test_another_report_gets_another_number(report: EvalReport, tmp_path: Path) -> None:
    places = [write_report(numbered(report, n), tmp_path).name for n in range(3)]

    assert places == ["run-1", "run-2", "run-3"]


def test_the_same_report_is_not_written_twice(report: EvalReport, tmp_path: Path) -> None:
    first = write_report(report, tmp_path)
    write_report(numbered(report, 1), tmp_path)

    assert write_report(report, tmp_path) == first
    assert len(list(first.parent.iterdir())) == 2


def test_a_number_that_was_ever_taken_is_not_given_again(
    report: EvalReport, tmp_path: Path
) -> None:
    """A gap may be a withdrawn report; the number after the highest is free."""
    (tmp_path / "locomo/strict-2/run-7").mkdir(parents=True)
    (tmp_path / "locomo/strict-2/run-x").mkdir()

    assert write_report(report, tmp_path).name == "run-8"


def test_many_at_once_get_a_number_each(report: EvalReport, tmp_path: Path) -> None:
    places: list[Path] = []
    ready = threading.Barrier(8)

    def write(number: int) -> None:
        ready.wait()
        places.append(write_report(numbered(report, number), tmp_path))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(place.name for place in places) == [f"run-{n}" for n in range(1, 9)]
    assert all((place / "locomo.json").is_file() for place in places)


def test_a_number_that_is_taken_meanwhile_is_passed_over(
    report: EvalReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process made its folder after we had looked."""
    for name in ("run-1", "run-2"):
        (tmp_path / "locomo/strict-2" / name).mkdir(parents=True)
    monkeypatch.setattr(eval_page, "_list_numbers", lambda place: [])

    assert write_report(report, tmp_path).name == "run-3"


def test_a_place_that_cannot_be_written_is_refused(report: EvalReport, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(UsageError, match=r"--reports: cannot write below .*taken"):
        write_report(report, tmp_path / "taken")


def test_a_page_that_cannot_be_drawn_leaves_no_half_of_a_report(
    report: EvalReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: EvalReport) -> str:
        raise ArithmeticError("no page")

    monkeypatch.setattr(eval_page, "render_page", broken)

    with pytest.raises(ArithmeticError):
        write_report(report, tmp_path)

    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
