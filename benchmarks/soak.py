"""A day's worth of runs in ten minutes, killed and disturbed at random; every invariant is checked.

    python benchmarks/soak.py --minutes 10 --seed 1      # or: make soak
    python benchmarks/soak.py --minutes 0 --kills 30     # only the kills of each writing command

Two parts. The first kills each writing command under three hash seeds (`soak_kills.py`). The second
repeats rounds until the time is over: a driver, a worker, a Ray node, a server or a judge is
killed; the disk is full or slow; the clock jumps. After each the same command is repeated, and

* the journal opens, and the run is finished,
* no answer and no verdict is on record twice, and a judge was paid for none that was,
* answers, verdicts and figures are those of an undisturbed run,
* no process, port, lock or temporary file is left.

Exits with 1 if one of these does not hold. Only processes that it started are killed; nothing
leaves the loopback interface.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from soak_kills import (
    ADAPTER,
    find_leftovers,
    list_descendants,
    read_outcomes,
    use_own_cache,
    warm_up,
)

from recall_bench.core.append_log import is_busy
from recall_bench.engine.runs.run_folder import RunFolder

HERE = Path(__file__).parent
HASH_SEEDS = (0, 1, 4242)
RAY_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Without the first, Ray replaces the loopback address by another one of this machine."""
SAMPLE = ("--personas", "harbour-office", "--ranges", "10d,20d", "--no-heatmap-png", "--no-page")
SLOW_ADAPTER = ADAPTER.replace(
    "words = set(", "import time\n        time.sleep(0.02)\n        words = set("
)

DISTURBED = """
import os, random, sys, time
import importlib, pkgutil
kind, seed, *words = sys.argv[1:]
chance = random.Random(int(seed))
if kind == "slow-disk":
    sync, replace = os.fsync, os.replace
    def wait_first(call):
        def slow(*given):
            time.sleep(chance.uniform(0, 0.2))
            return call(*given)
        return slow
    os.fsync = wait_first(sync)
else:
    import datetime as clock
    import recall_bench
    for found in pkgutil.walk_packages(recall_bench.__path__, "recall_bench."):
        if ".products." in found.name or found.name.endswith("__main__") or "sources" in found.name:
            continue
        try:
            importlib.import_module(found.name)
        except ImportError:
            continue
    real = clock.datetime
    class Kind(type(real)):
        def __instancecheck__(cls, value):
            return isinstance(value, real)
    class Jumping(real, metaclass=Kind):
        @classmethod
        def now(cls, zone=None):
            return real.now(zone) + clock.timedelta(days=chance.choice((0, 0, 0, -1, 1, 400)))
    for name, module in list(sys.modules.items()):
        if name.startswith("recall_bench") and getattr(module, "datetime", None) is real:
            module.datetime = Jumping
sys.argv = ["recall-bench", *words]
from recall_bench.cli.main import main
main()
"""
"""The command on a disk that is slow, or with a clock that jumps by days."""

JUDGE = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Judge(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.02)
        verdict = {"correctness": len(body) % 4, "completeness": 1, "grounded": 1, "reason": "soak"}
        reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "soak", "choices": [
            {"index": 0, "finish_reason": "stop",
             "message": {"role": "assistant", "content": json.dumps(verdict)}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        text = json.dumps(reply).encode()
        with open(sys.argv[2], "ab") as log:
            log.write(b"paid\\n")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Judge).serve_forever()
"""


class Soak:
    """The folder of one soak, its random numbers, and its findings."""

    def __init__(self, work: Path, chance: random.Random) -> None:
        self.work = work
        self.chance = chance
        self.rounds: Counter[str] = Counter()
        self.disturbances: Counter[str] = Counter()
        self.violations: list[str] = []
        self._number = 0
        self._whole: dict[str, dict[str, object]] = {}
        self.adapter = work / "memory.py"
        self.adapter.write_text(SLOW_ADAPTER)
        self.paid = work / "paid"

    def run_round(self, name: str, call: "Callable[[Soak], None]") -> None:
        """Run one round; a timeout is a violation and does not end the soak."""
        try:
            call(self)
        except subprocess.TimeoutExpired as error:
            words = " ".join(map(str, error.cmd[-12:]))
            self.violations.append(f"{name}: still at work after {error.timeout:g} s: {words}")
            self.violations += find_leftovers(self.work)
        self.rounds[name] += 1

    def make_place(self) -> Path:
        """A new folder for a round."""
        self._number += 1
        place = self.work / f"round-{self._number}"
        (place / "tmp").mkdir(parents=True)
        return place

    def start(
        self, words: list[str], place: Path, start: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a command, or a program that runs one."""
        environ = os.environ | {
            "TMPDIR": str(place / "tmp"), "OPENAI_API_KEY": "soak", **RAY_ON_LOOPBACK,
        }  # fmt: skip
        with (place / "errors").open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, *(start or ("-m", "recall_bench")), *words],
                cwd=place, env=environ, stdout=subprocess.DEVNULL, stderr=errors,
                start_new_session=True,
            )  # fmt: skip

    def finish(self, words: list[str], place: Path, name: str) -> None:
        """Repeat the command undisturbed until it is done, three times at most."""
        for _ in range(3):
            code = self.start(words, place).wait(timeout=300)
            if code == 0:
                return
        errors = (place / "errors").read_text(errors="replace")[-300:]
        self.violations.append(f"{name}: exit {code} when repeated: {errors}")

    def check(self, name: str, place: Path, whole: dict[str, object]) -> None:
        """Compare the run with an undisturbed one, and look for what is left."""
        run = place / "run"
        where = f"{name} in {place.name}"
        try:
            folder = RunFolder.open(run)
            if not folder.is_finished:
                self.violations.append(f"{where}: the run is not finished")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a violation
            self.violations.append(f"{where}: the journal does not open: {error}")
            return
        outcomes = read_outcomes(run / "journal.jsonl")
        twice = [key for key, (times, _) in outcomes.items() if times > 1]
        if twice:
            self.violations.append(f"{where}: {len(twice)} on record twice, such as {twice[0]}")
        if list_final(outcomes) != whole:
            self.violations.append(f"{where}: answers or verdicts differ from an undisturbed run")
        if is_busy(run / "journal.jsonl"):
            self.violations.append(f"{where}: the journal is locked")
        self.violations += (f"{where}: {problem}" for problem in find_leftovers(place))
        shutil.rmtree(place, ignore_errors=True)

    def get_whole(self, key: str, words: list[str]) -> dict[str, object]:
        """The outcomes of an undisturbed run with these words."""
        if key not in self._whole:
            place = self.make_place()
            self.finish(words, place, f"undisturbed {key}")
            found = read_outcomes(place / "run" / "journal.jsonl")
            self._whole[key] = list_final(found)
        return self._whole[key]

    def kill(self, process: subprocess.Popen[bytes], pid: int | None = None) -> None:
        """Kill a process that we started, or one of its descendants."""
        try:
            os.kill(pid or process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.disturbances["kills"] += 1


def list_final(outcomes: dict[str, Any]) -> dict[str, object]:
    """The answers and verdicts; what failed before has one of its own later, or is missing."""
    return {key: each[1] for key, each in outcomes.items() if not key.startswith("not_")}


def kill_driver(soak: Soak) -> None:
    """Kill the driver of a run of an adapter, twice."""
    words = ["run", "--adapter", str(soak.adapter), *SAMPLE, "--into", "run"]
    whole = soak.get_whole("adapter", words)
    place = soak.make_place()
    for _ in range(2):
        process = soak.start(words, place)
        wait(process, soak.chance.uniform(1, 8))
        soak.kill(process)
        process.wait()
    soak.finish(words, place, "driver")
    soak.check("driver", place, whole)


def kill_worker(soak: Soak) -> None:
    """Kill workers of a run in several processes."""
    words = ["run", "--adapter", str(soak.adapter), *SAMPLE, "--into", "run", "--lifecycle", "fresh",
             "--executor", "processes", "--workers", "2"]  # fmt: skip
    whole = soak.get_whole("workers", words)
    place = soak.make_place()
    process = soak.start(words, place)
    for _ in range(2):
        wait(process, soak.chance.uniform(2, 6))
        below = sorted(list_descendants(process.pid)) if process.poll() is None else []
        if below:
            soak.kill(process, soak.chance.choice(below))
    process.wait(timeout=300)
    soak.finish(words, place, "worker")
    soak.check("worker", place, whole)


def kill_server(soak: Soak) -> None:
    """Kill the server of an adapter, and start it again."""
    port = find_port()
    serve = ["serve", str(soak.adapter), "--http", str(port)]
    words = ["run", "--adapter", f"http://127.0.0.1:{port}", *SAMPLE, "--into", "run",
             "--lifecycle", "fresh", "--error-budget", "1"]  # fmt: skip
    place = soak.make_place()
    server = soak.start(serve, place)
    wait_for_port(port)
    process = soak.start(words, place)
    wait(process, soak.chance.uniform(2, 6))
    soak.kill(server)
    server.wait()
    process.wait(timeout=300)
    server = soak.start(serve, place)
    wait_for_port(port)
    soak.finish([*words, "--retry-errors"], place, "server")
    server.terminate()
    server.wait(timeout=30)
    if is_taken(port):
        soak.violations.append(f"server in {place.name}: port {port} is still taken")
    whole = soak.get_whole(
        "adapter", ["run", "--adapter", str(soak.adapter), *SAMPLE, "--into", "run"]
    )
    soak.check("server", place, whole)


def kill_judge(soak: Soak) -> None:
    """Kill the server of a judge's model, start it again, and count what was paid."""
    port = find_port()
    script = soak.work / "judge.py"
    script.write_text(JUDGE)
    soak.paid.unlink(missing_ok=True)
    judge = ("--judge", f"openai:soak;http://127.0.0.1:{port}/v1")
    words = [
        "run",
        "--adapter",
        "bm25",
        *SAMPLE,
        *judge,
        "--into",
        "run",
        "--parallelism",
        "2",
        "--no-judge-cache",
    ]
    place = soak.make_place()
    server = soak.start([str(port), str(soak.paid)], place, (str(script),))
    wait_for_port(port)
    process = soak.start(words, place)
    wait(process, soak.chance.uniform(3, 8))
    soak.kill(server)
    server.wait()
    process.wait(timeout=300)
    server = soak.start([str(port), str(soak.paid)], place, (str(script),))
    wait_for_port(port)
    soak.finish(words, place, "judge")
    server.kill()
    server.wait()
    outcomes = read_outcomes(place / "run" / "journal.jsonl")
    verdicts = sum(key.startswith("judged") for key in outcomes)
    paid = len(soak.paid.read_bytes().splitlines())
    # What was under way when the server was killed may have been paid for without a reply.
    if not verdicts <= paid <= verdicts + 2:
        soak.violations.append(f"judge in {place.name}: {paid} calls for {verdicts} verdicts")
    soak.check("judge", place, list_final(outcomes))


def fill_disk(soak: Soak) -> None:
    """Run on a disk that is full, which is then larger."""
    place = soak.make_place()
    disk = place / "disk"
    disk.mkdir()
    size = soak.chance.randrange(8, 200, 4)
    words = " ".join(["run", "--adapter", "bm25", *SAMPLE, "--into", "disk/run"])
    command = f"{sys.executable} -m recall_bench {words} >/dev/null 2>>errors"
    script = (
        f"mount -t tmpfs -o size={size}k tmpfs disk || exit 77; {command}; first=$?; "
        f"mount -o remount,size=64m disk; {command} || exit 78; cp -r disk/run run; exit $first"
    )
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script]
    code = subprocess.run(unshare, cwd=place, check=False).returncode
    if code == 77:
        soak.disturbances["disks that could not be mounted"] += 1
        return
    if code not in (0, 7):
        soak.violations.append(f"full disk of {size} KiB: exit {code}")
        return
    soak.disturbances["full disks"] += code == 7
    bm25 = ["run", "--adapter", "bm25", *SAMPLE, "--into", "run"]
    soak.check("full disk", place, soak.get_whole("bm25", bm25))


def disturb(kind: str) -> Callable[[Soak], None]:
    """Run with a slow disk or a clock that jumps, and kill it once."""

    def run_disturbed(soak: Soak) -> None:
        words = ["run", "--adapter", "bm25", *SAMPLE, "--into", "run"]
        whole = soak.get_whole("bm25", words)
        place = soak.make_place()
        for is_last in (False, True):
            seed = str(soak.chance.randrange(1000))
            process = soak.start([kind, seed, *words], place, ("-c", DISTURBED))
            soak.disturbances[kind] += 1
            if not is_last:
                wait(process, soak.chance.uniform(1, 6))
                soak.kill(process)
            process.wait(timeout=300)
        soak.finish(words, place, kind)
        soak.check(kind, place, whole)

    return run_disturbed


def kill_ray_node(soak: Soak) -> None:
    """Take one of two Ray nodes away while a run is on both."""
    root = HERE.parent
    place = soak.make_place()
    cluster = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.pool.ray_nodes"],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | RAY_ON_LOOPBACK,
    )  # fmt: skip
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    address = cluster.stdout.readline().strip()
    words = ["run", "--adapter", str(soak.adapter), *SAMPLE, "--into", "run", "--lifecycle", "fresh",
             "--executor", "ray", "--workers", "2", "--ray-address", address]  # fmt: skip
    process = soak.start(words, place)
    wait(process, soak.chance.uniform(5, 15))
    cluster.stdin.write("kill\n")
    cluster.stdin.flush()
    cluster.stdout.readline()
    soak.disturbances["kills"] += 1
    process.wait(timeout=300)
    soak.finish(words, place, "Ray node")
    cluster.communicate(timeout=120)
    alone = ["run", "--adapter", str(soak.adapter), *SAMPLE, "--into", "run"]
    soak.check("Ray node", place, soak.get_whole("adapter", alone))


ROUNDS: dict[str, Callable[[Soak], None]] = {
    "driver": kill_driver,
    "worker": kill_worker,
    "server": kill_server,
    "judge": kill_judge,
    "full disk": fill_disk,
    "slow disk": disturb("slow-disk"),
    "clock jumps": disturb("clock-jumps"),
}


def wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait, or until the process has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def find_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def is_taken(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait_for_port(port: int) -> None:
    """Wait until something listens there."""
    for _ in range(600):
        if is_taken(port):
            return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens on port {port}")


def run_kills(work: Path, kills: int, seed: int) -> Iterator[str]:
    """Kill each writing command under each hash seed; yield what is wrong, and print a table."""
    reports = {}
    for hash_seed in HASH_SEEDS:
        words = ["--work", str(work / str(hash_seed)), "--base", str(work / "base")]
        done = subprocess.run(
            [sys.executable, str(HERE / "soak_kills.py"), *words, "--kills", str(kills), "--seed",
             str(seed + hash_seed)],
            env=os.environ | {"PYTHONHASHSEED": str(hash_seed)}, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        reports[hash_seed] = json.loads(done.stdout)
        yield from (f"hash seed {hash_seed}: {each}" for each in reports[hash_seed]["violations"])
    first = reports[HASH_SEEDS[0]]
    print(f"{'command':<20} {'kills':>6}   bytes under {len(HASH_SEEDS)} hash seeds")
    for name, digest in first["digests"].items():
        total = sum(report["kills"].get(name, 0) for report in reports.values())
        same = all(report["digests"].get(name) == digest for report in reports.values())
        print(f"{name:<20} {total:>6}   {'the same' if same else 'DIFFERENT'}", flush=True)
        if not same:
            yield f"{name}: other bytes under another hash seed"


def main() -> None:
    """Run both parts, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="of the second part [10]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kills", type=int, default=0, help="of each writing command and hash seed"
    )
    parser.add_argument("--ray", action="store_true", help="take a Ray node away, once")
    parser.add_argument("--only", nargs="*", default=[], help=f"rounds: {', '.join(ROUNDS)}")
    given = parser.parse_args()
    os.nice(10)
    warm_up()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        work = Path(folder)
        use_own_cache(work)
        soak = Soak(work, random.Random(given.seed))
        if given.kills:
            soak.violations += run_kills(work / "kills", given.kills, given.seed)
        if given.ray and find_spec("ray") is not None:
            soak.run_round("Ray node", kill_ray_node)
        deadline = time.monotonic() + 60 * given.minutes
        names = given.only or list(ROUNDS)
        while time.monotonic() < deadline:
            # Each kind in turn, so that a short soak has all of them.
            name = names[soak.rounds.total() % len(names)]
            soak.run_round(name, ROUNDS[name])
    for name, count in soak.rounds.items():
        print(f"{name:<20} {count:>6} rounds")
    for name, count in soak.disturbances.items():
        print(f"{name:<20} {count:>6}")
    print(f"{len(soak.violations)} violations")
    for violation in soak.violations:
        print(f"  {violation}")
    sys.exit(bool(soak.violations))


if __name__ == "__main__":
    main()
