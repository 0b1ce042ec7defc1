"""Time and memory of `eval` on a file of the size of LongMemEval-S, 277 MB, read as a stream.

    python benchmarks/longmemeval_stream.py                       all 500 questions, bm25
    python benchmarks/longmemeval_stream.py --systems bm25 hybrid --questions 50

The file has the structure and the size of LongMemEval-S, and generated text that is the same every
time. Each system is the whole command, `recall-bench eval --dataset longmemeval-s --skip-qa
--no-floors`, in a process of its own. The baseline, in the same minute on the same file, is a
process that does `json.load` and nothing else.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path

from engine import ChildCost, run_child

QUESTIONS = 500
TYPES = {
    "multi-session": 133,
    "temporal-reasoning": 133,
    "knowledge-update": 78,
    "single-session-user": 70,
    "single-session-assistant": 56,
    "single-session-preference": 30,
}
UNANSWERABLE = 30
GOLD_SESSIONS = {1: 176, 2: 250, 3: 41, 4: 19, 5: 11, 6: 3}
"""Questions by the number of their gold sessions."""
UNSORTED = 211 / 500
"""The share of haystacks that are not in chronological order."""
WORDS = 20_000
SENTENCES = 60_000
LIMIT_MB = 2048
BASELINE = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"


class HaystackWriter:
    """Writes questions with haystacks of 38 to 58 sessions, ten turns each, 490,000 characters."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)
        heads, tails = "b br d f g gr h k l m n p r s st t tr v".split(), "a e i o u ai ou".split()
        parts = [head + tail for head in heads for tail in tails]
        words = sorted({"".join(self._chance.choices(parts, k=3)) for _ in range(2 * WORDS)})
        self._words = self._chance.sample(words, WORDS)
        # Zipf's law: the second word is half as frequent as the first, and so on.
        weights = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
        self._sentences = [
            " ".join(self._chance.choices(self._words, cum_weights=weights, k=length)).capitalize()
            + "."
            for length in self._chance.choices(range(7, 22), k=SENTENCES)
        ]

    def write_questions(self, count: int) -> Iterator[dict[str, object]]:
        """Questions with types and gold sessions in the proportions of the original."""
        types = [name for name, size in TYPES.items() for _ in range(size)]
        golds = [number for number, size in GOLD_SESSIONS.items() for _ in range(size)]
        self._chance.shuffle(types)
        self._chance.shuffle(golds)
        for place in range(count):
            yield self._write_question(place, types[place % QUESTIONS], golds[place % QUESTIONS])

    def _write_question(self, place: int, kind: str, gold: int) -> dict[str, object]:
        chance = self._chance
        is_unanswerable = place % QUESTIONS % (QUESTIONS // UNANSWERABLE) == 0
        thing, name = chance.sample(self._words, 2)
        size = chance.randint(38, 58)
        gold_sessions = sorted(chance.sample(range(size), gold))
        ids = [f"{chance.getrandbits(32):08x}_{number}" for number in range(size)]
        for number, session in enumerate(gold_sessions, 1):
            ids[session] = f"answer_{place:08x}_{number}"
        sessions = [self._write_session() for _ in range(size)]
        for session in gold_sessions:
            turn = sessions[session][0]
            turn["content"] = f"{turn['content']} By the way, my {thing} is called {name}."
            for each in sessions[session]:
                each["has_answer"] = each is turn and not is_unanswerable
        day = datetime(2023, 5, 20)  # noqa: DTZ001
        dates = [day + timedelta(minutes=283 * number) for number in range(size)]
        if chance.random() < UNSORTED:
            chance.shuffle(dates)
        asked = "shelter" if is_unanswerable else thing
        return {
            "question_id": f"{place:08x}{'_abs' if is_unanswerable else ''}",
            "question_type": kind,
            "question": f"What is my {asked} called?",
            "question_date": _format_date(day + timedelta(days=11)),
            "answer": "You never mentioned a shelter." if is_unanswerable else name,
            "answer_session_ids": [ids[session] for session in gold_sessions],
            "haystack_dates": [_format_date(each) for each in dates],
            "haystack_session_ids": ids,
            "haystack_sessions": sessions,
        }

    def _write_session(self) -> list[dict[str, object]]:
        """Turns of user and assistant: one to four sentences, then fourteen."""
        chance = self._chance
        turns: list[dict[str, object]] = []
        for _ in range(chance.choice((4, 5, 5, 5, 6, 6))):
            for role, length in (("user", chance.randint(1, 4)), ("assistant", 14)):
                content = " ".join(chance.choices(self._sentences, k=length))
                turns.append({"role": role, "content": content})
        return turns


def _format_date(time: datetime) -> str:
    return time.strftime("%Y/%m/%d (%a) %H:%M")


def build(path: Path, count: int) -> None:
    """Write a file of this many questions in the layout of the published one."""
    with path.open("w", encoding="utf-8") as file:
        for place, question in enumerate(HaystackWriter().write_questions(count)):
            file.write("[\n" if place == 0 else ",\n")
            file.write(json.dumps(question, indent=4))
        file.write("\n]\n")


def measure_eval(system: str, data: Path, scratch: Path, count: int) -> ChildCost:
    """The cost of `recall-bench eval`; every question must have an answer."""
    reports = scratch / f"reports-{system}"
    command = [sys.executable, "-m", "recall_bench", "eval", "--dataset", "longmemeval-s"]
    command += ["--data", str(data), "--adapter", system, "--skip-qa", "--no-floors"]
    command += ["--into", str(scratch / system), "--reports", str(reports)]
    cost = run_child(command)
    (report,) = reports.rglob("longmemeval-s.json")
    counts = json.loads(report.read_bytes())["counts"]
    assert counts["answered"] == count, f"{system} answered {counts['answered']} of {count}"
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--systems", nargs="+", default=["bm25"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longmemeval-stream-") as scratch:
        data = Path(scratch, "longmemeval_s_cleaned.json")
        build(data, given.questions)
        size = data.stat().st_size / 1e6
        print(f"{given.questions} questions, {size:.0f} MB; memory limit {LIMIT_MB} MiB\n")
        plain = run_child([sys.executable, "-c", BASELINE, str(data)])
        print("| process | seconds | peak MiB | × seconds of json.load | × its memory |")
        print("|---|--:|--:|--:|--:|")
        print(
            f"| json.load | {plain.wall_s:.1f} | {plain.megabytes:.0f} | 1.00 | 1.00 |", flush=True
        )
        for system in given.systems:
            cost = measure_eval(system, data, Path(scratch), given.questions)
            peak = cost.megabytes
            print(
                f"| eval {system} | {cost.wall_s:.1f} | {peak:.0f} "
                f"| {cost.wall_s / plain.wall_s:.2f} | {peak / plain.megabytes:.2f} |",
                flush=True,
            )
            assert peak < LIMIT_MB, f"{system} took {peak:.0f} MiB, more than {LIMIT_MB}"


if __name__ == "__main__":
    main()
