"""Each protocol counts the questions it says it counts, and no version changes by accident."""

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Judged
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Expects, Item, Scenario, Truth
from recall_bench.core.verdict import Verdict
from recall_bench.features.datasets.fact_coverage import list_layer_measures
from recall_bench.judging.methodologies import (
    Level,
    Methodology,
    find_methodology,
    list_methodologies,
)
from recall_bench.judging.protocols import registry
from recall_bench.metrics.retrieval import list_measures
from recall_bench.reporting.protocol_scores import JUDGED, list_judged_figures, score_outcome
from recall_bench.stories.catalogue import find_dataset, list_datasets
from tests.conftest import shared_data
from tests.features.datasets.evaluation.eval_datasets import (
    locomo_conversations,
    write_locomo,
    write_longmemeval,
)
from tests.loops import loop_over_rows

LOCOMO = "locomo/locomo10.json"
NAMES = {"family", "name", "version"}
ORACLE = "longmemeval/longmemeval_oracle.json.gz"


@cache
def loaded(dataset: str, path: Path) -> Sequence[Scenario]:
    return tuple(find_dataset(dataset).load(path, {}))


def counted(methodology: Methodology, scenarios: Sequence[Scenario], level: Level) -> int:
    """How many questions get a figure at this level."""
    (ranking,) = (each for each in methodology.rankings if each.level is level)
    return sum(
        methodology.includes(item)
        and (bool(ranking.find_gold(scenario.id, item)) or ranking.empty is not None)
        for scenario in scenarios
        for item in scenario.items
    )


def asked(methodology: Methodology, scenarios: Sequence[Scenario]) -> int:
    return sum(methodology.includes(item) for scenario in scenarios for item in scenario.items)


@loop_over_rows(
    ("name", "level", "questions"),
    [
        ("strict", Level.TURN, 1982),
        ("strict", Level.SESSION, 1982),
        ("official", Level.TURN, 1986),
        ("official", Level.SESSION, 1986),
        ("hebb-v4", Level.SESSION, 1978),
    ],
)
def test_locomo_is_counted_by_the_denominators_its_protocols_state(
    name: str, level: Level, questions: int
) -> None:
    scenarios = loaded("locomo", shared_data(LOCOMO))

    assert counted(find_methodology("locomo", name), scenarios, level) == questions


def test_categories_one_to_four_are_1540_questions_and_no_other_is_asked() -> None:
    scenarios = loaded("locomo", shared_data(LOCOMO))

    assert asked(find_methodology("locomo", "cats-1-4"), scenarios) == 1540
    assert asked(find_methodology("locomo", "strict"), scenarios) == 1986


def test_officially_four_questions_of_locomo_without_evidence_are_found_by_any_system() -> None:
    scenarios = loaded("locomo", shared_data(LOCOMO))
    (turns, _) = find_methodology("locomo", "official").rankings

    free = [
        item.truth.source
        for scenario in scenarios
        for item in scenario.items
        if not turns.find_gold(scenario.id, item)
    ]

    assert turns.empty == 1.0
    assert free == ["conv-26:q30", "conv-26:q46", "conv-50:q39", "conv-50:q42"]


@pytest.mark.parametrize(
    ("name", "level", "questions"),
    [
        ("official", Level.SESSION, 419),
        ("official", Level.TURN, 419),
        ("strict", Level.SESSION, 470),
        ("strict", Level.TURN, 470),
        ("hebb-v3", Level.SESSION, 500),
    ],
)
def test_longmemeval_is_counted_by_the_denominators_its_protocols_state(
    name: str, level: Level, questions: int
) -> None:
    scenarios = loaded("longmemeval-oracle", shared_data(ORACLE))

    assert counted(find_methodology("longmemeval", name), scenarios, level) == questions


def test_officially_a_gold_session_is_one_in_which_the_user_says_it() -> None:
    """The file names 948 sessions as gold; 94 of them have no marked turn, and more no user's."""
    raw = json.loads(gzip.decompress(shared_data(ORACLE).read_bytes()))
    expected = sum(
        any(turn.get("has_answer") and turn["role"] == "user" for turn in session)
        for question in raw
        if not question["question_id"].endswith("_abs")
        for session in question["haystack_sessions"]
    )
    scenarios = loaded("longmemeval-oracle", shared_data(ORACLE))
    (sessions, _) = find_methodology("longmemeval", "official").rankings

    gold = sum(len(sessions.find_gold(s.id, item)) for s in scenarios for item in s.items)

    assert gold == expected


def test_a_misspelt_reference_is_officially_a_session_no_one_has_and_a_turn_no_one_finds(
    tmp_path: Path,
) -> None:
    scenario = loaded("locomo", write_locomo(tmp_path / "locomo10.json"))[0]
    item = scenario.items[0]
    cited = ("D8:6; D9:17", "D", "D:11:26", "D30:05", "D1:1")
    misspelt = item.replace(truth=item.truth.replace(cited=cited))
    (turns, sessions) = find_methodology("locomo", "official").rankings
    (hebb,) = find_methodology("locomo", "hebb-v4").rankings

    assert sessions.find_gold("c", misspelt) == {"c/8", "c/", "c/30", "c/1"}
    assert turns.find_gold("c", misspelt) == {
        *("c/D8:6; D9:17", "c/D", "c/D:11:26", "c/D30:05"),
        "c/1:0",
    }
    assert hebb.find_gold("c", misspelt) == {"c/30", "c/1"}


def test_a_session_of_one_conversation_is_not_that_of_another(tmp_path: Path) -> None:
    (ada, cleo) = loaded("locomo", write_locomo(tmp_path / "locomo10.json"))
    for methodology in list_methodologies("locomo"):
        for ranking in methodology.rankings:
            hers = {unit for item in ada.items for unit in ranking.find_gold(ada.id, item)}
            others = {unit for item in cleo.items for unit in ranking.find_gold(cleo.id, item)}

            assert hers
            assert others
            assert hers.isdisjoint(others)


def test_unanswerable_questions_have_no_gold_but_where_a_protocol_says_so(tmp_path: Path) -> None:
    scenarios = loaded("longmemeval-oracle", write_longmemeval(tmp_path / "lme.json"))

    counts = {
        each.name: counted(each, scenarios, Level.SESSION)
        for each in list_methodologies("longmemeval")
    }

    assert counts == {"strict": 3, "official": 2, "hebb-v3": 4}


def test_every_family_has_a_strict_protocol_and_it_comes_first() -> None:
    families = {dataset.family for dataset in list_datasets()}

    assert {family: list_methodologies(family)[0].name for family in families} == dict.fromkeys(
        families, "strict"
    )


def every() -> list[Methodology]:
    families = dict.fromkeys(dataset.family for dataset in list_datasets())
    return [each for family in families for each in list_methodologies(family)]


@loop_over_rows("methodology", every(), ids=lambda each: each.label)
def test_what_comes_first_is_a_figure_that_exists(methodology: Methodology) -> None:
    """A misspelt headline would vanish from every report without a word."""
    known = {f"{r.level} {m.name}" for r in methodology.rankings for m in list_measures(10)}
    known |= {*methodology.answers, *methodology.counts, "evidence text"}
    known |= set(list_judged_figures(methodology))
    known |= {each.name for each in list_layer_measures(10) if methodology.has_layers}

    assert set(methodology.headline) <= known
    assert methodology.headline


@loop_over_rows("methodology", every(), ids=lambda each: each.label)
def test_answers_are_graded_by_protocols_that_there_are(methodology: Methodology) -> None:
    for name in (*methodology.answers, *([methodology.asks] if methodology.asks else [])):
        assert registry.find_protocol(name).card.name == name


def test_versions_are_pinned() -> None:
    """Who changes what a protocol counts changes its version with it, and this test."""
    assert {each.label: each.version for each in every()} == {
        **dict.fromkeys(
            (
                *("locomo/official", "locomo/hebb-v4"),
                *("longmemeval/strict", "longmemeval/official", "longmemeval/hebb-v3"),
                *("convomem/strict", "convomem/substring", "membench/strict"),
                *("personamem/strict", "personamem/official"),
                *("memoryarena/strict", "persona-json/strict"),
                *("beam/strict", "beam/nuggets"),
                "longmemeval-v2/strict",
                *("personamem-v2/strict", "realmem/strict", "realmem/official"),
                *("halumem/strict", "halumem/official"),
            ),
            "1",
        ),
        **dict.fromkeys(
            (
                *("locomo/strict", "locomo/cats-1-4"),
                *("longmemeval-v2/official", "halumem/stored", "perltqa/strict"),
                *("memoryagentbench/strict", "memoryagentbench/official"),
            ),
            "2",
        ),
    }


@loop_over_rows("methodology", every(), ids=lambda each: each.label)
def test_what_a_judge_finds_has_the_figures_that_are_listed(methodology: Methodology) -> None:
    trial = Trial(scenario="s", item="a", checkpoint="1d")
    verdict = Verdict(score=1.0, reason="")
    outcome = Judged(at=datetime(2026, 1, 1, tzinfo=UTC), trial=trial, verdict=verdict)
    found: dict[str, float] = {}
    for category in methodology.stored_figures or ("any",):
        item = Item(id="a", text="?", truth=Truth(reference="x", category=category), known_from=1)
        found |= score_outcome(methodology, item, outcome, "x")

    assert [*found] == [*list_judged_figures(methodology), *methodology.counts]
    assert methodology.reads_store is bool(methodology.stored_figures)
    assert all(found[methodology.stored_figures[each]] == 0.0 for each in methodology.unwanted)
    assert {*methodology.counts} <= {*methodology.headline}


@loop_over_rows("changed", sorted({*Methodology.__struct_fields__} - NAMES))
def test_a_digest_changes_with_everything_that_a_protocol_states(changed: str) -> None:
    before = find_methodology("halumem", "strict")
    held = getattr(before, changed)
    after = {bool: not held, tuple: ("other",), dict: {"a": "b"}}.get(type(held), "other")

    assert before.replace(**{changed: after}).digest != before.digest


def test_digests_are_pinned() -> None:
    """Who changes what a protocol states sees it here."""
    found = sha256("".join(each.digest for each in every()).encode()).hexdigest()

    assert found[:16] == "89b84fb97826d283"
    renamed = find_methodology("locomo", "strict").replace(name="x", family="y", version="9")
    assert renamed.digest == find_methodology("locomo", "strict").digest


def test_no_two_protocols_state_the_same() -> None:
    digests = [each.digest for each in every()]

    assert len(set(digests)) == len(digests)


def test_a_protocol_may_be_named_with_its_family() -> None:
    assert find_methodology("locomo", "locomo/official") is find_methodology("locomo", "official")


def test_an_unknown_protocol_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        find_methodology("longmemeval", "cats-1-4")

    assert str(refused.value) == (
        "--protocol: longmemeval is not measured by 'cats-1-4'; there are strict, official, hebb-v3"
    )


def test_the_hand_made_file_is_as_small_as_the_other_tests_say() -> None:
    assert [len(each["qa"]) for each in locomo_conversations()] == [5, 2]


@loop_over_rows(
    ("protocol", "expects", "text", "right"),
    [
        ("strict", Expects.ANSWER, "There is no record of that.", 0.0),
        ("cats-1-4", Expects.ANSWER, "I don't know.", 0.0),
        ("strict", Expects.ANSWER, "No, she is not.", 1.0),
        ("strict", Expects.ABSTAIN, "There is no record of that.", 1.0),
    ],
)
def test_no_record_is_no_answer_to_a_question_that_has_one(
    protocol: str, expects: Expects, text: str, right: float
) -> None:
    trial = Trial(scenario="s", item="a", checkpoint="1d")
    verdict = Verdict(score=1.0, reason="")
    outcome = Judged(at=datetime(2026, 1, 1, tzinfo=UTC), trial=trial, verdict=verdict)
    truth = Truth(reference="Likely no", category="open-domain", expects=expects)
    item = Item(id="a", text="Is she one?", truth=truth, known_from=1)

    found = score_outcome(find_methodology("locomo", protocol), item, outcome, text)

    assert found == {JUDGED: right}
