"""On a real persona a verdict takes a fraction of the public harness's tokens, and loses nothing.

The public harness shows whole days, one on either side of each cited day: 46 thousand tokens a
verdict for this persona. What must not be lost are the values and names of the reference, and
those of the answer, as far as the same days hold them.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth
from recall_bench.core.usage import CHARACTERS_A_TOKEN
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.offline.contents import find_names
from recall_bench.judging.rubric.passages import ExcerptMode, RubricOptions, render_evidence
from recall_bench.judging.rubric.prompt import build_case
from recall_bench.text.text import normalise, split_words
from recall_bench.text.values import find_values
from tests.conftest import shared_data
from tests.thoroughness import choose_number

pytestmark = pytest.mark.slow

EVERY = choose_number(192, 32)
"""One in so many of the published answers is looked at."""


def exhibits(scenario: Scenario, judged: Path) -> Iterator[Exhibit]:
    """Published answers of this story, with the days around those their references rest on."""
    days = {episode.day: episode for episode in scenario.episodes}
    lines = [json.loads(line) for line in judged.read_text(encoding="utf-8").splitlines()]
    for row in [line for line in lines if line["corpus"] == "180d"][::EVERY]:
        cited = [day for day in row["relevant_days"] if day in days]
        until = row["checkpoint_days"]
        window = sorted({day + step for day in cited for step in (-1, 0, 1)} & days.keys())
        truth = Truth(
            reference=row["reference"],
            category=row["category"],
            evidence=tuple(Evidence(day=day) for day in cited),
        )
        yield Exhibit(
            scenario=scenario.id,
            item=Item(id="q", text=row["question"], truth=truth, known_from=1),
            answer=Answer(text=row["answer"]),
            asked_at=scenario.compute_date(until),
            days=until,
            excerpts=tuple(days[day] for day in window if day <= until),
        )


def atoms(text: str) -> set[str]:
    bare = normalise(text)
    return {f"{atom.kind} {atom.core}" for atom in find_values(bare)} | set(find_names(bare))


@cache
def atoms_of_day(episode: Episode) -> set[str]:
    return atoms(episode.text)


def test_a_verdict_takes_a_tenth_of_the_tokens_and_keeps_the_values() -> None:
    scenario = recall_bench.load_persona(shared_data("recall-ea/executive-assistant"))
    cases = list(exhibits(scenario, shared_data("judged/dev.jsonl")))
    tokens: Counter[ExcerptMode] = Counter()
    held: Counter[str] = Counter()
    kept: Counter[str] = Counter()

    for exhibit in cases:
        for showing in ExcerptMode:
            prompt = build_case(exhibit, RubricOptions(showing=showing)).prompt
            tokens[showing] += len(prompt.system + prompt.user) // CHARACTERS_A_TOKEN
        shown = render_evidence(exhibit, RubricOptions())
        # A name that opens a sentence is not known for one, but it is there.
        passages = atoms(shown) | set(split_words(normalise(shown)))
        days = set[str]().union(*map(atoms_of_day, exhibit.excerpts))
        texts = {"reference": exhibit.item.truth.reference, "answer": exhibit.answer.text}
        for name, text in texts.items():
            held[name] += len(atoms(text) & days)
            kept[name] += len(atoms(text) & days & passages)

    assert len(cases) > 1600 / EVERY
    assert tokens[ExcerptMode.FULL] > 10 * tokens[ExcerptMode.PASSAGES]
    assert tokens[ExcerptMode.PASSAGES] / len(cases) < 3_500
    assert held["reference"] > 3200 / EVERY
    assert kept["reference"] == held["reference"]
    assert kept["answer"] / held["answer"] > 0.99
