"""Lints are chosen by code, and the manual lists exactly those there are."""

import re
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.stories.lint.lint_report import LINTS, choose_lints

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "lint.md"


def test_every_code_is_used_once() -> None:
    codes = [lint.code for lint in LINTS]

    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"[a-z]+(?:-[a-z]+)*", code) for code in codes)


def test_every_summary_is_one_sentence() -> None:
    assert all(re.fullmatch(r"[A-Z“][^.]+(?:\.[a-z][^.]+)?\.", lint.summary) for lint in LINTS)


def test_all_are_chosen_by_default() -> None:
    assert choose_lints() == LINTS


def test_some_can_be_chosen_and_some_left_out() -> None:
    chosen = choose_lints(["misdated", "day-size"], ["day-size"])

    assert [lint.code for lint in chosen] == ["misdated"]


@pytest.mark.parametrize(("only", "skip", "flag"), [(["misdate"], [], "only"), ([], ["x"], "skip")])
def test_a_code_that_does_not_exist_is_refused(only: list[str], skip: list[str], flag: str) -> None:
    with pytest.raises(UsageError, match=f"--{flag}.*misdated"):
        choose_lints(only, skip)


def test_the_manual_lists_every_lint_as_it_is() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert rows == [(lint.code, str(lint.severity), lint.summary) for lint in LINTS]
