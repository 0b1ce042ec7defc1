"""The public files hold every trial owed, name their sources, and depend on outcomes alone."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.event import BoundsComputed
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import CATEGORIES, Disclosure, Item
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.estimates import build_heatmaps, estimate_overall
from recall_bench.engine.runs.result_files import export_files
from tests.written_runs import (
    ADA,
    ALL_OF_ADA,
    INVENTED,
    PERFECT,
    POOR,
    Story,
    ada_story,
    plan_of,
    question,
    trial,
)

Json = dict[str, Any]


@dataclass
class Files:
    """The four files of a run, parsed and as they are."""

    folder: Path

    @property
    def result(self) -> Json:
        loaded: Json = json.loads(self.text("result.json"))
        return loaded

    @property
    def rows(self) -> list[Json]:
        """All question results, flattened."""
        return [
            row
            for persona in self.result["personas"]
            for part in persona["rangeResults"]
            for row in part["questionResults"]
        ]

    def lines(self, name: str) -> list[Json]:
        return [json.loads(line) for line in self.text(name).split("\n") if line]

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def exported(story: Story) -> Files:
    folder, out = story.open(), story.folder / "out"
    export_files(
        folder,
        result=out / "result.json",
        progress=out / "progress.jsonl",
        questions=out / "questions.jsonl",
        failures=out / "failures.jsonl",
    )
    return Files(out)


def timeless(text: str) -> str:
    """Without what may differ between two runs with the same outcomes."""
    text = re.sub(r'"timestamp": ?"[^"]*"', '"timestamp":0', text)
    return re.sub(r'"(\w+Ms)": ?[0-9.e+-]+', r'"\1":0', text)


NAMES = ("result.json", "progress.jsonl", "questions.jsonl", "failures.jsonl")


def test_no_owed_trial_is_missing_from_the_result(story: Story) -> None:
    story.both(trial("cat"))

    rows = exported(story).rows

    assert [row["qa"]["id"] for row in rows] == [each.item for each in ALL_OF_ADA]


def test_a_judged_row_has_public_names_and_one_means_grounded(finished: Story) -> None:
    row = exported(finished).rows[0]

    assert row["qa"] == {
        "id": "cat",
        "question": "What about cat?",
        "answer": "the cat",
        "category": "factual-recall",
        "difficulty": "easy",
        "relevantDays": [1],
        "requiresSynthesis": False,
    }
    assert row["systemAnswer"] == "something"
    assert row["score"] == {
        "correctness": 3,
        "completeness": 2,
        "hallucination": 1,
        "reasoning": "all there",
    }
    assert (row["compositeScore"], row["repeat"], row["latencyMs"]) == (6, 0, 125.0)
    assert "error" not in row


def test_a_row_without_an_answer_scores_zero_and_says_why(story: Story) -> None:
    story.not_answered(trial("cat"), message="no reply after 30 s")

    row = exported(story).rows[0]

    assert (row["systemAnswer"], row["score"], row["compositeScore"]) == (None, None, 0)
    assert row["error"] == {"kind": "SystemTimeout", "message": "no reply after 30 s"}


def test_a_row_no_one_could_judge_has_an_answer_and_no_score(story: Story) -> None:
    story.answer(trial("cat"), "Fig")
    story.not_judged(trial("cat"))

    row = exported(story).rows[0]

    assert (row["systemAnswer"], row["score"], row["compositeScore"]) == ("Fig", None, None)
    assert row["error"]["kind"] == "UnreadableVerdict"


def test_a_row_awaiting_its_verdict_shows_what_is_known(story: Story) -> None:
    story.answer(trial("cat"), "Fig")

    known, unknown, *_ = exported(story).rows

    assert (known["systemAnswer"], known["score"], known["compositeScore"]) == ("Fig", None, None)
    assert (unknown["systemAnswer"], unknown["score"]) == (None, None)
    assert "latencyMs" not in unknown


def test_a_reviewed_row_keeps_the_first_verdict(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=JudgeCard(name="senior", version="2"))
    story.answer(trial("cat"))
    story.judge(trial("cat"), PERFECT, primary=POOR)
    story.answer(trial("dog"))
    story.judge(trial("dog"), POOR, review_fault="JudgeTimeout")
    files = exported(story)

    reviewed, unreviewed = files.lines("questions.jsonl")

    assert reviewed["usedAppellate"] is True
    assert reviewed["primaryScore"]["correctness"] == 1
    assert unreviewed["usedAppellate"] is False
    assert unreviewed["reviewError"] == "JudgeTimeout"
    assert files.result["metadata"]["appellateInvocations"] == 1
    assert files.result["metadata"]["appellateFaults"] == 1


def test_the_question_log_has_a_line_for_each_trial_that_came_to_an_end(story: Story) -> None:
    story.both(trial("cat"))
    story.not_answered(trial("dog"))
    story.answer(trial("house", "4d"))

    lines = exported(story).lines("questions.jsonl")

    assert [(line["qa"]["id"], line["composite"]) for line in lines] == [("cat", 6), ("dog", 0)]


def test_a_logged_question_says_where_and_what_was_looked_at(tmp_path: Path) -> None:
    story = ada_story(tmp_path, repeats=2, judge_memory_window=1)
    passage = Passage(text="The cat is Fig.", day=1, source="day-0001.md", score=0.5)
    story.answer(trial("cat", "4d", repeat=1), "Fig", passage)
    story.judge(trial("cat", "4d", repeat=1))

    line = exported(story).lines("questions.jsonl")[0]

    assert (line["personaId"], line["checkpoint"], line["repeat"]) == ("ada", "4d", 1)
    assert line["qa"]["referenceAnswer"] == "the cat"
    assert line["retrieval"] == [
        {"path": "day-0001.md", "score": 0.5, "snippet": "The cat is Fig.", "day": 1}
    ]
    assert line["memoryContextProvided"] is True
    assert story.plan.digest.startswith(line["plan"])


def test_a_line_holds_the_floor_the_ceiling_and_whether_it_leaks(tmp_path: Path) -> None:
    secret = question("code", "information-boundary", disclosure=Disclosure.REFUSE)
    secret = secret.replace(truth=secret.truth.replace(canaries=("HERON-4KG3W",)))
    scenarios: dict[str, Sequence[Item]] = {"ada": (secret, question("cat"))}
    story = Story(tmp_path, scenarios, plan_of(scenarios, groups_enabled=True))
    story.add(
        BoundsComputed(
            at=story.now,
            scenario="ada",
            floor={"code": (3, 2, 1), "cat": (0, 0, 1)},
            ceiling={"code": (0, 0, 0), "cat": (3, 1, 1)},
        )
    )
    story.both(trial("code", "2d"), INVENTED, "HERON-4KG3W")
    story.both(trial("code", "4d"), PERFECT, "I cannot say.")
    story.both(trial("cat"), POOR)

    files = exported(story)

    keys = ("floorComposite", "ceilingComposite", "leaked")
    found = {
        (line["qa"]["id"], line["checkpoint"]): tuple(line.get(key) for key in keys)
        for line in files.lines("questions.jsonl")
    }
    assert found == {
        ("code", "2d"): (6, 0, True),
        ("code", "4d"): (6, 0, False),
        ("cat", "2d"): (1, 5, None),
    }
    assert [line["leaked"] for line in files.lines("failures.jsonl") if "leaked" in line] == [True]


def test_a_run_without_bounds_writes_none(finished: Story) -> None:
    (line, *_) = exported(finished).lines("questions.jsonl")
    assert not {"floorComposite", "ceilingComposite", "leaked"} & line.keys()


def test_the_failure_log_holds_final_failures_only_each_once(story: Story) -> None:
    story.both(trial("cat"), PERFECT)
    story.both(trial("dog"), POOR)
    story.not_answered(trial("house", "4d"))
    story.answer(trial("cat", "4d"))
    story.not_judged(trial("cat", "4d"))
    story.answer(trial("dog", "4d"))
    story.judge(trial("dog", "4d"), PERFECT, primary=POOR)
    story.resume()
    story.judge(trial("cat", "4d"), INVENTED)

    lines = exported(story).lines("failures.jsonl")

    assert [(line["qa"]["id"], line["checkpoint"]) for line in lines] == [
        ("dog", "2d"),
        ("house", "4d"),
        ("cat", "4d"),
    ]
    poor, silent, invented = lines
    assert poor["primaryScore"] == poor["score"]
    assert poor["appellateScore"] is None
    assert (silent["score"], silent["error"]["kind"]) == (None, "SystemTimeout")
    assert invented["score"]["hallucination"] == 0


def test_the_failure_log_says_why_questions_could_not_be_asked(story: Story) -> None:
    story.both(trial("cat"), PERFECT)
    story.both(trial("dog"), POOR)
    story.feed_failed("ada", "4d", message="no luck")

    poor, fed = exported(story).lines("failures.jsonl")

    assert poor["qa"]["id"] == "dog"
    assert (fed["personaId"], fed["checkpoint"], fed["stage"]) == ("ada", "4d", "ingest")
    assert fed["error"]["message"] == "no luck"
    assert fed["unasked"] == 3


def test_a_failure_upheld_on_review_shows_both_scores(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=JudgeCard(name="senior", version="2"))
    story.answer(trial("cat"))
    story.judge(trial("cat"), POOR, primary=Verdict.of(0, 0, 1))

    line = exported(story).lines("failures.jsonl")[0]

    assert line["primaryScore"]["correctness"] == 0
    assert line["appellateScore"]["correctness"] == 1


def test_aggregates_are_means_of_what_was_counted(finished: Story) -> None:
    part = exported(finished).result["personas"][0]["rangeResults"][1]

    assert part["range"] == {"label": "4d", "days": 4}
    assert part["daysIngested"] == 4
    assert part["questionsEvaluated"] == 3
    assert part["overallScore"] == pytest.approx(14 / 3)
    assert part["hallucinationRate"] == 0.0
    assert [score["category"] for score in part["categoryScores"]] == list(CATEGORIES)
    assert part["categoryScores"][1] == {
        "category": "temporal-reasoning",
        "meanScore": 2.0,
        "questionCount": 1,
        "scores": [2],
        "eligibleCount": 1,
        "missing": 0,
    }
    assert part["difficultyScores"]["medium"] == {"mean": 2.0, "count": 1}


def test_every_mean_of_the_result_has_its_interval_beside_the_public_part(
    finished: Story,
) -> None:
    result = exported(finished).result
    folder = finished.open()
    overall, heatmap = estimate_overall(folder), build_heatmaps(folder)[0]

    estimates = result["estimates"]

    assert overall is not None
    assert estimates == result["personas"][0]["estimates"]
    assert (estimates["level"], estimates["seed"]) == (0.95, 42)
    assert estimates["overall"] == {
        "mean": 5.2,
        "low": overall.low,
        "high": overall.high,
        "method": "questions",
        "questions": 3,
        "trials": 5,
        "missing": 0,
    }
    last = estimates["checkpoints"][1]
    rate = heatmap.rows[-3].cells[1]
    assert rate is not None
    assert rate.high is not None
    assert last["range"] == "4d"
    assert last["hallucinationRate"]["high"] == 100 * rate.high
    assert last["categories"]["synthesis"]["questions"] == 1
    assert last["categories"]["negative-recall"] is None
    assert "estimates" not in json.dumps(result["personas"][0]["rangeResults"])


def test_the_scores_behind_a_mean_are_listed_in_asked_order(tmp_path: Path) -> None:
    items = (question("cat"), question("dog"), question("fox"), question("hen"))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.both(trial("fox"), POOR)
    story.not_answered(trial("dog"))
    story.both(trial("cat"), PERFECT)

    score = exported(story).result["personas"][0]["rangeResults"][0]["categoryScores"][0]

    assert score["scores"] == [6, 0, 2]
    assert (score["questionCount"], score["missing"]) == (3, 1)


def test_what_was_not_measured_is_null_and_not_zero(story: Story) -> None:
    part = exported(story).result["personas"][0]["rangeResults"][0]

    assert (part["overallScore"], part["hallucinationRate"]) == (None, None)
    assert part["categoryScores"][0]["meanScore"] is None
    assert part["difficultyScores"]["easy"] == {"mean": None, "count": 0}


def test_the_result_names_everything_it_was_made_from(finished: Story) -> None:
    plan = finished.plan
    files = exported(finished)

    for record in (files.result["metadata"], files.lines("progress.jsonl")[0]):
        assert record["planDigest"] == plan.digest
        assert record["datasetDigest"] == plan.dataset_digest
        assert record["questionsDigest"] == plan.questions_digest
        assert record["code"] == ["0.1.0+aaaa"]
        assert record["judge"] == {"name": "exact", "version": "1"}
        assert record["system"] == {
            "name": "scripted",
            "version": "1",
            "config": {"k": 3},
            "maxConcurrency": 1,
            "clock": None,
            "asker": "told",
            "answers": True,
        }


def test_the_result_says_whether_it_holds(story: Story) -> None:
    story.both(trial("cat"))
    story.not_answered(trial("dog"))
    running = exported(story).result["metadata"]
    for each in ALL_OF_ADA[2:]:
        story.not_answered(each, "SystemFault")
    story.end()
    ended = exported(story).result["metadata"]

    assert (running["validity"], running["unfinished"]) == ("unfinished", 3)
    assert "invalidReason" not in running
    assert (ended["validity"], ended["unfinished"]) == ("invalid", 0)
    assert ended["invalidReason"] == "4 of 5 trials failed, budget 5 %"
    assert ended["errors"] == {"SystemFault": 3, "SystemTimeout": 1}


def test_a_feed_failure_that_stands_is_in_the_metadata(story: Story) -> None:
    story.feed_failed("ada", "2d", message="connection refused")

    failures = exported(story).result["metadata"]["feedFailures"]

    assert failures == [
        {
            "personaId": "ada",
            "checkpoint": "2d",
            "stage": "ingest",
            "day": 3,
            "error": {"kind": "SystemFault", "message": "connection refused"},
        }
    ]


def test_progress_has_a_header_finished_checkpoints_and_a_summary(finished: Story) -> None:
    header, early, late, closing = exported(finished).lines("progress.jsonl")

    assert (header["type"], header["adapterName"]) == ("header", "scripted")
    assert header["ranges"] == [{"label": "2d", "days": 2}, {"label": "4d", "days": 4}]
    assert (early["checkpointIndex"], early["totalCheckpoints"]) == (1, 2)
    assert (early["newDaysIngested"], late["newDaysIngested"]) == (2, 2)
    assert (late["newQuestionCount"], late["historicalEvaluated"]) == (1, 2)
    assert late["overallScore"] == pytest.approx(14 / 3)
    assert closing["type"] == "summary"
    assert (closing["totalEvalsRun"], closing["uniqueQAPairCount"]) == (5, 3)


def test_progress_of_a_run_still_going_stops_at_what_is_done(story: Story) -> None:
    story.both(trial("cat"))
    story.both(trial("dog"))
    story.both(trial("cat", "4d"))

    lines = exported(story).lines("progress.jsonl")

    assert [line["type"] for line in lines] == ["header", "checkpoint"]


def test_disclosure_is_broken_down_for_personas_and_the_run(tmp_path: Path) -> None:
    items = (question("pay", "information-boundary", disclosure=Disclosure.REFUSE),)
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path / "run", scenarios, plan_of(scenarios, groups_enabled=True))
    story.both(trial("pay"), INVENTED)

    result = exported(story).result

    expected = {
        "refuse": {
            "evaluations": 1,
            "uniquePairs": 1,
            "meanScore": 5.0,
            "hallucinationRate": 100.0,
        }
    }
    assert result["disclosureBreakdown"] == expected
    assert result["personas"][0]["disclosureBreakdown"] == expected


def test_personas_are_pooled_in_the_run_heatmap(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA, "bob": ADA}
    story = Story(tmp_path / "run", scenarios, plan_of(scenarios))
    story.both(trial("cat"), PERFECT)
    story.both(trial("cat", scenario="bob"), POOR)

    cell = exported(story).result["heatmap"][0]

    assert cell == {
        "range": "2d",
        "category": "factual-recall",
        "score": 4.0,
        "questionCount": 2,
        "eligibleCount": 2,
    }


def test_each_question_result_is_one_line(finished: Story) -> None:
    text = exported(finished).text("result.json")

    rows = [line for line in text.splitlines() if line.lstrip().startswith('{"qa":')]

    assert len(rows) == 5
    assert all(json.loads(row.rstrip(",")) for row in rows)


def test_any_text_survives_the_files(story: Story) -> None:
    text = '</script><b>"ö"\u2028\n日本語 🐈\0\\'
    story.both(trial("cat"), POOR, text=text)
    files = exported(story)

    assert files.rows[0]["systemAnswer"] == text
    assert files.lines("questions.jsonl")[0]["systemAnswer"] == text
    assert files.lines("failures.jsonl")[0]["systemAnswer"] == text


def test_no_questions_give_whole_and_empty_files(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ()}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.end()
    files = exported(story)

    assert files.rows == []
    assert files.text("questions.jsonl") == ""
    assert len(files.lines("progress.jsonl")) == 4


def test_the_same_outcomes_give_the_same_bytes(tmp_path: Path) -> None:
    """One run goes straight through; the other stumbles, pauses and works out of order."""
    straight, crooked = ada_story(tmp_path / "a"), ada_story(tmp_path / "b")
    for each in ALL_OF_ADA:
        straight.both(each, POOR if each.item == "dog" else PERFECT)
    straight.end()
    crooked.now += timedelta(days=40)
    crooked.ingest("ada", 1, "2d")
    crooked.not_answered(ALL_OF_ADA[0])
    crooked.answer(ALL_OF_ADA[1], "something")
    crooked.not_judged(ALL_OF_ADA[1])
    crooked.feed_failed("ada", "4d")
    crooked.resume()
    crooked.ingest("ada", 1, "2d")
    for each in reversed(ALL_OF_ADA):
        crooked.both(each, POOR if each.item == "dog" else PERFECT)
    crooked.end()

    one, other = exported(straight), exported(crooked)

    for name in NAMES:
        assert timeless(one.text(name)) == timeless(other.text(name))
        assert one.text(name) != other.text(name)


def test_a_file_alone_is_the_same_as_one_of_four(finished: Story, tmp_path: Path) -> None:
    together, folder = exported(finished), finished.open()
    kinds = ("result", "progress", "questions", "failures")

    for name, kind in zip(NAMES, kinds, strict=True):
        export_files(folder, **{kind: tmp_path / "alone" / name})

        assert (tmp_path / "alone" / name).read_text(encoding="utf-8") == together.text(name)
