"""Every built-in system on LoCoMo and on LongMemEval-oracle, between floor and ceiling.

    python benchmarks/public_datasets.py --work FOLDER --locomo FILE --longmemeval FILE
    python benchmarks/public_datasets.py --work FOLDER --locomo FILE --only hybrid   again
    python benchmarks/public_datasets.py --work FOLDER --table docs/results/public-datasets.md
    python benchmarks/public_datasets.py --speed --locomo FILE

Retrieval is measured for all systems, answers for four of them: these quote the passages they found,
and the offline judge grades them. Figures are stored in FOLDER, so an interrupted run can continue;
without a dataset nothing is run. `--table` writes the tables into a page, between its two marks.

`--speed` is the whole command, `recall-bench eval --dataset locomo --skip-qa --no-floors`, in new
processes: cold, without bytecode and without our cache, and again. The baselines, in the same
minute, are the same command for `bm25`, and a process that only reads the file and embeds every
turn and every question once.
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

import recall_bench
from engine import run_child
from recall_bench.features.datasets.eval_groups import (
    ALL,
    ANSWERABLE,
    UNANSWERABLE,
    AbstentionCounts,
    EvalEstimate,
)
from recall_bench.features.datasets.eval_report import EvalReport
from recall_bench.features.datasets.question_scores import ScoredQuestion
from recall_bench.metrics.estimate import Estimate, estimate_mean
from recall_bench.metrics.retrieval import RankedPassage, find_measure
from recall_bench.reporting.protocol_scores import JUDGED

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

QuestionScores = dict[str, dict[str, float]]
"""Scores by figure and question."""


@dataclass(frozen=True)
class DatasetEval:
    """One dataset evaluated by one protocol, for some systems."""

    dataset: str
    protocol: str
    systems: tuple[str, ...]
    with_answers: bool = False

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.protocol}{'-answers' if self.with_answers else ''}"


LOCOMO = DatasetEval("locomo", "strict", SYSTEMS)
LOCOMO_ANSWERS = DatasetEval("locomo", "strict", ANSWERING, with_answers=True)
LONGMEMEVAL = DatasetEval("longmemeval-oracle", "strict", SYSTEMS)
LONGMEMEVAL_OFFICIAL = DatasetEval("longmemeval-oracle", "official", SYSTEMS)
LONGMEMEVAL_ANSWERS = DatasetEval("longmemeval-oracle", "strict", ANSWERING, with_answers=True)
EVALS = (LOCOMO, LONGMEMEVAL, LONGMEMEVAL_OFFICIAL, LOCOMO_ANSWERS, LONGMEMEVAL_ANSWERS)


class SystemScores(msgspec.Struct, kw_only=True):
    """What the tables show of one system in one evaluation."""

    system: str
    version: str
    code: tuple[str, ...]
    failed: int
    groups: dict[str, dict[str, EvalEstimate]]
    abstention: AbstentionCounts | None
    found: QuestionScores


def measure(
    evaluation: DatasetEval, system: str, data: Path, work: Path, *, again: bool
) -> SystemScores:
    """Evaluate one system."""
    done = recall_bench.evaluate(
        evaluation.dataset,
        data=data,
        adapter=system,
        protocol=evaluation.protocol,
        skip_qa=not evaluation.with_answers,
        floors=False,
        top_k=TOP_K,
        rebuild=again,
        into=work / "runs" / evaluation.name / system,
        reports=work / "reports" / system,
        heatmap_png=False,
    )
    if done.report is None or done.exit_code:
        sys.exit(f"{evaluation.name}, {system}: ended with {done.exit_code}; run the command again")
    report = done.report
    scores = score_questions(report) if evaluation.protocol == "strict" else {}
    return extract_scores(report, scores)


def extract_scores(report: EvalReport, found: QuestionScores) -> SystemScores:
    """The part of a report that the tables show."""
    return SystemScores(
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


def score_questions(report: EvalReport) -> QuestionScores:
    """The paired figures of each question, computed again from the hits."""
    found: QuestionScores = {name: {} for name in PAIRED}
    for question in report.questions:
        for name in PAIRED:
            level, _, measure = name.partition(" ")
            if gold := question.gold.get(level):
                value = find_measure(measure, TOP_K).score(
                    [*_list_passages(question, level)], frozenset(gold)
                )
                found[name][f"{question.scenario}/{question.item}"] = value
    for name, values in found.items():
        mean = next(each for each in report.groups if each.name == ALL).figures[name].mean
        assert isclose(mean, fmean(values.values())), f"{name}: the report says {mean}"
    return found


def _list_passages(question: ScoredQuestion, level: str) -> Iterator[RankedPassage]:
    """The ranked turns or sessions; a passage of several turns takes a rank for each."""
    for hit in question.hits:
        units = (hit.turns or (hit.turn,)) if level == "turn" else (hit.session,)
        yield from (RankedPassage(each, 0) for each in units)  # token counts are not used here


def get_path(work: Path, evaluation: DatasetEval, system: str) -> Path:
    return work / "figures" / evaluation.name / f"{system}.json"


def measure_all(given: argparse.Namespace) -> None:
    """Evaluate every system that is requested or has no stored figures."""
    files = {"locomo": given.locomo, "longmemeval-oracle": given.longmemeval}
    for evaluation in EVALS:
        data = files[evaluation.dataset]
        for system in evaluation.systems if data is not None else ():
            path = get_path(given.work, evaluation, system)
            is_wanted = system in given.only if given.only else not path.exists()
            if not is_wanted:
                continue
            print(f"{evaluation.name}: {system}", file=sys.stderr, flush=True)
            scores = measure(evaluation, system, data, given.work, again=bool(given.only))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(msgspec.json.format(msgspec.json.encode(scores)))


def load_rows(work: Path, evaluation: DatasetEval) -> dict[str, SystemScores]:
    """The stored scores of an evaluation, in the order of the systems."""
    paths = {system: get_path(work, evaluation, system) for system in evaluation.systems}
    return {
        system: msgspec.json.decode(path.read_bytes(), type=SystemScores)
        for system, path in paths.items()
        if path.exists()
    }


def warn_of_mixed_versions(work: Path) -> None:
    """Warn if the figures come from several versions of the harness."""
    rows = [row for evaluation in EVALS for row in load_rows(work, evaluation).values()]
    if len(codes := {code for row in rows for code in row.code}) > 1:
        problem = f"these figures come from {len(codes)} versions of the harness"
        print(f"note: {problem}; empty {work} and measure again to publish them", file=sys.stderr)


def render_tables(work: Path) -> Iterator[str]:
    """All tables that have figures, with headings."""
    locomo, longmemeval = load_rows(work, LOCOMO), load_rows(work, LONGMEMEVAL)
    official = load_rows(work, LONGMEMEVAL_OFFICIAL)
    if locomo:
        yield "### LoCoMo"
        yield from render_retrieval("turns, all questions that cite one", locomo, "turn", OURS)
        yield from render_retrieval("sessions, the same questions", locomo, "session", OURS)
        for level in ("turn", "session"):
            what = f"{level}s, categories 1 to 4 alone"
            yield from render_retrieval(what, locomo, level, OURS, ANSWERABLE)
    if longmemeval:
        yield "### LongMemEval-oracle, strict"
        yield from render_retrieval("turns", longmemeval, "turn", OURS)
        yield from render_retrieval("sessions: saturated, see above", longmemeval, "session", OURS)
    if official:
        yield "### LongMemEval-oracle, official"
        yield from render_retrieval("turns", official, "turn", THEIRS)
        yield from render_retrieval("sessions: saturated, see above", official, "session", THEIRS)
    if any(WHOLE in rows for rows in (locomo, longmemeval)):
        yield "### The hybrid against its parts"
        yield render_differences({"LoCoMo": locomo, "LongMemEval-oracle": longmemeval})
    for title, evaluation in (
        ("LoCoMo", LOCOMO_ANSWERS),
        ("LongMemEval-oracle", LONGMEMEVAL_ANSWERS),
    ):
        if rows := load_rows(work, evaluation):
            yield f"### Answers: {title}"
            yield render_answers(rows)


def render_retrieval(
    what: str,
    rows: Mapping[str, SystemScores],
    level: str,
    figures: Sequence[str],
    group: str = ALL,
) -> Iterator[str]:
    """A row for each system, between a blind draw and the best possible."""
    names = [f"{level} {each}" for each in figures]
    by_system = {system: row.groups[group] for system, row in rows.items()}
    first = next(iter(by_system.values()))
    bounds = {
        "*blind draw, computed*": [first[name].chance for name in names],
        "*best possible*": [first[name].ceiling for name in names],
    }
    lines = [
        [system, *(_format_estimate(found[name]) for name in names)]
        for system, found in by_system.items()
    ]
    below, above = ([label, *map(_format_number, values)] for label, values in bounds.items())
    yield f"What was found, {what} (n = {first[names[0]].counted:,}):"
    yield _render(["system", *figures], [below, *lines, above])


def render_differences(datasets: Mapping[str, Mapping[str, SystemScores]]) -> str:
    """The difference of the hybrid to the better of its parts, paired by question."""
    lines = []
    for dataset, rows in datasets.items():
        if not {WHOLE, *PARTS} <= rows.keys():
            continue
        for name in PAIRED:
            means = {each: rows[each].groups[ALL][name].mean for each in (WHOLE, *PARTS)}
            best = max(PARTS, key=means.__getitem__)
            more = estimate_difference(rows[WHOLE].found[name], rows[best].found[name], dataset)
            lines.append(
                [
                    f"{dataset}, {name}",
                    *(f"{mean:.3f}" for mean in means.values()),
                    best,
                    f"{more.value:+.3f}",
                    _format_interval(more.interval, "+.3f"),
                    f"{more.trials:,} of {more.questions:,}",
                ]
            )
    head = ["", WHOLE, *PARTS, "best part", f"{WHOLE} − best part", "95 % interval"]
    return _render([*head, "questions of histories"], lines)


def estimate_difference(
    whole: Mapping[str, float], part: Mapping[str, float], dataset: str
) -> Estimate:
    """The mean difference by question; resamples conversations, whose questions are alike."""
    assert whole.keys() == part.keys(), "the two systems were not asked the same questions"
    conversations = [f"{dataset}/{name.rpartition('/')[0]}" for name in whole]
    values = [whole[name] - part[name] for name in whole]
    found = estimate_mean(values, list(whole), conversations, is_difference=True)
    assert found is not None
    return found


def render_answers(rows: Mapping[str, SystemScores]) -> str:
    """The answers: marks of the judge, token F1 where the dataset has it, and abstention."""
    has_f1 = all(TOKEN_F1 in row.groups[ALL] for row in rows.values())
    head = ["system", "judged right", "answerable", "unanswerable"]
    head += ["token F1 (official)", "answerable"] if has_f1 else []
    head += ["unanswerable: abstained", "answerable: abstained", "fell for the trap"]
    lines = []
    for system, row in rows.items():
        judged = [_format_estimate(row.groups[group][JUDGED]) for group in GROUPS]
        token_f1 = [_format_estimate(row.groups[group][TOKEN_F1]) for group in GROUPS[:2] if has_f1]
        lines.append([system, *judged, *token_f1, *_format_abstention(row.abstention)])
    return _render(head, lines)


def _format_abstention(found: AbstentionCounts | None) -> list[str]:
    if found is None:
        return ["–"] * 3
    shares = (
        (found.abstained, found.unanswerable),
        (found.wrongly_abstained, found.answerable),
        (found.fell_for_trap, found.traps),
    )
    return [f"{part / whole:.1%} of {whole:,}" if whole else "–" for part, whole in shares]


def _format_estimate(found: EvalEstimate) -> str:
    interval = "" if found.interval is None else f" ({_format_interval(found.interval)})"
    return f"{found.mean:.3f}{interval}"


def _format_interval(interval: tuple[float, float] | None, form: str = ".3f") -> str:
    return "–" if interval is None else f"{interval[0]:{form}} to {interval[1]:{form}}"


def _format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _render(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    every = [head, ["---", *["--:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def write_tables(page: Path, text: str) -> None:
    """Write the tables between the two marks of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{page} lacks the marks {BEGIN} and {END}; add them where the tables belong")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def embed_everything(locomo: Path) -> None:
    """The baseline: read the file, and embed every turn and question once."""
    from recall_bench.features.datasets.locomo import load
    from recall_bench.systems.models.static_embedding import embed

    for scenario in load(locomo, {}):
        embed([turn.text for episode in scenario.episodes for turn in episode.turns])
        embed([item.text for item in scenario.items])


def measure_speed(locomo: Path) -> None:
    """Print the seconds of each process and its ratio to embedding alone."""
    with tempfile.TemporaryDirectory(prefix="locomo-speed-") as scratch:
        os.environ |= {
            "RECALL_BENCH_CACHE": f"{scratch}/cache",
            "PYTHONPYCACHEPREFIX": f"{scratch}/bytecode",
        }
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

        def build_command(system: str) -> list[str]:
            words = [sys.executable, "-m", "recall_bench", "eval", "--dataset", "locomo"]
            words += ["--data", str(locomo), "--adapter", system, "--skip-qa", "--no-floors"]
            return [*words, "--into", f"{scratch}/{system}", "--reports", f"{scratch}/reports"]

        embedding = [sys.executable, __file__, "--embed", "--locomo", str(locomo)]
        seconds = {"eval hybrid, cold": run_child(build_command("hybrid")).wall_s}
        warm = run_child([*build_command("hybrid"), "--rebuild"])
        seconds["eval hybrid, again"] = warm.wall_s
        seconds["eval bm25"] = run_child(build_command("bm25")).wall_s
        baseline = seconds["vectors alone"] = run_child(embedding).wall_s
    print("| process | seconds | × vectors alone |\n|---|--:|--:|")
    for name, taken in seconds.items():
        print(f"| {name} | {taken:.1f} | {taken / baseline:.2f} |")
    print(f"\npeak memory {warm.megabytes:.0f} MiB; targets: 60 s cold, 10 s again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--longmemeval", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", nargs="+", choices=SYSTEMS)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--embed", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.speed or given.embed:
        if given.locomo is None:
            parser.error("name the file with --locomo")
        (measure_speed if given.speed else embed_everything)(given.locomo)
        return
    if given.work is None:
        parser.error("name a folder for the figures with --work")
    measure_all(given)
    warn_of_mixed_versions(given.work)
    text = "\n\n".join(render_tables(given.work))
    if given.table is None:
        print(text)
    else:
        write_tables(given.table, text)


if __name__ == "__main__":
    main()
