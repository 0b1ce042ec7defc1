"""Every built-in system on LoCoMo and on LongMemEval-oracle, between its floor and its ceiling.

    python benchmarks/public_datasets.py --work FOLDER --locomo FILE --longmemeval FILE
    python benchmarks/public_datasets.py --work FOLDER --locomo FILE --only hybrid   again
    python benchmarks/public_datasets.py --work FOLDER --table docs/results/public-datasets.md
    python benchmarks/public_datasets.py --speed --locomo FILE

What is found is measured for all systems, what is said for four of them: in the words they quote,
by the offline judge. Figures are kept in FOLDER, so that a run that was cut goes on, and without a
dataset nothing is run. `--table` puts the tables into a page, between its two marks.

`--speed` is the whole command, `recall-bench eval --dataset locomo --skip-qa --no-floors`, in
processes of its own: cold, with nothing compiled and no cache of ours, and again. The baselines, in
the same minute, are the same command for `bm25`, and a process that reads the file and does nothing
but put every turn and every question into vectors once.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from statistics import fmean

import msgspec
from engine import measured

import recall_bench
from recall_bench.metrics.estimate import Estimate, estimate_mean
from recall_bench.metrics.retrieval import RankedPassage, find_measure
from recall_bench.reporting.eval_groups import (
    ALL,
    ANSWERABLE,
    UNANSWERABLE,
    AbstentionCounts,
    EvalEstimate,
)
from recall_bench.reporting.eval_report import EvalReport
from recall_bench.reporting.eval_scores import JUDGED, ScoredQuestion

SYSTEMS = ("none", "random", "recency", "full-context", "vector", "bm25", "hybrid", "oracle")
ANSWERING = ("none", "bm25", "hybrid", "oracle")
WHOLE, PARTS = "hybrid", ("bm25", "vector")
PAIRED = ("turn recall@1", "turn recall@10", "session recall@1", "session recall@10")
TOP_K = 10
GROUPS = (ALL, ANSWERABLE, UNANSWERABLE)
OURS = ("recall@1", "recall@5", "recall@10", "hit@10", "recall_all@10", "mrr@10", "ndcg@10")
THEIRS = ("hit@1", "hit@5", "hit@10", "recall_all@5", "recall_all@10", "ndcg_lme@10")
TOKEN_F1 = "locomo/official"
BEGIN, END = "<!-- tables: made, not written -->", "<!-- end of tables -->"

Found = dict[str, dict[str, float]]
"""By figure and by question."""


@dataclass(frozen=True)
class Sitting:
    """One dataset by one protocol, for some systems."""

    dataset: str
    protocol: str
    systems: tuple[str, ...]
    with_answers: bool = False

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.protocol}{'-answers' if self.with_answers else ''}"


LOCOMO = Sitting("locomo", "strict", SYSTEMS)
LOCOMO_ANSWERS = Sitting("locomo", "strict", ANSWERING, with_answers=True)
LONGMEMEVAL = Sitting("longmemeval-oracle", "strict", SYSTEMS)
LONGMEMEVAL_OFFICIAL = Sitting("longmemeval-oracle", "official", SYSTEMS)
LONGMEMEVAL_ANSWERS = Sitting("longmemeval-oracle", "strict", ANSWERING, with_answers=True)
SITTINGS = (LOCOMO, LONGMEMEVAL, LONGMEMEVAL_OFFICIAL, LOCOMO_ANSWERS, LONGMEMEVAL_ANSWERS)


class Kept(msgspec.Struct, kw_only=True):
    """What one system got in one sitting, as far as the tables need it."""

    system: str
    version: str
    code: tuple[str, ...]
    failed: int
    groups: dict[str, dict[str, EvalEstimate]]
    abstention: AbstentionCounts | None
    found: Found


def measure(sitting: Sitting, system: str, data: Path, work: Path, *, again: bool) -> Kept:
    done = recall_bench.evaluate(
        sitting.dataset,
        data=data,
        adapter=system,
        protocol=sitting.protocol,
        skip_qa=not sitting.with_answers,
        floors=False,
        top_k=TOP_K,
        rebuild=again,
        into=work / "runs" / sitting.name / system,
        reports=work / "reports" / system,
        heatmap_png=False,
    )
    if done.report is None or done.exit_code:
        sys.exit(f"{sitting.name}, {system}: ended with {done.exit_code}; run the command again")
    return kept_of(done.report, found_of(done.report) if sitting.protocol == "strict" else {})


def kept_of(report: EvalReport, found: Found) -> Kept:
    return Kept(
        system=report.system.name,
        version=report.system.version,
        code=report.code,
        failed=report.counts.failed,
        groups={
            each.name: each.figures
            for each in report.groups
            if each.name in GROUPS and not each.is_category
        },
        abstention=report.abstention,
        found=found,
    )


def found_of(report: EvalReport) -> Found:
    """The figures that are paired, question by question, counted again from the hits."""
    found: Found = {name: {} for name in PAIRED}
    for question in report.questions:
        for name in PAIRED:
            level, _, measure = name.partition(" ")
            if gold := question.gold.get(level):
                value = find_measure(measure, TOP_K).score(
                    [*_delivered(question, level)], frozenset(gold)
                )
                found[name][f"{question.scenario}/{question.item}"] = value
    for name, values in found.items():
        told = next(each for each in report.groups if each.name == ALL).figures[name].mean
        assert isclose(told, fmean(values.values())), f"{name}: the report says {told}"
    return found


def _delivered(question: ScoredQuestion, level: str) -> Iterator[RankedPassage]:
    """By turns, a passage takes a place for each that it holds; its tokens do not matter here."""
    for hit in question.hits:
        units = (hit.turns or (hit.turn,)) if level == "turn" else (hit.session,)
        yield from (RankedPassage(each, 0) for each in units)


def place(work: Path, sitting: Sitting, system: str) -> Path:
    return work / "figures" / sitting.name / f"{system}.json"


def measure_all(given: argparse.Namespace) -> None:
    files = {"locomo": given.locomo, "longmemeval-oracle": given.longmemeval}
    for sitting in SITTINGS:
        data = files[sitting.dataset]
        for system in sitting.systems if data is not None else ():
            path = place(given.work, sitting, system)
            is_wanted = system in given.only if given.only else not path.exists()
            if not is_wanted:
                continue
            print(f"{sitting.name}: {system}", file=sys.stderr, flush=True)
            kept = measure(sitting, system, data, given.work, again=bool(given.only))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(msgspec.json.format(msgspec.json.encode(kept)))


def rows_of(work: Path, sitting: Sitting) -> dict[str, Kept]:
    """What is kept of a sitting, in the order of the systems."""
    paths = {system: place(work, sitting, system) for system in sitting.systems}
    return {
        system: msgspec.json.decode(path.read_bytes(), type=Kept)
        for system, path in paths.items()
        if path.exists()
    }


def warn_of_mixture(work: Path) -> None:
    """Figures that one harness made and another did not are not for one table."""
    rows = [row for sitting in SITTINGS for row in rows_of(work, sitting).values()]
    if len(codes := {code for row in rows for code in row.code}) > 1:
        told = f"these figures are of {len(codes)} states of the harness"
        print(f"note: {told}; empty {work} and measure again to publish them", file=sys.stderr)


def tables(work: Path) -> Iterator[str]:
    """Everything there is figures for, headings included."""
    locomo, longmemeval = rows_of(work, LOCOMO), rows_of(work, LONGMEMEVAL)
    official = rows_of(work, LONGMEMEVAL_OFFICIAL)
    if locomo:
        yield "### LoCoMo"
        yield from found_table("turns, all questions that cite one", locomo, "turn", OURS)
        yield from found_table("sessions, the same questions", locomo, "session", OURS)
        for level in ("turn", "session"):
            what = f"{level}s, categories 1 to 4 alone"
            yield from found_table(what, locomo, level, OURS, ANSWERABLE)
    if longmemeval:
        yield "### LongMemEval-oracle, strict"
        yield from found_table("turns", longmemeval, "turn", OURS)
        yield from found_table("sessions: saturated, see above", longmemeval, "session", OURS)
    if official:
        yield "### LongMemEval-oracle, official"
        yield from found_table("turns", official, "turn", THEIRS)
        yield from found_table("sessions: saturated, see above", official, "session", THEIRS)
    if any(WHOLE in rows for rows in (locomo, longmemeval)):
        yield "### The hybrid against its parts"
        yield pairs_table({"LoCoMo": locomo, "LongMemEval-oracle": longmemeval})
    for title, sitting in (("LoCoMo", LOCOMO_ANSWERS), ("LongMemEval-oracle", LONGMEMEVAL_ANSWERS)):
        if rows := rows_of(work, sitting):
            yield f"### Answers: {title}"
            yield answers_table(rows)


def found_table(
    what: str, rows: Mapping[str, Kept], level: str, figures: Sequence[str], group: str = ALL
) -> Iterator[str]:
    """A row for each system, under what a blind draw gets and above the best possible."""
    names = [f"{level} {each}" for each in figures]
    held = {system: row.groups[group] for system, row in rows.items()}
    first = next(iter(held.values()))
    bounds = {
        "*blind draw, computed*": [first[name].chance for name in names],
        "*best possible*": [first[name].ceiling for name in names],
    }
    lines = [
        [system, *(_estimate(found[name]) for name in names)] for system, found in held.items()
    ]
    below, above = ([who, *map(_number, values)] for who, values in bounds.items())
    yield f"What was found, {what} (n = {first[names[0]].counted:,}):"
    yield _table(["system", *figures], [below, *lines, above])


def pairs_table(datasets: Mapping[str, Mapping[str, Kept]]) -> str:
    """The difference to the better of the parts, question by question."""
    lines = []
    for dataset, rows in datasets.items():
        if not {WHOLE, *PARTS} <= rows.keys():
            continue
        for name in PAIRED:
            means = {each: rows[each].groups[ALL][name].mean for each in (WHOLE, *PARTS)}
            best = max(PARTS, key=means.__getitem__)
            more = difference(rows[WHOLE].found[name], rows[best].found[name], dataset)
            lines.append(
                [
                    f"{dataset}, {name}",
                    *(f"{mean:.3f}" for mean in means.values()),
                    best,
                    f"{more.value:+.3f}",
                    _interval(more.interval, "+.3f"),
                    f"{more.trials:,} of {more.questions:,}",
                ]
            )
    head = ["", WHOLE, *PARTS, "best part", f"{WHOLE} − best part", "95 % interval"]
    return _table([*head, "questions of histories"], lines)


def difference(whole: Mapping[str, float], part: Mapping[str, float], dataset: str) -> Estimate:
    """Questions are paired; conversations are drawn again, because theirs resemble each other."""
    assert whole.keys() == part.keys(), "they were not asked the same questions"
    conversations = [f"{dataset}/{name.rpartition('/')[0]}" for name in whole]
    values = [whole[name] - part[name] for name in whole]
    found = estimate_mean(values, list(whole), conversations, is_difference=True)
    assert found is not None
    return found


def answers_table(rows: Mapping[str, Kept]) -> str:
    """What was said: judged, by token F1 where the dataset has it, and by abstaining."""
    has_f1 = all(TOKEN_F1 in row.groups[ALL] for row in rows.values())
    head = ["system", "judged right", "answerable", "unanswerable"]
    head += ["token F1 (official)", "answerable"] if has_f1 else []
    head += ["unanswerable: abstained", "answerable: abstained", "fell for the trap"]
    lines = []
    for system, row in rows.items():
        judged = [_estimate(row.groups[group][JUDGED]) for group in GROUPS]
        token_f1 = [_estimate(row.groups[group][TOKEN_F1]) for group in GROUPS[:2] if has_f1]
        lines.append([system, *judged, *token_f1, *_abstained(row.abstention)])
    return _table(head, lines)


def _abstained(found: AbstentionCounts | None) -> list[str]:
    if found is None:
        return ["–"] * 3
    shares = (
        (found.abstained, found.unanswerable),
        (found.wrongly_abstained, found.answerable),
        (found.fell_for_trap, found.traps),
    )
    return [f"{part / whole:.1%} of {whole:,}" if whole else "–" for part, whole in shares]


def _estimate(found: EvalEstimate) -> str:
    interval = "" if found.interval is None else f" ({_interval(found.interval)})"
    return f"{found.mean:.3f}{interval}"


def _interval(interval: tuple[float, float] | None, form: str = ".3f") -> str:
    return "–" if interval is None else f"{interval[0]:{form}} to {interval[1]:{form}}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    every = [head, ["---", *["--:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def write(page: Path, made: str) -> None:
    """Put the tables between the marks of a page, which must have them."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{page} lacks the marks {BEGIN} and {END}; put them where tables should go")
    page.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")


def embed_everything(locomo: Path) -> None:
    """The baseline: the file read, and every turn and question a vector, once."""
    from recall_bench.datasets.locomo import load
    from recall_bench.models.static_embedding import embed

    for scenario in load(locomo, {}):
        embed([turn.text for episode in scenario.episodes for turn in episode.turns])
        embed([item.text for item in scenario.items])


def speed(locomo: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="locomo-speed-") as scratch:
        os.environ |= {
            "RECALL_BENCH_CACHE": f"{scratch}/cache",
            "PYTHONPYCACHEPREFIX": f"{scratch}/bytecode",
        }
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

        def command(system: str) -> list[str]:
            words = [sys.executable, "-m", "recall_bench", "eval", "--dataset", "locomo"]
            words += ["--data", str(locomo), "--adapter", system, "--skip-qa", "--no-floors"]
            return [*words, "--into", f"{scratch}/{system}", "--reports", f"{scratch}/reports"]

        embedding = [sys.executable, __file__, "--embed", "--locomo", str(locomo)]
        seconds = {"eval hybrid, cold": measured(command("hybrid"))[0]}
        warm = measured([*command("hybrid"), "--rebuild"])
        seconds["eval hybrid, again"] = warm[0]
        seconds["eval bm25"] = measured(command("bm25"))[0]
        baseline = seconds["vectors alone"] = measured(embedding)[0]
    print("| process | seconds | × vectors alone |\n|---|--:|--:|")
    for name, taken in seconds.items():
        print(f"| {name} | {taken:.1f} | {taken / baseline:.2f} |")
    print(f"\nat most {warm[1]:.0f} MiB; wanted: below 60 s cold, below 10 s again")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    words.add_argument("--locomo", type=Path)
    words.add_argument("--longmemeval", type=Path)
    words.add_argument("--work", type=Path)
    words.add_argument("--only", nargs="+", choices=SYSTEMS)
    words.add_argument("--table", type=Path)
    words.add_argument("--speed", action="store_true")
    words.add_argument("--embed", action="store_true", help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.speed or given.embed:
        if given.locomo is None:
            words.error("name the file with --locomo")
        (speed if given.speed else embed_everything)(given.locomo)
        return
    if given.work is None:
        words.error("name a folder for the figures with --work")
    measure_all(given)
    warn_of_mixture(given.work)
    made = "\n\n".join(tables(given.work))
    if given.table is None:
        print(made)
    else:
        write(given.table, made)


if __name__ == "__main__":
    main()
