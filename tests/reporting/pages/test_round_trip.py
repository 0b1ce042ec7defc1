"""Read as its script reads it, a page gives back every trial of the run."""

import gzip
import json
import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.event import Judged, TrialResult
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.attribution import find_leaves
from recall_bench.reporting.pages.markup import split_chunks
from recall_bench.reporting.pages.page import write_page
from tests.reporting.charts.sample_report import sampled_report
from tests.written_runs import INVENTED, PERFECT, POOR, Story, plan_of, question, trial

PERSONAS = ("ada", "bee", "cyd")
STORIES = {name: {day: f"Day {day} of {name}." for day in (1, 2)} for name in PERSONAS}


@pytest.fixture(params=[30, 10**6], ids=["many blocks", "one block each"])
def page(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], RunFolder]:
    """The blocks of a page over three personas, and the run it is of."""
    monkeypatch.setattr("recall_bench.reporting.pages.page.load_vega_script", lambda: "draw();")
    monkeypatch.setattr(
        "recall_bench.reporting.pages.trial_blocks.split_chunks",
        partial(split_chunks, size=request.param),
    )
    run, output = three(tmp_path / "run"), tmp_path / "a.html"
    table = read_trials(run)
    write_page(
        output,
        sampled_report(3),
        folder=run,
        table=table,
        leaves=find_leaves(table),
        stories=STORIES,
    )
    text = output.read_text(encoding="utf-8")
    packed = re.findall(r'data-block="([a-z0-9-]+)">([^<]+)<', text)
    blocks = {name: gzip.decompress(b64decode(block)) for name, block in packed}
    assert blocks.pop("charting") == b"draw();"
    return {name: json.loads(block) for name, block in blocks.items()}, run


def three(folder: Path) -> RunFolder:
    """Every persona answers in its own way, and says the same thing twice."""
    kinds = ("factual-recall", "synthesis", "negative-recall")
    scenarios: dict[str, Sequence[Item]] = {
        name: [question(f"q{n}", kinds[n], known_from=1 + n % 2) for n in range(3)]
        for name in PERSONAS
    }
    story = Story(folder, scenarios, plan_of(scenarios))
    for number, name in enumerate(PERSONAS):
        for n in range(3):
            for label in ("2d", "4d"):
                each = trial(f"q{n}", label, scenario=name)
                if (number, n, label) == (1, 1, "2d"):
                    story.not_answered(each)
                    continue
                found = [Passage(text=f"{name} {n} {k}", day=k, score=k / 3) for k in (1, 2)]
                story.answer(each, f"{name} says {n if n < 2 else 0}", *found)
                story.judge(each, (PERFECT, POOR, INVENTED)[(number + n) % 3])
    return story.open()


def results_of(run: RunFolder) -> list[TrialResult]:
    return [result for name in run.scenarios for result in run.results(name)]


def within(starts: list[int], place: int) -> tuple[int, int]:
    """The block an entry is in, and its place there."""
    block = bisect_right(starts, place) - 1
    return block, place - starts[block]


def test_every_trial_has_its_question_its_answer_and_its_marks(
    page: tuple[dict[str, Any], RunFolder],
) -> None:
    blocks, run = page
    head, asked, rows = blocks["page"], blocks["questions"], blocks["trials"]
    results = results_of(run)

    assert len(rows["question"]) == len(results) == 18
    for row, result in enumerate(results):
        place = rows["question"][row]
        assert asked["id"][place] == result.item.id
        assert asked["text"][place] == result.item.text
        assert asked["reference"][place] == result.item.truth.reference
        assert head["personas"][asked["persona"][place]] == result.trial.scenario
        assert head["categories"][asked["category"][place]] == result.item.truth.category
        assert head["checkpoints"][rows["checkpoint"][row]][0] == result.trial.checkpoint
        if result.answered is None:
            assert (rows["answer"][row], rows["points"][row], rows["invented"][row]) == (-1, 0, -1)
            continue
        block, entry = within(head["answerBlocks"], rows["answer"][row])
        assert blocks[f"answers-{block}"][entry] == result.answered.answer.text
        assert isinstance(result.outcome, Judged)
        assert rows["points"][row] == result.outcome.verdict.composite
        assert rows["invented"][row] == 1 - result.outcome.verdict.marks["grounded"]


def test_every_trial_has_its_passages_its_days_and_its_reason(
    page: tuple[dict[str, Any], RunFolder],
) -> None:
    blocks, run = page
    head, asked, rows = blocks["page"], blocks["questions"], blocks["trials"]

    def text(persona: int, place: int) -> tuple[str, int]:
        block, entry = within(head["textBlocks"][persona], place)
        found = blocks[f"texts-{persona}-{block}"]
        return found["text"][entry], found["day"][entry]

    for row, result in enumerate(results_of(run)):
        place = rows["question"][row]
        persona = asked["persona"][place]
        about = blocks[f"details-{asked['block'][place]}"][str(place)]
        (cited,) = about["evidence"]
        day = result.item.truth.evidence[0].day
        assert text(persona, cited["text"]) == (STORIES[result.trial.scenario][day], day)
        told = about["trials"][str(row)]
        if result.answered is None:
            assert told["fault"] == "SystemTimeout"
            continue
        passages = result.answered.answer.passages
        assert [text(persona, each) for each in told["passages"]] == [
            (each.text, each.day) for each in passages
        ]
        assert told["scores"] == [0.333, 0.667]
        assert isinstance(result.outcome, Judged)
        assert told["verdict"]["reason"] == result.outcome.verdict.reason
        assert told["verdict"]["marks"] == result.outcome.verdict.marks


def test_every_miss_has_its_leaf(page: tuple[dict[str, Any], RunFolder]) -> None:
    blocks, run = page
    names = [name for name, *_ in blocks["page"]["leaves"]]
    leaves = find_leaves(read_trials(run))

    shown = [names[place] if place >= 0 else None for place in blocks["trials"]["leaf"]]

    assert shown == [leaves.get(result.trial) for result in results_of(run)]
    assert any(shown)
