"""An import makes a whole run folder or nothing, and says what it did."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.import_run import import_run
from recall_bench.library import export_run
from tests.commands import Invoke
from tests.engine.runs.importing.public_files import header, part, reached, result, row, save

Files = Callable[..., Path]
ROWS = [row("q1", (3, 2, 1)), row("q2", (0, 0, 1), answer="[TIMEOUT]")]


@pytest.fixture
def source(files: Files) -> Path:
    return files(result=result([part(6, ROWS)]))


def test_the_same_files_give_the_same_bytes(source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        import_run([source], tmp_path / name)

    first, second = ((tmp_path / name / JOURNAL).read_bytes() for name in ("a", "b"))
    assert first == second


def test_the_files_are_named_by_their_bytes(source: Path, tmp_path: Path) -> None:
    (card,) = import_run([source], tmp_path / "run").card.files

    assert (card.name, card.bytes) == (
        "result.json",
        (source / "result.json").stat().st_size,
    )


def test_a_folder_that_holds_something_is_left_as_it_is(source: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")

    with pytest.raises(UsageError, match="exists and was not changed"):
        import_run([source], tmp_path / "run")

    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_an_empty_folder_will_do(source: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()

    import_run([source], tmp_path / "run")

    assert RunFolder.open(tmp_path / "run").is_finished


@pytest.mark.parametrize("fails", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_half_way_leaves_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: BaseException
) -> None:
    def explode(*_: object) -> None:
        raise fails

    monkeypatch.setattr("recall_bench.features.archive.import_run.encode_events", explode)

    with pytest.raises((BenchError, KeyboardInterrupt)):
        import_run([source], tmp_path / "run")

    assert [path.name for path in tmp_path.iterdir()] == ["files"]


def test_a_run_folder_needs_no_import(source: Path, tmp_path: Path) -> None:
    import_run([source], tmp_path / "run")

    with pytest.raises(UsageError, match="is a run folder already"):
        import_run([tmp_path / "run"], tmp_path / "again")


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("notes.json", "{}", DataError),
        ("rows.jsonl", '{"name": "x"}\n', DataError),
        ("result.json", "", DataError),
        ("absent.json", None, UsageError),
    ],
)
def test_another_file_is_refused(
    tmp_path: Path, name: str, content: str | None, error: type[BenchError]
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)

    with pytest.raises(error, match=name):
        import_run([path], tmp_path / "run")


def test_an_empty_folder_of_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no file of a run"):
        import_run([tmp_path], tmp_path / "run")


def test_the_command_says_what_was_read_and_what_was_repaired(
    invoke: Invoke, source: Path, tmp_path: Path
) -> None:
    shown = invoke("import", source, "--into", tmp_path / "run")

    assert shown.code == 0
    words = " ".join(shown.out.split())
    assert "MemPalace, run by public harness, complete" in words
    assert "2 evaluations of 2 questions" in words
    assert "3.5000 as stored · 3.5000 from the rows, which agree · 3.0000 in every view" in words
    assert "Repaired 1 answer: the mark of a failed query" in words


def test_it_says_so_in_json_too(invoke: Invoke, source: Path) -> None:
    shown = invoke("import", source, "--as-graded", "--json")

    found = json.loads(shown.out)
    assert found["mean"] == 3.5
    assert found["folder"].startswith("recall-runs/imported-MemPalace-")
    assert [each["name"] for each in found["card"]["repairs"]] == ["as-graded"]


def test_means_alone_are_one_sentence_and_exit_2(invoke: Invoke, files: Files) -> None:
    bare = part(6, ROWS) | {"questionResults": []}

    shown = invoke("import", files(result=result([bare])))

    assert shown.code == 2
    assert shown.err.count("\n") == 1


def test_a_name_cannot_steer_the_terminal(invoke: Invoke, tmp_path: Path) -> None:
    hostile = result({"\x1b[31mada": [part(6, ROWS)]})
    hostile["adapterName"] = "../../\x1b]0;owned\x07"
    path = save(tmp_path / "result.json", hostile)

    shown = invoke("import", path)

    assert shown.code == 0
    assert "\x1b" not in shown.out
    assert [each.parent.name for each in tmp_path.rglob(JOURNAL)] != []
    assert all((tmp_path / "recall-runs") in each.parents for each in tmp_path.rglob(JOURNAL))


def test_a_hostile_label_cannot_steer_an_error(invoke: Invoke, tmp_path: Path) -> None:
    twice = part(6, ROWS)
    twice["range"] = {"label": "\x1b[2J", "days": 6}
    path = save(tmp_path / "result.json", result([twice, twice]))

    shown = invoke("import", path)

    assert shown.code == 3
    assert "\x1b" not in shown.err


def test_a_hostile_value_cannot_either(tmp_path: Path) -> None:
    lines = [header(0, (6,)), reached(1, 6, ROWS) | {"type": "\x1b[2J"}]
    path = save(tmp_path / "progress.jsonl", lines)

    with pytest.raises(DataError, match="line 2") as refused:
        import_run([path], tmp_path / "run")

    assert "\x1b" not in str(refused.value)


def test_an_imported_run_exports_and_imports_again(source: Path, tmp_path: Path) -> None:
    import_run([source], tmp_path / "run")
    export_run(tmp_path / "run", tmp_path / "files again")

    again = import_run([tmp_path / "files again"], tmp_path / "again")

    assert again.stored_mean == again.graded_mean == again.mean == 3.0
    assert again.disagreeing == ()
    assert again.card.written_by == "recall-bench"
    assert RunFolder.open(tmp_path / "again").count_faults() == {"SystemFault": 1}


def test_what_a_system_said_in_a_run_of_ours_is_an_answer(source: Path, tmp_path: Path) -> None:
    """Our harness writes no mark in the place of an answer."""
    import_run([source], tmp_path / "run", as_graded=True)
    export_run(tmp_path / "run", tmp_path / "files again")

    assert import_run([tmp_path / "files again"], tmp_path / "again").mean == 3.5
