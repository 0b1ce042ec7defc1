"""How long the explorer takes to open two runs of 50,000 trials.

    python benchmarks/explorer.py

The runs are synthetic, as in `report_page.py`. Measured are the first read of a run for the explorer, in
processor time beside decoding its journal once, and in a headless browser the time until a section is
interactive, beside an empty page; the best of three each.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from report_page import ROUNDS, find_browser, measure_best, open_page, write_run

from recall_bench.features.explorer.explorer_page import render_explorer
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.reporting.pages.markup import PageBlock, encode_block

TARGET_S = 2.0
SECTIONS = ("compare?runs={0},{1}", "travel?run={0}&day=20", "label?run={0}")


def write_pages(place: Path) -> tuple[Path, list[str]]:
    """The explorer of both runs as one page, and the ids of the runs."""
    views = ExplorerViews(RunCatalogue(place))
    runs = [run.id for run in views.catalogue.scan()]
    pair = ".".join(runs)
    blocks = [
        encode_block("runs", views.catalogue.list_rows()),
        *(block for run in runs for block in views.list_blocks(run)),
        PageBlock(f"pairs/{pair}", views.build(f"pairs/{pair}")),
        encode_block(f"compare/{pair}", {"problem": "not compared here"}),
    ]
    pieces = render_explorer("many", is_served=False, blocks=[each.render() for each in blocks])
    page = place / "report.html"
    page.write_text("".join(pieces), encoding="utf-8")
    return page, runs


def measure_first_read(place: Path, run: str) -> float:
    """Processor time from the table of runs to the sections that are shown first."""
    catalogue = RunCatalogue(place)
    views = ExplorerViews(catalogue)
    found = next(each for each in catalogue.scan() if each.id == run)
    catalogue.open_folder(found, found.read_stamp())
    start = time.process_time()
    for name in ("index", "questions", "trials"):
        views.build(f"{run}/{name}")
    return time.process_time() - start


def measure_decoding(journal: Path) -> float:
    """The baseline: processor time to decode every line."""
    start = time.process_time()
    with journal.open("rb") as lines:
        for line in lines:
            json.loads(line)
    return time.process_time() - start


def main() -> None:
    """Print each figure with its baseline and target."""
    from playwright.sync_api import sync_playwright

    program = find_browser()
    is_met = True
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as started:
        place = Path(scratch)
        for seed in range(2):
            write_run(place / str(seed), seed)
        page, runs = write_pages(place)
        read = min(measure_first_read(place, runs[0]) for _ in range(ROUNDS))
        decoded = measure_decoding(place / "0" / "journal.jsonl")
        print(f"first read  {read:.2f} s, {read / decoded:.2f} of decoding the journal once")
        empty = place / "empty.html"
        empty.write_text("<!DOCTYPE html><title>empty</title>", encoding="utf-8")
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        empty_s = measure_best(browser, empty)
        for section in SECTIONS:
            address = f"{page.as_uri()}#{section.format(*runs)}"
            times = []
            for _ in range(ROUNDS):
                seconds, found = open_page(browser, page, address)
                times.append(seconds)
                found.close()
            page_s = min(times)
            is_met &= page_s <= TARGET_S
            name = section.partition("?")[0]
            print(f"{name:<11} {page_s:.2f} s, {page_s / empty_s:.1f} times an empty page")
        browser.close()
        is_met &= read <= TARGET_S
        print(f"target      {TARGET_S:.0f} s each: {'met' if is_met else 'not met'}")
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
