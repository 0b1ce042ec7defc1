"""What a bundle of the 1,000-day run weighs, and what making and verifying it costs.

    python benchmarks/bundle.py [RUN]

Without RUN the default personas are run for 1,000 days first. Each step is a process of its own,
and is measured by its processor time; verifying is measured with the stories in the cache and with
an empty cache, as on a machine that has nothing else.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory


def measure(what: str, *words: str, **environ: str) -> str:
    """Run a command, print its seconds, and return its output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "recall_bench", *words],
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{what:28}{spent:8.1f} s of processor, {time.monotonic() - start:6.1f} s, code {ended.returncode}"
    )
    return ended.stdout


def main() -> None:
    with TemporaryDirectory() as scratch:
        run = sys.argv[1] if len(sys.argv) > 1 else f"{scratch}/run"
        if len(sys.argv) == 1:
            words = ("run", "--arcs", "arcs-1000d.yaml", "--into", run)
            measure("run", *words, "--no-page", "--no-heatmap-png")
        bundle = Path(scratch, "run.bundle")
        journal = Path(run, "journal.jsonl").stat().st_size
        measure("bundle", "bundle", run, "-o", str(bundle))
        print(f"{'journal':28}{journal / 1e6:8.1f} MB")
        print(f"{'bundle':28}{bundle.stat().st_size / 1e6:8.1f} MB")
        measure("verify", "verify", str(bundle))
        print(measure("verify, empty cache", "verify", str(bundle), RECALL_BENCH_CACHE=scratch))


if __name__ == "__main__":
    main()
