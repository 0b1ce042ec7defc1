"""What the harness itself costs in a run: processor seconds and peak memory.

    python benchmarks/engine.py [small] [large] [six]

Each size is the whole command, `recall-bench run --adapter none --judge stub`, in a process
of its own on a persona folder made for it: loading, checking, asking, grading, the durable
journal and every result file, but no picture. The baseline, in the same minute, is
a minimal harness: it keeps every record in memory, appends each to a log that it opens and closes
again, and dumps one JSON document at the end; it reads no folder and judges nothing. Questions and
references are as long as real ones, so a result takes about 1 kB, as in real runs.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

WORDS = (
    "tide ledger quay notice berth anchor report signal cargo winter rope lamp gate figure "
    "morning answer keeper harbour weight table letter number market engine corner promise"
).split()


@dataclass(frozen=True)
class Size:
    """The size of one run, and what the public harness needed for it."""

    name: str
    personas: int
    days: int
    step: int
    questions: int
    trials: int
    kilobytes_a_day: int
    public_harness: str
    """Measured with results of a few words; a note where 1 kB a result is known to fail."""


SIZES = (
    Size("small", 1, 180, 7, 298, 4_100, 26, "2.2 s / 141 MB"),
    Size("large", 1, 1000, 7, 1_756, 106_118, 43, "13.8 s / 740 MB"),
    Size(
        *("six", 6, 1000, 7, 1_756, 636_708, 43),
        "205 s of processor / 2,548 MB; with 1 kB a result it ends with `Invalid string length`",
    ),
)

QUESTION_CHARACTERS, REFERENCE_CHARACTERS = 120, 500


def compose(chance: random.Random, characters: int) -> str:
    """Random words of about this length."""
    return " ".join(chance.choices(WORDS, k=characters // 6))


def count_checkpoints(size: Size) -> list[int]:
    """How many checkpoints ask each question; their sum is exactly the trials of a persona."""
    checkpoints = -(-size.days // size.step)
    total = size.trials // size.personas
    share = total / (size.questions * (checkpoints + 1) / 2)
    counts = [
        max(1, min(checkpoints, round((1 + n * checkpoints / size.questions) * share)))
        for n in range(size.questions)
    ]
    n = 0
    while (short := total - sum(counts)) != 0:
        change = 1 if short > 0 else -1
        if 1 <= counts[n] + change <= checkpoints:
            counts[n] += change
        n = (n + 1) % size.questions
    return counts


def build(size: Size, data: Path) -> None:
    """Write persona folders of this size in the public format, with generated text."""
    chance = random.Random(size.days)
    checkpoints = [
        min(day, size.days) for day in range(size.step, size.days + size.step, size.step)
    ]
    for number in range(size.personas):
        persona = f"persona-{number + 1}"
        folder = data / persona
        memories, qa = folder / f"memories-{size.days}d", folder / f"qa-{size.days}d"
        memories.mkdir(parents=True)
        qa.mkdir()
        (folder / "persona.yaml").write_text(
            f"id: {persona}\nname: Moss\nrole: test load\ndomain: benchmarks\n"
            "team_size: 1\nprofile: none\ncommunication_style: none\n"
        )
        (folder / f"arcs-{size.days}d.yaml").write_text(
            'epoch: "2026-01-01"\narcs:\n  - {id: all, type: project, title: all, '
            f"description: all, startDay: 1, endDay: {size.days}, primarySession: principal}}\n"
        )
        for day in range(1, size.days + 1):
            text = compose(chance, size.kilobytes_a_day * 960)
            (memories / f"day-{day:04}.md").write_text(f"# session: principal\n\n{text}.\n")
        rows = []
        for index, times in enumerate(count_checkpoints(size)):
            rows.append(
                f"- id: {persona}-q{index:04}\n"
                f"  question: What about {index}, {compose(chance, QUESTION_CHARACTERS)}?\n"
                f"  answer: On day {index} {compose(chance, REFERENCE_CHARACTERS)}.\n"
                f"  category: factual-recall\n  difficulty: easy\n"
                f"  relevant_days: [{checkpoints[len(checkpoints) - times]}]\n"
            )
        (qa / "questions.yaml").write_text("".join(rows))


@dataclass(frozen=True)
class ChildCost:
    """Time and peak memory of a child process."""

    wall_s: float
    cpu_s: float
    megabytes: float
    """Peak resident memory."""


def run_child(command: list[str]) -> ChildCost:
    """Run a program to its end; print its errors and exit if it fails."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        last = "\n".join(errors.decode().splitlines()[-20:])
        sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{last}")
    return ChildCost(
        time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    )


def run_plain_harness(trials: int, folder: Path) -> None:
    """The baseline: keep all records in memory, reopen the log for each, dump JSON at the end."""
    log, results = folder / "questions.jsonl", []
    chance = random.Random(trials)
    texts = [
        (compose(chance, QUESTION_CHARACTERS), compose(chance, REFERENCE_CHARACTERS))
        for _ in range(1_000)
    ]
    for number in range(trials):
        question, reference = texts[number % len(texts)]
        record = {
            "timestamp": time.time(),
            "personaId": "persona-1",
            "qa": {"id": f"q{number}", "question": question, "referenceAnswer": reference},
            "systemAnswer": "ok",
            "score": {"correctness": 0, "completeness": 0, "hallucination": 0},
            "composite": 0,
            "latencyMs": 0,
        }
        results.append(record)
        folder.mkdir(exist_ok=True)
        with log.open("a") as file:
            file.write(json.dumps(record) + "\n")
    (folder / "result.json").write_text(json.dumps(results, indent=2))


def measure_size(size: Size) -> tuple[ChildCost, ChildCost]:
    """Run the command and the baseline on a folder of this size."""
    with tempfile.TemporaryDirectory() as scratch:
        data, run = Path(scratch, "data"), Path(scratch, "run")
        build(size, data)
        command = [sys.executable, "-m", "recall_bench", "run", "--adapter", "none"]
        command += ["--judge", "stub", "--data", str(data), "--ranges", f"every:{size.step}"]
        command += ["--into", str(run), "--no-heatmap-png"]
        ours = run_child(command)
        asked = sum(1 for _ in (run / "questions.jsonl").open())
        assert asked == size.trials, f"asked {asked} trials, expected {size.trials}"
        plain = [sys.executable, __file__, "--baseline", str(size.trials), scratch]
        return ours, run_child(plain)


def main(wanted: list[str]) -> None:
    """Print a row for each size, or measure the baseline in this process."""
    if wanted[:1] == ["--baseline"]:
        run_plain_harness(int(wanted[1]), Path(wanted[2]))
        return
    print(
        f"{'trials':>8}  {'recall-bench':>18}  {'plain harness':>18}  {'ratio':>6}  "
        "public harness *"
    )
    for size in SIZES:
        if wanted and size.name not in wanted:
            continue
        ours, plain = measure_size(size)
        print(
            f"{size.trials:>8,}  {ours.cpu_s:>7.1f} s {ours.megabytes:>5.0f} MB  "
            f"{plain.cpu_s:>7.1f} s {plain.megabytes:>5.0f} MB  "
            f"{ours.cpu_s / plain.cpu_s:>6.2f}  {size.public_harness}"
        )
    print("* the public harness was measured on another machine, not in this run")


if __name__ == "__main__":
    main(sys.argv[1:])
