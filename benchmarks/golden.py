"""Digests of what the commands print and write, to see that a refactoring changed none of it.

    python benchmarks/golden.py --save before.txt     # on the commit you start from
    python benchmarks/golden.py --against before.txt  # after every step: exit 1 if anything differs

It goes through the command line alone, in one process, so that it survives any move of the code.
Wall times, their sums and the version of the code are left out. About two minutes of one core.
What needs public data is skipped with a line where the folder of `--shared` does not exist.
"""

import argparse
import contextlib
import csv
import io
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from recall_bench.cli.main import cli

BUILT_INS = "none random recency bm25 vector hybrid full-context oracle".split()
PERSONAS = ("executive-assistant", "er-physician")
SELECTORS = ("keyword", "bm25", "all", "none")

TIMES = {
    "at", "code", "codes", "timestamp", "rules_digest", "rulesDigest", "planDigest", "plan_digest",
    "started", "ended", "speed", "folder", "run", "path", "into", "report", "costs", "latency", "link", "diagnosis",
    "cost",
}  # fmt: skip
"""Keys whose values are wall times, digests of code or of times, or folders of this machine."""
_UNITS = ("_s", "_ms", "Ms", "seconds")
_VARYING = re.compile(
    r"offline \d+|\b20\d\d-\d\d-\d\d\b|plan [0-9a-f]{12}|p50 .* ms · p95 .* ms|\d\d:\d\d:\d\d UTC, took .*"
)
"""In texts: the judge's version, which may be raised on purpose, today's date and time, the plan, and latencies."""


def strip_times(value: object) -> object:
    """The value without the keys that change from run to run."""
    if isinstance(value, dict):
        if value.get("name") == "offline":  # a judge's card: its version may be raised on purpose
            value = {**value, "version": None}
        return {
            key: strip_times(item)
            for key, item in value.items()
            if key not in TIMES and not key.endswith(_UNITS)
        }
    if isinstance(value, list):
        return [strip_times(item) for item in value]
    return _VARYING.sub("", value) if isinstance(value, str) else value


def digest(value: object) -> str:
    """A short digest of any JSON value, or of text."""
    text = (
        _VARYING.sub("", value)
        if isinstance(value, str)
        else json.dumps(strip_times(value), sort_keys=True)
    )
    return sha256(text.encode()).hexdigest()[:16]


def call(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    """Run one command in this process, and return its standard output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli([str(word) for word in words], standalone_mode=False)
        except SystemExit as stop:
            code = stop.code
    if (code or 0) not in codes:
        raise SystemExit(f"{words}: exit {code}\n{err.getvalue()}")
    folders = [word for word in words if isinstance(word, Path)]
    work = str(folders[0].parent) if folders else ""
    return out.getvalue().replace(work, "WORK") if work else out.getvalue()


def digest_journal(folder: Path, *, skip: int = 0) -> str:
    """All events in order, with the texts that they refer to and without their times.

    The first says what run it was made from.
    """
    content = (folder / "journal.jsonl").read_bytes()
    events = [json.loads(line) for line in content.splitlines()[skip:]]
    for event in events:
        for passage in event.get("answer", {}).get("passages", ()):
            if "text_at" in passage:
                start, length = passage.pop("text_at")
                passage["text"] = json.loads(content[start : start + length])
    return digest(events)


def digest_lines(path: Path) -> str:
    """All records of a file of JSON lines, without their times."""
    return digest([json.loads(line) for line in path.read_bytes().splitlines()])


def digest_tables(folder: Path) -> Iterator[tuple[str, str]]:
    """The tables of an export, without times; those of costs hold little else."""
    for path in (folder / "trials.csv", folder / "cells.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            yield path.name, digest([dict(row) for row in csv.DictReader(file)])


def digest_runs(work: Path, built_ins: list[str]) -> Iterator[tuple[str, str]]:
    """Journal, result and heatmap of each built-in system."""
    for name in built_ins:
        for label, personas, ranges in (
            ("harbour", ("harbour-office",), ("10d", "30d")),
            ("shipped", PERSONAS, ("6mo",)),
        ):
            folder = work / f"{name}-{label}"
            text = call(
                "run", "--adapter", name, "--personas", *personas, "--ranges", *ranges,
                "--groups-enabled", "--into", folder,
            )  # fmt: skip
            yield f"run {name} {label} journal", digest_journal(folder)
            result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            yield f"run {name} {label} result.json", digest(result)
            for file in ("progress.jsonl", "questions.jsonl", "failures.jsonl"):
                yield f"run {name} {label} {file}", digest_lines(folder / file)
            yield f"run {name} {label} heatmap.svg", digest((folder / "heatmap.svg").read_text())
            yield f"run {name} {label} text", digest(_drop_times(text, work))


def _drop_times(text: str, work: Path) -> str:
    """A text report without folders, dates of today and durations."""
    kept = [
        line
        for line in text.replace(str(work), "WORK").splitlines()
        if not re.search(r"\b(ms|seconds|started|rules|took|code)\b", line)
    ]
    return "\n".join(kept)


def digest_analyses(work: Path) -> Iterator[tuple[str, str]]:
    """What is computed from two runs: comparison, gate, report, power, canaries, rejudging."""
    a, b = work / "bm25-shipped", work / "hybrid-shipped"
    yield "compare", digest(json.loads(call("compare", a, b, "--json")))
    yield "compare text", digest(_drop_times(call("compare", a, b), work))
    gate = call("gate", b, "--baseline", a, "--min-score", "30", "--json", codes=(0, 11, 12))
    yield "gate", digest(json.loads(gate))
    report = json.loads(call("report", b, "--beside", a, "--into", work / "report", "--json"))
    yield "report", digest(report)
    yield (
        "power",
        digest(json.loads(call("power", "--runs", a, b, "--difference", "0.5", "--json"))),
    )
    call("rejudge", a, "--judge", "stub", "--into", work / "rejudged")
    yield "rejudge journal", digest_journal(work / "rejudged", skip=1)
    call("run", "--adapter", "bm25", "--shard", "1/2", "--into", work / "one")
    call("run", "--adapter", "bm25", "--shard", "2/2", "--into", work / "two")
    call("merge", work / "one", work / "two", "--into", work / "both")
    yield "merge journal", digest_journal(work / "both")
    call("import", a / "result.json", "--into", work / "imported")
    yield "import journal", digest_journal(work / "imported", skip=1)
    call("export", a, b, "--to", "csv", "--into", work / "tables")
    for name, value in digest_tables(work / "tables"):
        yield f"export {name}", value


def digest_ablation(work: Path) -> Iterator[tuple[str, str]]:
    """Two variants of the hybrid memory."""
    text = call(
        "ablate", "--grid", "vector=true,false", "--ranges", "10d", "--into", work / "ablate", "--json"
    )  # fmt: skip
    yield "ablate", digest(json.loads(text))


def digest_datasets(work: Path, shared: Path) -> Iterator[tuple[str, str]]:
    """Public datasets by both protocols."""
    sources = {
        "locomo": (shared / "locomo" / "locomo10.json", "2"),
        "longmemeval-oracle": (shared / "longmemeval" / "longmemeval_oracle.json.gz", "12"),
    }
    for name, (path, scenarios) in sources.items():
        if not path.exists():
            print(f"skipped: eval {name}: no {path.name} below {shared}", file=sys.stderr)
            continue
        for protocol, *more in (("strict",), ("official", "--skip-qa")):
            reports = work / f"reports-{name}-{protocol}"
            call(
                "eval", "--dataset", name, "--data", path, "--protocol", protocol, *more,
                "--max-scenarios", scenarios, "--reports", reports, "--into", work / f"{name}-{protocol}",
            )  # fmt: skip
            for file in sorted(reports.rglob("*.json")):
                yield f"eval {name} {protocol} {file.name}", digest(json.loads(file.read_text()))


def digest_selection(work: Path) -> Iterator[tuple[str, str]]:
    """The example suite with four selectors."""
    for name in SELECTORS:
        text = call("select", "run", "--selector", name, "--into", work / f"select-{name}", "--json",
                    codes=(0, 1, 11))  # fmt: skip
        yield f"select {name}", digest(json.loads(text))


def digest_judge() -> Iterator[tuple[str, str]]:
    """The audit of the offline judge."""
    text = call("judge-lab", "audit", "--per-class", "25", "--json")
    yield "judge audit", digest(json.loads(text))


def digest_corpora(work: Path) -> Iterator[tuple[str, str]]:
    """Shipped histories and questions, lints and statistics, and a small generated persona."""
    for folder in ("harbour", "shipped"):
        first = (work / f"none-{folder}" / "journal.jsonl").read_text().splitlines()[0]
        for card in json.loads(first)["plan"]["scenarios"]:
            yield f"corpus {card['id']}", digest([card["history_digest"], card["questions_digest"]])
    yield "lint", digest(call("lint", "--json", codes=(0, 1, 3)))
    call("create-persona", "--prompt", "A physician at an ER", "--persona", work / "my" / "er",
         "--days", "20", "--model", "offline")  # fmt: skip
    call("generate", "--persona", work / "my" / "er", "--model", "offline")
    call("generate-qa", "--persona", work / "my" / "er", "--model", "offline")
    files = sorted(path for path in (work / "my").rglob("*") if path.suffix in {".md", ".yaml"})
    texts = [(str(path.relative_to(work)), path.read_text()) for path in files]
    yield "generated persona", digest(json.dumps(texts))


def collect(work: Path, shared: Path, built_ins: list[str]) -> dict[str, str]:
    """Every digest by its name."""
    steps: list[Callable[[], Iterator[tuple[str, str]]]] = [
        lambda: digest_runs(work, built_ins),
        lambda: digest_analyses(work),
        lambda: digest_ablation(work),
        lambda: digest_datasets(work, shared),
        lambda: digest_selection(work),
        digest_judge,
        lambda: digest_corpora(work),
    ]
    found: dict[str, str] = {}
    for step in steps:
        for name, value in step():
            found[name] = value
            print(f"{value}  {name}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--keep", type=Path, help="keep what was written in this new folder")
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        work = options.keep or Path(folder)
        work.mkdir(exist_ok=True)
        found = collect(work, options.shared.resolve(), BUILT_INS)
    print(
        f"{len(found)} digests in {time.process_time() - began:.0f} s of processor time",
        file=sys.stderr,
    )
    if options.save:
        options.save.write_text("".join(f"{value}  {name}\n" for name, value in found.items()))
    if options.against:
        lines = options.against.read_text().splitlines()
        before = {name: value for value, name in (line.split("  ", 1) for line in lines)}
        changed = sorted(n for n in before | found if before.get(n) != found.get(n))
        for name in changed:
            print(f"changed: {name}: {before.get(name)} -> {found.get(name)}", file=sys.stderr)
        sys.exit(bool(changed))


if __name__ == "__main__":
    main()
