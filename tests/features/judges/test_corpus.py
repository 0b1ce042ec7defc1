"""A corpus is any folder of day files; a persona around them dates them."""

from datetime import date, datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import BenchError, Malformed, Problems, UsageError
from recall_bench.features.judges.labelled_verdicts import NO_CORPUS, read_corpus
from tests.conftest import shared_data
from tests.gardener import write_persona


def days_in(folder: Path, texts: dict[int, str]) -> Path:
    folder.mkdir()
    for day, text in texts.items():
        (folder / f"day-{day:04}.md").write_text(text)
    return folder


def test_a_persona_and_its_days_are_the_same_corpus(tmp_path: Path) -> None:
    persona = write_persona(tmp_path)

    whole, days = read_corpus(persona), read_corpus(persona / "memories-10d")

    assert whole == days
    assert (whole.id, whole.epoch, whole.last_day) == ("gardener", date(2025, 4, 1), 10)
    assert whole.items == ()
    assert whole.episodes[2].at == datetime(2025, 4, 3)


def test_the_days_of_a_persona_are_found_from_within(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_persona(tmp_path) / "memories-10d")

    assert read_corpus(Path()).epoch == date(2025, 4, 1)


def test_days_on_their_own_are_dated_by_their_text(tmp_path: Path) -> None:
    """As of day 3 this log runs a day behind, the way a summer time bug leaves it."""
    texts = {
        1: "# 2026-03-06, log\nWind.",
        2: "# 2026-03-07, log\nRain.",
        3: "# 2026-03-07, log\nFog.",
        4: "# 2026-03-08, log\nSun.",
        6: "Nothing is dated here.",
    }

    found = read_corpus(days_in(tmp_path / "log", texts))

    assert [episode.at.day for episode in found.episodes] == [6, 7, 7, 8, 10]
    assert found.id == "log"


def test_undated_days_have_the_usual_epoch(tmp_path: Path) -> None:
    assert read_corpus(days_in(tmp_path / "log", {1: "Wind."})).epoch == NO_CORPUS.epoch


@pytest.mark.parametrize(
    ("name", "text", "kind", "problem"),
    [
        ("day-0001.md", "", Malformed, "log/day-0001.md: is empty"),
        ("day-1.md", "Wind.", Problems, "log/day-1.md: would not be read"),
        ("notes.txt", "Wind.", Problems, "log: holds no day file"),
        ("day-9999999.md", "Wind.", Malformed, "beyond the year 9999"),
    ],
)
def test_a_folder_without_sound_days_is_refused(
    tmp_path: Path, name: str, text: str, kind: type[BenchError], problem: str
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / name).write_text(text)

    with pytest.raises(kind, match=problem):
        read_corpus(folder)


def test_a_persona_with_several_stories_needs_a_choice(tmp_path: Path) -> None:
    persona = write_persona(tmp_path)
    (persona / "arcs-5d.yaml").write_text((persona / "arcs-10d.yaml").read_text())

    with pytest.raises(UsageError, match="several stories"):
        read_corpus(persona)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        read_corpus(tmp_path / "nowhere")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "persona.yaml").write_text("id: bare\n")
    with pytest.raises(UsageError, match="has no days to read"):
        read_corpus(tmp_path / "bare")


def test_the_published_corpus_has_180_days() -> None:
    found = read_corpus(shared_data("recall-ea/executive-assistant"))

    assert (len(found.episodes), found.epoch) == (180, date(2026, 1, 1))
