"""LongMemEval-S is 277 MB of questions: what reading it one by one costs, in seconds and memory.

    python benchmarks/longmemeval_stream.py                       all 500 questions, bm25
    python benchmarks/longmemeval_stream.py --systems bm25 hybrid --questions 50

The file has the shape and the size of LongMemEval-S, and text of our own; the same one every
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

from engine import measured

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
"""How many questions have so many."""
UNSORTED = 211 / 500
"""The share of haystacks that are not in the order of time."""
WORDS = 20_000
SENTENCES = 60_000
LIMIT_MB = 2048
BASELINE = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"


class Writer:
    """Questions with their haystacks: 38 to 58 sessions of about ten turns, 490,000 characters."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)
        heads, tails = "b br d f g gr h k l m n p r s st t tr v".split(), "a e i o u ai ou".split()
        parts = [head + tail for head in heads for tail in tails]
        words = sorted({"".join(self._chance.choices(parts, k=3)) for _ in range(2 * WORDS)})
        self._words = self._chance.sample(words, WORDS)
        # As in any language: the second word is half as frequent as the first, and so on.
        weights = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
        self._sentences = [
            " ".join(self._chance.choices(self._words, cum_weights=weights, k=length)).capitalize()
            + "."
            for length in self._chance.choices(range(7, 22), k=SENTENCES)
        ]

    def questions(self, count: int) -> Iterator[dict[str, object]]:
        """As many as wanted, with types and gold in the proportions of the original."""
        types = [name for name, size in TYPES.items() for _ in range(size)]
        golds = [number for number, size in GOLD_SESSIONS.items() for _ in range(size)]
        self._chance.shuffle(types)
        self._chance.shuffle(golds)
        for place in range(count):
            yield self._question(place, types[place % QUESTIONS], golds[place % QUESTIONS])

    def _question(self, place: int, kind: str, gold: int) -> dict[str, object]:
        chance = self._chance
        is_unanswerable = place % QUESTIONS % (QUESTIONS // UNANSWERABLE) == 0
        thing, name = chance.sample(self._words, 2)
        size = chance.randint(38, 58)
        golden = sorted(chance.sample(range(size), gold))
        ids = [f"{chance.getrandbits(32):08x}_{number}" for number in range(size)]
        for number, session in enumerate(golden, 1):
            ids[session] = f"answer_{place:08x}_{number}"
        sessions = [self._session() for _ in range(size)]
        for session in golden:
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
            "question_date": _written(day + timedelta(days=11)),
            "answer": "You never mentioned a shelter." if is_unanswerable else name,
            "answer_session_ids": [ids[session] for session in golden],
            "haystack_dates": [_written(each) for each in dates],
            "haystack_session_ids": ids,
            "haystack_sessions": sessions,
        }

    def _session(self) -> list[dict[str, object]]:
        """User and assistant in turn: a question of two sentences, an answer of a page."""
        chance = self._chance
        turns: list[dict[str, object]] = []
        for _ in range(chance.choice((4, 5, 5, 5, 6, 6))):
            for role, length in (("user", chance.randint(1, 4)), ("assistant", 14)):
                content = " ".join(chance.choices(self._sentences, k=length))
                turns.append({"role": role, "content": content})
        return turns


def _written(time: datetime) -> str:
    return time.strftime("%Y/%m/%d (%a) %H:%M")


def build(path: Path, count: int) -> None:
    """A file of so many questions, laid out like the published one."""
    with path.open("w", encoding="utf-8") as file:
        for place, question in enumerate(Writer().questions(count)):
            file.write("[\n" if place == 0 else ",\n")
            file.write(json.dumps(question, indent=4))
        file.write("\n]\n")


def evaluated(system: str, data: Path, scratch: Path, count: int) -> tuple[float, float]:
    """Seconds and peak megabytes of `recall-bench eval`; every question must have been put."""
    reports = scratch / f"reports-{system}"
    command = [sys.executable, "-m", "recall_bench", "eval", "--dataset", "longmemeval-s"]
    command += ["--data", str(data), "--adapter", system, "--skip-qa", "--no-floors"]
    command += ["--into", str(scratch / system), "--reports", str(reports)]
    found = measured(command)
    (report,) = reports.rglob("longmemeval-s.json")
    counts = json.loads(report.read_bytes())["counts"]
    assert counts["answered"] == count, f"{system} answered {counts['answered']} of {count}"
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    words.add_argument("--questions", type=int, default=QUESTIONS)
    words.add_argument("--systems", nargs="+", default=["bm25"])
    given = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="longmemeval-stream-") as scratch:
        data = Path(scratch, "longmemeval_s_cleaned.json")
        build(data, given.questions)
        size = data.stat().st_size / 1e6
        print(f"{given.questions} questions, {size:.0f} MB; at most {LIMIT_MB} MiB are allowed\n")
        plain = measured([sys.executable, "-c", BASELINE, str(data)])
        print("| process | seconds | peak MiB | × seconds of json.load | × its memory |")
        print("|---|--:|--:|--:|--:|")
        print(f"| json.load | {plain[0]:.1f} | {plain[1]:.0f} | 1.00 | 1.00 |", flush=True)
        for system in given.systems:
            seconds, peak = evaluated(system, data, Path(scratch), given.questions)
            print(
                f"| eval {system} | {seconds:.1f} | {peak:.0f} | {seconds / plain[0]:.2f} "
                f"| {peak / plain[1]:.2f} |",
                flush=True,
            )
            assert peak < LIMIT_MB, f"{system} took {peak:.0f} MiB, more than {LIMIT_MB}"


if __name__ == "__main__":
    main()
