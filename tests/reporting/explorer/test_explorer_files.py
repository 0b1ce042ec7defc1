"""The same explorer as files: it opens from disk, loads nothing, and shows the same."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.generate.shipped_personas import StoryTexts
from recall_bench.reporting.explorer.explorer_files import export_explorer
from recall_bench.reporting.explorer.explorer_views import ExplorerViews
from recall_bench.reporting.explorer.run_catalogue import RunCatalogue
from tests.reporting.explorer.conftest import wait_until_ready
from tests.reporting.explorer.sample_runs import write_runs
from tests.reporting.explorer.test_story_view import write_ledger
from tests.reporting.pages.conftest import Visit, listen
from tests.reporting.pages.sample_pages import SENTENCE, STORIES

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


def test_every_section_opens_from_disk(written: tuple[Path, IDS], browser: "Browser") -> None:
    folder, ids = written
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(15_000)
    seen = Visit(page)
    address = (folder / "index.html").as_uri()
    listen(seen, address)

    page.goto(f"{address}#runs")
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
