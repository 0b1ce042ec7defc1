"""Kills each writing command at random moments, repeats it, and compares what it wrote.

    PYTHONHASHSEED=1 python benchmarks/soak_kills.py --work FOLDER --kills 30 --seed 7

Commands run in forks of one warm process, so that a kill costs tenths of a second; without kills
they run in this process, one after another. The bytes of a
command whose input is fixed are those of an undisturbed one, under every hash seed; of runs, which
hold wall times, the answers, verdicts and figures are. `benchmarks/soak.py` runs this too.
"""

import argparse
import ctypes
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from golden import strip_times

_SUBREAPER = 36
_DEADLINE_S = 120.0
_GRACE_S = 10.0
_ATTEMPTS = 5
"""For each kill: a command that was quicker than before has ended when it is to be killed."""
_VARYING = {"duration", "durations", "memory_cost", "workers", "executor", "environment", "resumes"}

SAMPLE = ("--personas", "harbour-office", "--ranges", "10d", "--no-heatmap-png", "--no-page")
ADAPTER = """
class Memory:
    version = "1"

    def __init__(self):
        self.days = []

    def ingest_day(self, day, text, meta):
        self.days.append(text)

    def query(self, question, context):
        words = set(question.lower().split())
        lines = [line for day in self.days for line in day.splitlines()]
        return max(lines, key=lambda line: len(words & set(line.lower().split())), default="none")
"""
MATRIX = """
name: soak
run: {personas: [harbour-office], ranges: [10d], heatmapPng: false}
systems: [none, bm25]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingCommand:
    """A command, and whether its bytes depend on nothing but its input."""

    name: str
    words: tuple[str, ...]
    """`{base}` is the folder of the inputs, `{out}` what it writes."""
    is_exact: bool = True

    def fill(self, base: Path, out: Path) -> list[str]:
        """Its words for these folders."""
        return [word.format(base=base, out=out) for word in self.words]


COMMANDS = (
    WritingCommand(name="init", words=("init", "{out}")),
    WritingCommand(
        name="world build",
        words=("world", "build", "--persona", "er-physician", "--days", "40",
               "--into", "{out}"),
    ),
    WritingCommand(
        name="create-persona",
        words=("create-persona", "--model", "offline", "--persona", "{out}/pat", "--days", "60",
               "--trade", "er-physician", "--epoch", "2025-01-01"),
    ),
    WritingCommand(
        name="run", words=("run", "--adapter", "bm25", *SAMPLE, "--into", "{out}"), is_exact=False
    ),
    WritingCommand(
        name="run of an adapter",
        words=("run", "--adapter", "{base}/memory.py", *SAMPLE, "--into", "{out}"),
        is_exact=False,
    ),
    WritingCommand(
        name="rejudge",
        words=("rejudge", "{base}/run", "--judge", "stub", "--into", "{out}", "--no-heatmap-png"),
        is_exact=False,
    ),
    WritingCommand(
        name="ablate",
        words=("ablate", "--adapter", "hybrid", "--personas", "harbour-office", "--ranges", "10d",
               "--grid", "k=2,5", "--into", "{out}"),
        is_exact=False,
    ),
    WritingCommand(
        name="matrix", words=("matrix", "{base}/matrix.yaml", "--into", "{out}"), is_exact=False
    ),
    WritingCommand(
        name="merge",
        words=("merge", "{base}/p1", "{base}/p2", "--into", "{out}", "--no-heatmap-png"),
    ),
    WritingCommand(name="export", words=("export", "{base}/run", "--into", "{out}")),
    WritingCommand(name="import", words=("import", "{base}/run/result.json", "--into", "{out}")),
    WritingCommand(name="report", words=("report", "{base}/run", "--into", "{out}")),
    WritingCommand(name="heatmap", words=("heatmap", "{base}/run", "--output", "{out}/heatmap.svg")),
    WritingCommand(name="bundle", words=("bundle", "{base}/run", "--into", "{out}/run.bundle")),
    WritingCommand(
        name="leaderboard build",
        words=("leaderboard", "build", "{base}/run.bundle", "--into", "{out}"),
    ),
)  # fmt: skip


@dataclass(slots=True)
class KillReport:
    """What was found, command by command."""

    kills: dict[str, int] = field(default_factory=dict)
    """Of processes that were still at work."""
    digests: dict[str, str] = field(default_factory=dict)
    """Of what an undisturbed command wrote."""
    violations: list[str] = field(default_factory=list)


def prepare_inputs(base: Path, run_command: "CommandRunner") -> None:
    """Write what the commands read, once."""
    base.mkdir(parents=True)
    (base / "memory.py").write_text(ADAPTER)
    (base / "matrix.yaml").write_text(MATRIX)
    run = ("run", "--adapter", "bm25", *SAMPLE)
    for name, more in (
        ("run", ()),
        ("p1", ("--lifecycle", "fresh", "--shard", "1/2")),
        ("p2", ("--lifecycle", "fresh", "--shard", "2/2")),
    ):
        _require(run_command([*run, *more, "--into", str(base / name)], base), name)
    _require(run_command(["bundle", str(base / "run")], base), "bundle")


def _require(code: int | None, name: str) -> None:
    if code != 0:
        raise SystemExit(f"the input {name} could not be made: exit {code}")


def kill_commands(
    base: Path,
    work: Path,
    run_command: "CommandRunner",
    *,
    kills: int,
    chance: random.Random,
    names: tuple[str, ...],
) -> KillReport:
    """Kill each of these commands at random, repeat it, and compare with an undisturbed one."""
    report = KillReport()
    for command in COMMANDS:
        if command.name not in names:
            continue
        place = work / command.name.replace(" ", "-")
        place.mkdir(parents=True)
        # The same path each time: some files name it.
        out = place / "out"
        began = time.monotonic()
        code = run_command(command.fill(base, out), place)
        took_s = time.monotonic() - began
        if code != 0:
            report.violations.append(f"{command.name}: exit {code} undisturbed")
            continue
        whole = describe_output(out, is_exact=command.is_exact)
        report.digests[command.name] = digest_output(whole)
        report.kills[command.name] = 0
        for number in range(_ATTEMPTS * kills):
            if report.kills[command.name] == kills:
                break
            remove(out)
            moment = chance.uniform(0, took_s)
            began = time.monotonic()
            was_killed = run_fork(command.fill(base, out), place, kill_after_s=moment) is None
            report.kills[command.name] += was_killed
            if not was_killed:
                took_s = time.monotonic() - began
            code = run_fork(command.fill(base, out), place) if was_killed else 0
            where = f"{command.name}, attempt {number} after {moment:.3f} s"
            report.violations += (
                f"{where}: {problem}" for problem in check_repeat(command, code, out, whole, place)
            )
    return report


def check_repeat(
    command: WritingCommand, code: int | None, out: Path, whole: dict[str, str], place: Path
) -> Iterator[str]:
    """What is wrong after a command was killed and repeated."""
    # What refuses a folder that exists was killed when it had done everything.
    if code != 0 and not (code == 2 and out.exists()):
        yield f"exit {code} when repeated"
    found = describe_output(out, is_exact=command.is_exact)
    for name in sorted(found.keys() | whole.keys()):
        if found.get(name) != whole.get(name):
            yield f"{name} differs: {find_difference(whole.get(name), found.get(name))}"
    yield from find_leftovers(place)


def find_leftovers(place: Path) -> Iterator[str]:
    """Temporary files and folders below the place, and orphaned processes."""
    for path in place.rglob("*"):
        if path.name.endswith(".part") or ".partial" in path.name:
            yield f"{path.name} is left"
        elif path.parent.name == "tmp" and path.name.startswith(("recall-bench-", "tmp")):
            yield f"temporary folder {path.name} is left"
    deadline = time.monotonic() + _GRACE_S
    while (left := list_descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid, name in left.items():
        yield f"process {pid} ({name}) is left"
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def list_descendants(parent: int | None = None) -> dict[int, str]:
    """Our descendants that run; what was orphaned among them is ours, as we are its reaper."""
    found: dict[int, str] = {}
    pending = [parent or os.getpid()]
    while pending:
        for listed in Path(f"/proc/{pending.pop()}/task").glob("*/children"):
            with suppress(OSError):
                for pid in map(int, listed.read_text().split()):
                    pending.append(pid)
                    with suppress(ChildProcessError):
                        if os.waitpid(pid, os.WNOHANG)[0]:
                            continue
                    with suppress(OSError):
                        state = Path(f"/proc/{pid}/stat").read_text()
                        if state.rpartition(")")[2].split()[0] != "Z":
                            found[pid] = state.partition("(")[2].rpartition(")")[0]
    return found


def run_fork(words: list[str], place: Path, *, kill_after_s: float | None = None) -> int | None:
    """Run a command in a fork; its exit code, or None if it was killed."""
    child = os.fork()
    if child == 0:
        _run_command(words, place)
    deadline = time.monotonic() + (_DEADLINE_S if kill_after_s is None else kill_after_s)
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_here(words: list[str], place: Path) -> int:
    """Run a command in this process; its exit code."""
    os.chdir(place)
    code, errors = run_words(words)
    if code:
        (place / "errors").write_text(errors)
    return code


CommandRunner = Callable[[list[str], Path], int | None]


def _run_command(words: list[str], place: Path) -> None:
    """Be the command, in this process, which is a fork."""
    code = 99
    try:
        os.setsid()
        os.chdir(place)
        private = place / "tmp"
        private.mkdir(exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(private)
        code, errors = run_words(words)
        if code:
            (place / "errors").write_text(errors)
    finally:
        os._exit(code)


def run_words(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; its exit code, and what it said on standard error."""
    from recall_bench.cli.main import main

    sys.argv = ["recall-bench", *words]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0, errors.getvalue()
    return 0, errors.getvalue()


def describe_output(out: Path, *, is_exact: bool) -> dict[str, str]:
    """A digest of each file below a folder; of a run, without its wall times."""
    found = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if not path.is_file() or path.name.endswith(".lock"):
            continue
        found[name] = _digest(path.read_bytes()) if is_exact else _digest_run_file(path)
    return found


def digest_output(described: dict[str, str]) -> str:
    """One digest of all files."""
    return _digest(json.dumps(described, sort_keys=True).encode())


def _digest_run_file(path: Path) -> str:
    if path.name == "journal.jsonl":
        return json.dumps(read_outcomes(path), sort_keys=True)
    if path.name == "result.json":
        return json.dumps(_strip(json.loads(path.read_text())), sort_keys=True)
    return "written"


def find_difference(one: str | None, other: str | None) -> str:
    """Where two descriptions of a file differ first."""
    if one is None or other is None:
        return "it is missing" if other is None else "it should not be there"
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"{one[max(0, at - 60) : at + 60]!r} became {other[max(0, at - 60) : at + 60]!r}"


def read_outcomes(journal: Path) -> dict[str, Any]:
    """The answer and the verdict of each trial, and how often each is on record."""
    found: dict[str, Any] = {}
    for line in journal.read_text().splitlines():
        event = json.loads(line)
        if event["type"] in ("answered", "judged", "not_answered", "not_judged"):
            content = event.get("verdict") or event.get("answer", {}).get("text")
            times, _ = found.get(key := f"{event['type']} {event['trial']}", (0, None))
            found[key] = (times + 1, content)
    return found


def _strip(value: object) -> object:
    stripped = strip_times(value)
    if isinstance(stripped, dict):
        return {key: _strip(each) for key, each in stripped.items() if key not in _VARYING}
    return [_strip(each) for each in stripped] if isinstance(stripped, list) else stripped


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def use_own_cache(folder: Path) -> None:
    """Keep the cache below a folder.

    A run records what `doctor` last said of its system, so a diagnosis that another process puts
    into a shared cache between two runs makes their results differ.
    """
    os.environ["RECALL_BENCH_CACHE"] = str(folder / "cache")


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def warm_up() -> None:
    """Import and load everything that a fork would, and become the parent of orphans."""
    for package in ("cli", "engine", "reporting", "features", "judging", "systems"):
        found = import_module(f"recall_bench.{package}")
        for module in walk_packages(found.__path__, f"{found.__name__}."):
            if "products" not in module.name:
                with suppress(ImportError):
                    import_module(module.name)
    import_module("anyio._backends._asyncio")
    with tempfile.TemporaryDirectory() as folder:
        words = ["run", "--adapter", "bm25", *SAMPLE, "--ranges", "2d", "--into", f"{folder}/run"]
        _require(run_words(words)[0], "first run")
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _read_path(word: str) -> Path:
    """Commands run in folders of their own."""
    return Path(word).resolve()


def main() -> None:
    """Print the report as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=_read_path, required=True)
    parser.add_argument("--base", type=_read_path, help="inputs of an earlier call")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--without", nargs="*", default=[])
    given = parser.parse_args()
    if given.kills:
        warm_up()
    use_own_cache(given.work)
    base = given.base or given.work / "base"
    run_command = run_fork if given.kills else run_here
    if not base.exists():
        prepare_inputs(base, run_command)
    place = given.work / f"seed-{os.environ.get('PYTHONHASHSEED', 'random')}"
    names = [each.name for each in COMMANDS if not given.only or each.name in given.only]
    chosen = tuple(name for name in names if name not in given.without)
    chance = random.Random(given.seed)
    report = kill_commands(base, place, run_command, kills=given.kills, chance=chance, names=chosen)
    print(json.dumps({"kills": report.kills, "digests": report.digests,
                      "violations": report.violations}))  # fmt: skip


if __name__ == "__main__":
    main()
