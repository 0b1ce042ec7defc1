"""Recall and the five behaviour suites for several systems: the tables of docs/results/scorecards.md.

python benchmarks/scorecards.py --work FOLDER --only bm25 chroma    run these, what is missing
python benchmarks/scorecards.py --work FOLDER --table docs/results/scorecards.md
                                                          the tables of what is in FOLDER

A product runs in its own environment (`make product NAME=…`) and process. A run that was cut short
goes on. Tables stand between marks in the page, so that the text around them stays.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from recall_bench.core.feature import list_offers
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting.suites.figures import Figure
from recall_bench.reporting.suites.report_text import format_ends, format_figure
from recall_bench.reporting.suites.scorecard import RECALL, Scorecard, build_scorecard

SILENT = "none"
BUILT_IN = (SILENT, "recency", "bm25", "vector", "hybrid")
PRODUCTS = ("files", "chroma", "lancedb", "qdrant", "langmem", "mem0")
SESSIONS_ARE_KEPT = ("recency", "hybrid")
"""The built-in systems with the setting respect_sessions; every product has it."""
RECALL_OPTIONS = ("--personas", "er-physician", "--ranges", "90d")
ROOT = Path(__file__).parents[1]

COLUMNS = {
    "erasure": {
        "known-before": "known before",
        "residue/by-request": "left after a request",
        "residue/by-delete": "after delete",
        "residue/by-session": "after deleting a session",
        "residue/by-person": "after deleting a person",
        "residue/by-forget": "after forget(subject)",
        "residue/by-retention": "after a retention rule",
        "residue/direct": "in direct answers",
        "residue/listing": "in listings",
        "residue/files": "in files",
        "residue/files/last": "in files at the end",
        "collateral-loss": "lost besides",
    },
    "poisoning": {
        "known-before": "known before",
        "false-value": "false value in the answer",
        "attack-success": "false value alone",
        "contested": "both values",
        "driven-out": "neither",
        "persistence/+120d": "still so after 120 days",
        "damage": "damage elsewhere",
        "clean-recall": "recall without attack",
        "correction-refused": "correction refused",
    },
    "tenants": {
        "recall": "own facts known",
        "leak": "in answers",
        "leak/passages": "in passages",
        "leak/by-concurrency": "added at the same time",
        "leak/restarted": "after a restart",
        "leak/sessions": "across sessions",
    },
    "freshness": {
        "known-settled": "known once settled",
        "read-your-writes/quiet": "not known at once",
        "read-your-writes/busy": "while others write",
        "availability/p50": "p50 until known",
        "stale": "old value given",
        "lost-update": "new value not given",
        "duplicates": "stored twice",
        "lost-at-restart": "lost at kill -9",
    },
    "load": {
        "saturation/10d": "keeps up with, 10 days",
        "query/p50/10d/16": "p50 at 16/s",
        "query/p95/10d/16": "p95 at 16/s",
        "saturation/100d": "keeps up with, 100 days",
        "query/p50/100d/16": "p50 at 16/s",
        "query/p95/100d/16": "p95 at 16/s",
        "recall/100d/16": "found at 16/s",
        "ingest/p50/100d/16": "write p50 at 16/s",
    },
}
"""By suite, the figures of its table and the heading of each."""


def find_target(name: str, *, respects_sessions: bool) -> list[str]:
    """The options that name the system: itself, or in its own environment."""
    python = ROOT / ".products" / name / "bin" / "python"
    setting = "--config respect_sessions=true" if respects_sessions else ""
    if name in BUILT_IN:
        return ["--adapter", name, *(setting.split() if name in SESSIONS_ARE_KEPT else ())]
    program = python if python.exists() else Path(sys.executable)
    return [
        "--adapter",
        f"command:{program} -m recall_bench serve {name} --stdio {setting}".strip(),
    ]


def list_commands(name: str, work: Path) -> Iterator[tuple[Path, list[str]]]:
    """The run folders of a system, and the command of each."""
    for suite in list_offers("figures"):
        # Who may see a session is what one part of that suite asks.
        target = find_target(name, respects_sessions=suite == "tenants")
        yield work / f"{name}-{suite}", ["suite", suite, *target]
    recall = ["run", *find_target(name, respects_sessions=False), *RECALL_OPTIONS]
    yield work / f"{name}-{RECALL}", recall


def run_all(name: str, work: Path) -> None:
    """Run everything of a system that is not finished."""
    for folder, words in list_commands(name, work):
        command = [sys.executable, "-m", "recall_bench", *words, "--into", str(folder), "--quiet"]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        print(f"{folder.name}: exit code {done.returncode}", flush=True)


def read_scorecard(work: Path) -> Scorecard:
    """The scorecard of all run folders there are."""
    names = [*BUILT_IN, *PRODUCTS]
    found = [folder for name in names for folder, _ in list_commands(name, work) if folder.is_dir()]
    return build_scorecard([RunFolder.open(folder) for folder in found])


def render_table(card: Scorecard, suite: str, columns: dict[str, str]) -> str:
    """One suite: a row for each system."""
    rows = [
        [system, *(_format(card.find(suite, name, system)) for name in columns)]
        for system in card.systems
    ]
    ends = ["best … worst", *(_find_ends(card, suite, name) for name in columns)]
    return _render(["system", *columns.values()], [*rows, ends])


def render_overview(card: Scorecard) -> str:
    """The main figures of everything: a row for each system."""
    wanted = {
        (RECALL, "score"): "recall",
        ("erasure", "residue/deleted"): "erasure: left after deleting",
        ("erasure", "residue/deleted/files"): "left in files",
        ("poisoning", "false-value"): "poisoning: false value in the answer",
        ("poisoning", "correction-refused"): "correction refused",
        ("tenants", "leak/passages"): "tenants: leaks",
        ("freshness", "read-your-writes/quiet"): "freshness: not at once",
        ("freshness", "lost-at-restart"): "lost at kill -9",
        ("load", "saturation/100d"): "load: keeps up with",
    }
    rows = [
        [system, *(_format(card.find(suite, name, system)) for suite, name in wanted)]
        for system in card.systems
    ]
    ends = ["best … worst", *(_find_ends(card, suite, name) for suite, name in wanted)]
    return _render(["system", *wanted.values()], [*rows, ends])


def _format(figure: Figure | None) -> str:
    return "–" if figure is None else f"{format_figure(figure)} {format_ends(figure)}".strip()


def _find_ends(card: Scorecard, suite: str, name: str) -> str:
    found = [figure for each in card.systems if (figure := card.find(suite, name, each))]
    if not found:
        raise SystemExit(f"no run has the figure {name} of {suite}")
    best, worst = found[0].best, found[0].worst
    if suite == RECALL:
        worst = _find_silence(card, name)
    return "" if best is None or worst is None else f"{100 * best:.0f} … {100 * worst:.0f} %"


def _find_silence(card: Scorecard, name: str) -> float | None:
    """The recall of a memory that answers nothing: it is right where there is no record."""
    system = next((each for each in card.systems if each.split()[0] == SILENT), "")
    found = card.find(RECALL, name, system)
    return None if found is None or found.estimate is None else found.estimate.value


def _render(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_tables(card: Scorecard, page: Path) -> None:
    """Put each table between its marks."""
    text = page.read_text(encoding="utf-8")
    tables = {"overview": render_overview(card)}
    tables |= {suite: render_table(card, suite, columns) for suite, columns in COLUMNS.items()}
    for name, table in tables.items():
        mark = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
        text, count = mark.subn(table.replace("\\", r"\\") + "\n", text)
        if count != 1:
            raise SystemExit(f"{page} has {count} places for the table {name}")
    page.write_text(text, encoding="utf-8")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    words.add_argument("--work", type=Path, required=True)
    words.add_argument("--only", nargs="*")
    words.add_argument("--table", type=Path)
    given = words.parse_args()
    if given.table is not None:
        write_tables(read_scorecard(given.work), given.table)
        return
    given.work.mkdir(parents=True, exist_ok=True)
    for name in given.only or (*BUILT_IN, *PRODUCTS):
        run_all(name, given.work)


if __name__ == "__main__":
    main()
