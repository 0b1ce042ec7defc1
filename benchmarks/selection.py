"""What a selection suite costs with the built-in selectors: 1,000 tests against 1,000 memories.

    python benchmarks/selection.py [SELECTOR …]

Each row is all that `recall-bench select run` does, in this process, on a generated suite: reading
both folders, indexing, 1,000 selections, the durable journal and every result file. The time of
selecting alone is a second column. The baseline, in the same minute on the same texts, is one pass
of bm25s as in its manual: tokenize, index, and retrieve ten for all prompts in one call.
"""

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
import bm25s
import Stemmer

from recall_bench.core.settings import Settings
from recall_bench.features.selection.selection_run import (
    SelectionRequest,
    assemble_selection,
    run_selection,
)
from recall_bench.features.selection.selectors.selector_registry import resolve_selector
from recall_bench.features.selection.suite import Suite, open_suite

MEMORIES = TESTS = 1000
LIMIT_S = 20.0
SELECTORS = ("bm25", "vector", "hybrid", "keyword")

SYLLABLES = "ba co di fu ga hel jo kra lim mon nor pel qua ros sti tur ven wo yar zel".split()


def build_vocabulary(count: int) -> list[str]:
    """Words of two to four syllables, the same ones every time."""
    chance = random.Random(7)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(found)


def build(folder: Path) -> None:
    """Write a suite whose prompts use the words of the memories that they expect."""
    chance = random.Random(42)
    vocabulary = build_vocabulary(6000)
    # Zipf's law: a few words are frequent and most are rare.
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    subjects = [chance.sample(vocabulary[300:], 8) for _ in range(MEMORIES)]
    (folder / "memory").mkdir()
    (folder / "tests").mkdir()
    for number, subject in enumerate(subjects):
        drawn = iter(chance.choices(vocabulary, weights, k=180))
        sentences = [
            " ".join([*(next(drawn) for _ in range(11)), chance.choice(subject)]).capitalize()
            for _ in range(16)
        ]
        text = (
            f"<conditional>when {subject[0]} or {subject[1]} comes up</conditional>\n"
            f"<fuzzy-match>{', '.join(subject[:4])}</fuzzy-match>\n"
            f"<memory>\n{'. '.join(sentences)}.\n</memory>\n"
        )
        (folder / "memory" / f"{subject[0]}-{number}.md").write_text(text, "utf-8")
    for number in range(TESTS):
        picked = chance.sample(range(MEMORIES), chance.choice((0, 1, 1, 2, 3)))
        names = [f"memory/{subjects[each][0]}-{each}.md" for each in picked]
        asked = [chance.sample(subjects[each], 4) for each in picked] or [["good", "morning"]]
        prompt = " ".join(f"What about the {' and the '.join(each)}?" for each in asked)
        expected = "".join(f"{name}\n" for name in sorted(names))
        test = f"# Recall Benchmark Test\n\n[expected]\n{expected}\n[prompt]\n{prompt}\n"
        (folder / "tests" / f"test-{number:04}.bench").write_text(test, "utf-8")


def run_bm25s(suite: Suite) -> float:
    """Seconds of the baseline."""
    prompts = [test.prompt for test in suite.tests.values()]
    texts = [memory.text for memory in suite.memories]
    started = time.perf_counter()
    stemmer = Stemmer.Stemmer("english")
    engine = bm25s.BM25()
    engine.index(bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False)
    asked = bm25s.tokenize(prompts, stemmer=stemmer, show_progress=False)
    engine.retrieve(asked, k=10, show_progress=False)
    return time.perf_counter() - started


def measure_picking(selector: str, suite: Suite, folder: Path) -> float:
    """Seconds of indexing the memories and picking for every prompt, without the engine."""

    async def pick() -> None:
        resolved = resolve_selector(selector, Settings(), folder=folder)
        chooser = await resolved.open(suite.memories)
        for test in suite.tests.values():
            await chooser.select(test.prompt)

    started = time.perf_counter()
    anyio.run(pick)
    return time.perf_counter() - started


def measure_run(selector: str, folder: Path, into: Path) -> tuple[float, int]:
    """Seconds of a whole run, and the number of perfect tests."""
    started = time.perf_counter()
    suite = open_suite(folder / "memory", folder / "tests")
    settings = Settings(error_budget=0.0, into=into)
    request = SelectionRequest(
        selector=selector,
        memories=folder / "memory",
        tests=folder / "tests",
        settings=settings,
    )
    selected = run_selection(assemble_selection(request, suite))
    return time.perf_counter() - started, selected.report.summary.perfect


def main(selectors: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "agent")
        folder.mkdir()
        build(folder)
        suite = open_suite(folder / "memory", folder / "tests")
        run_bm25s(suite)
        baseline = run_bm25s(suite)
        print(f"{TESTS} tests, {MEMORIES} memories; one pass of bm25s takes {baseline:.2f} s\n")
        print("| selector | whole run | picking alone | to one pass | perfect | within limit |")
        print("|---|--:|--:|--:|--:|---|")
        for selector in selectors:
            picking_s = measure_picking(selector, suite, folder)
            run_s, perfect = measure_run(selector, folder, Path(scratch, selector))
            print(
                f"| {selector} | {run_s:.2f} s | {picking_s:.2f} s | {run_s / baseline:.1f} "
                f"| {perfect} | {'yes' if run_s < LIMIT_S else 'NO'} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:] or SELECTORS)
