"""Days by a model server that fails in every way there is, over several runs."""

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.call_log import FOLDER
from recall_bench.features.personas.days.day_plan import plan_story
from recall_bench.features.personas.days.day_writer import generate_days
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.stories.lint.history_checks import CORRECTION_LINTS as CORRECTIONS
from recall_bench.stories.lint.history_checks import HISTORY_LINTS as HISTORY
from recall_bench.stories.lint.lint_corpus import Severity
from recall_bench.stories.lint.lint_report import lint_story
from recall_bench.stories.persona_story import read_persona, read_story
from tests.features.personas.made_personas import persona as made_persona
from tests.features.personas.made_personas import story as made_story
from tests.features.personas.scripted_author import author
from tests.openai_server import (
    OpenAIServer,
    Response,
    cut_off,
    error,
    hang,
    malformed,
    ok,
    truncated,
)
from tests.thoroughness import choose_number

DAYS = choose_number(60, 200)
ARCS = f"arcs-{DAYS}d.yaml"
FAULTS = {
    "status 500": 0.03,
    "stall": 0.006,
    "half a body": 0.02,
    "no JSON": 0.02,
    "cut off": 0.04,
    "prose": 0.05,
    "broken markdown": 0.03,
    "another session": 0.04,
    "early secret": 0.04,
}
"""What goes wrong, and how often."""


class Flaky:
    """Replies as the author would, or badly.

    Which it is follows from the prompt and from how often it came, not from the order in which
    requests side by side arrive.
    """

    def __init__(self, seed: int, secrets: tuple[str, ...]) -> None:
        self._seed = seed
        self._secrets = secrets
        self._came: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.paid: list[str] = []
        """Every prompt that got a whole reply."""

    def __call__(self, request: dict[str, Any]) -> Response:
        system, user = (message["content"] for message in request["messages"])
        self._came[user] += 1
        chance = random.Random(f"{self._seed} {self._came[user]} {user}")
        fault = _fault(chance)
        self.met[fault or "none"] += 1
        match fault:
            case "status 500":
                return error(500)
            case "stall":
                return hang()
            case "half a body":
                return truncated()
            case "no JSON":
                return malformed()
        self.paid.append(user)
        text = author(system, user)
        match fault:
            case "cut off":
                return cut_off(text[: len(text) // 2])
            case "prose":
                return ok("I am afraid that there is nothing to say about that day.")
            case "broken markdown":
                return ok(text.replace("### ", ""))
            case "another session":
                return ok(f"{text}\n\n# session: canteen\n\n### Soup\nIt was thin.")
            case "early secret":
                return ok(f"{text}\nBy the way: {chance.choice(self._secrets)}.")
        return ok(text)


def _fault(chance: random.Random) -> str | None:
    draw = chance.random()
    for fault, share in FAULTS.items():
        if draw < share:
            return fault
        draw -= share
    return None


@pytest.fixture
def yard(tmp_path: Path) -> Path:
    folder = tmp_path / "yard"
    folder.mkdir()
    story = made_story(DAYS)
    (folder / "persona.yaml").write_text(dump_yaml({"id": "yard", **made_persona()}))
    head = {"epoch": "2026-01-05", "gaps": True}
    (folder / ARCS).write_text(dump_yaml(head | story))
    return folder


@pytest.mark.slow
def test_the_corpus_completes_over_several_runs_and_nothing_is_lost_or_paid_twice(
    yard: Path,
) -> None:
    story = read_story(yard, ARCS)
    planned = plan_story(read_persona(yard), story)
    secrets = tuple(arc.corrected_belief for arc in story.arcs if arc.corrected_belief)
    flaky = Flaky(2, secrets)
    runs: list[PassResult] = []
    lines: list[str] = []
    with OpenAIServer(flaky) as server:
        request = DaysRequest(
            persona=yard, model=f"openai:any;{server.base_url};price=1/1", timeout_ms=2000
        )
        while not runs or runs[-1].missing:
            before = {path.name: path.read_bytes() for path in yard.glob("memories-*/*")}
            runs.append(generate_days(request, lines.append))
            after = {path.name: path.read_bytes() for path in yard.glob("memories-*/*")}
            assert {name: after[name] for name in before} == before, "a day was written twice"
            assert len(runs) < 10

    assert set(FAULTS) <= set(flaky.met), "every fault was met"
    assert len(runs) > 1
    assert sum(run.written for run in runs) == len(planned.days)
    assert {int(path.stem[4:]) for path in yard.glob("memories-*/day-*.md")} == {
        day.day for day in planned.days
    }
    # What the server sent and nobody received is asked for again, so the log of replies decides.
    (log,) = (yard / FOLDER).glob("*.jsonl")
    asked = [
        call["key"] for line in log.read_bytes().splitlines() if "key" in (call := json.loads(line))
    ]
    assert len(asked) > len(planned.days)
    assert len(asked) == len(set(asked)), "a prompt was paid for twice"
    skipped = [line for line in lines if re.match(r"\[generator\] arc=\S+ day=\d+ skipped: ", line)]
    assert len(skipped) == sum(len(run.missing) for run in runs)
    report = lint_story(yard, arcs=ARCS, lints=(*HISTORY, *CORRECTIONS))
    assert report.count(Severity.ERROR) == 0
    assert [finding.message for finding in report.findings] == []
