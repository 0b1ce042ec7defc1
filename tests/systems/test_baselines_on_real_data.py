"""On real histories the built-in systems do what was measured elsewhere, and do it repeatably."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from recall_bench.core.scenario import Episode, Question, compute_story_date
from recall_bench.systems.builtin.retrieval import fuse_by_weight, select_best
from recall_bench.systems.builtin.word_index import Bm25, Bm25Index, Postings, Vocabulary
from recall_bench.systems.models.static_embedding import compute_similarity, embed
from tests.conftest import EPOCH, shared_data
from tests.systems.builtin.test_baselines import FACTORIES, system_of
from tests.thoroughness import choose_number

pytestmark = pytest.mark.slow

PART = choose_number(2, 4)
"""Days before a log that grows is compared with one that is read anew: three times."""


def spoken(turn: dict[str, Any]) -> str:
    """As the published figures had it."""
    photo = f" [shares image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{photo}"


def turns(chat: dict[str, Any]) -> dict[str, str]:
    return {
        turn["dia_id"]: spoken(turn)
        for key, session in chat.items()
        if re.fullmatch(r"session_\d+", key)
        for turn in session
    }


def recalls(path: Path) -> Iterator[dict[str, float]]:
    """For each answerable question, the share of its evidence turns among the ten best."""
    for raw in json.loads(path.read_text("utf-8")):
        said = turns(raw["conversation"])
        place = {name: number for number, name in enumerate(said)}
        texts = list(said.values())
        vocabulary = Vocabulary()
        index = Bm25Index(Postings.create_empty().extend([vocabulary.count(texts)]), Bm25())
        vectors = embed(texts)
        for asked in raw["qa"]:
            cited = {place[name] for name in asked["evidence"] if name in place}
            if asked["category"] != 5 and cited:
                words = index.score(vocabulary.parse_query(asked["question"]))
                meaning = compute_similarity(vectors, embed([asked["question"]])[0])
                yield {
                    name: len(cited & set(select_best(scores, 10).tolist())) / len(cited)
                    for name, scores in (
                        ("bm25", words),
                        ("vector", meaning),
                        ("hybrid", fuse_by_weight(words, meaning, 0.7)),
                    )
                }


def test_locomo_turns_are_found_as_often_as_published() -> None:
    """The figures are those measured with other code on the same questions."""
    each = list(recalls(shared_data("locomo/locomo10.json")))

    found = {name: float(np.mean([recall[name] for recall in each])) for name in each[0]}

    assert found["bm25"] == pytest.approx(0.625, abs=0.005)
    assert found["vector"] == pytest.approx(0.377, abs=0.005)
    assert found["hybrid"] == pytest.approx(0.647, abs=0.005)
    assert found["hybrid"] > found["bm25"]


@cache
def read_real_log(folder: Path) -> tuple[list[Episode], list[Question]]:
    """Some days, and fifteen questions on the last: reading them takes longer than a test."""
    asked = yaml.safe_load((folder / "qa-180d" / "questions.yaml").read_text("utf-8"))[:15]
    days = [
        Episode(
            id=f"day-{day:04}",
            day=day,
            at=compute_story_date(EPOCH, day),
            text=(folder / "memories-180d" / f"day-{day:04}.md").read_text("utf-8"),
        )
        for day in range(1, 3 * PART + 1)
    ]
    questions = [
        Question(id=raw["id"], text=raw["question"], asked_at=days[-1].at, scenario="diary")
        for raw in asked
    ]
    return days, questions


@pytest.mark.anyio
@pytest.mark.parametrize("name", FACTORIES)
async def test_forked_and_fresh_agree_on_a_real_log(name: str) -> None:
    days, questions = read_real_log(shared_data("recall-ea/executive-assistant"))
    system = system_of(name)
    assert system.snapshots is not None
    growing = await system.open("diary")

    for day in days:
        await growing.ingest(day)
        if day.day % PART == 0:
            await growing.settle()
            copy = await system.snapshots.open(await system.snapshots.save(growing))
            fresh = await system_of(name).open("diary")
            for earlier in days[: day.day]:
                await fresh.ingest(earlier)
            await fresh.settle()

            for question in questions:
                assert await copy.answer(question) == await fresh.answer(question)
