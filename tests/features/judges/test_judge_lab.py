"""`judge-lab` measures a judge and corrects a run for its errors, from the command line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Invoke
from tests.conftest import shared_data
from tests.features.judges.orchard import RECORD, written
from tests.gardener import PLANTS
from tests.openai_server import OpenAIServer, Response, ok
from tests.thoroughness import choose_number

JUDGE = '''
from recall_bench.core.usage import Usage

print("hello from the judge")


def judge(exhibit):
    """Passes whatever is longer than ten letters; stumbles over `mumble`."""
    exhibit.bill(Usage(calls=1, input_tokens=100, output_tokens=5, cost_usd=0.01))
    if exhibit.answer.text == "mumble":
        raise ValueError("what?")
    if exhibit.excerpts:
        print("shown", [episode.day for episode in exhibit.excerpts])
    passes = len(exhibit.answer.text) > 10
    return {"correctness": 3 * passes, "completeness": 2 * passes, "hallucination": int(passes)}
'''


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    path = tmp_path / "lenient.py"
    path.write_text(JUDGE)
    return path


def beds(tmp_path: Path, right: int = 30, wrong: int = 30) -> Path:
    """Labelled answers about the gardener's beds."""
    records = []
    for number in range(right + wrong):
        day = number % 10 + 1
        is_right = number < right
        bed = day * 7 if is_right else day * 7 + 1
        records.append(
            RECORD
            | {
                "question": f"Which bed took the {PLANTS[day - 1]}?",
                "reference": f"Bed {day * 7}.",
                "answer": f"It was {'the ' * (number // 10)}bed {bed}.",
                "relevant_days": [day],
                "question_id": f"q{number}",
                "correctness": 3 * is_right,
                "completeness": 2 * is_right,
                "hallucination": int(is_right),
            }
        )
    return written(tmp_path, *records)


def test_agreement_prints_a_table(tmp_path: Path, data: Path, invoke: Invoke) -> None:
    shown = invoke(
        "judge-lab", "agreement", "--judged", beds(tmp_path), "--corpus", data / "gardener"
    )

    assert shown.code == 0
    assert "60 answers to 60 questions, all judged; corpus " in shown.out
    assert "factual-recall" in shown.out
    assert shown.err == ""


def test_agreement_as_json_has_every_figure_by_mark_and_category(
    tmp_path: Path, invoke: Invoke
) -> None:
    shown = invoke("judge-lab", "agreement", "--judged", beds(tmp_path), "--json")

    found = json.loads(shown.out)
    assert found["judge"]["name"] == "offline"
    assert found["counts"] == {"answers": 60, "questions": 60, "judged": 60, "learned_from": 0}
    assert found["not_judged"] == 0
    assert found["marks"].keys() == {"correctness", "completeness", "grounded"}
    assert found["marks"]["correctness"]["auc"] > 0.9
    for part in (found["marks"], found["categories"]["factual-recall"]):
        for figures in part.values():
            assert {
                "auc",
                "kappa",
                "kappa_weighted",
                "accuracy",
                "n",
                "positives",
            } <= figures.keys()
            assert {"sensitivity", "specificity", "brier", "intervals"} <= figures.keys()


def test_the_same_answer_counts_once_unless_repeats_are_kept(
    tmp_path: Path, invoke: Invoke
) -> None:
    path = written(tmp_path, RECORD, RECORD | {"correctness": 0}, RECORD)

    once = invoke("judge-lab", "agreement", "--judged", path, "--json")
    often = invoke("judge-lab", "agreement", "--judged", path, "--json", "--keep-repeats")

    assert json.loads(once.out)["counts"]["answers"] == 1
    assert json.loads(once.out)["marks"]["correctness"]["positives"] == 1
    assert json.loads(often.out)["counts"]["answers"] == 3
    assert json.loads(often.out)["marks"]["correctness"]["positives"] == 2


def test_any_judge_is_measured_with_its_bill_and_what_it_failed_at(
    tmp_path: Path, judge: Path, invoke: Invoke
) -> None:
    path = written(tmp_path, RECORD, RECORD | {"answer": "mumble"}, RECORD | {"answer": "No."})

    table = invoke("judge-lab", "agreement", "--judged", path, "--judge", judge)
    shown = invoke("judge-lab", "agreement", "--judged", path, "--judge", judge, "--json")

    assert "3 answers to 1 question, 1 not judged (JudgeFault 1)" in table.out
    assert "3 calls, 300 tokens in, 15 out, 0.0300 USD" in table.out
    found = json.loads(shown.out)
    assert found["not_judged"] == 1
    assert found["usage"]["calls"] == 3
    assert found["marks"]["correctness"]["accuracy"] == 0.5


def test_what_a_judge_prints_is_no_part_of_the_answer(
    tmp_path: Path, judge: Path, data: Path, invoke: Invoke
) -> None:
    shown = invoke(
        *("judge-lab", "agreement", "--judged", written(tmp_path, RECORD), "--judge", judge),
        *("--corpus", data / "gardener" / "memories-10d", "--json"),
    )

    json.loads(shown.out)
    assert "hello from the judge" in shown.err
    assert "shown [1, 2, 3]" in shown.err


def test_the_memory_window_can_be_closed(
    tmp_path: Path, judge: Path, data: Path, invoke: Invoke
) -> None:
    shown = invoke(
        *("judge-lab", "agreement", "--judged", written(tmp_path, RECORD), "--judge", judge),
        *("--corpus", data / "gardener", "--judge-memory-window", "0", "--json"),
    )

    assert "shown" not in shown.err
    assert json.loads(shown.out)["memory_window"] == 0


def by_the_answer(asked: dict[str, Any]) -> Response:
    """A model that passes quinces, and finds no words for who mumbles."""
    text = json.dumps(asked)
    if "mumble" in text:
        return ok("I would rather not say.", input_tokens=1000, output_tokens=10)
    passes = "The quince by the gate" in text
    marks = {"correctness": 3 * passes, "completeness": 2 * passes, "grounded": int(passes)}
    return ok(json.dumps({**marks, "reason": "As told."}), input_tokens=1000, output_tokens=10)


@pytest.mark.slow
def test_a_language_model_is_measured_over_http(
    tmp_path: Path, data: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once with an empty cache, then with what that left there."""
    for name in [name for name in os.environ if name.startswith("OPENAI")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-in-the-lab")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    wrong = {"correctness": 0, "completeness": 0, "hallucination": 0}
    answers = [RECORD | {"question": f"Which tree in year {year}?"} for year in range(6)]
    answers += [answer | wrong | {"answer": "The pear."} for answer in answers]
    path = written(tmp_path, *answers, RECORD | {"answer": "mumble"})

    with OpenAIServer(by_the_answer) as server:
        judge = f"openai:lab;{server.base_url};price=1/2"
        words = ["agreement", "--judged", path, "--judge", judge, "--parallelism", "3"]
        words += ["--corpus", data / "gardener", "--judge-shows", "full"]
        shown = invoke("judge-lab", *words, "--json")
        paid = len(server.requests)
        again = invoke("judge-lab", *words)

    assert shown.code == 0, shown.err
    found = json.loads(shown.out)
    assert found["judge"]["model"].startswith("openai:lab")
    assert (found["counts"]["judged"], found["not_judged"]) == (12, 1)
    assert found["faults"] == {"UnreadableVerdict": 1}
    # Twelve verdicts, and three attempts at the one that cannot be had.
    assert paid == found["usage"]["calls"] == 15
    assert found["usage"]["cost_usd"] == pytest.approx((15 * 1000 * 1 + 15 * 10 * 2) / 1e6)
    assert found["marks"]["correctness"]["accuracy"] == 1.0
    assert "I planted chard" in json.dumps(server.requests[0].json)
    # What was paid for is on record; what had no verdict is asked for again.
    assert len(server.requests) == paid + 3
    assert "12 verdicts on record" in again.out
    assert "sk-planted" not in shown.out + shown.err + again.out + again.err


def test_money_runs_out_cleanly(tmp_path: Path, judge: Path, invoke: Invoke) -> None:
    answers = [RECORD | {"answer": f"The quince number {number}."} for number in range(30)]

    shown = invoke(
        *("judge-lab", "agreement", "--judged", written(tmp_path, *answers), "--judge", judge),
        *("--max-cost", "0.05", "--parallelism", "1"),
    )

    assert shown.code == 8
    assert "judging has cost $0.0500 and --max-cost allows $0.0500" in shown.err


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--judged", "nowhere.jsonl"), 2, "nowhere.jsonl: cannot be read"),
        (("--judged", "bad.jsonl"), 3, "bad.jsonl, line 2: Expected `int` <= 3"),
        (("--judged", "good.jsonl", "--corpus", "nowhere"), 2, "is not a folder"),
        (("--judged", "good.jsonl", "--judge", "nobody"), 2, "nobody"),
        (("--judged", "good.jsonl", "--chart", "a.gif"), 2, "a picture ends in"),
        (("--judged", "good.jsonl", "--chart", "a.png", "--judge", "stub"), 2, "no probabilities"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, invoke: Invoke, words: tuple[str, ...], code: int, problem: str
) -> None:
    written(tmp_path, RECORD).rename(tmp_path / "good.jsonl")
    written(tmp_path, RECORD, RECORD | {"correctness": 7}).rename(tmp_path / "bad.jsonl")

    shown = invoke("judge-lab", "agreement", *words)

    assert shown.code == code
    assert problem in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_chart_is_drawn_for_a_judge_with_probabilities(tmp_path: Path, invoke: Invoke) -> None:
    sure = tmp_path / "sure.py"
    sure.write_text(
        "from recall_bench.core.verdict import PASS, Verdict\n"
        "def judge(exhibit):\n"
        "    return Verdict.of(3, 2, 1).replace(probabilities=dict.fromkeys(PASS, 0.8))\n"
    )

    shown = invoke(
        *("judge-lab", "agreement", "--judged", beds(tmp_path), "--judge", sure),
        *("--chart", "curves.png"),
    )

    assert shown.code == 0, shown.err
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert shown.err == "chart: curves.png\n"


def run_of(data: Path, adapter: Path, invoke: Invoke, *words: object) -> Path:
    shown = invoke(
        *("run", "--data", data, "--adapter", adapter, "--into", "run", "--no-heatmap-png"),
        *words,
    )
    assert shown.code == 0, shown.err
    return Path("run")


def saved(tmp_path: Path, invoke: Invoke, *words: object) -> Path:
    """What the lab prints as JSON, in a file."""
    shown = invoke("judge-lab", *words, "--json")
    assert shown.code == 0, shown.err
    path = tmp_path / f"{words[0]}.json"
    path.write_text(shown.out)
    return path


def test_a_run_is_corrected_by_what_agreement_found(
    tmp_path: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke
) -> None:
    run = run_of(data, adapter(), invoke)
    found = saved(tmp_path, invoke, "agreement", "--judged", beds(tmp_path))

    table = invoke("judge-lab", "correct", run, "--agreement", found)
    shown = invoke("judge-lab", "correct", run, "--agreement", found, "--json")

    assert table.code == 0, table.err
    assert "errors measured on labelled verdicts" in table.out
    part = json.loads(shown.out)["marks"]["correctness"]["corrected"]
    assert 0 <= part["interval"][0] <= part["corrected"] <= part["interval"][1] <= 1


def test_a_run_of_another_judge_is_not_corrected(
    tmp_path: Path, judge: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke
) -> None:
    run = run_of(data, adapter(), invoke, "--judge", judge)
    found = saved(tmp_path, invoke, "agreement", "--judged", beds(tmp_path))

    shown = invoke("judge-lab", "correct", run, "--agreement", found)

    assert shown.code == 2
    assert "the errors are those of offline" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_judge_that_guesses_corrects_no_run(
    tmp_path: Path, judge: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke
) -> None:
    """It passes by length, and here the wrong answers are the long ones."""
    run = run_of(data, adapter(), invoke, "--judge", judge)
    short, long = (
        RECORD | {"answer": "Quince."},
        RECORD
        | {
            "answer": "Nobody has ever felled a tree.",
            "correctness": 0,
            "completeness": 0,
            "hallucination": 0,
        },
    )
    path = written(tmp_path, short, long)
    found = saved(tmp_path, invoke, "agreement", "--judged", path, "--judge", judge)

    shown = invoke("judge-lab", "correct", run, "--agreement", found)

    assert shown.code == 2
    assert "cannot tell right from wrong in correctness" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_the_first_judges_verdicts_are_corrected_where_a_second_reviewed(
    tmp_path: Path, judge: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke
) -> None:
    """The stub fails everything; the lenient one that reviews it passes everything."""
    run = run_of(data, adapter(), invoke, "--judge", "stub", "--appellate-judge", judge)
    found = saved(tmp_path, invoke, "agreement", "--judged", beds(tmp_path), "--judge", "stub")
    measured: dict[str, Any] = json.loads(found.read_text())
    for part in measured["marks"].values():
        part["sensitivity"] = 0.9
    found.write_text(json.dumps(measured))

    shown = invoke("judge-lab", "correct", run, "--agreement", found, "--json")

    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["marks"]["correctness"]["corrected"]["observed"] == 0.0


AUDIT = ("audit", "--personas", "harbour-office", "--per-class", "3")
STUB = ("--judge", "stub")


def test_an_audit_of_one_judge_prints_its_classes(invoke: Invoke) -> None:
    shown = invoke("judge-lab", *AUDIT)

    assert shown.code == 0, shown.err
    assert shown.out.startswith("Audit of offline")
    assert "right, padded" in shown.out


def test_an_audit_of_several_judges_is_one_table(judge: Path, invoke: Invoke) -> None:
    shown = invoke("judge-lab", *AUDIT, "--judge", "offline", "stub", judge)

    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0] == "Audit of 3 judges"
    head = next(line for line in lines if line.startswith("passed, correctness"))
    assert "offline" in head
    assert "stub 1" in head
    right = next(line for line in lines if line.startswith("right  "))
    # The stub passes nothing, and a judge by length passes nearly everything.
    assert "0 ▼" in right
    vague = next(line for line in lines if line.startswith("vague on topic"))
    assert vague.endswith("100 ▲")


def test_an_audit_as_json_is_a_report_or_a_list_of_them(invoke: Invoke) -> None:
    one = invoke("judge-lab", *AUDIT, "--json")
    two = invoke("judge-lab", *AUDIT, "--json", "--judge", "offline", "--judge", "stub")

    assert json.loads(one.out)["judge"]["name"] == "offline"
    assert [part["judge"]["name"] for part in json.loads(two.out)] == ["offline", "stub"]


def test_the_same_seed_draws_the_same_answers(invoke: Invoke) -> None:
    sets = [
        json.loads(invoke("judge-lab", *AUDIT, *STUB, "--json", "--seed", seed).out)["audit_set"]
        for seed in (1, 1, 2)
    ]

    assert sets[0] == sets[1] != sets[2]


def test_an_audit_is_drawn(tmp_path: Path, invoke: Invoke) -> None:
    shown = invoke("judge-lab", *AUDIT, "--judge", "offline", "stub", "--chart", "audit.svg")

    assert shown.code == 0, shown.err
    assert (tmp_path / "audit.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--personas", "nobody"), "nobody"),
        (("--data", "nowhere"), "nowhere is not a folder"),
        (("--judge", "nobody"), "nobody"),
        (("--chart", "a.gif"), "a picture ends in"),
    ],
)
def test_an_audit_that_cannot_be_is_refused(
    invoke: Invoke, words: tuple[str, ...], problem: str
) -> None:
    shown = invoke("judge-lab", "audit", *words)

    assert shown.code == 2
    assert problem in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_run_is_corrected_by_what_an_audit_found(
    tmp_path: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke
) -> None:
    """Of the two judges audited it is the run's own whose errors count."""
    run = run_of(data, adapter(), invoke)
    found = saved(tmp_path, invoke, *AUDIT, "--judge", "stub", "offline")

    shown = invoke("judge-lab", "correct", run, "--audit", found, "--json")

    assert shown.code == 0, shown.err
    corrected = json.loads(shown.out)
    assert corrected["source"] == "audit"
    rates = corrected["marks"]["correctness"]["rates"]
    own = json.loads(found.read_text())[1]["marks"]["correctness"]
    assert rates["sensitivity"] == {
        "share": own["sensitivity"]["rate"],
        "size": own["sensitivity"]["of"],
    }
    assert any("mixes wrong answers" in caution for caution in corrected["cautions"])


def test_an_audit_of_other_judges_corrects_nothing(
    tmp_path: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke
) -> None:
    run = run_of(data, adapter(), invoke)
    found = saved(tmp_path, invoke, *AUDIT, "--judge", "stub")

    shown = invoke("judge-lab", "correct", run, "--audit", found)

    assert shown.code == 2
    assert "the errors are those of stub 1" in shown.err


@pytest.mark.parametrize("text", ["[]", "{}", "no"])
def test_a_file_that_is_no_audit_is_named(
    tmp_path: Path, data: Path, adapter: Callable[..., Path], invoke: Invoke, text: str
) -> None:
    (tmp_path / "audit.json").write_text(text)

    shown = invoke("judge-lab", "correct", run_of(data, adapter(), invoke), "--audit", "audit.json")

    assert shown.code == 3
    assert "audit.json: " in shown.err
    assert "print it anew" in shown.err


@pytest.mark.parametrize("words", [(), ("--agreement", "a.json", "--audit", "b.json")])
def test_exactly_one_measurement_is_named(invoke: Invoke, words: tuple[str, ...]) -> None:
    shown = invoke("judge-lab", "correct", "run", *words)

    assert shown.code == 2
    assert "either --agreement or --audit" in shown.err


def test_no_run_and_no_measurement_are_said(tmp_path: Path, invoke: Invoke) -> None:
    shown = invoke("judge-lab", "correct", "nowhere", "--agreement", "a.json")

    assert shown.code == 2
    assert "there is no folder nowhere; runs are in recall-runs/" in shown.err


def test_help_lists_the_commands_without_importing_the_lab(invoke: Invoke) -> None:
    shown = invoke("judge-lab", "--help")

    assert shown.code == 0
    assert {"agreement", "audit", "correct"} <= set(shown.out.split())


@pytest.mark.slow
def test_the_published_verdicts_are_measured(invoke: Invoke, tmp_path: Path) -> None:
    lines = shared_data("judged/dev.jsonl").read_text(encoding="utf-8").splitlines()
    judged = tmp_path / "judged.jsonl"
    stride, answers, questions = (
        choose_number(54, 6),
        choose_number(45, 363),
        choose_number(35, 128),
    )
    judged.write_text("\n".join(lines[::stride]), encoding="utf-8")
    corpus = shared_data("recall-ea/executive-assistant/memories-180d")

    shown = invoke("judge-lab", "agreement", "--judged", judged, "--corpus", corpus, "--json")

    found = json.loads(shown.out)
    assert found["counts"] == {
        "answers": answers,
        "questions": questions,
        "judged": answers,
        "learned_from": 0,
    }
    assert next(iter(found["categories"])) == "factual-recall"
    assert found["marks"]["correctness"]["auc"] > 0.85
