"""A calibration is trained from labelled verdicts, and tested on questions it has not seen."""

import json
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import SCALES
from recall_bench.features.judges import calibration_fit as module
from recall_bench.features.judges.calibration_fit import (
    TrainingAnswers,
    calibrate,
    cross_validate,
    measure_all,
    train,
)
from recall_bench.features.judges.judge_agreement import compare_marks
from recall_bench.features.judges.labelled_verdicts import LabelledVerdict
from recall_bench.judging.offline.calibration import Calibration
from recall_bench.judging.offline.offline_judge import OfflineJudge
from tests.commands import Invoke
from tests.judging.harbour import harbour

THINGS = "pump crane slipway dredger gate lamp ladder winch hoist buoy rope mast".split()


def labelled(question: int, answer: str, marks: tuple[int, int, int]) -> LabelledVerdict:
    thing = THINGS[question % len(THINGS)]
    return LabelledVerdict(
        question=f"What became of the {thing} in yard {question}?",
        reference=f"The {thing} was sold to the ferry company.",
        answer=answer,
        category="factual-recall",
        labels=dict(zip(SCALES, marks, strict=True)),
        relevant_days=(1 + question % 5,),
    )


def fair(count: int) -> tuple[LabelledVerdict, ...]:
    """Answers whose labels follow from what they say."""
    found: list[LabelledVerdict] = []
    for question in range(count):
        thing = THINGS[question % len(THINGS)]
        found += [
            labelled(question, f"The {thing} was sold to the ferry company.", (3, 2, 1)),
            labelled(question, f"It was sold, I think to a company, the {thing}.", (2, 1, 1)),
            labelled(question, f"The {thing} was in the yard and somebody saw it.", (1, 0, 1)),
            labelled(question, "The chapel burned down on a Thursday in the rain.", (0, 0, 0)),
        ]
    return tuple(found)


def material_of(answers: tuple[LabelledVerdict, ...]) -> tuple[OfflineJudge, TrainingAnswers]:
    judge = OfflineJudge({})
    return judge, measure_all(judge, answers, harbour())


def test_what_follows_from_the_answer_is_learned() -> None:
    judge, material = material_of(fair(16))
    judged = cross_validate(judge, material, with_evidence=False, folds=2)
    assert len(judged) == len(material)
    assert (compare_marks(judged)["correctness"].auc or 0) > 0.95


def test_what_only_the_question_tells_is_not_learned() -> None:
    """Labels by the toss of a coin for each question: only whoever peeked could know them."""
    tossed = tuple(
        answer.replace(labels=dict.fromkeys(SCALES, 0) if _coin(answer.question) else dict(SCALES))
        for answer in fair(60)
    )
    judge, material = material_of(tossed)
    held_out = compare_marks(cross_validate(judge, material, with_evidence=False, folds=2))
    assert abs((held_out["correctness"].auc or 0) - 0.5) < 0.2


def _coin(text: str) -> bool:
    return sha256(text.encode()).digest()[0] % 2 == 0


def test_every_answer_is_judged_by_a_model_that_never_saw_its_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge, material = material_of(fair(9))
    taught: list[set[str]] = []

    original = module._fit_model

    def watched(material: TrainingAnswers, rows: list[int], *, with_evidence: bool) -> object:
        taught.append({material.answers[row].cluster for row in rows})
        return original(material, rows, with_evidence=with_evidence)

    monkeypatch.setattr(module, "_fit_model", watched)
    judged = cross_validate(judge, material, with_evidence=False, folds=3)
    everything = {answer.cluster for answer in material.answers}
    held_out = [everything - questions for questions in taught]
    assert sorted(name for group in held_out for name in group) == sorted(everything)
    assert len(judged) == len(material.answers)


def test_answers_with_evidence_teach_the_model_that_weighs_it() -> None:
    _, material = material_of(fair(10))
    assert any(material.with_evidence)
    assert not all(material.with_evidence)
    calibration = train(material)
    seen = {curve.name for curve in calibration.with_evidence.curves}
    blind = {curve.name for curve in calibration.without_evidence.curves}
    assert "support" in seen - blind
    assert calibration.training.questions == 10


def write(path: Path, answers: tuple[LabelledVerdict, ...]) -> Path:
    lines = [
        json.dumps(
            {
                "question": answer.question,
                "reference": answer.reference,
                "answer": answer.answer,
                "category": answer.category,
                "relevant_days": list(answer.relevant_days),
                **answer.labels,
            }
        )
        for answer in answers
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def days(tmp_path: Path) -> Path:
    folder = tmp_path / "days"
    folder.mkdir()
    for episode in harbour().episodes:
        (folder / f"{episode.id}.md").write_text(episode.text, encoding="utf-8")
    return folder


def test_labels_that_are_all_alike_teach_nothing(tmp_path: Path, days: Path) -> None:
    passes = tuple(answer.replace(labels=dict(SCALES)) for answer in fair(10))
    with pytest.raises(UsageError, match="every labelled answer has 1 or more for correctness"):
        calibrate(write(tmp_path / "judged.jsonl", passes), days)


def test_without_any_evidence_there_is_nothing_to_learn_about_it(
    tmp_path: Path, days: Path
) -> None:
    blind = tuple(answer.replace(relevant_days=(400,)) for answer in fair(10))
    with pytest.raises(UsageError, match="evidence"):
        calibrate(write(tmp_path / "judged.jsonl", blind), days)


def test_the_command_writes_a_calibration_and_says_how_good_it_is(
    tmp_path: Path, days: Path, invoke: Invoke
) -> None:
    judged = write(tmp_path / "judged.jsonl", fair(12))
    out = tmp_path / "calibration.json"
    shown = invoke("judge-lab", "calibrate", "--judged", judged, "--corpus", days, "--out", out)
    assert shown.code == 0
    assert "48 answers to 12 questions" in shown.out
    assert "without evidence" in shown.out
    found = msgspec.json.decode(out.read_bytes(), type=Calibration)
    assert found.training.answers == 48
