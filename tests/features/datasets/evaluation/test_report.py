"""A report can be counted again from its own bytes, and says everything that made it."""

import json
import re
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Answer, Passage, RetrievalReply
from recall_bench.core.scenario import Question
from recall_bench.features.datasets.evaluation import EvalResult
from tests.conftest import shared_data
from tests.engine.finders import Finder
from tests.features.datasets.evaluation.eval_datasets import (
    BOUGHT,
    CHESS,
    FROST,
    PAINTED,
    RED,
    SOLD,
    WHAT,
    WHEN,
    WHERE,
    finding,
    request_for,
    run_request,
    write_locomo,
    write_longmemeval,
    write_persona,
)
from tests.features.datasets.evaluation.recount import Recount

FOUND = {
    WHERE: [CHESS, BOUGHT],
    WHAT: [PAINTED, BOUGHT, BOUGHT, SOLD],
    WHEN: [SOLD, RED, FROST],
    "What about boat?": [BOUGHT, "Noted: I bought", CHESS, SOLD],
    "What about paint?": ["I see.", PAINTED],
}


def report_in(found: EvalResult) -> dict[str, Any]:
    """The JSON that was written."""
    assert found.place is not None
    (path,) = found.place.glob("*.json")
    read: dict[str, Any] = json.loads(path.read_bytes())
    return read


@pytest.mark.parametrize(
    ("dataset", "protocol", "is_distinct", "empty"),
    [
        ("locomo", "strict", False, None),
        ("locomo", "official", False, 1.0),
        ("locomo", "hebb-v4", False, None),
        ("longmemeval-oracle", "strict", False, None),
        ("longmemeval-oracle", "official", True, None),
        ("longmemeval-oracle", "hebb-v3", True, None),
        ("persona-json", "strict", False, None),
    ],
)
def test_every_figure_of_a_ranking_can_be_counted_again_from_the_json(
    tmp_path: Path, dataset: str, protocol: str, is_distinct: bool, empty: float | None
) -> None:
    write = {
        "locomo": write_locomo,
        "longmemeval-oracle": write_longmemeval,
        "persona-json": write_persona,
    }
    request = request_for(
        dataset,
        write[dataset](tmp_path / "data.json"),
        tmp_path,
        protocol=protocol,
        skip_qa=True,
        floors=False,
    )
    report = report_in(run_request(request, finding(FOUND, otherwise=[SOLD, BOUGHT])))

    again = Recount(report, is_distinct=is_distinct, empty=empty)

    compared = 0
    for group in report["groups"]:
        for name, estimate in group["figures"].items():
            if name.startswith(("turn ", "session ")):
                assert again.group(group["name"], name) == pytest.approx(estimate["mean"]), name
                compared += 1
    assert compared > 20


def test_the_floor_of_a_blind_draw_can_be_counted_again_from_the_histories(
    tmp_path: Path,
) -> None:
    request = request_for(
        "locomo", write_locomo(tmp_path / "lo.json"), tmp_path, skip_qa=True, floors=False
    )
    report = report_in(run_request(request, finding({})))
    again = Recount(report, is_distinct=False, empty=None)

    figures = report["groups"][0]["figures"]
    for level in ("turn", "session"):
        for k in (1, 3, 5, 10):
            chances = [
                again.chance_of_hit(each, level, k)
                for each in report["questions"]
                if level in each.get("gold", {})
            ]
            assert fmean(chances) == pytest.approx(figures[f"{level} hit@{k}"]["chance"])


def test_a_real_conversation_can_be_counted_again(tmp_path: Path) -> None:
    request = request_for(
        "locomo",
        shared_data("locomo/locomo10.json"),
        tmp_path,
        adapter="bm25",
        skip_qa=True,
        floors=False,
        max_scenarios=1,
    )
    report = report_in(run_request(request))
    again = Recount(report, is_distinct=False, empty=None)

    figures = report["groups"][0]["figures"]
    assert figures["turn recall@10"]["counted"] == 197
    for name, estimate in figures.items():
        assert again.group("all", name) == pytest.approx(estimate["mean"]), name


def test_a_passage_of_several_turns_can_be_counted_again(tmp_path: Path) -> None:
    """It finds each of them and takes one place."""
    both = f"Ada: {BOUGHT}\n\nBo: {RED}"
    request = request_for(
        "locomo", write_locomo(tmp_path / "lo.json"), tmp_path, skip_qa=True, floors=False
    )
    report = report_in(run_request(request, finding({WHAT: [CHESS, both, SOLD]})))
    again = Recount(report, is_distinct=False, empty=None)

    (asked,) = (each for each in report["questions"] if each["source"] == "conv-1:q1")
    assert asked["hits"][1]["turns"] == ["conv-1/1:0", "conv-1/1:1"]
    for name, estimate in report["groups"][0]["figures"].items():
        assert again.group("all", name) == pytest.approx(estimate["mean"]), name


def test_a_hit_is_known_by_id_rank_score_and_the_digest_of_its_text(tmp_path: Path) -> None:
    def scored(_: object, __: Question) -> RetrievalReply:
        return RetrievalReply(
            passages=(Passage(text=SOLD, score=0.75), Passage(text="made up", score=0.5))
        )

    request = request_for(
        "locomo", write_locomo(tmp_path / "lo.json"), tmp_path, skip_qa=True, floors=False
    )
    report = report_in(run_request(request, Finder(scored)))

    (asked,) = (each for each in report["questions"] if each["source"] == "conv-1:q2")
    assert asked["hits"] == [
        {
            "rank": 1,
            "session": "conv-1/10",
            "turn": "conv-1/10:0",
            "score": 0.75,
            "tokens": 11,
            "sha256": sha256(SOLD.encode()).hexdigest(),
        },
        {"rank": 2, "score": 0.5, "tokens": 2, "sha256": sha256(b"made up").hexdigest()},
    ]


def test_a_report_says_what_ran_on_what(tmp_path: Path) -> None:
    data = write_locomo(tmp_path / "lo.json")
    request = request_for(
        "locomo",
        data,
        tmp_path,
        adapter="hybrid",
        config={"vector": False},
        categories=("temporal",),
        max_scenarios=1,
        seed=7,
    )

    report = report_in(run_request(request))

    assert report["format"] == "recall-bench-eval/1"
    assert report["dataset"] == {
        "name": "locomo",
        "files": [
            {
                "name": "lo.json",
                "sha256": sha256(data.read_bytes()).hexdigest(),
                "bytes": data.stat().st_size,
            }
        ],
        "protocol": "locomo/strict",
        "eval_version": "strict-2",
    }
    assert report["protocol"]["eval_version"] == "strict-2"
    assert (report["system"]["name"], report["system"]["config"]["vector"]) == ("hybrid", False)
    assert {"bm25s", "numpy"} <= set(report["system"]["config"]["parts"]), "the backend really used"
    assert "wordllama" not in report["system"]["config"]["parts"], "nothing embeds here"
    assert report["judge"]["name"] == "offline"
    assert {"python", "platform", "agent-recall-bench", "numpy"} <= set(report["environment"])
    assert report["asked"]["categories"] == ["temporal"]
    assert (report["asked"]["max_scenarios"], report["asked"]["seed"]) == (1, 7)
    assert report["code"]
    assert re.fullmatch(r"[0-9a-f]{64}", report["plan_digest"])


def test_a_report_names_no_path_of_the_machine(tmp_path: Path) -> None:
    data = write_locomo(tmp_path / "lo.json")

    found = run_request(request_for("locomo", data, tmp_path, adapter="bm25"))

    assert found.place is not None
    for path in found.place.iterdir():
        assert str(tmp_path) not in path.read_text(encoding="utf-8")


def test_without_answers_there_is_no_reader_no_judge_and_no_figure_of_an_answer(
    tmp_path: Path,
) -> None:
    """Absent, not 0: a nought would be quoted."""
    data = write_locomo(tmp_path / "lo.json")
    request = request_for("locomo", data, tmp_path, adapter="hybrid", skip_qa=True)

    report = report_in(run_request(request))

    assert not {"reader", "judge", "abstention"} & set(report)
    names = {name for group in report["groups"] for name in group["figures"]}
    names |= {n for c in report["controls"] for group in c["groups"] for n in group["figures"]}
    assert names
    assert all(name.startswith(("turn ", "session ")) for name in names)
    for asked in report["questions"]:
        assert not {"answer", "abstained", "fell_for_trap", "unjudged"} & set(asked)
        assert all(name.startswith(("turn ", "session ")) for name in asked.get("figures", ()))


def test_no_cutoff_is_deeper_than_what_was_looked_at(tmp_path: Path) -> None:
    data = write_locomo(tmp_path / "lo.json")
    request = request_for(
        "locomo", data, tmp_path, adapter="hybrid", top_k=3, skip_qa=True, max_scenarios=1
    )

    report = report_in(run_request(request))

    assert {len(each["hits"]) for each in report["questions"]} == {3}
    for figures in (report["groups"][0]["figures"], report["controls"][0]["groups"][0]["figures"]):
        cutoffs = {name.partition("@")[2] for name in figures if not name.endswith("tok")}
        assert cutoffs == {"1", "3"}


def test_a_budget_that_the_passages_do_not_fill_is_not_quoted(tmp_path: Path) -> None:
    """Three passages of ten tokens say nothing of four thousand: the count cut them off."""
    data = write_locomo(tmp_path / "lo.json")
    system = finding({}, otherwise=[SOLD] * 20)
    request = request_for("locomo", data, tmp_path, top_k=3, skip_qa=True, floors=False)

    report = report_in(run_request(request, system))

    assert not [name for name in report["groups"][0]["figures"] if name.endswith("tok")]


def test_built_in_systems_return_as_many_as_are_looked_at(tmp_path: Path) -> None:
    request = request_for(
        "locomo",
        shared_data("locomo/locomo10.json"),
        tmp_path,
        adapter="bm25",
        top_k=20,
        skip_qa=True,
        max_scenarios=1,
        categories=("open-domain",),
    )

    report = report_in(run_request(request))

    assert report["system"]["config"]["k"] == 20
    assert max(len(each["hits"]) for each in report["questions"]) == 20
    assert "turn recall@20" in report["groups"][0]["figures"]


def test_too_many_failures_make_the_figures_invalid_and_the_exit_code_5(tmp_path: Path) -> None:
    def reply(_: object, asked: Question) -> Answer:
        if asked.text == WHERE:
            raise SystemFault("out of memory")
        return Answer(text="I do not know.")

    data = write_locomo(tmp_path / "lo.json")
    request = request_for("locomo", data, tmp_path, floors=False)
    found = run_request(request, Finder(reply, answers=True))

    assert found.exit_code == 5
    report = report_in(found)
    assert report["validity"] == "invalid"
    assert report["reason"]
    assert report["counts"] == {"owed": 7, "answered": 6, "failed": 1, "open": 0, "unjudged": 0}
    assert found.place is not None
    assert "These figures are invalid" in (found.place / "locomo.md").read_text()


def test_a_few_failures_within_the_budget_are_counted_and_valid(tmp_path: Path) -> None:
    def reply(_: object, asked: Question) -> Answer:
        if asked.text == WHERE:
            raise SystemFault("out of memory")
        return Answer(text="I do not know.")

    data = write_locomo(tmp_path / "lo.json")
    request = request_for("locomo", data, tmp_path, floors=False, error_budget=0.2)
    found = run_request(request, Finder(reply, answers=True))

    assert found.exit_code == 0
    assert (report_in(found)["validity"], report_in(found)["counts"]["failed"]) == ("valid", 1)


def test_repeats_are_scored_each(tmp_path: Path) -> None:
    data = write_locomo(tmp_path / "lo.json")
    request = request_for("locomo", data, tmp_path, skip_qa=True, floors=False, repeats=2)

    report = report_in(run_request(request, finding(FOUND)))

    assert report["counts"]["owed"] == 14
    assert {each.get("repeat", 0) for each in report["questions"]} == {0, 1}
    assert report["groups"][0]["figures"]["turn recall@10"]["counted"] == 12
