"""Cheats that need no isolation to be stopped, and the page that lists all of them."""

import re
from pathlib import Path

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from tests.commands import Invoke
from tests.gardener import write_persona

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "cheating.md"

ADAPTER = '''
import time


class Adapter:
    """Keeps every line; says nothing useful about half of the questions, in the given way."""

    version = "1"

    def setup(self):
        self.lines = []

    def ingest_day(self, day, content, metadata):
        self.lines += content.splitlines()

    def query(self, question):
        wanted = set(question.lower().strip("?").split())
        best = max(self.lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))
        if len(question) % 2:
            {way}
        return best
'''
WAYS = {
    "admits": 'return "I do not know."',
    "sleeps": "time.sleep(60)",
    "raises": 'raise RuntimeError("too hard")',
}


def score(invoke: Invoke, way: str) -> tuple[float, int]:
    """Points of six on average, and how many questions have no answer."""
    Path(f"{way}.py").write_text(ADAPTER.replace("{way}", WAYS[way]))
    if not Path("data").exists():
        write_persona(Path("data"))
    # Where nothing sleeps, a busy machine has time. Where something does, all of it passes in vain.
    timeout = "0.3s" if way == "sleeps" else "20s"
    words = ("--data", "data", "-r", "10d", "--timeout", timeout, "--error-budget", 1)
    shown = invoke("run", "-a", f"{way}.py", *words, "--keep-going", "-o", f"run-{way}")
    assert shown.code in {0, 5}, shown.err
    overall = summarise(RunFolder.open(Path(f"run-{way}"))).overall
    assert overall.mean is not None
    return overall.mean, overall.not_answered


def test_an_answer_that_is_not_given_costs_more_than_not_knowing(invoke: Invoke) -> None:
    admitted, none_lost = score(invoke, "admits")

    for way in ("sleeps", "raises"):
        points, lost = score(invoke, way)
        assert none_lost < lost
        assert points < admitted


def test_negative_usage_is_refused(invoke: Invoke) -> None:
    write_persona(Path("data"))
    Path("cheap.py").write_text(
        "class Adapter:\n    version = '1'\n"
        "    def ingest_day(self, day, content, metadata): pass\n"
        "    def query(self, question):\n"
        "        return {'answer': 'Bed 7.', 'usage': {'cost_usd': -100.0, 'calls': 1}}\n"
    )
    shown = invoke(
        *("run", "-a", "cheap.py", "-d", "data", "-r", "5d", "-o", "r", "--keep-going"),
    )

    summary = summarise(RunFolder.open(Path("r")))
    assert shown.code != 0
    assert summary.overall.judged == 0
    assert summary.faults == {"NotAnAnswer": 5}


def test_every_cheat_of_the_page_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))

    assert len(rows) >= 15
    assert len(named) >= len(rows)
    for file, name in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not name or re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), (file, name)
