"""The log of versions is a page that people own, and a record that the next version pairs with."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.metrics.selection import SelectionOutcome
from recall_bench.reporting.prompt_log import (
    HEADING,
    PromptLogEntry,
    SelectionChange,
    append_entry,
    build_entry,
    measure_change,
    read_log,
    render_log,
)
from recall_bench.reporting.selection_report import (
    FORMAT,
    ScoredTest,
    SelectionReport,
    summarise_tests,
)

AGENT: dict[str, object] = {
    "scheme": "double",
    "models": ["claude:sonnet", "claude:opus"],
    "prompts": [
        {"name": "v5-pass1", "sha256": "ab" * 32},
        {"name": "v5-pass2", "sha256": "cd" * 32},
    ],
}
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
        selector=SystemCard(name="recall-agent", version="1", config=AGENT),
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


def entry(outcomes: Mapping[str, str], minute: int = 0, **changes: object) -> PromptLogEntry:
    return build_entry(report(outcomes, minute, **changes))


def suite(perfect: int, over: int, under: int = 0) -> dict[str, str]:
    letters = "P" * perfect + "O" * over + "U" * under
    return {f"bench-{number:03}": letter for number, letter in enumerate(letters, start=1)}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "recall-prompts.md"


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> SelectionChange:
    change = measure_change(entry(before).list_trials(), entry(after).list_trials())
    assert change is not None
    return change


def test_a_log_begins_with_a_heading_and_is_read_back_as_it_was_written(log: Path) -> None:
    first = append_entry(log, entry(suite(9, 11)))

    assert log.read_text(encoding="utf-8").startswith(HEADING)
    assert read_log(log) == [first] == [entry(suite(9, 11))]


def test_an_entry_tells_people_what_was_tested_and_what_came_of_it(log: Path) -> None:
    append_entry(log, entry({**suite(9, 10, 1), "broken": "E", "empty": "S"}))

    told = log.read_text(encoding="utf-8").removeprefix(HEADING).split("<!--")[0]
    assert "## 2026-03-01 12:00 UTC: recall-agent 1" in told
    assert "prompts: `v5-pass1` (abababababab), `v5-pass2` (cdcdcdcdcdcd)" in told
    assert "models: `claude:sonnet`, `claude:opus`" in told
    assert "settings: scheme `double`" in told
    assert "22 tests (tttttttttttt) over 40 memories (cccccccccccc)" in told
    assert "PERFECT 45.0% of 20 (25.8% to 65.8%)" in told
    assert "PERFECT 9, OVERRECALL 10, UNDERRECALL 1; apart from these ERROR 1, SKIP 1" in told
    assert "no earlier version here has the same tests" in told


def test_the_next_version_is_paired_with_the_one_before_test_by_test(log: Path) -> None:
    """Twelve better and two worse: p is 2 · (1 + 14 + 91) / 2¹⁴."""
    append_entry(log, entry(suite(22, 28)))
    after = {**suite(20, 0), "bench-021": "U", "bench-022": "O"}
    after |= {f"bench-{number:03}": "P" if number <= 34 else "O" for number in range(23, 51)}

    second = append_entry(log, entry(after, minute=5))

    assert second.since is not None
    change = second.since.change
    assert (change.tests, change.better, change.worse, change.left_out) == (50, 12, 2, 0)
    assert change.p == pytest.approx(212 / 2**14)
    assert change.value == pytest.approx(0.2)
    assert change.interval == pytest.approx((0.0562, 0.3292), abs=5e-5)
    assert (
        "+20.0 points (+5.6 to +32.9) since 2026-03-01 12:00 UTC, recall-agent 1, "
        "v5-pass1@abababab/v5-pass2@cdcdcdcd, claude:sonnet/claude:opus: "
        "12 better and 2 worse of 50 tests, p = 0.013"
    ) in log.read_text(encoding="utf-8")
    assert read_log(log)[1] == second


def test_v3_to_v4_on_twenty_tests_was_noise() -> None:
    """9 to 10 of 20, in whichever way the tests that changed were spread."""
    for lost in range(10):
        after = dict.fromkeys(suite(9, 11), "O")
        kept = [f"bench-{number:03}" for number in range(1, 10 - lost)]
        won = [f"bench-{number:03}" for number in range(10, 11 + lost)]
        after |= dict.fromkeys([*kept, *won], "P")

        change = changed(suite(9, 11), after)

        assert (change.better, change.worse) == (lost + 1, lost)
        assert change.p == 1.0
        assert change.interval is not None
        assert change.interval[0] < 0 < change.interval[1]


def test_no_change_is_not_known_for_certain() -> None:
    change = changed(suite(10, 10), suite(10, 10))

    assert (change.value, change.p) == (0, 1)
    assert change.interval is not None
    assert change.interval[0] < -0.05
    assert change.interval[1] > 0.05


def test_an_interval_holds_the_change_it_was_drawn_from() -> None:
    chance = np.random.default_rng(9)
    held = []
    for _ in range(1500):
        kinds = chance.choice(4, size=40, p=[0.4, 0.2, 0.1, 0.3])
        before = {str(place): [bool(kind in (0, 2))] for place, kind in enumerate(kinds)}
        after = {str(place): [bool(kind in (0, 1))] for place, kind in enumerate(kinds)}
        change = measure_change(before, after)
        assert change is not None
        assert change.interval is not None
        held.append(change.interval[0] <= 0.1 <= change.interval[1])

    assert 0.935 < np.mean(held) < 0.975


def test_tests_that_failed_in_either_are_left_out_and_counted() -> None:
    change = changed({"a": "P", "b": "E", "c": "O"}, {"a": "P", "b": "P", "c": "P"})

    assert (change.tests, change.left_out, change.better, change.worse) == (2, 1, 1, 0)
    assert change.value == 0.5


def test_with_repeats_a_test_counts_once() -> None:
    change = changed({"a": "PPP", "b": "OOO", "c": "OOE"}, {"a": "PPO", "b": "OPP", "c": "OOO"})

    assert (change.tests, change.better, change.worse) == (3, 1, 1)
    assert change.value == pytest.approx((-1 / 3 + 2 / 3 + 0) / 3)
    assert change.interval is not None


def test_a_version_is_compared_with_the_last_that_had_the_same_tests(log: Path) -> None:
    append_entry(log, entry(suite(2, 8)))
    append_entry(log, entry(suite(5, 5), minute=1))
    append_entry(log, entry(suite(9, 1), minute=2, tests_digest="o" * 64))
    append_entry(log, entry(suite(9, 1), minute=3, eval_version="exact-2"))

    found = append_entry(log, entry(suite(6, 4), minute=4))

    assert found.since is not None
    assert found.since.at.minute == 1
    assert found.since.change.value == pytest.approx(0.1)
    assert [each.since is None for each in read_log(log)] == [True, False, True, True, False]


def test_changed_memories_are_said_beside_the_difference(log: Path) -> None:
    append_entry(log, entry(suite(5, 5)))
    append_entry(log, entry(suite(6, 4), minute=1, corpus_digest="d" * 64))

    assert log.read_text(encoding="utf-8").count("; the memories changed too") == 1


def test_figures_that_are_invalid_are_said_to_be(log: Path) -> None:
    broken = entry({"a": "E"}, validity="invalid", reason="1 of 1 failed")
    append_entry(log, broken)

    assert "**these figures are invalid: 1 of 1 failed**" in log.read_text(encoding="utf-8")
    assert "these figures are invalid: 1 of 1 failed" in render_log(read_log(log))
    assert "of nothing: no test has a class" in render_log(read_log(log))


def test_a_run_that_is_reported_again_is_not_added_again(log: Path) -> None:
    append_entry(log, entry(suite(5, 5)))
    second = append_entry(log, entry(suite(6, 4), minute=1))
    before = log.read_bytes()

    assert append_entry(log, entry(suite(6, 4), minute=1)) == second
    assert log.read_bytes() == before


@pytest.mark.parametrize(
    "mine",
    [
        pytest.param(b"", id="an empty file"),
        pytest.param(b"My notes, with no end of line", id="no end of line"),
        pytest.param("\ufeff# Notizen\r\n\r\nüber v3 \r\n".encode(), id="CR LF and a mark"),
        pytest.param(b"<!-- mine -->\n```\ncode\n```\n\n\n", id="comments and code"),
    ],
)
def test_what_its_owner_wrote_stays_byte_by_byte(log: Path, mine: bytes) -> None:
    log.write_bytes(mine)
    append_entry(log, entry(suite(5, 5)))
    with log.open("ab") as file:
        file.write(b"v4 is the better one, I think. " + mine)
    before = log.read_bytes()

    append_entry(log, entry(suite(6, 4), minute=1))

    assert before.startswith(mine)
    assert log.read_bytes().startswith(before)
    assert log.read_bytes().removeprefix(before).lstrip(b"\n").startswith(b"## 2026")
    assert b"\n## 2026" in log.read_bytes().removeprefix(before)
    assert [each.perfect for each in read_log(log)] == [5, 6]


def test_an_entry_is_found_again_after_an_editor_changed_the_line_ends(log: Path) -> None:
    append_entry(log, entry(suite(5, 5)))
    log.write_bytes(log.read_bytes().replace(b"\n", b"\r\n"))

    assert read_log(log) == [entry(suite(5, 5))]


def test_settings_cannot_end_the_comment_or_mark_up_the_page(log: Path) -> None:
    wild = SystemCard(
        name="my_agent\n\x1b[2J## 2020",
        version="1",
        config={"a|b": "--> `x`\n<b>\u2028", "n": ("-->",)},
    )

    written = append_entry(log, entry(suite(1, 1), selector=wild))

    assert read_log(log) == [written]
    told = log.read_text(encoding="utf-8").removeprefix(HEADING)
    assert told.count("-->") == 3, "in two settings that people see, and where the comment ends"
    assert "UTC: my_agent \\[2J## 2020 1\n" in told
    assert "my_agent [2J## 2020 1\n" in render_log([written])


def test_the_name_of_the_version_before_marks_nothing_up(log: Path) -> None:
    card = SystemCard(name="my_agent", version="<1>")
    append_entry(log, entry(suite(1, 1), selector=card))
    append_entry(log, entry(suite(2, 0), minute=1, selector=card))

    assert "since 2026-03-01 12:00 UTC, my_agent \\<1>:" in log.read_text(encoding="utf-8")
    assert "since 2026-03-01 12:00 UTC, my_agent <1>:" in render_log(read_log(log))


def test_prompts_and_models_of_another_shape_are_settings_like_any(log: Path) -> None:
    card = SystemCard(name="mine", version="1", config={"models": "opus", "prompts": ["v1.md"]})

    append_entry(log, entry(suite(1, 1), selector=card))

    assert 'settings: models `opus`, prompts `["v1.md"]`' in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param('"perfect":5', '"perfect":"five"', "Expected `int`", id="another type"),
        pytest.param(" -->", "", "not whole", id="cut off"),
        pytest.param("log/1", "log/2", "layout 2", id="of a later program"),
        pytest.param('"bench-001":"P"', '"bench-001":"X"', "outcome 'X'", id="no outcome"),
        pytest.param("12:00:00Z", "12:00:00", "datetime", id="a time of no zone"),
    ],
)
def test_a_damaged_entry_is_named_by_its_line(log: Path, old: str, new: str, problem: str) -> None:
    append_entry(log, entry(suite(5, 5)))
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace(old, new), encoding="utf-8")
    number = next(place for place, line in enumerate(text.split("\n"), 1) if "<!--" in line)

    with pytest.raises(Malformed, match=f"recall-prompts.md, line {number}: .*{problem}"):
        append_entry(log, entry(suite(6, 4)))

    assert log.read_text(encoding="utf-8") == text.replace(old, new)


def test_a_file_that_is_no_text_is_refused_and_kept(log: Path) -> None:
    log.write_bytes(b"\xff\xfe")

    with pytest.raises(Malformed, match="not UTF-8"):
        append_entry(log, entry(suite(1, 1)))

    assert log.read_bytes() == b"\xff\xfe"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        append_entry(tmp_path, entry(suite(1, 1)))
    with pytest.raises(UsageError, match="cannot be read"):
        read_log(tmp_path / "none.md")


def test_entries_added_at_once_are_all_kept(log: Path) -> None:
    def add(perfect: int) -> PromptLogEntry:
        return append_entry(log, entry(suite(perfect, 10 - perfect), minute=perfect))

    with ThreadPoolExecutor(6) as together:
        list(together.map(add, range(6)))

    assert sorted(each.perfect for each in read_log(log)) == list(range(6))


def test_the_terminal_shows_every_version_and_how_it_differs(log: Path) -> None:
    append_entry(log, entry(suite(9, 11)))
    append_entry(log, entry({**suite(10, 9, 1), "x": "E"}, minute=5))

    lines = render_log(read_log(log)).splitlines()

    assert lines[0] == (
        "  1  2026-03-01 12:00 UTC  recall-agent 1, v5-pass1@abababab/v5-pass2@cdcdcdcd, "
        "claude:sonnet/claude:opus"
    )
    assert lines[1] == "     PERFECT 45.0% of 20 (25.8% to 65.8%); 9 perfect, 11 over, 0 under"
    assert lines[4].endswith("10 perfect, 9 over, 1 under, 1 error, 0 skip")
    assert lines[5].startswith("     +5.0 points (")
    assert lines[5].endswith("1 better and 0 worse of 20 tests, p = 1.00; 1 left out")
    assert render_log([]) == "no version has been tested yet"
