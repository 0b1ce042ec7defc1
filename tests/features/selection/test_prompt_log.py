"""The log of versions is a page that people own, and a record that the next version pairs with."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.features.selection.prompt_log import HEADING, append_entry, refuse_others
from recall_bench.features.selection.selection_report import (
    FORMAT,
    ScoredTest,
    SelectionReport,
    summarise_tests,
)
from recall_bench.features.selection.selection_scores import SelectionOutcome

AGENT: dict[str, object] = {"models": ["claude:opus"], "note": "a -->\n# b"}
OUTCOMES = {outcome.value[0]: outcome for outcome in SelectionOutcome}


def report(outcomes: Mapping[str, str], minute: int = 0, **changes: object) -> SelectionReport:
    """A run in which each test came, each time it was put, to the outcome its letter names."""
    rows = tuple(
        ScoredTest(
            test=test,
            repeat=repeat,
            category="recall",
            prompt="?",
            outcome=OUTCOMES[letter],
            expected=("memory/a.md",),
        )
        for test, letters in sorted(outcomes.items())
        for repeat, letter in enumerate(letters)
    )
    return SelectionReport(
        format=FORMAT,
        selector=SystemCard(
            name="recall-agent",
            version="1",
            config=AGENT,
        ),
        eval_version="exact-1",
        corpus_digest="c" * 64,
        tests_digest="t" * 64,
        memories=40,
        repeats=max(map(len, outcomes.values())),
        at=datetime(2026, 3, 1, 12, minute, tzinfo=UTC),
        plan_digest="p" * 64,
        code=("1",),
        validity="valid",
        summary=summarise_tests(rows),
        tests=rows,
    ).replace(**changes)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.md"


def test_an_entry_tells_people_what_was_tested_and_what_came_of_it(log: Path) -> None:
    append_entry(log, report({"a": "P", "b": "O", "c": "E"}))

    text = log.read_text()
    assert text.startswith(HEADING)
    assert "## 2026-03-01 12:00 UTC: recall-agent 1" in text
    assert "claude:opus" in text
    assert "PERFECT 50.0% of 2" in text
    assert "PERFECT 1, OVERRECALL 1, UNDERRECALL 0; apart from these ERROR 1" in text
    assert "no earlier version here has the same tests" in text


def test_the_next_version_is_compared_with_the_last_that_had_the_same_tests(log: Path) -> None:
    append_entry(log, report({"a": "P", "b": "O", "c": "E", "d": "U"}))
    append_entry(log, report({"a": "O"}, 1, tests_digest="other"))
    append_entry(log, report({"a": "P", "b": "PO", "c": "P", "d": "P"}, 2, corpus_digest="new"))

    last = log.read_text().rpartition("## ")[2]
    assert "+50.0 points" in last
    assert "since 2026-03-01 12:00 UTC, recall-agent 1" in last
    assert "2 better and 0 worse of 3 tests" in last
    assert "1 left out; the memories changed too" in last


def test_a_run_that_is_reported_again_is_not_added_again(log: Path) -> None:
    append_entry(log, report({"a": "P"}))
    before = log.read_bytes()

    append_entry(log, report({"a": "P"}))

    assert log.read_bytes() == before


def test_what_its_owner_wrote_stays_byte_by_byte(log: Path) -> None:
    append_entry(log, report({"a": "P"}))
    mine = log.read_bytes() + b"\nmy own note \xff\r\n"
    log.write_bytes(mine)

    append_entry(log, report({"a": "O"}, 1))

    assert log.read_bytes().startswith(mine)
    assert "-100.0 points" in log.read_text(errors="replace").replace("−", "-")


def test_a_damaged_entry_is_named_by_its_line(log: Path) -> None:
    append_entry(log, report({"a": "P"}))
    log.write_text(log.read_text().replace('"outcomes"', '"out'))

    with pytest.raises(Malformed, match=r"log\.md, line \d+: holds no whole entry"):
        append_entry(log, report({"a": "O"}, 1))


def test_a_file_that_is_no_log_is_refused(log: Path) -> None:
    log.write_text("# Mine\n")
    with pytest.raises(UsageError, match="something else"):
        refuse_others(log)
    with pytest.raises(UsageError, match="cannot be read"):
        refuse_others(log.parent)
