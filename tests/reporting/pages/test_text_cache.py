"""A page from the cache of its texts is the page that the journal gives, and no other."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.reporting.pages import text_cache
from recall_bench.reporting.pages.page_data import collect_questions
from recall_bench.reporting.pages.trial_blocks import TrialBlocks
from recall_bench.runs import sealed_file
from recall_bench.runs.journal import JOURNAL
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.sealed_file import PAGE
from recall_bench.runs.trials import read_trials
from tests.reporting.pages.sample_pages import STORIES, ada_run, page_of
from tests.written_runs import POOR, trial


@pytest.fixture(autouse=True)
def _no_charting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script that draws charts takes seconds to bundle, and is run by no test here."""
    monkeypatch.setattr("recall_bench.reporting.pages.page.load_vega_script", lambda: "draw();")


def age(run: Path) -> None:
    """Make the journal look as if it was last written a minute ago."""
    then = (run / JOURNAL).stat().st_mtime - 60
    os.utime(run / JOURNAL, (then, then))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run at rest, of which a page was written; `first.html` is that page."""
    monkeypatch.setattr(sealed_file, "MIN_BYTES", 0)
    ada_run(tmp_path / "run").save()
    age(tmp_path / "run")
    page_of(RunFolder.open(tmp_path / "run"), tmp_path / "first.html")
    assert (tmp_path / "run" / PAGE).exists()
    return tmp_path / "run"


@pytest.fixture
def count_renderings(monkeypatch: pytest.MonkeyPatch) -> list[TrialBlocks]:
    """One entry for each time that texts are read from the journal."""
    found: list[TrialBlocks] = []
    write_texts = TrialBlocks.write_texts

    def count(blocks: TrialBlocks) -> object:
        found.append(blocks)
        return write_texts(blocks)

    monkeypatch.setattr(TrialBlocks, "write_texts", count)
    return found


def test_a_second_page_reads_no_text_and_is_the_same(
    run: Path, tmp_path: Path, count_renderings: list[TrialBlocks]
) -> None:
    page = page_of(RunFolder.open(run), tmp_path / "second.html")

    assert count_renderings == []
    assert page.read_bytes() == (tmp_path / "first.html").read_bytes()


def test_other_days_give_another_page(
    run: Path, tmp_path: Path, count_renderings: list[TrialBlocks]
) -> None:
    other = {"ada": {**STORIES["ada"], 2: "The dog moved out."}}

    page = page_of(RunFolder.open(run), tmp_path / "second.html", other)

    assert len(count_renderings) == 1
    (run / PAGE).unlink()
    assert page_of(RunFolder.open(run), tmp_path / "third.html", other).read_bytes() == (
        page.read_bytes()
    )
    assert page.read_bytes() != (tmp_path / "first.html").read_bytes()


def test_a_journal_that_changed_gives_another_page(
    run: Path, tmp_path: Path, count_renderings: list[TrialBlocks]
) -> None:
    story = ada_run(run)
    story.both(trial("dog"), POOR, "The dog swam.")
    story.save()
    age(run)

    page = page_of(RunFolder.open(run), tmp_path / "second.html")

    assert len(count_renderings) == 1
    assert page.read_bytes() != (tmp_path / "first.html").read_bytes()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def change_text(path: Path) -> None:
    """Change a cache without its seal, as a program without the key would."""
    path.write_bytes(path.read_bytes().replace(b"data-block", b"data-black", 1))


def seal_other(path: Path) -> None:
    """Seal what is no cache."""
    sealed_file.write_sealed_file(path, text_cache._MAGIC, b"\xc0")


@pytest.mark.parametrize("spoil", [truncate, change_text, seal_other])
def test_a_cache_that_is_damaged_or_foreign_is_written_anew(
    run: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    whole = (run / PAGE).read_bytes()
    spoil(run / PAGE)

    page = page_of(RunFolder.open(run), tmp_path / "second.html")

    assert page.read_bytes() == (tmp_path / "first.html").read_bytes()
    assert (run / PAGE).read_bytes() == whole


def test_other_code_renders_anew(
    run: Path,
    tmp_path: Path,
    count_renderings: list[TrialBlocks],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_cache, "digest_code", lambda *more: f"other code of {more}")

    page_of(RunFolder.open(run), tmp_path / "second.html")

    assert len(count_renderings) == 1


def test_the_code_of_pages_counts() -> None:
    assert sealed_file.digest_code("reporting/pages") != sealed_file.digest_code()


def test_a_small_run_has_no_cache(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_file, "MIN_BYTES", 1 << 30)
    (run / PAGE).unlink()

    page_of(RunFolder.open(run), tmp_path / "second.html")

    assert not (run / PAGE).exists()


def test_the_view_of_another_judge_has_no_cache(run: Path) -> None:
    """Its texts are in the same folder, and have other verdicts."""
    folder = RunFolder.open(run)
    table = read_trials(folder)
    blocks = TrialBlocks(folder, table, collect_questions(table, ()), STORIES)
    assert text_cache._describe_source(blocks) is not None

    folder.other_judge = 0

    assert text_cache._describe_source(blocks) is None


def test_a_folder_that_cannot_be_written_to_has_no_cache(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    (run / PAGE).unlink()
    monkeypatch.setattr(sealed_file, "write_shared_file", refuse)

    page = page_of(RunFolder.open(run), tmp_path / "second.html")

    assert page.read_bytes() == (tmp_path / "first.html").read_bytes()
    assert not (run / PAGE).exists()
