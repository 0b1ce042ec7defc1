"""What three other harnesses get wrong about data and measures, each by a test of its name."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.memory import Answer, Passage, RetrievalReply
from recall_bench.core.scenario import Episode, Question
from recall_bench.features.datasets import persona_json
from recall_bench.features.datasets.eval_page import render_page
from recall_bench.features.datasets.fact_coverage import EvidenceLayer
from recall_bench.reporting.protocol_scores import JUDGED
from recall_bench.stories import catalogue as sources_module
from recall_bench.stories.catalogue import DatasetSource
from tests.commands import Invoke
from tests.engine.finders import Finder
from tests.features.datasets.download.server import Served, serving
from tests.fixtures.datasets_download import pinned
from tests.hazards.making import (
    ALICE,
    HEARD,
    KITE,
    chat,
    evaluated,
    loaded,
    reported,
    says,
    scored,
)


def test_session_five_of_one_conversation_taken_for_anothers(tmp_path: Path) -> None:
    """A system that pools its histories returns another's session by the id it was given."""
    pool: dict[str, Episode] = {}

    def pooled(lived: Sequence[Episode], question: Question) -> RetrievalReply:
        pool.setdefault("first", lived[0])
        return RetrievalReply(passages=(Passage(text=pool["first"].text, id=pool["first"].id),))

    told = [
        chat({1: ("I play the violin in the attic every evening.",)}, [KITE], "ada"),
        chat({1: ("The river froze over and we walked across it.",)}, [KITE], "bob"),
    ]
    report = reported(tmp_path, told, Finder(pooled), skip_qa=True)

    found = {each.scenario: each.figures["session recall@10"] for each in report.questions}
    assert found == {"ada": 1.0, "bob": 0.0}


@pytest.mark.parametrize("text", [None, "", "[TIMEOUT]"])
def test_an_error_that_passes_for_an_abstention(tmp_path: Path, text: str | None) -> None:
    """A model that fell silent, or was cut off, has not said that there is no answer."""
    reply = None if text is None else Answer(text=text)

    found = scored(loaded(tmp_path, [chat()]), 1, reply, "locomo/strict")

    assert not found.is_answerable
    assert found.abstained is not True
    assert found.figures["locomo/official"] == 0.0


@pytest.mark.parametrize("protocol", ["locomo/official", "convomem/substring"])
def test_an_error_on_a_question_without_gold(tmp_path: Path, protocol: str) -> None:
    """Where nothing was to be found, a system that failed has not found it."""
    scenario = loaded(tmp_path, [chat(qa=[KITE | {"evidence": []}])])

    found = scored(scenario, 0, None, protocol)

    assert set(found.figures.values()) <= {0.0}


def test_several_hops_passed_by_one_loose_alias(tmp_path: Path) -> None:
    """Each fact counts, as whole words: June does not stand in Juneau."""
    first = Answer(text="", passages=(Passage(text=HEARD[0], day=1),))

    found = scored(loaded(tmp_path, ALICE, persona_json.load), 0, first, "persona-json/strict")

    assert [found.figures[f"{layer}_r@10"] for layer in EvidenceLayer] == [0.5, 0.5]
    assert found.figures["session recall@10"] == 0.5


def test_bait_that_counts_as_found(tmp_path: Path) -> None:
    """Whoever returns the distractor has found nothing, and whoever says it fell for it."""
    bait = Answer(text="A Border Collie.", passages=(Passage(text="a Border Collie", day=3),))
    scenario = loaded(tmp_path, ALICE, persona_json.load)

    fell = scored(scenario, 1, bait, "persona-json/strict")
    wise = scored(scenario, 1, bait.replace(text="She has no dog."), "persona-json/strict")

    assert (fell.figures, wise.figures) == ({}, {})
    assert (fell.fell_for_trap, wise.fell_for_trap) == (True, False)


def test_ten_of_three_documents(tmp_path: Path) -> None:
    """Where a cutoff holds the whole collection its floor says so: a blind draw gets it all."""
    nothing = Answer(text="")

    found = scored(loaded(tmp_path, ALICE, persona_json.load), 0, nothing, "persona-json/strict")

    assert [found.chance[f"document_r@{k}"] for k in (1, 5, 10)] == [pytest.approx(1 / 3), 1.0, 1.0]


@pytest.mark.parametrize("served", [Served(status=404), Served(body=b"{}")], ids=["404", "other"])
def test_a_download_that_fails_silently(
    served: Served, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither nothing at all nor other bytes of the same length are a dataset."""
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    with serving() as server:
        server.files["/f"] = served
        file = pinned("locomo10.json", b"[]", f"{server.url}/f")
        published = {"locomo": DatasetSource(licence="none", files=(file,))}
        monkeypatch.setattr(sources_module, "load_sources", lambda: published)
        shown = invoke("datasets", "download", "locomo")
        asked = invoke("eval", "--dataset", "locomo", "--adapter", "none")

    assert shown.code not in (0, 1)
    assert "locomo10.json" in shown.err
    assert (asked.code, "is not downloaded" in asked.err) == (2, True)


def test_an_accuracy_of_zero_where_nothing_was_read(tmp_path: Path) -> None:
    """Without answers there is no figure of answers, and no zero in the place of one."""
    report = reported(tmp_path, [chat()], says("x"), skip_qa=True)

    names = {name for group in report.groups for name in group.figures}
    assert not names & {JUDGED, "locomo/official"}
    assert report.abstention is None
    assert JUDGED not in render_page(report)


def test_results_no_one_can_score_again(tmp_path: Path) -> None:
    """The file holds gold, hits and ranks: every recall can be counted from it alone."""
    found = RetrievalReply(passages=(Passage(text="Rain again."), Passage(text="I bought a kite.")))
    done = evaluated(tmp_path, [chat()], Finder(lambda lived, _: found), skip_qa=True)
    assert done.place is not None

    kept = json.loads((done.place / "locomo.json").read_bytes())

    for each in kept["questions"]:
        first = {hit["turn"] for hit in each["hits"] if hit["rank"] <= 1}
        gold = set(each["gold"]["turn"])
        assert each["figures"]["turn recall@1"] == len(first & gold) / len(gold)
    assert {each["figures"]["turn recall@1"] for each in kept["questions"]} == {0.0, 1.0}
