"""Every command that reads runs gives the right figures on 2,880 trials of six personas.

The runs are written, not run. What a command prints is compared with figures that are computed
from the lines of the journals in plain Python, without any code of the package. Questions are
asked twice at each checkpoint. `make test-exhaustive` has six times as many and asks them six
times, in 50,000 trials.
Each journal is read once for all commands: `RunFolder` and its table do not change.
"""

import gzip
import json
import re
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs import trials
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting import trial_scores
from tests.commands import Invoke
from tests.sketched_pictures import sketch_matrix
from tests.thoroughness import choose_number
from tests.written_runs import Story, plan_of, question, trial

PERSONAS = tuple(f"persona-{number}" for number in range(6))
CATEGORIES = ("factual-recall", "synthesis", "temporal-reasoning", "boundary")
CHECKPOINTS = tuple(Checkpoint(label=f"{days}d", days=days) for days in range(85, 1021, 85))
QUESTIONS = choose_number(20, 116)
REPEATS = choose_number(2, 6)
TRIALS = len(PERSONAS) * len(CHECKPOINTS) * QUESTIONS * REPEATS
SYSTEMS = ("bm25", "hybrid")


def make_item(number: int) -> Item:
    """Every fourth question is about something that must not be disclosed."""
    item = question(f"q{number:03}", CATEGORIES[number % len(CATEGORIES)])
    if item.truth.category != "boundary":
        return item
    truth = item.truth.replace(disclosure=Disclosure.REFUSE, withheld=(f"secret{number}",))
    return item.replace(truth=truth)


def write_run(folder: Path, system: str) -> Path:
    """A run that answers worse the larger the corpus is; one trial in a hundred fails."""
    items = [make_item(number) for number in range(QUESTIONS)]
    scenarios = dict.fromkeys(PERSONAS, items)
    plan = plan_of({**scenarios}, checkpoints=CHECKPOINTS, repeats=REPEATS)
    last = CHECKPOINTS[-1].days
    cards = tuple(card.replace(last_day=last, episodes=last) for card in plan.scenarios)
    plan = plan.replace(scenarios=cards, system=plan.system.replace(name=system))
    story = Story(folder, {**scenarios}, plan)
    for persona, checkpoint, number, repeat in product(
        PERSONAS, CHECKPOINTS, range(QUESTIONS), range(REPEATS)
    ):
        item = items[number]
        asked = trial(item.id, checkpoint.label, scenario=persona, repeat=repeat)
        name = f"{system} {persona} {item.id} {checkpoint.label} {repeat}"
        chance = int.from_bytes(sha256(name.encode()).digest()[:4], "big") / 2**32
        if chance < 0.01:
            story.not_answered(asked)
            continue
        is_right = chance > (0.2 if system == "bm25" else 0.1) + checkpoint.days / 2500
        is_grounded = chance > checkpoint.days / 5000
        marks = (3, 2, int(is_grounded)) if is_right else (1, 0, int(is_grounded))
        text = f"it is secret{number}" if chance < 0.05 else "it is a house"
        story.both(asked, Verdict.of(*marks), text)
    story.end()
    return story.save()


@dataclass
class Recount:
    """The figures of a journal, counted from its lines."""

    points: dict[tuple[str, str, str, int], int] = field(default_factory=dict)
    """The sum of the marks by persona, question, checkpoint and repeat; 0 without an answer."""
    invented: dict[tuple[str, str, str, int], bool] = field(default_factory=dict)
    """Of answers only."""
    passes: int = 0
    guarded: int = 0
    leaks: int = 0
    seconds: float = 0.0

    @property
    def score(self) -> float:
        return sum(self.points.values()) / len(self.points)

    @property
    def hallucination(self) -> float:
        return sum(self.invented.values()) / len(self.invented)


def recount(journal: Path) -> Recount:
    found = Recount()
    secrets: dict[tuple[str, str], list[str]] = {}
    with journal.open() as lines:
        for event in map(json.loads, lines):
            if event["type"] == "declared":
                for item in event["items"]:
                    secrets[event["scenario"], item["id"]] = item["truth"].get("withheld", [])
            if "trial" not in event:
                continue
            asked = event["trial"]
            key = asked["scenario"], asked["item"], asked["checkpoint"], asked.get("repeat", 0)
            found.seconds += event.get("seconds", 0.0)
            if event["type"] == "not_answered":
                found.points[key] = 0
            elif event["type"] == "answered":
                withheld = secrets[key[:2]]
                found.guarded += bool(withheld)
                found.leaks += any(secret in event["answer"]["text"] for secret in withheld)
            else:
                marks = event["verdict"]["marks"]
                found.points[key] = sum(marks.values())
                found.invented[key] = not marks["grounded"]
                found.passes += marks == {"correctness": 3, "completeness": 2, "grounded": 1}
    return found


@dataclass(frozen=True)
class WrittenMatrix:
    """Two runs where the cells of a matrix are, with their figures."""

    file: Path
    runs: dict[str, Path]
    figures: dict[str, Recount]


@pytest.fixture(scope="module", autouse=True)
def read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "open", cache(RunFolder.open))
        table = cache(trials.read_trials)
        for module in (trials, trial_scores):
            patch.setattr(module, "read_trials", table)
        yield


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> WrittenMatrix:
    folder = tmp_path_factory.mktemp("many-trials")
    (folder / "matrix.yaml").write_text("into: cells\nsystems: [bm25, hybrid]\n")
    runs = {name: write_run(folder / "cells/default/42" / name, name) for name in SYSTEMS}
    figures = {name: recount(path / "journal.jsonl") for name, path in runs.items()}
    assert len(figures["bm25"].points) == TRIALS > 2_800
    return WrittenMatrix(folder / "matrix.yaml", runs, figures)


def call(invoke: Invoke, *words: object) -> dict[str, Any]:
    shown = invoke(*words, "--json")
    assert shown.code == 0, shown.err
    found: dict[str, Any] = json.loads(shown.out)
    return found


def test_report(matrix: WrittenMatrix, invoke: Invoke, tmp_path: Path) -> None:
    found = call(invoke, "report", matrix.runs["bm25"], "--into", tmp_path / "report")

    right = matrix.figures["bm25"]
    assert found["header"]["overall"]["value"] == pytest.approx(right.score)
    assert found["header"]["hallucination"]["value"] == pytest.approx(right.hallucination)
    assert found["attribution"]["misses"] == TRIALS - right.passes
    [leaked] = [each for each in found["attribution"]["leaves"] if each["leaf"] == "leaked"]
    assert leaked["trials"] == right.leaks
    [overall] = [row for row in found["heatmaps"][0]["rows"] if row["name"] == "overall"]
    for place, checkpoint in enumerate(CHECKPOINTS):
        asked = [each for key, each in right.points.items() if key[2] == checkpoint.label]
        assert overall["cells"][place]["value"] == pytest.approx(mean(asked))
    half_life = found["degradation"]["survivals"][0]["survival"]["half_life"]
    assert half_life["low"] <= half_life["value"] <= half_life["high"]
    page = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    block = re.search(r'data-block="trials">\s*([A-Za-z0-9+/=]+)', page)
    assert block is not None
    assert len(json.loads(gzip.decompress(b64decode(block[1])))["points"]) == TRIALS


def test_compare(matrix: WrittenMatrix, invoke: Invoke) -> None:
    found = call(invoke, "compare", *matrix.runs.values())

    first, second = matrix.figures.values()
    assert [run["mean"]["value"] for run in found["runs"]] == pytest.approx(
        [first.score, second.score]
    )
    [contrast] = found["contrasts"]
    difference = contrast["overall"]["comparison"]["difference"]
    assert difference["value"] == pytest.approx(second.score - first.score)
    assert difference["low"] < difference["value"] < difference["high"]
    assert (difference["questions"], difference["trials"]) == (6 * QUESTIONS, TRIALS)
    common = first.invented.keys() & second.invented.keys()
    assert contrast["hallucination"]["first"] == pytest.approx(
        mean(first.invented[key] for key in common)
    )
    by_question: dict[tuple[str, str], int] = Counter()
    for key, points in second.points.items():
        by_question[key[:2]] += points - first.points[key]
    assert contrast["overall"]["comparison"]["wins"] == sum(
        each > 0 for each in by_question.values()
    )


def test_matrix(matrix: WrittenMatrix, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    sketch_matrix(monkeypatch)
    found = call(invoke, "matrix", matrix.file, "--report", "--into", matrix.file.parent / "cells")

    [setting] = found["settings"]
    scores = {each["system"]: each["score"]["value"] for each in setting["systems"]}
    assert scores == pytest.approx({name: each.score for name, each in matrix.figures.items()})
    rates = {each["system"]: each["hallucination"]["value"] for each in setting["systems"]}
    right = {name: each.hallucination for name, each in matrix.figures.items()}
    assert rates == pytest.approx(right)


def test_gate(matrix: WrittenMatrix, invoke: Invoke) -> None:
    first, second = matrix.figures.values()
    passed = call(
        invoke,
        "gate",
        *(matrix.runs["hybrid"], "--baseline", matrix.runs["bm25"]),
        *("--max-leaks", second.leaks, "--max-hallucination", 100 * second.hallucination + 0.01),
    )

    assert passed["verdict"] == "passed"
    assert passed["run"]["score"]["value"] == pytest.approx(second.score / 6 * 100)
    assert passed["baseline"]["score"]["value"] == pytest.approx(first.score / 6 * 100)
    values = {check["rule"]: check["value"] for check in passed["checks"]}
    assert values["max-leaks"] == second.leaks
    assert values["max-hallucination"] == pytest.approx(100 * second.hallucination)


def test_plan(matrix: WrittenMatrix, invoke: Invoke) -> None:
    found = call(invoke, "plan", "--adapter", "bm25", "--estimate", "--from", matrix.runs["bm25"])

    [asking] = [stage for stage in found["stages"] if stage["step"] == "ask"]
    assert asking["times"] == TRIALS
    seconds = matrix.figures["bm25"].seconds / TRIALS
    assert asking["total_s"] == pytest.approx(seconds * found["outline"]["trials"])


def test_power(matrix: WrittenMatrix, invoke: Invoke) -> None:
    runs = [word for path in matrix.runs.values() for word in ("--runs", path)]
    found = call(invoke, "power", *runs, "--difference", 1)

    first, second = matrix.figures.values()
    differences = defaultdict(list)
    for key, points in second.points.items():
        differences[key[:2]].append((points - first.points[key]) * 100 / 6)
    spread = stdev(mean(each) for each in differences.values())
    assert found["ground"]["asks"] == len(CHECKPOINTS) * REPEATS
    assert found["ground"]["question_deviation"] == pytest.approx(spread, rel=0.01)
    # Two-sided at 5 %, with 80 % power: (1.96 + 0.84)² variances a squared difference.
    assert found["needed"]["questions"] == pytest.approx(7.849 * spread**2, rel=0.02)


def test_export(matrix: WrittenMatrix, invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("export", matrix.runs["bm25"], "--to", tmp_path / "files").code == 0

    right = matrix.figures["bm25"]
    result = json.loads((tmp_path / "files/result.json").read_bytes())
    assert result["estimates"]["overall"]["mean"] == pytest.approx(right.score)
    assert result["estimates"]["hallucinationRate"]["mean"] == pytest.approx(
        100 * right.hallucination
    )
    assert result["leaks"]["answers"] == right.guarded
    assert result["leaks"]["leaked"] == right.leaks
    assert result["leaks"]["rate"] == pytest.approx(100 * right.leaks / right.guarded)
    rows = [
        row
        for persona in result["personas"]
        for part in persona["rangeResults"]
        for row in part["questionResults"]
    ]
    assert sum(row["compositeScore"] for row in rows) == sum(right.points.values())
    lines = {
        name: (tmp_path / f"files/{name}.jsonl").read_bytes().count(b"\n")
        for name in ("questions", "failures", "progress")
    }
    assert lines == {
        "questions": TRIALS,
        "failures": TRIALS - right.passes,
        "progress": 1 + len(PERSONAS) * len(CHECKPOINTS) + 1,
    }
