"""How much memory the loaders of the largest public datasets need, on files of their size.

    python benchmarks/dataset_memory.py                       all of them
    python benchmarks/dataset_memory.py beam-10m halumem-long

Each file has the structure and the size of the largest release, and generated text that is the same
every time. The measured process is `recall-bench datasets show NAME --data …`, which loads every
scenario and counts it. No loader may need 2 GiB.

LongMemEval-V2's medium tier has one haystack of 115 million tokens for each of 422 questions; two
of them are loaded here, because all are as large and one at a time is in memory.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from engine import run_child

LIMIT_MB = 2048
TOKEN = 4
"""Characters of a token, about."""

BEAM_TOKENS, BEAM_CHATS, BEAM_PLANS, BEAM_BATCHES, BEAM_MESSAGES = 10_000_000, 2, 10, 10, 208
WEB_TOKENS, WEB_HAYSTACK, WEB_TRAJECTORIES, WEB_STATES = 115_000_000, 500, 1_870, 30
WEB_BYTES = 1_200_000_000
"""The release without its screenshots."""
HALU_BYTES, HALU_USERS, HALU_SESSIONS = 107_000_000, 20, 121
TEXT_BYTES, TEXT_ROWS = 92_000_000, 110
CHAT_TOKENS, CHAT_PERSONAS, CHAT_QUESTIONS = 128_000, 200, 5_000


class Prose:
    """Sentences of made-up words, in any amount."""

    def __init__(self, seed: int = 1) -> None:
        chance = random.Random(seed)
        parts = [head + tail for head in "b d f g k l m n p r s t v".split() for tail in "aeiou"]
        words = ["".join(chance.choices(parts, k=3)) for _ in range(20_000)]
        sentences = (" ".join(chance.choices(words, k=12)).capitalize() for _ in range(40_000))
        self._text = ". ".join(sentences)
        self._chance = chance

    def write(self, size: int) -> str:
        """Text of this many characters, from another place every time."""
        begin = self._chance.randrange(len(self._text) // 2)
        piece = self._text[begin : begin + size]
        return (piece + self._text * (size // len(self._text) + 1))[:size]


def build_beam(folder: Path, prose: Prose) -> None:
    """Two chats of the largest size."""
    size = BEAM_TOKENS * TOKEN // (BEAM_PLANS * BEAM_BATCHES * BEAM_MESSAGES)
    for chat in range(1, BEAM_CHATS + 1):
        plans = [
            {f"plan-{plan}": [_make_batch(prose, plan, batch, size) for batch in range(10)]}
            for plan in range(1, BEAM_PLANS + 1)
        ]
        asked = [{"question": "What?", "answer": "That.", "rubric": ["that"]}] * 2
        place = folder / str(chat) / "probing_questions"
        place.mkdir(parents=True)
        (place.parent / "chat.json").write_text(json.dumps(plans, indent=4))
        (place / "probing_questions.json").write_text(json.dumps({"summarization": asked}))


def _make_batch(prose: Prose, plan: int, batch: int, size: int) -> dict[str, object]:
    messages = [
        {"role": ("user", "assistant")[number % 2], "id": number, "content": prose.write(size)}
        for number in range(BEAM_MESSAGES)
    ]
    return {"batch_number": batch, "time_anchor": f"March-{plan:02}-2024", "turns": [messages]}


def build_web(folder: Path, prose: Prose) -> None:
    """As many trajectories as published, and two questions with haystacks of the medium tier."""
    large = WEB_TOKENS * TOKEN // WEB_HAYSTACK
    small = (WEB_BYTES - large * WEB_HAYSTACK) // (WEB_TRAJECTORIES - WEB_HAYSTACK)
    with (folder / "trajectories.jsonl").open("w") as file:
        for number in range(WEB_TRAJECTORIES):
            size = (large if number < WEB_HAYSTACK else small) // WEB_STATES
            states = [
                {"url": "http://x", "action": "click", "accessibility_tree": prose.write(size)}
                for _ in range(WEB_STATES)
            ]
            file.write(json.dumps({"id": f"t{number}", "goal": "x", "states": states}) + "\n")
    names = [f"t{number}" for number in range(WEB_HAYSTACK)]
    haystacks = {"a": names, "b": names[::-1]}
    rows = [
        {
            "id": name,
            "question_type": "procedure",
            "question": "What?",
            "answer": "That",
            "eval_function": "norm_phrase_set_match",
        }
        for name in haystacks
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "haystacks").mkdir()
    (folder / "haystacks" / "lme_v2_medium.json").write_text(json.dumps(haystacks))


def build_halumem(folder: Path, prose: Prose) -> None:
    """Twenty users of the long size."""
    size = HALU_BYTES // (HALU_USERS * HALU_SESSIONS * 44)
    with (folder / "HaluMem-Long.jsonl").open("w") as file:
        for user in range(HALU_USERS):
            sessions = [_make_session(prose, number, size) for number in range(HALU_SESSIONS)]
            file.write(json.dumps({"uuid": f"u{user}", "sessions": sessions}) + "\n")


def _make_session(prose: Prose, number: int, size: int) -> dict[str, object]:
    dialogue = [
        {"role": ("user", "assistant")[turn % 2], "content": prose.write(size)}
        for turn in range(44)
    ]
    points = [
        {"memory_content": prose.write(80), "memory_source": "secondary", "is_update": "False"}
        for _ in range(6)
    ]
    questions = [{"question": "What?", "answer": "That", "question_type": "Basic Fact Recall"}]
    return {
        "start_time": f"Sep 04, {2000 + number}, 19:42:11",
        "dialogue": dialogue,
        "memory_points": points,
        "questions": questions,
    }


def build_texts(folder: Path, prose: Prose) -> None:
    """The split with the longest texts."""
    with (folder / "Long_Range_Understanding.jsonl").open("w") as file:
        for number in range(TEXT_ROWS):
            row = {
                "context": prose.write(TEXT_BYTES // TEXT_ROWS),
                "questions": [f"What happens in book {number}?"],
                "answers": [["That"]],
                "metadata": {"source": "detective_qa"},
            }
            file.write(json.dumps(row) + "\n")


def build_personas(folder: Path, prose: Prose) -> None:
    """The questions, and a history of the longer size for each persona."""
    (folder / "benchmark" / "text").mkdir(parents=True)
    (folder / "data").mkdir()
    wrong = json.dumps([prose.write(300) for _ in range(3)]).replace('"', '""')
    query = json.dumps({"role": "user", "content": "What?"}).replace('"', '""')
    with (folder / "benchmark" / "text" / "benchmark.csv").open("w") as file:
        file.write("persona_id,chat_history_128k_link,user_query,correct_answer,")
        file.write("incorrect_answers,pref_type,related_conversation_snippet\n")
        for number in range(CHAT_QUESTIONS):
            link, snippet = f"data/{number % CHAT_PERSONAS}.json", prose.write(6_000)
            file.write(f'{number},{link},"{query}",That {number},"{wrong}",x,"{snippet}"\n')
    for persona in range(CHAT_PERSONAS):
        chat = [
            {"role": ("user", "assistant")[turn % 2], "content": prose.write(CHAT_TOKENS // 100)}
            for turn in range(400)
        ]
        (folder / "data" / f"{persona}.json").write_text(json.dumps({"chat_history": chat}))


LARGEST: dict[str, Callable[[Path, Prose], None]] = {
    "beam-10m": build_beam,
    "longmemeval-v2-medium": build_web,
    "halumem-long": build_halumem,
    "memoryagentbench": build_texts,
    "personamem-v2-128k": build_personas,
}


def measure_all(names: list[str]) -> Iterator[str]:
    """A row of the table for each dataset."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="dataset-memory-") as scratch:
            folder = Path(scratch)
            # A child starts with the peak memory of its parent, so another child writes the text.
            subprocess.run([sys.executable, __file__, name, "--build", folder], check=True)
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
            command = [sys.executable, "-m", "recall_bench", "datasets", "show", name]
            cost = run_child([*command, "--data", str(folder)])
            peak = cost.megabytes
            yield f"| {name} | {size:,.0f} | {peak:,.0f} | {cost.wall_s:.1f} |"
            assert peak < LIMIT_MB, f"{name} took {peak:.0f} MiB, more than {LIMIT_MB}"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    words.add_argument("names", nargs="*", metavar="NAME", help=", ".join(LARGEST))
    words.add_argument("--build", type=Path, help="Write the files of one dataset there, and exit.")
    given = words.parse_args()
    if given.build is not None:
        LARGEST[given.names[0]](given.build, Prose())
        return
    print("| dataset | MB on disk | peak MiB | seconds |\n|---|--:|--:|--:|")
    for row in measure_all(given.names or list(LARGEST)):
        print(row, flush=True)


if __name__ == "__main__":
    main()
