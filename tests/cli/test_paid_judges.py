"""Judges that cost money: a run stops where it was told to, says so, and goes on from there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Invoke, Shown

Run = Callable[..., Shown]


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Run:
    def start(*flags: object) -> Shown:
        usual = ("--adapter", "bm25", "--ranges", "5d,10d", "--into", "r", "--no-heatmap-png")
        return invoke("run", "--data", data, *usual, *flags)

    return start


def judge(folder: Path, name: str, body: str) -> Path:
    """A judge in a file that takes a quarter of a dollar for each verdict."""
    path = folder / f"{name}.py"
    path.write_text(
        "from pathlib import Path\n"
        "from recall_bench.core.usage import Usage\n"
        "from recall_bench.core.errors import JudgeGone\n"
        "async def judge(exhibit):\n"
        "    number = int(exhibit.item.id[-3:])\n"
        "    exhibit.bill(Usage(calls=1, input_tokens=800, output_tokens=40, cost_usd=0.25))\n"
        f"    {body}\n"
    )
    return path


RIGHT = '{"correctness": 3, "completeness": 2, "grounded": 1}'
MOSTLY = f"return {RIGHT} | ({{}} if number % 3 else {{'correctness': 0}})"


def journal(kind: str) -> list[dict[str, object]]:
    rows = [json.loads(line) for line in Path("r/journal.jsonl").read_text().splitlines()]
    return [row for row in rows if row["type"] == kind]


def test_the_money_spent_is_exit_8_and_more_of_it_goes_on(run: Run, tmp_path: Path) -> None:
    paid = judge(tmp_path, "first", f"return {RIGHT}")

    first = run("--judge", paid, "--max-cost", "1")

    assert first.code == 8
    assert (
        "error: judging has cost $1.0000 and --max-cost allows $1.0000; run the same" in first.err
    )
    assert "UNFINISHED" in first.out
    assert (len(journal("judged")), len(journal("not_judged"))) == (4, 0)

    second = run("--judge", paid, "--max-cost", "100")

    assert second.code == 0, second.err
    assert len(journal("judged")) == len(journal("answered")) == 15
    assert "15 calls · 12,000 tokens in, 600 out · $3.75" in second.out


def test_the_tokens_taken_are_exit_8_and_more_of_them_go_on(run: Run, tmp_path: Path) -> None:
    paid = judge(tmp_path, "first", f"return {RIGHT}")

    first = run("--judge", paid, "--max-tokens", "1700", "--max-cost", "100")

    assert first.code == 8
    assert "judging has taken 2,520 tokens and --max-tokens allows 1,700; run the same" in first.err
    assert (len(journal("judged")), len(journal("not_judged"))) == (3, 0)

    second = run("--judge", paid, "--max-tokens", "100000", "--max-cost", "1")

    assert second.code == 8
    assert "--max-cost allows $1.0000" in second.err

    third = run("--judge", paid, "--max-tokens", "100000", "--max-cost", "100")

    assert third.code == 0, third.err
    assert "15 calls · 12,000 tokens in, 600 out · $3.75" in third.out


def test_a_judge_that_is_gone_is_exit_6_and_the_same_command_goes_on(
    run: Run, tmp_path: Path
) -> None:
    gone = "raise JudgeGone('the key was withdrawn; set another')"
    paid = judge(tmp_path, "first", f"if not Path({str(tmp_path / 'key')!r}).exists(): {gone}")
    with paid.open("a") as file:
        file.write(f"    return {RIGHT}\n")

    first = run("--judge", paid)

    assert first.code == 6
    assert "error: the key was withdrawn; set another" in first.err
    assert journal("judged") == journal("not_judged") == []
    assert len(journal("paid")) == 1

    (tmp_path / "key").touch()
    second = run("--judge", paid)

    assert second.code == 0, second.err
    assert "16 calls" in second.out


def test_a_balanced_review_is_reported_in_the_report(run: Run, tmp_path: Path) -> None:
    first = judge(tmp_path, "first", MOSTLY)
    second = judge(tmp_path, "second", f"return {RIGHT} | {{'completeness': 1}}")

    shown = run("--judge", first, "--appellate-judge", second)

    assert shown.code == 0, shown.err
    words = " ".join(shown.out.split())
    assert (
        "Reviews of failures 4: 4 raised, 0 lowered, 0 same · "
        "of passes 4: 0 raised, 4 lowered, 0 same · score 86.7 → 91.1" in words
    )
    assert "of this for reviews 8 calls, $2.00" in words


def test_a_one_sided_review_leaves_passes_alone(run: Run, tmp_path: Path) -> None:
    first = judge(tmp_path, "first", MOSTLY)
    second = judge(tmp_path, "second", f"return {RIGHT}")

    shown = run("--judge", first, "--appellate-judge", second, "--review", "failures")

    assert shown.code == 0, shown.err
    assert "of passes none, by the plan" in " ".join(shown.out.split())
    assert len(journal("judged")) == 15


def test_reviews_that_all_fail_make_the_run_invalid_until_they_are_done(
    run: Run, tmp_path: Path
) -> None:
    strict = judge(tmp_path, "strict", f"return {RIGHT} | {{'correctness': 0}}")
    second = judge(tmp_path, "second", f"return {RIGHT} if Path('mended').exists() else 'no idea'")
    reviewed = ("--judge", strict, "--appellate-judge", second)

    broken = run(*reviewed)

    assert broken.code == 6
    assert "INVALID" in broken.out
    assert "15 of 15 reviews failed, budget 5 %" in broken.out
    assert "--retry-errors to review them again" in broken.err
    assert json.loads(Path("r/result.json").read_text())["metadata"]["validity"] == "invalid"

    Path("mended").touch()
    again = run(*reviewed)
    assert again.code == 6

    mended = run(*reviewed, "--retry-errors")
    assert mended.code == 0, mended.err
    assert "INVALID" not in mended.out
    assert sum("primary" in row for row in journal("judged")) == 15


def test_reviews_within_the_error_budget_leave_the_run_valid(run: Run, tmp_path: Path) -> None:
    strict = judge(tmp_path, "strict", f"return {RIGHT} | {{'correctness': 0}}")
    second = judge(tmp_path, "second", f"return {RIGHT} if number % 3 else 'no idea'")

    shown = run("--judge", strict, "--appellate-judge", second, "--error-budget", "1")

    assert shown.code == 0, shown.err
    assert any("review_fault" in row for row in journal("judged"))
