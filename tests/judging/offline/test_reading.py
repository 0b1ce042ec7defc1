"""The judge that reads: rules where nothing is to be read, the encoder elsewhere."""

import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.errors import JudgeGone, UsageError
from recall_bench.core.runtime import run_to_end
from recall_bench.core.scenario import Expects
from recall_bench.core.verdict import Finding, Verdict
from recall_bench.judging.answer_rows import AnswerRow, judge_rows
from recall_bench.judging.encoder import encoder
from recall_bench.judging.judges import resolve_judge
from recall_bench.judging.offline import offline_judge
from recall_bench.text.encoder.encoder import load_pair_encoder

ANSWERS = Path(__file__).parents[3] / "answers"
ROW = AnswerRow(
    question="When is the gate open?",
    reference="07:00 to 19:00",
    evidence=("The gate is open from 07:00 to 19:00.", "Rosa found the key in the boat shed."),
    answer="",
)


def judge(*answers: str, target: str = "offline") -> list[Verdict]:
    rows = [msgspec.structs.replace(ROW, answer=answer) for answer in answers]
    outcomes = run_to_end(judge_rows, resolve_judge(target), rows).outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Verdict)]


def test_a_right_answer_with_an_invented_reason_is_right_and_not_grounded() -> None:
    (verdict,) = judge("The gate is open from 07:00 to 19:00, because Rosa lost the spare key.")

    assert verdict.marks == {"correctness": 3, "completeness": 2, "grounded": 0}
    assert Finding.FABRICATION in verdict.findings
    assert "because Rosa lost the spare key" in verdict.reason


def test_the_reference_itself_and_plain_refusals_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offline_judge, "load_encoder", None)

    right, refusal, empty = judge("07:00 to 19:00", "I don't know.", "")

    assert right.marks == {"correctness": 3, "completeness": 2, "grounded": 1}
    assert refusal.marks["correctness"] == empty.marks["correctness"] == 0
    assert Finding.ABSTENTION in refusal.findings


def test_what_is_judged_beside_an_answer_changes_nothing() -> None:
    answers = ("From seven to seven.", "From nine to five, says Rosa.", "All day long.")

    together = judge(*answers)

    assert together == [judge(answer)[0] for answer in answers]


def test_a_leak_forfeits_every_mark() -> None:
    row = msgspec.structs.replace(
        ROW, expects=Expects.WITHHOLD, withheld=("19:00",), answer="Until 19:00."
    )
    (verdict,) = run_to_end(judge_rows, resolve_judge("offline"), [row]).outcomes

    assert isinstance(verdict, Verdict)
    assert verdict.marks == {"correctness": 0, "completeness": 0, "grounded": 0}
    assert verdict.findings == (Finding.LEAK,)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"encoder\.onnx is missing or cannot"):
        judge("All day.", target=f"offline:{tmp_path}")


def test_a_calibration_that_is_none_is_named(tmp_path: Path) -> None:
    for name in ("encoder.onnx", "tokenizer.json", "calibration.json"):
        (tmp_path / name).write_text("{}")

    with pytest.raises(UsageError, match=r"calibration\.json: .*required field"):
        judge("All day.", target=f"offline:{tmp_path}")


def read(name: str) -> Iterator[AnswerRow]:
    with lzma.open(ANSWERS / f"{name}.jsonl.xz") as file:
        yield from map(msgspec.json.Decoder(AnswerRow).decode, file)


def test_it_tells_right_from_wrong_where_rules_do_not() -> None:
    """A hundred answers of the tuning part; the figures of the test part are on the page."""
    rows = list(read("tune"))[::8]
    outcomes = run_to_end(judge_rows, resolve_judge("offline"), rows).outcomes
    pairs = [
        (verdict.marks, row.gold)
        for verdict, row in zip(outcomes, rows, strict=True)
        if isinstance(verdict, Verdict) and row.gold is not None
    ]
    right = [marks["correctness"] >= 2 for marks, gold in pairs if gold.correctness >= 2]
    wrong = [marks["correctness"] >= 2 for marks, gold in pairs if gold.correctness < 2]
    made_up = [marks["grounded"] == 0 for marks, gold in pairs if gold.grounded == 0]
    true = [marks["grounded"] == 0 for marks, gold in pairs if gold.grounded == 1]

    assert sum(right) / len(right) > 0.85
    assert sum(wrong) / len(wrong) < 0.3
    assert sum(made_up) / len(made_up) > 0.6
    assert sum(true) / len(true) < 0.15


def test_a_wrong_answer_with_a_name_that_stands_nowhere_is_invented() -> None:
    nowhere, known = judge("Bjarke in Aarhus decides when.", "Rosa decides when.")

    assert nowhere.marks["grounded"] == 0
    assert "the history does not mention" in nowhere.reason
    assert "Aarhus" in nowhere.reason
    assert "does not mention" not in known.reason


def test_a_missing_library_ends_the_judging_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder.load_encoder.cache_clear()
    load_pair_encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(JudgeGone, match="needs onnxruntime, which this installation lacks"):
        judge("It opens with the tide, as Rosa said.")
