"""`lint` looks at any dataset and says in its exit code whether it has errors."""

import json
from pathlib import Path

from tests.commands import Invoke
from tests.stories.lint.lint_story import question, write

SOUND = question("What did Hob pay?", "£40.", 1)
WRONG = question("What did Vera pay?", "£55.", 1)


def test_a_dataset_with_errors_ends_with_3(tmp_path: Path, invoke: Invoke) -> None:
    write(tmp_path / "data", {1: "Hob paid £40 at the upper gate."}, [SOUND, WRONG])

    shown = invoke("lint", "--data", "data")

    assert shown.code == 3
    assert "answer-unsupported" in shown.out
    assert "£55" in shown.out
    assert "1 error" in shown.err


def test_a_dataset_without_ends_with_0(tmp_path: Path, invoke: Invoke) -> None:
    write(tmp_path / "data", {1: "Hob paid £40 at the upper gate."}, [SOUND])

    shown = invoke("lint", "--data", "data")

    assert shown.code == 0
    assert shown.out.startswith("lock, arcs-20d.yaml: 1 day, 1 question")
    assert shown.err == ""


def test_the_personas_of_the_package_are_looked_at_by_default(invoke: Invoke) -> None:
    shown = invoke("lint", "--personas", "harbour-office")

    assert shown.code == 0
    assert "harbour-office, arcs-30d.yaml: 30 days, 91 questions" in shown.out


def test_json_is_every_finding_of_every_persona(tmp_path: Path, invoke: Invoke) -> None:
    write(tmp_path / "data", {1: "Hob paid £40 at the upper gate."}, [SOUND, WRONG])

    (report,) = json.loads(invoke("lint", "--data", "data", "--json").out)

    assert report["persona"] == "lock"
    assert report["findings"][0]["code"] == "answer-unsupported"
    assert report["findings"][0]["question"] == WRONG["id"]
    assert {figure["name"] for figure in report["figures"]} >= {"new-sentences", "whole-window"}


def test_lints_can_be_chosen_skipped_and_cut_off(tmp_path: Path, invoke: Invoke) -> None:
    write(tmp_path / "data", {1: "Hob paid £40 at the upper gate."}, [SOUND, WRONG])

    only = invoke("lint", "--data", "data", "--only", "day-size", "few-questions")
    skipped = invoke("lint", "--data", "data", "--skip", "answer-unsupported")
    cut = invoke("lint", "--data", "data", "--severity", "error")

    assert (only.code, "answer-unsupported" in only.out) == (0, False)
    assert "few-questions" in only.out
    assert (skipped.code, "answer-unsupported" in skipped.out) == (0, False)
    assert (cut.code, "few-questions" in cut.out) == (3, False)


def test_all_lists_what_is_otherwise_counted(tmp_path: Path, invoke: Invoke) -> None:
    many = [question(f"What did boat {n} pay?", f"£{n}3.", 1) for n in range(1, 8)]
    write(tmp_path / "data", {1: "Hob paid £40 at the upper gate."}, many)

    few, every = (invoke("lint", "--data", "data", *flag).out for flag in ([], ["--all"]))

    assert few.count("which is the answer") == 5
    assert "and 2 more; --all lists them" in few
    assert every.count("which is the answer") == 7


def test_an_unknown_code_or_folder_is_one_sentence(tmp_path: Path, invoke: Invoke) -> None:
    write(tmp_path / "data", {1: "Rain."}, [SOUND])

    code = invoke("lint", "--data", "data", "--only", "day-siz")
    folder = invoke("lint", "--data", "nowhere")

    assert (code.code, code.err.count("\n")) == (2, 1)
    assert "day-size" in code.err
    assert (folder.code, folder.err.count("\n")) == (2, 1)
    assert "nowhere" in folder.err
