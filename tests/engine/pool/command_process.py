"""`recall-bench` in a process of its own, with worker processes below it, to be hurt."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from recall_bench.core.event import Answered, NotAnswered
from recall_bench.engine.runs.journal import read_events
from tests.warm_commands import start_command

PATIENCE_S = 60.0

STARTED: list["Command"] = []
"""Every command that was not waited for yet."""

SYSTEM = '''
import os, signal, time
from pathlib import Path

HERE = Path({here!r})

def log(name, line):
    with (HERE / name).open("a") as file:
        file.write(line + "\\n")

def once(name):
    """Whether this is the first call with that name, of all processes."""
    try:
        os.close(os.open(HERE / f"once-{{name}}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

class Adapter:
    """Remembers every line, and does as it is told before it answers."""

    name, version = "overlap", "1"
    can_snapshot = {copied}
    max_shards = {max_shards}

    def setup(self):
        try:
            log("opened", str(os.getpid()))
        except BaseException:
            # Interrupted after it was written: what is opened in part is closed here.
            self.teardown()
            raise
        self.lines, self.days, self.asked = [], 0, 0

    def ingest_day(self, day, content, metadata):
        self.lines += content.splitlines()
        self.days = day

    def finalize_ingestion(self):
        pass

    def query(self, question):
        self.asked += 1
        log("asked", f"{{question}} after {{self.days}} days")
        log("pids", str(os.getpid()))
{before}
        wanted = set(question.lower().strip("?").split())
        return max(self.lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))

    def teardown(self):
        log("closed", str(os.getpid()))

    def __getstate__(self):
        return self.__dict__
'''


MARKS = """
async def judge(exhibit):
    number = sum(map(ord, exhibit.item.id + exhibit.answer.text[:100]))
    return {"correctness": number % 4, "completeness": number % 3, "grounded": number % 2}
"""
"""A judge that starts at once: the judge that ships takes half a second in each process."""


def write_system(
    folder: Path, before: str = "", *, copied: bool = True, max_shards: int | None = None
) -> Path:
    """An adapter that does this before it answers, and logs beside its file."""
    folder.mkdir(exist_ok=True)
    indented = "\n".join(f"        {line}" for line in before.splitlines())
    text = SYSTEM.format(here=str(folder), before=indented, copied=copied, max_shards=max_shards)
    (folder / "system.py").write_text(text)
    return folder / "system.py"


class Command:
    """A command under way."""

    def __init__(self, *words: object, **environ: str) -> None:
        self.process = start_command(words, environ=os.environ | environ)
        STARTED.append(self)

    def until(self, condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Wait until something holds while it runs; fails if it ends before."""
        until(lambda: condition() or self.process.poll() is not None, seconds)
        if not condition():
            raise AssertionError(self.process.communicate())

    def ended(self, seconds: float = PATIENCE_S) -> tuple[int, str]:
        """Its exit code, and what it said on standard error."""
        _, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode is not None
        return self.process.returncode, err.decode(errors="replace")

    def signalled(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)


def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Wait until something holds; fails if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def lines(path: Path) -> list[str]:
    """What a log holds so far."""
    return path.read_text().splitlines() if path.exists() else []


def workers(folder: Path) -> set[int]:
    """The processes in which a system was opened."""
    return {int(pid) for pid in lines(folder / "opened")}


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it is no mere entry in a table."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def answered(folder: Path, but: str = "") -> int:
    """How many trials, but for those of a checkpoint, have an outcome on record."""
    journal = folder / "journal.jsonl"
    if not journal.exists():
        return 0
    outcomes = (
        event for event in read_events(journal) if isinstance(event, Answered | NotAnswered)
    )
    return sum(event.trial.checkpoint != but for event in outcomes)
