"""How long the commands take that print at once: `--help`, `list` and the like.

    python benchmarks/help.py

Each runs five times in a process of its own; the best processor time and the best elapsed time count.
The aim is 0.3 seconds.
"""

import resource
import subprocess
import sys
import time

COMMANDS = (["--help"], ["list"], ["run", "--help"], ["ranges"], ["completion", "bash"])


def measure(words: list[str]) -> tuple[float, float]:
    """Processor seconds and elapsed seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "recall_bench", *words], check=True, stdout=subprocess.DEVNULL
    )
    elapsed_s = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed_s


def main() -> None:
    """Measure and print."""
    for words in COMMANDS:
        times = [measure(words) for _ in range(5)]
        processor_s, elapsed_s = (min(column) for column in zip(*times, strict=True))
        print(f"{' '.join(words):18} {processor_s:.2f} s processor, {elapsed_s:.2f} s elapsed")


if __name__ == "__main__":
    main()
