"""Every score stands between floors and ceilings that were measured in the same run."""

import signal
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.datasets.eval_groups import ALL
from recall_bench.features.datasets.eval_report import ControlReport, EvalReport
from recall_bench.judging.eval_dataset import EvalMode
from tests.features.datasets.evaluation.eval_datasets import (
    WHAT,
    figures,
    finding,
    report_on,
    request_for,
    run_request,
    write_locomo,
    write_longmemeval,
    write_persona,
)


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    return write_locomo(tmp_path / "locomo10.json")


def controls(report: EvalReport) -> dict[str, ControlReport]:
    return {each.name: each for each in report.controls}


def mean(control: ControlReport, name: str) -> float:
    return next(each.figures for each in control.groups if each.name == ALL)[name].mean


def paid_judge(folder: Path, name: str = "paid") -> str:
    """A judge that takes money and finds everything right."""
    path = folder / f"{name}.py"
    path.write_text(
        "from recall_bench.core.usage import Usage\n"
        "async def judge(exhibit):\n"
        "    exhibit.bill(Usage(calls=1, cost_usd=1.0))\n"
        "    return {'correctness': 3, 'completeness': 2, 'grounded': 1}\n"
    )
    return str(path)


def test_words_silence_and_the_oracle_are_run_beside_and_kept_in_the_folder(locomo: Path) -> None:
    begun: list[str] = []
    request = request_for("locomo", locomo, locomo.parent, adapter="recency")

    found = run_request(request, on_control=begun.append)

    assert begun == ["bm25", "none", "oracle"]
    assert found.report is not None
    assert list(controls(found.report)) == begun
    kept = found.finished.folder.path / "controls"
    assert all((kept / name / JOURNAL).is_file() for name in begun)


def test_the_oracle_beats_silence_on_answers(locomo: Path) -> None:
    found = controls(report_on(request_for("locomo", locomo, locomo.parent, adapter="recency")))

    silence, oracle = mean(found["none"], "judged right"), mean(found["oracle"], "judged right")
    assert silence == pytest.approx(2 / 7), "only what has no answer"
    assert oracle > silence
    assert mean(found["bm25"], "turn recall@10") > 0


def test_a_system_is_not_run_beside_itself(locomo: Path) -> None:
    request = request_for("locomo", locomo, locomo.parent, adapter="bm25")

    assert list(controls(report_on(request))) == ["none", "oracle"]


def test_where_answers_are_skipped_only_what_finds_is_run(locomo: Path) -> None:
    request = request_for("locomo", locomo, locomo.parent, skip_qa=True)

    report = report_on(request, finding({}))

    assert list(controls(report)) == ["bm25"]
    assert not any("judged" in name for name in report.controls[0].groups[0].figures)


def test_without_floors_nothing_else_is_run_and_chance_is_still_reported(locomo: Path) -> None:
    request = request_for("locomo", locomo, locomo.parent, skip_qa=True, floors=False)

    found = run_request(request, finding({}))

    assert found.report is not None
    assert found.report.controls == ()
    assert not (found.finished.folder.path / "controls").exists()
    assert figures(found.report)["turn recall@1"].chance is not None


def test_a_blind_draw_is_worked_out_and_not_run(locomo: Path) -> None:
    """Ada's story has seven turns in three sessions; one and two of them are wanted."""
    request = request_for("locomo", locomo, locomo.parent, skip_qa=True, floors=False)

    report = report_on(request, finding({}))

    single, several = figures(report, "temporal"), figures(report, "multi-hop")
    assert single["turn hit@1"].chance == pytest.approx(1 / 7)
    assert single["turn recall@3"].chance == pytest.approx(3 / 7)
    assert single["session hit@1"].chance == pytest.approx(2 / 7), "it has two turns"
    assert several["turn recall_all@3"].chance == pytest.approx(3 / 7 * 2 / 6)
    assert several["turn hit@1"].chance == pytest.approx(2 / 7)
    assert several["turn recall@1"].ceiling == 1 / 2
    assert several["turn recall_all@1"].ceiling == 0


def test_officially_a_blind_draw_of_longmemeval_draws_sessions(tmp_path: Path) -> None:
    """Three sessions, two of them gold, whatever turns they have."""
    data = write_longmemeval(tmp_path / "oracle.json")
    request = request_for(
        "longmemeval-oracle", data, tmp_path, protocol="official", skip_qa=True, floors=False
    )

    got = figures(report_on(request, finding({})), "multi-session")

    assert got["session hit@1"].chance == pytest.approx(2 / 3)
    assert got["session recall_all@3"].chance == pytest.approx(1)


def test_every_ranking_that_comes_first_has_a_floor(tmp_path: Path) -> None:
    for dataset, data in {
        "locomo": write_locomo(tmp_path / "locomo10.json"),
        "longmemeval-oracle": write_longmemeval(tmp_path / "oracle.json"),
        "persona-json": write_persona(tmp_path / "ada.json"),
    }.items():
        request = request_for(dataset, data, tmp_path / dataset, skip_qa=True, floors=False)
        report = report_on(request, finding({}))

        for name in report.headline:
            if name in figures(report):
                assert figures(report)[name].chance is not None, (dataset, name)


@pytest.mark.parametrize("who", ["judge", "appellate_judge"])
def test_controls_cost_nothing(locomo: Path, tmp_path: Path, who: str) -> None:
    """Neither the judge nor the one above it; what is found costs nothing and is measured."""
    given: dict[str, Any] = {who: paid_judge(tmp_path)}
    request = request_for("locomo", locomo, tmp_path, adapter="recency", **given)

    found = controls(report_on(request))

    assert found["none"].reason == "its answers would have to be paid for"
    assert found["oracle"].reason == "its answers would have to be paid for"
    assert found["bm25"].reason is None
    assert "judged right" not in found["bm25"].groups[0].figures


def test_two_paid_judges_leave_a_report_with_what_keywords_find(
    locomo: Path, tmp_path: Path
) -> None:
    """The control that only finds is not handed the judge above: nothing is judged there."""
    judges = {"judge": paid_judge(tmp_path), "appellate_judge": paid_judge(tmp_path, "second")}
    request = request_for("locomo", locomo, tmp_path, adapter="recency", **judges)

    found = run_request(request)

    assert found.exit_code == 0
    assert found.report is not None
    assert controls(found.report)["bm25"].groups


def test_controls_are_asked_as_deeply_as_the_system(locomo: Path, tmp_path: Path) -> None:
    request = request_for("locomo", locomo, tmp_path, adapter="recency", top_k=20)

    report = report_on(request)

    assert "turn recall@20" in figures(report)
    for control in report.controls:
        assert "turn recall@20" in control.groups[0].figures


def test_controls_of_recorded_answers_are_asked_as_deeply_as_the_answers_were(
    locomo: Path, tmp_path: Path
) -> None:
    report_on(request_for("locomo", locomo, tmp_path, adapter="recency", top_k=20, floors=False))
    again = request_for("locomo", locomo, tmp_path / "again", answers_from=tmp_path / "run")

    report = report_on(again)

    assert report.request["top_k"] == 20
    for control in report.controls:
        assert "turn recall@20" in control.groups[0].figures


def test_controls_of_recorded_answers_are_themselves_and_not_the_record(
    locomo: Path, tmp_path: Path
) -> None:
    request = request_for("locomo", locomo, tmp_path, adapter="recency")
    before = controls(report_on(request))
    again = request_for("locomo", locomo, tmp_path / "again", answers_from=tmp_path / "run")

    after = controls(report_on(again))

    assert {name: each.groups for name, each in after.items()} == {
        name: each.groups for name, each in before.items()
    }


def test_a_run_that_is_stopped_at_a_control_has_no_report_and_goes_on(
    locomo: Path, tmp_path: Path
) -> None:
    """Else there would be a report without its floors, and an exit code that says all is well."""
    begun: list[str] = []

    def interrupt(name: str) -> None:
        begun.append(name)
        signal.raise_signal(signal.SIGINT)

    request = request_for("locomo", locomo, tmp_path, adapter="recency")
    stopped = run_request(request, on_control=interrupt)

    assert (stopped.exit_code, stopped.report, stopped.place) == (130, None, None)
    assert begun == ["bm25"]
    assert not (tmp_path / "reports").exists()

    again = run_request(request)

    assert again.exit_code == 0
    assert again.finished.was_finished
    assert again.report is not None
    assert all(each.groups for each in again.report.controls)


def test_a_stopped_control_leaves_no_report_if_the_others_are_not_run(
    locomo: Path, tmp_path: Path
) -> None:
    """What the other controls would cost is known before any is run, and listed after it."""
    request = request_for("locomo", locomo, tmp_path, adapter="recency", judge=paid_judge(tmp_path))

    stopped = run_request(request, on_control=lambda _: signal.raise_signal(signal.SIGINT))

    assert (stopped.exit_code, stopped.report) == (130, None)


def test_a_finished_run_asks_nothing_and_neither_do_its_controls(
    locomo: Path, tmp_path: Path
) -> None:
    request = request_for("locomo", locomo, tmp_path, adapter="recency")
    first = run_request(request)
    journals = sorted(tmp_path.rglob(JOURNAL))
    before = [path.read_bytes() for path in journals]

    again = run_request(request)

    assert len(journals) == 4
    assert [path.read_bytes() for path in journals] == before
    assert again.place == first.place
    assert again.report == first.report


def test_a_control_never_has_the_systems_settings(locomo: Path, tmp_path: Path) -> None:
    request = request_for(
        "locomo", locomo, tmp_path, adapter="hybrid", config={"k": 1}, skip_qa=True
    )

    report = report_on(request)

    assert report.system.config["k"] == 1
    assert report.service.passages == 1
    control = RunFolder.open(tmp_path / "run" / "controls" / "bm25").plan.system
    assert (control.name, control.config["k"]) == ("bm25", 10)


def test_a_system_of_ones_own_cannot_consolidate_on_request(locomo: Path, tmp_path: Path) -> None:
    """Else a report would say `consolidated` of what was raw."""
    request = request_for("locomo", locomo, tmp_path, mode=EvalMode.CONSOLIDATED, skip_qa=True)

    with pytest.raises(UsageError, match="--mode: it is not known how finder consolidates"):
        run_request(request, finding({WHAT: []}))
