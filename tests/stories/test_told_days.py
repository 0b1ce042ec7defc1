"""The days alone are those of the whole story, and are recognised by the same digest."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Problems
from recall_bench.core.plan import Calendar
from recall_bench.stories.persona import inspect_persona, load_persona, read_story_days
from recall_bench.stories.persona_files import DEFAULT_ARCS, list_stories
from tests.gardener import write_persona


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_persona(tmp_path)
    return next(path.parent for path in tmp_path.glob("*/persona.yaml"))


@pytest.mark.parametrize("calendar", Calendar)
def test_they_are_the_days_of_a_run(folder: Path, calendar: Calendar) -> None:
    arcs = list_stories(folder)[0]
    card = inspect_persona(folder, arcs=arcs, calendar=calendar).card
    assert card is not None

    told = read_story_days(folder, arcs=arcs, calendar=calendar)

    assert told.history_digest == card.history_digest
    whole = load_persona(folder, arcs=arcs, calendar=calendar)
    assert told.texts == {episode.day: episode.text for episode in whole.episodes}


def test_another_word_is_another_history(folder: Path) -> None:
    arcs = list_stories(folder)[0]
    before = read_story_days(folder, arcs=arcs, calendar=Calendar.METADATA)
    day = next(folder.glob("memories-*/day-*.md"))
    day.write_text(day.read_text() + "\nAnd one thing more.\n")

    after = read_story_days(folder, arcs=arcs, calendar=Calendar.METADATA)

    assert after.history_digest != before.history_digest


def test_a_story_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problems, match=r"persona\.yaml"):
        read_story_days(tmp_path, arcs=DEFAULT_ARCS, calendar=Calendar.METADATA)
