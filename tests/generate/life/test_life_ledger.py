"""The ledger of a life edition is proved against the calendar, itself and the text."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import DataError
from recall_bench.core.yaml12 import load_yaml
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.generate.verification.life_ledger import read_records
from recall_bench.generate.verification.verifier import verify_world
from tests.generate.life.played_library import build_library

ARCS = "arcs-200d.yaml"

Records = list[dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build_library(tmp_path_factory)
    return Path(shutil.copytree(built, tmp_path / built.name))


def change_ledger(folder: Path, change: Callable[[Records], None]) -> None:
    path = folder / "qa-200d" / "life.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(records)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def list_codes(folder: Path) -> list[str]:
    return [str(found.code) for found in verify_world(folder, ARCS).findings]


def pick(records: Records, kind: str) -> Iterator[dict[str, Any]]:
    return (each for each in records if each["record"] == kind)


def test_nothing_is_found_in_what_was_played(folder: Path) -> None:
    assert list_codes(folder) == []


def test_a_value_may_hold_what_other_programs_take_for_the_end_of_a_line(folder: Path) -> None:
    path = folder / "qa-200d" / "life.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")
    told = json.loads(lines[1])
    told["kind"] += "\u2028\u0085"
    lines[1] = json.dumps(told, ensure_ascii=False)
    path.write_text("\n".join(lines), encoding="utf-8")

    assert read_records(path).states[0].kind == told["kind"]


def test_a_line_that_is_no_record_is_named(folder: Path) -> None:
    path = folder / "qa-200d" / "life.jsonl"
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    path.write_text(f"{first}\nnonsense\n{rest}", encoding="utf-8")

    with pytest.raises(DataError, match=r"^life\.jsonl, line 2: .*; build the edition again$"):
        read_records(path)


def rest_on_a_step(records: Records) -> None:
    records[0]["quiet"].append(next(pick(records, "step"))["day"])


def celebrate_a_step(records: Records) -> None:
    records[0]["absences"].append([next(pick(records, "step"))["day"]] * 2)


def fall_due_on_a_sunday(records: Records) -> None:
    next(pick(records, "state"))["due"] = 14


@pytest.mark.parametrize("change", [rest_on_a_step, celebrate_a_step, fall_due_on_a_sunday])
def test_free_and_quiet_days_are_kept(folder: Path, change: Callable[[Records], None]) -> None:
    change_ledger(folder, change)

    assert "calendar" in list_codes(folder)


def leave_a_state_out(records: Records) -> None:
    records.remove(next(each for each in pick(records, "state") if each["state"] == 2))


def tell_a_state_earlier(records: Records) -> None:
    state = next(each for each in pick(records, "state") if each["state"] == 3)
    state["day"] -= 1


def take_a_correction_back(records: Records) -> None:
    next(each for each in pick(records, "state") if each["told"] == "corrected")["told"] = "passing"


def let_a_number_only_grow(records: Records) -> None:
    for each in pick(records, "state"):
        each["moves"] = "up"


def let_no_keeper_have_two_rooms(records: Records) -> None:
    for each in pick(records, "state"):
        each["distinct"] = each["attribute"] == "keeper"


@pytest.mark.parametrize(
    "change",
    [
        leave_a_state_out,
        tell_a_state_earlier,
        take_a_correction_back,
        let_a_number_only_grow,
        let_no_keeper_have_two_rooms,
    ],
)
def test_states_follow_each_other_as_the_text_tells(
    folder: Path, change: Callable[[Records], None]
) -> None:
    change_ledger(folder, change)

    assert "state" in list_codes(folder)


def let_no_supplier_share_a_discount(records: Records) -> None:
    for each in pick(records, "state"):
        each["distinct"] = each["attribute"] == "discount"


def test_a_value_of_two_at_different_times_is_not_shared(folder: Path) -> None:
    """One supplier gives 28 % long after another did."""
    change_ledger(folder, let_no_supplier_share_a_discount)

    assert list_codes(folder) == []


def prolong_a_thread(records: Records) -> None:
    first = next(pick(records, "step"))["thread"]
    for each in pick(records, "step"):
        if each["thread"] == first:
            each["ended"] = 200


def reverse_the_steps(records: Records) -> None:
    records[:] = [records[0], *reversed(records[1:])]


def invent_a_cause(records: Records) -> None:
    next(pick(records, "step"))["cause"] = "repair-99"


def begin_with_the_cause(records: Records) -> None:
    first = next(pick(records, "step"))
    first["cause"] = first["thread"]


@pytest.mark.parametrize(
    "change", [prolong_a_thread, reverse_the_steps, invent_a_cause, begin_with_the_cause]
)
def test_threads_do_not_overlap_and_have_causes(
    folder: Path, change: Callable[[Records], None]
) -> None:
    change_ledger(folder, change)

    assert "thread" in list_codes(folder)


def test_an_outdated_value_in_the_text_is_found(folder: Path) -> None:
    """A statement that is moved to another state of its fact contradicts the ledger."""
    path = folder / "qa-200d" / "statements.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        record = json.loads(line)
        if record["fact"].endswith("-capacity") and record["state"] == 3:
            record["state"] = 1
            lines[number] = json.dumps(record)
            break
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert "state" in list_codes(folder)


def prolong(folder: Path, is_wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Let a question be asked longer than its answer holds."""
    path = folder / "qa-200d" / "questions.yaml"
    entries: Any = load_yaml(path)
    entry = next(each for each in entries if each.get("irrelevant_after") and is_wanted(each))
    del entry["irrelevant_after"]
    path.write_text(dump_yaml(entries), encoding="utf-8")


@pytest.mark.parametrize("kind", ["comparison", "two-hop"])
def test_a_present_value_is_asked_only_while_it_holds(folder: Path, kind: str) -> None:
    prolong(folder, lambda entry: entry["kind"] == kind)

    assert "span" in list_codes(folder)


def test_a_count_leaves_nothing_out(folder: Path) -> None:
    prolong(
        folder,
        lambda entry: entry["kind"] == "count" and "-at-" in entry["derive"]["states"][0],
    )

    assert "reference" in list_codes(folder)


def test_a_list_is_complete_as_long_as_it_is_asked(folder: Path) -> None:
    prolong(folder, lambda entry: entry["kind"] == "list")

    assert "reference" in list_codes(folder)


def find_revoked(entries: Any) -> dict[str, Any]:
    return next(
        each for each in entries if each["derive"]["form"] == "secret" and "as_of" in each["derive"]
    )


def test_a_room_that_was_shut_out_is_refused_and_may_have_known(folder: Path) -> None:
    path = folder / "qa-200d" / "questions.yaml"
    entries: Any = load_yaml(path)
    revoked = find_revoked(entries)

    assert (revoked["query_session"], revoked["answerable_from"]) == ("desk", 142)
    assert revoked["expected_disclosure"] == "refuse"

    revoked["derive"]["as_of"] = 90
    path.write_text(dump_yaml(entries), encoding="utf-8")
    assert "leak" in list_codes(folder)


def test_a_room_is_not_refused_while_it_may_know(folder: Path) -> None:
    path = folder / "qa-200d" / "questions.yaml"
    entries: Any = load_yaml(path)
    find_revoked(entries)["derive"]["as_of"] = 150
    path.write_text(dump_yaml(entries), encoding="utf-8")

    assert "too-early" in list_codes(folder)
