"""What better models do for the built-in search, on LoCoMo, and what they cost a question.

    python benchmarks/embedders.py --locomo FILE [--embedder SPEC ...] [--reranker SPEC ...]

Each row is the whole command `recall-bench eval --dataset locomo --skip-qa --no-floors` in a process
of its own, with every passage embedded anew. The cost of a question is the processor time of the
command, ingestion included, divided by the questions; the baseline, in the same minute, is `bm25`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from engine import run_child

FIGURES = ("turn recall@1", "turn recall@10", "session recall@1", "session recall@10")


def measure(data: Path, options: list[str]) -> tuple[dict[str, float], float, int]:
    """The figures of a row, its processor seconds and its questions."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "recall_bench", "eval", "--dataset", "locomo"]
        command += ["--data", str(data), "--skip-qa", "--no-floors", "--quiet", *options]
        command += ["--reports", str(Path(scratch, "reports"))]
        cost = run_child([*command, "--into", str(Path(scratch, "run"))])
        (report,) = Path(scratch, "reports").rglob("*.json")
        content = msgspec.json.decode(report.read_bytes())
    every = content["groups"][0]
    figures = {name: every["figures"][name]["mean"] for name in FIGURES}
    return figures, cost.cpu_s, every["questions"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--embedder", action="append", default=[])
    parser.add_argument("--reranker", action="append", default=[])
    given = parser.parse_args()
    rows = [
        ("bm25", ["--adapter", "bm25"]),
        ("vector", ["--adapter", "vector"]),
        ("hybrid", ["--adapter", "hybrid"]),
        ("hybrid, rerank=true", ["--adapter", "hybrid", "--config", "rerank=true"]),
    ]
    for model in given.embedder:
        name = Path(model).name
        rows += [
            (f"{system}, {name}", ["--adapter", system, "--embedder", model])
            for system in ("vector", "hybrid")
        ]
    for model in given.reranker:
        options = ["--adapter", "hybrid", "--reranker", model]
        rows.append((f"hybrid, reranked by {Path(model).name}", options))
    print(f"| | {' | '.join(FIGURES)} | processor ms a question | of bm25 |")
    print("|---|" + "--:|" * (len(FIGURES) + 2))
    baseline = 0.0
    for name, options in rows:
        figures, cpu_s, questions = measure(given.locomo, options)
        cost = 1000 * cpu_s / questions
        baseline = baseline or cost
        cells = [f"{figures[each]:.3f}" for each in FIGURES]
        print(f"| {name} | {' | '.join(cells)} | {cost:.1f} | {cost / baseline:.1f} |", flush=True)


if __name__ == "__main__":
    main()
