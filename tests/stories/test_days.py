"""A day that cannot be told as it was written is said, and so is one that is not there."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Problems
from recall_bench.stories.persona import inspect_persona, load_persona
from recall_bench.stories.persona_files import find_gaps, find_runs, format_days, name_day_file
from tests.stories.persona_folder import edit, plant, write_day

STORY = "arcs-6d.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plant(tmp_path)


def problems(folder: Path, *, allow_gaps: bool = False) -> list[str]:
    return [str(p) for p in inspect_persona(folder, arcs=STORY, allow_gaps=allow_gaps).problems]


def span_the_quiet_day(folder: Path) -> None:
    edit(folder / STORY, "endDay: 3", "endDay: 6")


def test_a_quiet_day_is_no_gap(folder: Path) -> None:
    assert problems(folder) == []


def test_a_missing_day_on_which_something_happens_is_a_gap(folder: Path) -> None:
    span_the_quiet_day(folder)

    (problem,) = problems(folder)
    assert problem == (
        "nursery/memories-6d: day-0004.md is missing although an arc is active; restore what is "
        "missing, or say the gap is meant with `gaps: true` in arcs-6d.yaml or --allow-gaps"
    )


def test_a_flag_allows_gaps(folder: Path) -> None:
    span_the_quiet_day(folder)

    assert problems(folder, allow_gaps=True) == []
    assert len(load_persona(folder, arcs=STORY, allow_gaps=True).episodes) == 5


def test_a_story_allows_gaps(folder: Path) -> None:
    span_the_quiet_day(folder)
    edit(folder / STORY, "maxConcurrent: 4", "gaps: true")

    assert problems(folder) == []


def test_a_meant_gap_does_not_excuse_a_question_about_it(folder: Path) -> None:
    (folder / "memories-6d" / "day-0002.md").unlink()

    (problem,) = problems(folder, allow_gaps=True)

    assert "question nursery-q1 needs day 2" in problem


def test_a_story_that_does_not_begin_has_a_gap(folder: Path) -> None:
    (folder / "memories-6d" / "day-0001.md").unlink()

    assert any("day-0001.md is missing" in problem for problem in problems(folder))


def test_a_story_that_breaks_off_is_a_warning(folder: Path) -> None:
    (folder / "memories-6d" / "day-0006.md").unlink()

    found = inspect_persona(folder, arcs=STORY)

    assert found.problems == []
    assert found.warnings == [
        "nursery/memories-6d: the last day is 5, but arcs-6d.yaml goes on to day 6"
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("day-4.md", "rename it to day-0004.md"),
        ("day-00004.md", "rename it to day-0004.md"),
        ("day_0004.md", "rename it to day-0004.md"),
        ("Day-0004.md", "rename it to day-0004.md"),
        ("day-0004.MD", "rename it to day-0004.md"),
        ("day-0004.txt", "rename it to day-0004.md"),
        ("day-3.md", "day-0003.md exists; remove one of the two"),
        ("day-0000.md", "the first story day is 1"),
        ("day-0.md", "the first story day is 1"),
    ],
)
def test_a_file_that_is_almost_a_day_is_said(folder: Path, name: str, words: str) -> None:
    (folder / "memories-6d" / name).write_text("Something happened.", encoding="utf-8")

    (problem,) = problems(folder)

    assert problem.startswith(f"nursery/memories-6d/{name}: ")
    assert words in problem


@pytest.mark.parametrize("name", [".DS_Store", "day-0004.md.bak-1", "day-0004.md~", "index.json"])
def test_a_file_that_is_nothing_like_a_day_is_passed_over(folder: Path, name: str) -> None:
    (folder / "memories-6d" / name).touch()

    found = inspect_persona(folder, arcs=STORY)

    assert (found.problems, found.warnings) == ([], [])


def test_other_notes_beside_the_days_are_a_warning(folder: Path) -> None:
    (folder / "memories-6d" / "README.md").touch()

    assert inspect_persona(folder, arcs=STORY).warnings == [
        "nursery/memories-6d/README.md: is not named like a day and is not read"
    ]


@pytest.mark.parametrize(
    ("content", "where", "words"),
    [
        pytest.param(b"", "day-0002.md", "is empty", id="empty"),
        pytest.param(b" \r\n\t\n", "day-0002.md", "is empty", id="blank"),
        pytest.param(b"\xef\xbb\xbf\n", "day-0002.md", "is empty", id="only a mark"),
        pytest.param(b"ok\n\xff\xfe", "day-0002.md, line 2", "0xff is not UTF-8", id="binary"),
        pytest.param(b"a\nb\nc\0d", "day-0002.md, line 3", "NUL", id="NUL byte"),
    ],
)
def test_a_day_that_is_no_text_is_said(
    folder: Path, content: bytes, where: str, words: str
) -> None:
    (folder / "memories-6d" / "day-0002.md").write_bytes(content)

    (problem,) = problems(folder)

    assert problem.startswith(f"nursery/memories-6d/{where}: ")
    assert words in problem


def test_a_folder_named_like_a_day_is_said(folder: Path) -> None:
    (folder / "memories-6d" / "day-0004.md").mkdir()

    (problem,) = problems(folder)

    assert "day-0004.md: cannot be read" in problem


def test_a_day_of_frontmatter_alone_is_a_warning(folder: Path) -> None:
    write_day(folder, 4, "---\ntype: daily\n---\n")

    assert inspect_persona(folder, arcs=STORY).warnings == [
        "nursery/memories-6d/day-0004.md: holds frontmatter and nothing else"
    ]


def test_a_story_may_have_more_than_9999_days(folder: Path) -> None:
    write_day(folder, 10_000, "Late.")
    write_day(folder, 9_999, "Almost.")

    episodes = load_persona(folder, arcs=STORY).episodes

    assert [episode.id for episode in episodes[-2:]] == ["day-9999", "day-10000"]
    assert episodes[-1].day == 10_000


def test_a_day_beyond_the_calendar_is_said(folder: Path) -> None:
    write_day(folder, 99_999_999, "Far too late.")

    (problem,) = problems(folder)

    assert "day-99999999.md: is after the year 9999" in problem


def test_days_are_named_with_four_digits_at_least() -> None:
    assert [name_day_file(day) for day in (1, 12345)] == ["day-0001.md", "day-12345.md"]


def test_missing_days_are_stated_run_by_run() -> None:
    assert list(find_gaps({3, 4, 8}, lambda day: day != 6)) == [(1, 2), (5, 5), (7, 7)]
    assert list(find_runs([])) == []
    assert format_days([4]) == "day 4"
    assert format_days([1, 2, 3, 7]) == "days 1–3, 7"
    assert format_days([2, 3]) == "days 2–3"
    assert format_days([9, 2, 6, 5, 7]) == "days 2, 5–7, 9"


def test_a_wrong_day_stops_the_loader_too(folder: Path) -> None:
    write_day(folder, 2, " ")

    with pytest.raises(Problems, match=r"day-0002\.md: is empty"):
        load_persona(folder, arcs=STORY)
