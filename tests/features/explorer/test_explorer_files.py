"""The same explorer as files: it opens from disk, loads nothing, and shows the same."""

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.features.explorer import explorer_files, explorer_views
from recall_bench.features.explorer.explorer_files import export_explorer
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.reporting.pages.markup import PageBlock
from recall_bench.stories.story_folders import StoryTexts
from tests.features.explorer.sample_runs import write_runs
from tests.features.explorer.test_story_view import write_ledger
from tests.reporting.browser.visits import Tab, wait_until_ready
from tests.reporting.pages.sample_pages import SENTENCE, STORIES

# Beside the other modules here, so that one browser is started for all of them.
pytestmark = pytest.mark.slow

IDS = dict[str, str]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, IDS]:
    """All runs, the first with its days and its ledger."""
    folder = tmp_path_factory.mktemp("export")
    views = ExplorerViews(RunCatalogue(write_runs(folder / "runs")))
    ids = {run.name: run.id for run in views.catalogue.scan()}
    story = StoryTexts(write_ledger(folder / "ada"), dict(STORIES["ada"]))
    views.open_run(ids["a"]).__dict__["stories"] = {"ada": story}
    export_explorer(views, "runs", folder / "pages")
    return folder / "pages", ids


def test_every_section_opens_from_disk(written: tuple[Path, IDS], tab: Tab) -> None:
    folder, ids = written
    address = (folder / "index.html").as_uri()

    seen = tab.open(f"{address}#runs", height=800)
    page = seen.page
    wait_until_ready(seen)
    seen.shows(f'tr[data-run="{ids["nested/b"]}"] .score', "86")

    # The order of the address does not matter.
    page.goto(f"{address}#compare?runs={ids['nested/b']},{ids['a']}&scope=common&show=better")
    wait_until_ready(seen)
    seen.shows(".contrast", "B (second 2)")
    seen.shows(".count", "2 trials")

    page.goto(f"{address}#travel?run={ids['a']}&day=1")
    wait_until_ready(seen)
    seen.shows(".told mark", SENTENCE)
    seen.shows(".told li", "cat")
    page.locator("#fact").fill("fig")
    seen.press("Enter")
    seen.shows(".facts-list", "the cat: name")
    seen.shows(".facts-list .fact-values", "Fig (day 1)")

    page.goto(f"{address}#label?run={ids['a']}&show=all")
    wait_until_ready(seen)
    seen.shows("#view", "recall-bench view takes new ones")
    assert page.locator(".labels button").first.is_disabled()
    assert seen.heard == []
    assert (folder / "run" / ids["a"] / "report.html").is_file()


def test_it_names_no_folder_of_the_machine(written: tuple[Path, IDS]) -> None:
    folder, _ = written
    text = (folder / "index.html").read_text(encoding="utf-8")

    assert str(folder.parent) not in text


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    views = ExplorerViews(RunCatalogue(write_runs(tmp_path / "runs")))
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "thesis.txt").write_text("mine")

    with pytest.raises(UsageError, match="such as thesis"):
        export_explorer(views, "runs", tmp_path / "pages")

    assert [each.name for each in (tmp_path / "pages").iterdir()] == ["thesis.txt"]


def test_a_run_that_cannot_be_read_or_has_no_report_is_shown_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_runs(tmp_path / "runs")
    journal = root / "hostile" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b"{broken}\n")
    views = ExplorerViews(RunCatalogue(root))
    ids = {run.name: run.id for run in views.catalogue.scan()}
    read, write = views.list_blocks, views.write_report

    def fail_to_read(run: str) -> Iterator[PageBlock]:
        if run == ids["c"]:
            raise DataError(f"{root / 'c'}: changed while it was read")
        return read(run)

    def fail_to_report(run: str, output: Path) -> None:
        if run == ids["a"]:
            raise UsageError(f"{root / 'a'}: measured by <script>, which gives no marks")
        write(run, output)

    monkeypatch.setattr(views, "list_blocks", fail_to_read)
    monkeypatch.setattr(views, "write_report", fail_to_report)

    written = export_explorer(views, "runs", tmp_path / "pages")

    assert written.notes == (
        "c cannot be read: c: changed while it was read",
        "a has no report: a: measured by <script>, which gives no marks",
    )
    page = (tmp_path / "pages" / "run" / ids["a"] / "report.html").read_text("utf-8")
    assert "There is no report: a: measured by &lt;script&gt;, which gives no marks" in page
    assert {path.parent.name for path in written.files[1:]} == {
        ids[name] for name in ("a", "c", "nested/b")
    }
    index = (tmp_path / "pages" / "index.html").read_text("utf-8")
    rows = {row["name"]: row for row in read_block(index, "runs")}
    assert rows["c"]["state"] == rows["hostile"]["state"] == "unreadable"
    assert rows["c"]["problem"] == "c: changed while it was read"
    assert rows["hostile"]["problem"].startswith("hostile/journal.jsonl, line ")


def read_block(page: str, name: str) -> list[dict[str, str]]:
    found = re.search(rf'data-block="{name}"[^>]*>([^<]*)<', page)
    assert found is not None
    rows: list[dict[str, str]] = json.loads(gzip.decompress(b64decode(found[1])))
    return rows


def test_of_many_runs_the_first_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer_files, "MOST_COMPARED", 2)
    views = ExplorerViews(RunCatalogue(write_runs(tmp_path / "runs")))

    written = export_explorer(views, "runs", tmp_path / "pages")

    assert written.notes == (
        "of 4 runs the first 2 by name are compared; without --export any can be",
    )
    page = (tmp_path / "pages" / "index.html").read_text("utf-8")
    assert page.count('data-block="compare/') == 1


def test_only_the_last_comparisons_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer_views, "_KEPT_COMPARISONS", 2)
    views = ExplorerViews(RunCatalogue(write_runs(tmp_path / "runs")))
    first, *others = [run.id for run in views.catalogue.scan()]

    for other in others:
        views.build(f"pairs/{first}.{other}")

    assert len(views._compared) == 2
