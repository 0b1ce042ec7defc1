"""Days are told anew, of a sane size, and filed under the sessions there are."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import SESSIONS, found, write

LINES = [f"Boat number {n} went down through the lock at noon." for n in range(40)]


def told(*lines: str) -> str:
    return "\n".join(f"- {line}" for line in lines)


def test_days_that_repeat_earlier_ones_are_found(tmp_path: Path) -> None:
    days = {1: told(*LINES[:10]), 2: told(*LINES[5:15])}

    (finding,) = found(write(tmp_path, days), "repeated-sentences")

    assert "15 of 20" in finding.message
    assert "75%" in finding.message


def test_short_sentences_may_repeat(tmp_path: Path) -> None:
    short = [f"Rain again, pump {n}." for n in range(10)]
    days = {1: told(*LINES[:10], *short), 2: told(*LINES[10:20], *short)}

    assert found(write(tmp_path, days), "repeated-sentences") == ()


def test_a_copy_of_one_earlier_day_is_named(tmp_path: Path) -> None:
    days = {1: told(*LINES[:10]), 2: told(*LINES[10:20]), 3: told(*LINES[:8], *LINES[20:22])}

    (finding,) = found(write(tmp_path, days), "copied-day")

    assert finding.file == "lock/memories-20d/day-0003.md"
    assert "8 of its 10" in finding.message
    assert "day 1" in finding.message


def test_a_day_patched_from_several_is_no_copy(tmp_path: Path) -> None:
    days = {1: told(*LINES[:10]), 2: told(*LINES[10:20]), 3: told(*LINES[5:15])}

    assert found(write(tmp_path, days), "copied-day") == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [("Rain.", 1), (told(*LINES[:4]), 0), (told(*LINES) * 120, 1)],
    ids=["next to nothing", "a day", "a book"],
)
def test_a_day_is_of_a_sane_size(tmp_path: Path, text: str, count: int) -> None:
    days = {1: told(*LINES[:8]), 2: text, 3: told(*LINES[8:16])}

    found_ = found(write(tmp_path, days), "day-size")

    assert [finding.file[-6:] for finding in found_] == ["002.md"] * count


def test_a_day_without_session_is_found_if_the_persona_has_some(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "Sun.", 2: "Rain."})
    (folder / "memories-20d" / "day-0002.md").write_text("### Log\nRain.\n")

    (finding,) = found(folder, "no-session-heading")

    assert finding.file.endswith("day-0002.md")


def test_if_it_has_none_there_is_nothing_to_file_under(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "Sun."}, sessions=())
    (folder / "memories-20d" / "day-0001.md").write_text("### Log\nRain.\n")

    assert found(folder, "no-session-heading") == ()


def test_undeclared_and_closed_sessions_are_found(tmp_path: Path) -> None:
    sessions = [*SESSIONS[:2], {**SESSIONS[2], "lastDay": 1}]
    strange = "# session: harbour\n\nRain.\n\n# session: audit\n\nSun."

    messages = [
        finding.message
        for finding in found(write(tmp_path, {2: strange}, sessions=sessions), "session-undeclared")
    ]

    assert len(messages) == 2
    assert "harbour" in messages[0]
    assert "audit" in messages[1]
