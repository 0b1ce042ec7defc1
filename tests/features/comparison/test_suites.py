"""A matrix runs behaviour suites beside personas, continues them, and shows their figures."""

from pathlib import Path

import pytest

from recall_bench import run_matrix
from recall_bench.cli.main import cli
from recall_bench.core.errors import BenchError
from recall_bench.features.comparison.matrix_cells import assemble_cells
from recall_bench.features.comparison.matrix_run import open_matrix
from recall_bench.features.comparison.matrix_text import render_markdown, render_text
from tests.fixtures.running_matrix import Write

TENANTS = "{name: tenants, stories: 1}"


def read_events(path: Path) -> bytes:
    return (path / "journal.jsonl").read_bytes()


def test_every_system_has_a_cell_for_each_suite_after_those_over_personas(write: Write) -> None:
    _, cells = open_matrix(write("systems: [bm25, none]\nsuites: [tenants, load]"))

    assert [cell.label.rpartition("/")[2] for cell in cells] == [
        *("bm25", "none"),
        *("bm25+tenants", "none+tenants"),
        *("bm25+load", "none+load"),
    ]
    assert cells[2].folder.name == "bm25+tenants"


def test_recall_can_be_left_out(write: Write) -> None:
    _, cells = open_matrix(write("systems: [none]\nsuites: [tenants]\nrecall: false"))

    assert [cell.label for cell in cells] == ["default/42/none+tenants"]


def test_a_suite_uses_no_setting_of_runs_over_personas(write: Write) -> None:
    path = write("systems: [none]\nsuites: [tenants]\nsettings: [{name: few, sample: 3, topK: 4}]")

    _, [recall, suite] = open_matrix(path)

    assert (recall.settings.sample, suite.settings.sample) == (3, None)
    assert (recall.settings.top_k, suite.settings.top_k) == (4, 4)
    assert suite.settings.ranges != recall.settings.ranges


def test_suites_are_run_once_and_reported_with_recall(write: Write) -> None:
    path = write(f"systems: [bm25, {{name: silent, adapter: none}}]\nsuites: [{TENANTS}]")

    first = run_matrix(path)

    assert first.exit_code == 0
    [scores] = first.report.suites
    assert scores.card.systems == ("bm25", "silent")
    assert set(scores.card.recall) == {"bm25", "silent"}
    text = render_text(first.report)
    assert "Setting default: suites" in text
    assert "tenants: one's own facts known" in text
    assert "## Setting default: suites" in render_markdown(first.report)
    into = first.matrix.into
    assert (into / "default/42/bm25+tenants/suite.json").is_file()
    assert (into / "default/42/_scorecard/scorecard.html").is_file()

    before = read_events(into / "default/42/bm25+tenants")
    again = run_matrix(path)

    assert all(each.was_finished for each in again.outcomes)
    assert read_events(into / "default/42/bm25+tenants") == before
    assert again.report == first.report


def test_a_suite_that_was_cut_off_is_missing_and_goes_on(write: Write) -> None:
    path = write(f"systems: [none]\nsuites: [{TENANTS}]\nrecall: false")
    folder = run_matrix(path).matrix.into / "default/42/none+tenants"
    whole = read_events(folder)
    (folder / "journal.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:-60]))

    matrix, cells = open_matrix(path)
    from recall_bench.features.comparison.matrix_run import report_matrix

    cut = report_matrix(matrix, cells)
    done = run_matrix(path)

    assert [each.system for each in cut.missing] == ["none+tenants"]
    assert cut.suites == ()
    assert not done.report.missing
    assert len(done.report.suites) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("suites: erasure", "suites: must be a list, for example [erasure, freshness]"),
        ("suites: [erasur]", "no suite is named 'erasur'; did you mean 'erasure'"),
        ("suites: [tenants, tenants]", "tenants stands twice"),
        ("suites: [{name: tenants, stories: 0}]", "0 is not a number of stories"),
        ("suites: [{name: load, loadTime: 5s}]", "'5s' is not a time; give seconds as a number"),
        ("suites: [{name: load, rate: 5}]", "unknown key 'rate'"),
        (
            "suites: [{name: load, iOwnThisServer: maybe}]",
            "iOwnThisServer: 'maybe' is neither true nor false",
        ),
        ("suites: [5]", "a suite must be a name"),
        ("recall: false", "nothing is left to run"),
        ("recall: maybe\nsuites: [load]", "'maybe' is neither true nor false"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write: Write, text: str, problem: str) -> None:
    with pytest.raises(BenchError, match=r"m\.yaml") as raised:
        open_matrix(write(f"systems: [none]\n{text}"))

    assert problem in str(raised.value)


@pytest.mark.parametrize("is_owned", [False, True])
def test_load_goes_to_a_server_elsewhere_if_its_owner_says_so(write: Write, is_owned: bool) -> None:
    owned = "iOwnThisServer: true, " if is_owned else ""
    path = write(
        "systems: [{name: far, adapter: 'http://far.invalid:9'}]\nrecall: false\n"
        f"suites: [{{{owned}name: load}}]"
    )
    _, cells = open_matrix(path)

    if is_owned:
        # It may be measured; that nothing is there is found by the cell.
        [cell] = assemble_cells(cells)
        assert cell.job is None
        return
    with pytest.raises(BenchError, match="iOwnThisServer: true in a matrix"):
        assemble_cells(cells)


def test_no_system_has_the_folder_of_a_suite(write: Write) -> None:
    with pytest.raises(BenchError, match=r"'a\+load' is the folder of a suite"):
        open_matrix(write("systems: [{name: a+load, adapter: none}]\nsuites: [load]"))


def test_workers_cannot_do_the_steps_of_a_story(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("systems: [none]\nsuites: [tenants]\nexecutor: processes")

    with pytest.raises(
        BenchError, match="a behaviour suite runs in one process; leave out --executor"
    ):
        cli(["matrix", str(path)], standalone_mode=False)
    assert not list(path.parent.rglob("journal.jsonl"))
    capsys.readouterr()
