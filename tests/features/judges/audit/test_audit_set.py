"""The same scenario and seed give the same answers; another seed gives others."""

import os
import re
import subprocess
import sys
from collections import Counter
from hashlib import sha256

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.features.judges.audit_answers import (
    CLASS_LABELS,
    AuditItem,
    build_audit_set,
    find_missing_classes,
)
from recall_bench.features.judges.audit_report import AuditClass
from recall_bench.library import load_persona
from recall_bench.stories.shipped import unpack_story
from tests.features.judges.audit.stories import SHORT, select_items
from tests.hash_seeds import list_other_hash_seeds

NAMES = r"\b(?:Maribeth|Osgood|Ulrika|Prentiss|Fenella|Thaddeus|Ottoline|Casimir) [A-Z][a-z]+"


def test_another_seed_writes_other_answers(scenario: Scenario) -> None:
    one, other = (build_audit_set(scenario, seed=seed, per_class=12) for seed in (3, 4))

    assert {item.answer for item in one} != {item.answer for item in other}


def digest_set() -> str:
    """The digest of a set, written from what is read anew."""
    name, arcs = SHORT
    items = build_audit_set(load_persona(name, arcs=arcs), seed=3, per_class=12)
    return sha256("".join(item.digest for item in items).encode()).hexdigest()


@pytest.mark.slow
def test_the_same_seed_writes_the_same_answers_in_every_process() -> None:
    """Every process hashes strings its own way, and orders sets by it."""
    code = f"from {__name__} import digest_set; print(digest_set())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in list_other_hash_seeds()
    }

    assert {*found, digest_set()} == found
    assert len(found) == 1


def test_a_smaller_set_takes_its_categories_in_turn(scenario: Scenario) -> None:
    few = build_audit_set(scenario, seed=3, per_class=10)

    asked = Counter(item.item.truth.category for item in select_items(few, AuditClass.RIGHT))
    assert len(asked) >= 9


def test_an_exhibit_shows_neither_class_nor_label(items: tuple[AuditItem, ...]) -> None:
    shown = items[0].make_exhibit()

    assert shown.answer.text == items[0].answer
    assert shown.days == items[0].days
    assert shown.item == items[0].item
    assert not hasattr(shown, "labels")


def test_every_class_says_what_its_marks_must_be() -> None:
    good = {
        AuditClass.RIGHT,
        AuditClass.PADDED,
        AuditClass.EXTRA,
        AuditClass.CLEAN_REFUSAL,
    }
    made_up = {AuditClass.EXTRA}

    for kind in AuditClass:
        assert (
            CLASS_LABELS[kind]["correctness"]
            is CLASS_LABELS[kind]["completeness"]
            is (kind in good)
        )
        assert CLASS_LABELS[kind]["grounded"] is ((kind not in made_up) if kind in good else None)


def test_a_detail_is_invented_only_if_no_one_ever_stated_it(scenario: Scenario) -> None:
    """The same invention, once it is planted in the history, is no invention any more."""
    alone = scenario.replace(items=scenario.items[:40])
    first = select_items(build_audit_set(alone, seed=3, per_class=60), AuditClass.EXTRA)
    names = sorted({word for item in first for word in re.findall(NAMES, item.answer)})
    assert names
    told = alone.episodes[0].replace(text=alone.episodes[0].text + "\n" + " ".join(names) + "\n")
    planted = alone.replace(episodes=(told, *alone.episodes[1:]))

    again = select_items(build_audit_set(planted, seed=3, per_class=60), AuditClass.EXTRA)

    assert again
    assert not any(name in item.answer for item in again for name in names)


def test_a_value_that_came_back_is_not_superseded(scenario: Scenario) -> None:
    item = next(item for item in scenario.items if item.truth.stale)
    back = item.replace(truth=item.truth.replace(stale=item.truth.atoms))

    assert AuditClass.SUPERSEDED not in classes(scenario.replace(items=(back,)))
    assert AuditClass.SUPERSEDED in classes(scenario.replace(items=(item,)))


def classes(scenario: Scenario) -> set[AuditClass]:
    return {item.kind for item in build_audit_set(scenario, seed=1, per_class=3)}


def test_an_evasion_does_not_repeat_an_answer_that_the_question_holds(scenario: Scenario) -> None:
    item = next(item for item in scenario.items if item.truth.category == "factual-recall")
    truth = item.truth.replace(reference="TX-4711.", atoms=("TX-4711",), aliases=())
    leading = item.replace(text="Was it TX-4711 that failed?", truth=truth)

    found = build_audit_set(scenario.replace(items=(leading,)), seed=1, per_class=40)

    evasive = select_items(found, AuditClass.VAGUE, AuditClass.FALSE_REFUSAL)
    assert evasive
    assert not any("TX-4711" in item.answer for item in evasive)


def test_a_scenario_without_secrets_or_parts_leaves_classes_out_and_says_which() -> None:
    """The sample is written by hand: its truths are references and nothing else."""
    found = build_audit_set(load_persona(unpack_story("harbour-office")), seed=1, per_class=20)

    assert set(find_missing_classes(found)) == {
        AuditClass.NEAR_MISS,
        AuditClass.SUPERSEDED,
        AuditClass.LEAK,
    }


def test_a_scenario_without_questions_has_nothing_to_audit(scenario: Scenario) -> None:
    empty = scenario.replace(items=())

    assert build_audit_set(empty, seed=1, per_class=5) == ()


def test_an_audit_of_nothing_is_refused(scenario: Scenario) -> None:
    with pytest.raises(UsageError, match="at least one"):
        build_audit_set(scenario, seed=1, per_class=0)
