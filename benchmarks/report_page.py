"""How long a report's page takes to write, and to become interactive in a browser.

    python benchmarks/report_page.py [RUN]

The run is the given folder, or a synthetic one of 50,000 trials: a thousand questions at fifty
checkpoints, each answer with ten passages. The page is opened from the disk in a headless browser,
three times; the best time counts. Two baselines are opened in the same minute: an empty page, which
is the cost of the browser itself, and one HTML table with a row for each trial, once.

Interactive means that heatmap, filters and table are drawn and respond to keys. A search lasts from
the last key until every answer is unpacked and searched.
"""

import html
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Judged,
    RunEnded,
    RunStarted,
    encode_event,
)
from recall_bench.core.memory import Answer, Passage, SystemCard
from recall_bench.core.plan import Checkpoint, Plan, ScenarioCard, Trial, digest_questions
from recall_bench.core.scenario import CATEGORIES, Evidence, Item, Truth
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.attribution import find_leaves
from recall_bench.reporting.pages.document import load_vega_script
from recall_bench.reporting.pages.page import write_page
from recall_bench.reporting.run_report import build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUESTIONS, CHECKPOINTS, PASSAGES, ROUNDS = 1000, 50, 10, 3
TIMEOUT_MS = 120_000
WORDS = (
    "tide ledger quay notice berth anchor report signal cargo winter rope lamp gate figure "
    "morning answer keeper harbour weight table letter number market engine corner promise"
).split()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
VERDICTS = (Verdict.of(3, 2, 1, "all"), Verdict.of(1, 0, 1, "some"), Verdict.of(0, 0, 0, "none"))


def write_run(folder: Path, seed: int = 0) -> RunFolder:
    """Write a synthetic run of 50,000 trials with texts about as long as real ones.

    Another seed has the same questions and other answers and marks.
    """
    folder.mkdir()
    with (folder / "journal.jsonl").open("wb") as file:
        for event in list_events(seed):
            file.write(encode_event(event) + b"\n")
    return RunFolder.open(folder)


def list_events(seed: int) -> Iterator[Event]:
    """The journal of a synthetic run."""
    chance = random.Random(0)
    items = tuple(
        Item(
            id=f"q{n}",
            text=f"What about {' '.join(chance.choices(WORDS, k=8))}?",
            known_from=1,
            truth=Truth(
                reference=" ".join(chance.choices(WORDS, k=5)),
                category=CATEGORIES[n % 8],
                evidence=(Evidence(day=1 + n % 900),),
            ),
        )
        for n in range(QUESTIONS)
    )
    days = [20 * n for n in range(1, CHECKPOINTS + 1)]
    plan = Plan(
        scenarios=(
            ScenarioCard(
                id="moss",
                epoch=date(2024, 1, 1),
                episodes=days[-1],
                last_day=days[-1],
                items=len(items),
                history_digest="h",
                questions_digest=digest_questions(items),
            ),
        ),
        checkpoints=tuple(Checkpoint(label=f"{day}d", days=day) for day in days),
        system=SystemCard(name="made-up", version="1"),
        judge=JudgeCard(name="made-up", version="1"),
    )
    yield RunStarted(at=NOW, plan=plan, code="0")
    yield Declared(at=NOW, scenario="moss", items=items, days=tuple(range(1, days[-1] + 1)))
    passages = [
        Passage(text=" ".join(chance.choices(WORDS, k=30)), day=1 + n % 900, score=chance.random())
        for n in range(20_000)
    ]
    chance.seed(seed)
    for checkpoint in plan.checkpoints:
        for item in items:
            trial = Trial(scenario="moss", item=item.id, checkpoint=checkpoint.label)
            answer = Answer(
                text=" ".join(chance.choices(WORDS, k=60)),
                passages=tuple(chance.sample(passages, PASSAGES)),
            )
            yield Answered(at=NOW, trial=trial, answer=answer, seconds=0.1)
            yield Judged(at=NOW, trial=trial, verdict=chance.choice(VERDICTS))
    yield RunEnded(at=NOW)


def write_plain_table(folder: RunFolder, output: Path) -> None:
    """The baseline: one table, a row for each trial with its question, answer and reason."""
    with output.open("w", encoding="utf-8") as file:
        file.write("<!DOCTYPE html><meta charset=utf-8><table style=table-layout:fixed>")
        for scenario in folder.scenarios:
            for result in folder.results(scenario):
                answer = "" if result.answered is None else result.answered.answer.text
                cells = (str(result.trial), result.item.text, result.item.truth.reference, answer)
                row = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
                file.write(f"<tr>{row}</tr>")
        file.write("</table>")


def open_page(browser: "Browser", page: Path, address: str | None = None) -> "tuple[float, Page]":
    """Seconds until a report is interactive, or another page drawn; and the page."""
    found = browser.new_page()
    found.set_default_timeout(TIMEOUT_MS)
    started = time.perf_counter()
    found.goto(address or page.as_uri(), wait_until="commit")
    if page.name == "report.html":
        found.wait_for_selector('html[data-ready="yes"]', state="attached")
    else:
        found.wait_for_load_state("load")
        found.evaluate("new Promise(requestAnimationFrame)")
    return time.perf_counter() - started, found


def measure_best(browser: "Browser", page: Path, rounds: int = ROUNDS) -> float:
    """The least seconds of some rounds."""
    times = []
    for _ in range(rounds):
        seconds, found = open_page(browser, page)
        times.append(seconds)
        found.close()
    return min(times)


def measure_search(browser: "Browser", page: Path) -> float:
    """Seconds for the first search through all answers."""
    _, found = open_page(browser, page)
    started = time.perf_counter()
    found.fill("#filter-q", "harbour")
    count = found.locator(".count")
    while " of " not in (words := count.inner_text()) or "unpacking" in words:
        time.sleep(0.01)
    return time.perf_counter() - started


def write_report(folder: RunFolder, output: Path) -> None:
    """Write the page, and print how long each part took."""
    clock = time.perf_counter()
    table = read_trials(folder)
    report, leaves = build_report(folder, table), find_leaves(table)
    figures = time.perf_counter() - clock
    clock = time.perf_counter()
    load_vega_script()
    bundled = time.perf_counter() - clock
    write_page(output, report, folder=folder, table=table, leaves=leaves, stories={})
    written = time.perf_counter() - clock
    journal, size = (folder.path / "journal.jsonl").stat().st_size, output.stat().st_size
    print(f"trials           {len(table.rows):,}")
    print(f"figures          {figures:.1f} s")
    print(f"page             {written:.1f} s, {bundled:.1f} s of it for the script of the charts")
    print(f"size             {size / 1e6:.1f} MB, {size / journal:.0%} of the journal")


def find_browser() -> str:
    """The program of the browser; exits if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    named = os.environ.get("RECALL_BENCH_BROWSER")
    found = named or next((each for name in names if (each := shutil.which(name))), None)
    if found is None:
        sys.exit(f"needs a browser: one of {', '.join(names)}, or RECALL_BENCH_BROWSER")
    return found


def main() -> None:
    from playwright.sync_api import sync_playwright

    program = find_browser()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as started:
        place = Path(scratch)
        page, plain, empty = place / "report.html", place / "plain.html", place / "empty.html"
        named = sys.argv[1:]
        folder = RunFolder.open(Path(named[0])) if named else write_run(place / "run")
        write_report(folder, page)
        write_plain_table(folder, plain)
        empty.write_text("<!DOCTYPE html><title>empty</title>", encoding="utf-8")
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        empty_s, page_s = measure_best(browser, empty), measure_best(browser, page)
        print(f"empty page       {empty_s:.2f} s")
        print(f"interactive      {page_s:.2f} s, {page_s / empty_s:.1f} times an empty page")
        print(f"first search     {measure_search(browser, page):.2f} s")
        rows = measure_best(browser, plain, rounds=1)
        print(f"one plain table  {rows:.2f} s, {rows / page_s:.1f} times the page")
        browser.close()


if __name__ == "__main__":
    main()
