"""A dataset is opened as it was asked for, and refused in one sentence where it cannot be."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import BenchError, DataError, Malformed, UsageError
from recall_bench.judging.eval_dataset import OpenedDataset, open_dataset
from tests.conftest import shared_data
from tests.features.datasets.evaluation.eval_datasets import (
    assembled,
    locomo_conversations,
    request_for,
    write_locomo,
    write_longmemeval,
    write_persona,
    write_personamem,
)


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    return write_locomo(tmp_path / "locomo10.json")


def opened(dataset: str, data: Path, **given: Any) -> OpenedDataset:
    return open_dataset(request_for(dataset, data, data.parent / "home", **given))


def asked(found: OpenedDataset) -> list[str]:
    """Every question that is asked, by the dataset's own id."""
    return [
        str(item.truth.source) for card in found.scenarios for item in found.load(card.id).items
    ]


def test_only_the_categories_named_are_asked(locomo: Path) -> None:
    found = opened("locomo", locomo, categories=("temporal", "open-domain"))

    assert asked(found) == ["conv-1:q2", "conv-1:q3"]
    assert [card.items for card in found.scenarios] == [2]


def test_scenarios_are_skipped_and_limited_in_the_order_of_the_file(locomo: Path) -> None:
    assert [s.id for s in opened("locomo", locomo, max_scenarios=1).scenarios] == ["conv-1"]
    assert [s.id for s in opened("locomo", locomo, scenario_offset=1).scenarios] == ["conv-2"]
    assert [
        s.id for s in opened("locomo", locomo, scenario_offset=1, max_scenarios=5).scenarios
    ] == ["conv-2"]


def test_a_protocol_may_leave_questions_unasked(locomo: Path) -> None:
    assert "conv-1:q4" in asked(opened("locomo", locomo))
    assert "conv-1:q4" not in asked(opened("locomo", locomo, protocol="cats-1-4"))


def test_a_protocol_does_not_hide_a_category_that_exists(locomo: Path) -> None:
    with pytest.raises(UsageError, match="nothing is left to ask; name other --categories"):
        opened("locomo", locomo, protocol="cats-1-4", categories=("adversarial",))


def test_a_file_is_known_by_its_bytes(locomo: Path) -> None:
    (card,) = opened("locomo", locomo).card.files

    assert card.name == "locomo10.json"
    assert card.sha256 == sha256(locomo.read_bytes()).hexdigest()
    assert card.bytes == locomo.stat().st_size


def test_a_folder_is_known_by_all_its_files(tmp_path: Path) -> None:
    found = opened("personamem-32k", write_personamem(tmp_path / "pm"))

    assert [each.name for each in found.card.files] == [
        "questions_32k.csv",
        "shared_contexts_32k.jsonl",
    ]
    assert found.has_choices


def test_runs_and_reports_below_the_data_are_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no two runs from inside the folder would have one plan, and none would go on."""
    write_persona(tmp_path / "ada.json")
    monkeypatch.chdir(tmp_path)
    request = request_for("persona-json", Path(), Path("mine"), adapter="bm25")
    before = assembled(request).job.plan.digest
    for place in ("mine/run", "mine/reports/persona-json", "recall-runs/other"):
        Path(place).mkdir(parents=True, exist_ok=True)
        Path(place, "result.json").write_text("{}")
        Path(place, "journal.jsonl").touch()

    assert assembled(request).job.plan.digest == before


def test_corrections_lie_beside_the_data_or_where_they_are_said_to_be() -> None:
    data = shared_data("locomo/locomo10.json")
    audit = shared_data("locomo/locomo_audit_errors.json")

    beside = opened_at(data, errata=("audit",))
    said = opened_at(data, errata=(f"audit={audit}",))
    plain = opened_at(data)

    assert beside.card == said.card
    assert beside.card.layers == ("audit",)
    assert [each.name for each in beside.card.files] == [data.name, audit.name]
    assert beside.scenarios[0].questions_digest != plain.scenarios[0].questions_digest
    assert beside.scenarios[0].history_digest == plain.scenarios[0].history_digest


def opened_at(data: Path, **given: Any) -> OpenedDataset:
    """The first conversation of the real file; nothing is written beside it."""
    return open_dataset(request_for("locomo", data, Path("nowhere"), max_scenarios=1, **given))


def test_real_bytes_are_distinguished_from_others(locomo: Path) -> None:
    real = opened_at(shared_data("locomo/locomo10.json"))
    other = opened("locomo", locomo)

    assert real.notes[0] == "The data is, to the byte, locomo as it was published."
    assert other.notes[0] == (
        "locomo10.json is not, to the byte, locomo as it was published; say so beside its numbers"
    )


def test_a_dataset_without_dates_says_so(tmp_path: Path) -> None:
    notes = opened("personamem-32k", write_personamem(tmp_path / "pm")).notes

    assert notes[-1].startswith("personamem-32k has no dates: its sessions are dated a day apart")


@pytest.mark.parametrize(
    ("dataset", "given", "complaint"),
    [
        ("lokomo", {}, "no dataset named 'lokomo'; did you mean 'locomo'?"),
        ("locomo", {"protocol": "offical"}, "--protocol: locomo is not measured by 'offical'"),
        (
            "locomo",
            {"categories": ("multihop",)},
            "--categories: no question is of 'multihop'; did you mean 'multi-hop'?",
        ),
        ("locomo", {"scenario_offset": 2}, "--scenario-offset: locomo has 2 scenarios and none"),
        ("locomo", {"errata": ("audits",)}, "--errata: locomo has no corrections called 'audits'"),
        ("locomo", {"errata": ("audit=gone.json",)}, "there is no file gone.json"),
    ],
)
def test_what_cannot_be_met_is_refused_in_a_sentence(
    locomo: Path, dataset: str, given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        opened(dataset, locomo, **given)

    assert str(refused.value).startswith(complaint)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--data: there is no file or folder .*gone\.json"):
        opened("locomo", tmp_path / "gone.json")


@pytest.mark.parametrize("name", ["max_scenarios", "scenario_offset"])
def test_counts_that_are_none_are_refused(locomo: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')}: -1 "):
        opened("locomo", locomo, **{name: -1})


def test_a_file_without_a_conversation_is_a_fault_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")

    with pytest.raises(DataError, match="there is no scenario in it"):
        opened("locomo", tmp_path / "empty.json")


@pytest.mark.parametrize("content", ["", "{", "{}", '[{"sample_id": "x"}]', "[3]"])
def test_a_malformed_file_is_named_with_its_place(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)

    with pytest.raises(Malformed, match=r"bad\.json") as refused:
        opened("locomo", path)

    assert refused.value.exit_code == 3


def test_two_conversations_of_one_name_are_a_fault_of_the_file(tmp_path: Path) -> None:
    raw = locomo_conversations()
    raw[1]["sample_id"] = "conv-1"
    (tmp_path / "twice.json").write_text(json.dumps(raw))

    with pytest.raises(BenchError, match="conv-1") as refused:
        opened("locomo", tmp_path / "twice.json")

    assert refused.value.exit_code == 3


def test_questions_are_asked_in_the_same_words_whichever_way_a_scenario_is_loaded(
    tmp_path: Path,
) -> None:
    found = opened("longmemeval-oracle", write_longmemeval(tmp_path / "lme.json"))

    for card in found.scenarios:
        assert found.load(card.id).items == found.questions[card.id].items
