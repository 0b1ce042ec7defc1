"""How often the reader gets full marks from the right passages, by category of question.

    python benchmarks/reader.py [--shared DIR] [--persona ID ...] [--half held-out|choose|both]

The evidence of each question goes to the reader, and the offline judge marks the answer. Rules and
constants of the reader may be chosen on one half of the questions, by a digest of their ids; the
table shows the other half. The baseline is the first version of the reader, which quoted the first
three passages if they supported an answer. Sets: both editions of the shipped personas, and in the
shared folder a written corpus (recall-ea) and LoCoMo; a set that is absent is skipped with a line.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import anyio

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.scenario import Item, Question, Scenario
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.features.datasets import locomo
from recall_bench.features.personas.simulator.trades import load_trades
from recall_bench.judging.offline.offline_judge import OfflineJudge
from recall_bench.stories.persona import load_persona
from recall_bench.stories.shipped import load_catalogue
from recall_bench.stories.story_folders import load_story
from recall_bench.stories.supporting_passages import share_evidence
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.builtin.retrieval_systems import build_gold_passages
from recall_bench.systems.readers import (
    NO_RECORD_BELOW,
    WORD_WEIGHT,
    ExtractiveReader,
    TextSupport,
    select_quotes,
)

FULL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResult:
    """One question, the answers of both readers, and their verdicts."""

    scenario: str
    item: Item
    passages: tuple[Passage, ...]
    answers: tuple[str, str]
    verdicts: tuple[Verdict, Verdict]
    seconds: float


def is_held_out(question: str) -> bool:
    """Whether a question belongs to the half that is reported."""
    return sha256(question.encode()).digest()[0] % 2 == 1


def load_sets(shared: Path, personas: list[str]) -> Iterator[tuple[str, list[Scenario]]]:
    """The scenarios of each set."""
    named = personas or load_trades()
    if "none" not in personas:
        for edition, label in ((1, "simulated"), (2, "written")):
            known = load_catalogue(edition)
            yield (
                label,
                [load_story(name, edition=edition) for name in named if name in known],
            )
    written = shared / "recall-ea" / "executive-assistant"
    chats = shared / "locomo" / "locomo10.json"
    if written.is_dir():
        yield "recall-ea", [load_persona(written, arcs="arcs-180d.yaml")]
    else:
        print(f"skipped: {written} does not exist")
    if chats.is_file():
        yield "locomo", list(locomo.load(chats, {}))
    else:
        print(f"skipped: {chats} does not exist")


async def find_passages(scenario: Scenario) -> dict[str, tuple[Question, tuple[Passage, ...]]]:
    """Each item's question, and its evidence up to the last day on which it may be asked."""
    system = build_gold_passages({})
    share_evidence(system, scenario)
    memory = await system.open(scenario.id)
    for episode in scenario.episodes:
        await memory.ingest(episode)
    await memory.settle()
    found = {}
    for item in scenario.items:
        day = find_last_day(item, scenario)
        question = item.ask(scenario.id, scenario.compute_date(day))
        passages = (await memory.answer(question)).passages
        kept = tuple(each for each in passages if each.day is not None and each.day <= day)
        found[item.id] = (question, kept)
    return found


def find_last_day(item: Item, scenario: Scenario) -> int:
    """The last day on which the item may be asked."""
    return min(item.known_until or scenario.last_day, scenario.last_day)


def quote(question: str, passages: tuple[Passage, ...], support: TextSupport) -> str:
    """The baseline: quote the first passages, if they support an answer."""
    quotes = select_quotes(passages)
    words, meaning = support.measure(question, quotes)
    if WORD_WEIGHT * words + (1 - WORD_WEIGHT) * meaning < NO_RECORD_BELOW:
        return NO_RECORD
    return "\n".join(quotes)


async def read_scenario(scenario: Scenario, halves: set[bool]) -> list[ReaderResult]:
    """Answer and judge the questions of these halves."""
    judge = OfflineJudge({})
    judge.study(scenario)
    reader, support = ExtractiveReader(), TextSupport()
    found = await find_passages(scenario)
    results = []
    for item in scenario.items:
        question, passages = found[item.id]
        if is_held_out(question.id) not in halves:
            continue
        start = time.perf_counter()
        answer = (await reader.read(question, passages)).text
        seconds = time.perf_counter() - start
        answers = (quote(question.text, passages, support), answer)
        verdicts = tuple(
            judge.judge_now(
                Exhibit(
                    scenario=scenario.id,
                    item=item,
                    answer=Answer(text=text, passages=passages),
                    asked_at=question.asked_at,
                    days=find_last_day(item, scenario),
                )
            )
            for text in answers
        )
        results.append(
            ReaderResult(
                scenario=scenario.id,
                item=item,
                passages=passages,
                answers=answers,
                verdicts=(verdicts[0], verdicts[1]),
                seconds=seconds,
            )
        )
    return results


def print_table(name: str, results: list[ReaderResult]) -> None:
    groups: dict[str, list[ReaderResult]] = defaultdict(list)
    for each in results:
        groups[each.item.truth.category].append(each)
    groups["all"] = results
    print(f"\n{name:<28}{'n':>6}  full marks: first    now   mean of 6: first    now")
    for category, rows in groups.items():
        composites = [[read.verdicts[side].composite for read in rows] for side in (0, 1)]
        full = [sum(each == FULL for each in marks) / len(rows) for marks in composites]
        mean = [sum(marks) / len(rows) for marks in composites]
        print(
            f"{category:<28}{len(rows):>6}{full[0]:>20.0%}{full[1]:>8.0%}"
            f"{mean[0]:>20.2f}{mean[1]:>8.2f}"
        )
    times = sorted(each.seconds for each in results)
    print(
        f"ms an answer: median {1e3 * times[len(times) // 2]:.1f},"
        f" 99 % {1e3 * times[int(len(times) * 0.99)]:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--persona", action="append", default=[], help="a shipped persona, or none of them: none"
    )
    parser.add_argument("--half", choices=("held-out", "choose", "both"), default="held-out")
    given = parser.parse_args()

    halves = {"held-out": {True}, "choose": {False}, "both": {True, False}}[given.half]
    for name, scenarios in load_sets(given.shared, given.persona):
        results = [
            read for scenario in scenarios for read in anyio.run(read_scenario, scenario, halves)
        ]
        print_table(name, results)


if __name__ == "__main__":
    main()
