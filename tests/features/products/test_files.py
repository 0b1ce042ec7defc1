"""Files and grep: a line a note, found by its words, rare words first."""

import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Episode
from recall_bench.features.products.files import MarkdownFiles, product
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.testing import CHECKS, assert_contract
from tests.conftest import episode
from tests.systems.diary import EPISODES

needs_grep = pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep here")


def lived(
    folder: Path, episodes: Sequence[Episode] = EPISODES, *, respect_sessions: bool = False
) -> MarkdownFiles:
    files = MarkdownFiles(state_dir=folder, respect_sessions=respect_sessions)
    for each in episodes:
        on = each.at.date().isoformat()
        told = DayMetadata(day_number=each.day, date=on, persona_id="diary")
        files.ingest_day(each.day, each.text, told)
    return files


def asked(
    files: MarkdownFiles, question: str, session: str = "principal", top_k: int = 3
) -> list[str]:
    context = QueryContext(
        date=date(2025, 3, 7), session=session, persona="diary", question_id="q", top_k=top_k
    )
    reply = files.query(question, context)
    assert isinstance(reply, dict)
    passages = reply["passages"]
    assert isinstance(passages, list)
    return [passage["text"] for passage in passages]


@needs_grep
def test_a_day_is_a_markdown_file_one_can_read(tmp_path: Path) -> None:
    lived(tmp_path)

    assert (tmp_path / "day-0001.md").read_text(encoding="utf-8") == (
        "# 2025-02-24\n\n"
        "- On 2025-02-24 (principal): The new boiler was set to 14 degrees. Ada signed. "
        "<!-- principal — Greenhouse -->\n"
    )


@needs_grep
def test_a_rare_word_is_worth_more_than_two_common_ones(tmp_path: Path) -> None:
    texts = ("apples and pears", "a quince", "apples and pears", "apples and pears")
    files = lived(tmp_path, [episode(day, text) for day, text in enumerate(texts, start=1)])

    found = asked(files, "Apples, pears or quince?")

    assert found == [
        "On 2024-01-02: a quince",
        "On 2024-01-04: apples and pears",
        "On 2024-01-03: apples and pears",
    ]


@needs_grep
def test_of_equals_the_later_day_comes_first(tmp_path: Path) -> None:
    files = lived(tmp_path)

    assert [text[:13] for text in asked(files, "boiler")] == [
        "On 2025-03-07",
        "On 2025-02-27",
        "On 2025-02-24",
    ]


@needs_grep
def test_whole_words_are_found_in_any_case_and_parts_of_words_are_not(tmp_path: Path) -> None:
    files = lived(tmp_path)

    assert asked(files, "HALE?")
    assert not asked(files, "boil")


@needs_grep
def test_a_file_is_text_to_grep_whatever_signs_are_in_it(tmp_path: Path) -> None:
    files = lived(tmp_path, [episode(1, "The code is\0 naïve Ζορβά.")])

    assert asked(files, "ζορβά code") == ["On 2024-01-01: The code is\0 naïve Ζορβά."]


@needs_grep
def test_headings_can_be_searched_and_are_not_quoted(tmp_path: Path) -> None:
    found = asked(lived(tmp_path), "visitors")

    assert found == ["On 2025-03-02 (principal): Inspector Hale visited and praised the drainage."]


@needs_grep
def test_no_more_is_found_than_is_looked_at_and_nothing_by_no_word(tmp_path: Path) -> None:
    files = lived(tmp_path)

    assert len(asked(files, "boiler leeks key", top_k=2)) == 2
    assert asked(files, "?!") == []


@needs_grep
def test_a_question_is_kept_to_its_session_only_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "free").mkdir()
    (tmp_path / "kept").mkdir()
    free = lived(tmp_path / "free")
    kept = lived(tmp_path / "kept", respect_sessions=True)

    assert asked(free, "swimming", session="market")
    assert not asked(kept, "swimming", session="market")
    assert asked(kept, "swimming", session="family")
    assert asked(kept, "swimming")


@needs_grep
def test_days_are_counted_on_disk(tmp_path: Path) -> None:
    lived(tmp_path)

    assert MarkdownFiles(state_dir=tmp_path).days_ingested() == len(EPISODES)


def test_without_grep_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(UsageError, match="files needs the program grep, which is not on the PATH"):
        product({})


@needs_grep
@pytest.mark.parametrize("respect_sessions", [False, True])
def test_it_keeps_the_contract(respect_sessions: bool) -> None:
    """With all clauses where it looks into every session; otherwise with those that may differ."""
    told = {"snapshots", "dates", "sessions", "count"}
    quick = {check.name for check in CHECKS if check.name != "large-day"}
    only = {*told, "round-trip", "empty-memory"} if respect_sessions else quick

    report = assert_contract(product({"respect_sessions": respect_sessions}), only=sorted(only))

    assert told <= {check.name for check in report.checks if check.outcome == "passed"}


def stored(files: MarkdownFiles) -> list[object]:
    return [entry["text"] for entry in files.stored()]


def test_an_episode_is_erased_with_its_file(tmp_path: Path) -> None:
    files = MarkdownFiles(state_dir=tmp_path)
    for day, name in enumerate(("first", "second"), start=1):
        told = DayMetadata(
            day_number=day, date=f"2025-03-0{day}", persona_id="diary", episode_id=name
        )
        files.ingest_day(day, f"Ada came on day {day}.", told)

    assert files.delete("first") == 1
    assert files.delete("first") is None
    assert [path.name for path in tmp_path.iterdir()] == ["day-0002.md"]
    assert stored(files) == ["On 2025-03-02: Ada came on day 2."]


@needs_grep
@pytest.mark.parametrize("mark", ["\f", "\x85", "\u2028"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, mark: str) -> None:
    files = MarkdownFiles(state_dir=tmp_path)
    name = f"first{mark}day"
    told = DayMetadata(day_number=1, date="2025-03-01", persona_id="diary", episode_id=name)
    files.ingest_day(1, "Ada sang.\n\nBruno slept.", told)

    [found] = files.find_passages("Bruno", 1, None)
    assert [note.key for note in files.list_notes()][1] == found["source"]
    assert files.delete(name) == 2


def test_a_session_or_a_person_is_erased_line_by_line(tmp_path: Path) -> None:
    text = (
        "# session: board\n\nAda resigned.\n\n"
        "# session: garden\n\nThe roses of Bruno Holt bloom.\n\nIt rained all day long.\n"
    )
    files = lived(tmp_path, [episode(1, text)])
    before = stored(files)

    assert files.delete_session("board") == 1
    assert files.delete_person("Bruno Holt")
    left = stored(files)
    assert set(left) < set(before)
    assert not any("Ada" in str(each) or "Bruno" in str(each) for each in left)
