"""Many cases of every target over two processes, and a table of them: `python -m tests.fuzz`.

Any crash, hang or unnoticed change is printed with the command that repeats it, and the exit code
is 1. What a case reads is written to `--keep`, if that is given.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.forked_processes import PROCESSES
from tests.fuzz.cases import SEED, Tally, run_cases
from tests.fuzz.registry import list_targets

_CASES = 20_000
_PART = 100
"""Cases that a process does at a time."""
_COLUMNS = ("cases", "refused", "accepted", "crash", "hang", "unnoticed")


def main() -> int:
    """Run what the words ask for."""
    chosen = _parse_words()
    names = [each.name for each in list_targets() if chosen.target in each.name]
    if not names:
        sys.stderr.write(f"no target has {chosen.target!r} in its name\n")
        return 2
    share = -(-chosen.cases // len(names))
    parts = [
        (name, chosen.seed, range(start, min(start + _PART, chosen.first + share)))
        for start in range(chosen.first, chosen.first + share, _PART)
        for name in names
    ]
    began = time.monotonic()
    tallies: dict[str, list[Tally]] = {name: [] for name in names}
    for tally in _run_parts(parts, chosen.processes):
        tallies[tally.target].append(tally)
        for finding in tally.findings:
            repeat = f"--target '{finding.target}' --seed {chosen.seed} --first {finding.number}"
            sys.stdout.write(f"{finding}\n{finding.trace}  again: {repeat} --cases 1\n")
            _keep(chosen.keep, finding.target, finding.number, finding.content)
    rows = {name: _add_up(found) for name, found in tallies.items()}
    sys.stdout.write("\n".join(_render(rows)) + "\n")
    bad = sum(counts[kind] for counts, _ in rows.values() for kind in _COLUMNS[3:])
    wrong = sum(len(each.findings) for found in tallies.values() for each in found)
    total = sum(counts.total() for counts, _ in rows.values())
    spent = time.monotonic() - began
    sys.stdout.write(f"{total:,} cases in {spent:.0f} s, seed {chosen.seed}: {wrong} findings\n")
    return int(bool(bad or wrong))


def _parse_words() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    words.add_argument("--cases", type=int, default=_CASES, help="of all targets together")
    words.add_argument("--seed", type=int, default=SEED)
    words.add_argument("--first", type=int, default=0, help="number of the first case")
    words.add_argument("--target", default="", help="part of the names of targets")
    words.add_argument("--processes", type=int, default=2)
    words.add_argument("--keep", type=Path, help="folder for the content of bad cases")
    return words.parse_args()


def _run_parts(parts: Sequence[tuple[str, int, range]], processes: int) -> Iterator[Tally]:
    with ProcessPoolExecutor(processes, mp_context=PROCESSES) as pool:
        try:
            yield from pool.map(_run_part, parts)
        except BrokenProcessPool as error:
            raise SystemExit("a process of the fuzzer died: a reader ended it") from error


def _run_part(part: tuple[str, int, range]) -> Tally:
    name, seed, numbers = part
    target = next(each for each in list_targets() if each.name == name)
    with TemporaryDirectory(prefix="recall-bench-fuzz-") as folder:
        return run_cases(target, Path(folder), numbers, seed=seed)


def _keep(folder: Path | None, target: str, number: int, content: bytes) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{target.replace(' ', '-')}-{number}").write_bytes(content)


def _add_up(tallies: Sequence[Tally]) -> tuple[Counter[str], float]:
    counts: Counter[str] = Counter()
    for each in tallies:
        counts += each.outcomes
    return counts, max((each.slowest_s for each in tallies), default=0.0)


def _render(rows: dict[str, tuple[Counter[str], float]]) -> Iterator[str]:
    width = max(map(len, rows))
    yield f"{'target':{width}} " + " ".join(f"{each:>9}" for each in (*_COLUMNS, "slowest"))
    for name, (counts, slowest) in rows.items():
        numbers = [counts.total(), *(counts[kind] for kind in _COLUMNS[1:])]
        cells = " ".join(f"{number:>9,}" for number in numbers)
        yield f"{name:{width}} {cells} {slowest:>7.2f} s"
