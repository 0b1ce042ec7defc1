"""Each category is a query over the ledger; what a question carries follows from the facts."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from recall_bench.core.scenario import Expects
from recall_bench.stories.persona import load_persona
from tests.features.personas.simulator.built_bakery import Build, read_days, read_questions

DAYS = 300
LENT = {"days": DAYS, "density": 0.4}


@pytest.fixture(scope="module")
def asked(built: Build) -> list[dict[str, Any]]:
    """The questions of 300 days at the bakery; not to be changed."""
    return read_questions(built(**LENT))


def of(asked: list[dict[str, Any]], category: str) -> list[dict[str, Any]]:
    return [question for question in asked if question["category"] == category]


def test_no_two_questions_read_the_same(asked: list[dict[str, Any]]) -> None:
    told = Counter((q["question"], q.get("query_session"), q["answerable_from"]) for q in asked)

    assert max(told.values()) == 1


def test_no_question_holds_its_answer(asked: list[dict[str, Any]]) -> None:
    spoilt = [
        (q["question"], atom)
        for q in asked
        if q["derive"]["op"] != "order"
        for atom in q.get("atoms", [])
        if atom not in {"Yes", "No"}
        and re.search(rf"(?<![\w-]){re.escape(atom)}(?![\w-])", q["question"], re.IGNORECASE)
    ]

    assert spoilt == []


def test_no_small_number_is_the_answer_too_often(asked: list[dict[str, Any]]) -> None:
    gaps = Counter(q["answer"] for q in asked if q["derive"]["op"] == "gap")

    assert sum(gaps.values()) >= 8
    assert max(gaps.values()) <= 2


def test_how_often_a_value_changed_is_spread(asked: list[dict[str, Any]]) -> None:
    times = Counter(q["answer"] for q in asked if q["derive"]["op"] == "changes")

    assert len(times) >= 5
    assert max(times.values()) <= sum(times.values()) / 2


def test_no_order_can_be_seen_from_the_question(asked: list[dict[str, Any]]) -> None:
    ordered = [q for q in asked if q["derive"]["op"] == "order"]

    assert ordered
    assert not [q for q in ordered if " 2024" in q["question"]]
    for q in ordered:
        sources = [thread.rpartition("-")[0] for thread, _, _ in q["derive"]["events"]]
        assert len(set(sources)) == len(sources)


def test_a_question_can_be_asked_once_its_evidence_is_stated(asked: list[dict[str, Any]]) -> None:
    for q in asked:
        assert q["answerable_from"] >= max(q["relevant_days"])
        assert {span["day"] for span in q["evidence"]} == set(q["relevant_days"])


def test_the_value_now_and_the_value_then_are_both_asked(asked: list[dict[str, Any]]) -> None:
    found = [q for q in of(asked, "contradiction-resolution") if q["derive"]["op"] == "value"]
    now = [q for q in found if "as_of" not in q["derive"]]
    then = [q for q in found if "as_of" in q["derive"]]

    assert now
    assert then
    assert all(q["stale"] for q in now)
    assert all(set(q["stale"]).isdisjoint(q["atoms"]) for q in now)


def test_the_answer_is_the_last_mention_in_at_most_half_of_the_questions_with_a_stale_value(
    asked: list[dict[str, Any]], built: Build
) -> None:
    told = read_days(built(**LENT))
    last = []
    for q in asked:
        if not q.get("stale") or q["kind"].endswith("no-longer"):
            continue
        span = q["evidence"][0]
        sentence = told[span["day"]][span["start"] : span["end"]]
        told_of = re.search(r"the (.+?) of (\S+ \S+?)[ .]", sentence, re.IGNORECASE)
        assert told_of is not None
        label, name = told_of.groups()
        mentions = [
            line
            for day, text in told.items()
            if day <= q["answerable_from"]
            for line in re.findall(r"[^.\n]*\.", text)
            if name in line and label in line
        ]
        last.append(q["atoms"][0] in mentions[-1])

    assert len(last) >= 15
    assert sum(last) <= len(last) / 2


def test_an_event_is_reported_by_whoever_holds_the_role_that_day(
    asked: list[dict[str, Any]], built: Build
) -> None:
    folder = built(**LENT)
    lines = (folder / f"qa-{DAYS}d" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    held = [fact for fact in map(json.loads, lines) if fact["attribute"] in ("baker", "driver")]
    told = read_days(folder)
    reported = [q for q in asked if q["derive"]["op"] == "reporter"]

    assert reported
    checked = 0
    for day, text in told.items():
        for match in re.finditer(r"As (baker|driver) of (\S+ \S+), (\w+ \w+) reported", text):
            (holder,) = (
                fact["value"]
                for fact in held
                if fact["name"] == match[2]
                and fact["true_from"] <= day <= (fact["true_until"] or DAYS)
            )
            assert holder == match[3]
            checked += 1
    assert checked > 20


def test_an_attribute_that_is_told_nowhere_is_told_of_a_neighbour(
    asked: list[dict[str, Any]], built: Build
) -> None:
    folder = built(**LENT)
    lines = (folder / f"qa-{DAYS}d" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    facts = [json.loads(line) for line in lines]
    absent = [q for q in asked if q["kind"] == "negative-recall/absent"]

    assert absent
    for q in absent:
        kind = q["derive"]["thread"].rpartition("-")[0]
        told_of = {f["subject"] for f in facts if f"the {f['attribute']} of" in q["question"]}
        assert q["derive"]["thread"] not in told_of
        assert any(subject.startswith(f"{kind}-") for subject in told_of)


def test_an_old_fact_is_asked_only_after_a_long_silence(
    asked: list[dict[str, Any]], built: Build
) -> None:
    folder = built(**LENT)
    ledger = (folder / f"qa-{DAYS}d" / "ledger.jsonl").read_text(encoding="utf-8")
    names = {fact["subject"]: fact["name"] for fact in map(json.loads, ledger.splitlines())}
    told = read_days(folder)
    old = of(asked, "recency-bias-resistance")

    assert old
    for q in old:
        name = names[q["derive"]["thread"]]
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        named = [day for day, text in told.items() if whole.search(text)]
        assert q["answerable_from"] - max(named) == 120


def test_yes_and_no_are_balanced_and_never_a_matter_of_abstaining(
    asked: list[dict[str, Any]], built: Build
) -> None:
    scenario = load_persona(built(**LENT), arcs=f"arcs-{DAYS}d.yaml")
    expected = {item.id: item.truth.expects for item in scenario.items}
    sides = {
        "negative-recall": ({"happened", "spared"}, {"not-spared", "never"}),
        "contradiction-resolution": ({"still"}, {"no-longer"}),
    }
    for category, (affirmed, denied) in sides.items():
        kinds = {q["id"]: q["kind"].partition("/")[2] for q in of(asked, category)}
        polar = {name: kind for name, kind in kinds.items() if kind in affirmed | denied}
        share = sum(kind in affirmed for kind in polar.values()) / len(polar)

        assert 0.45 <= share <= 0.55
        assert {expected[name] for name in polar} == {Expects.ANSWER}
    absent = [q for q in asked if q["derive"].get("form") == "absent"]
    assert {expected[q["id"]] for q in absent} == {Expects.ABSTAIN}


def test_a_crossing_rests_on_two_days_and_two_kinds_of_thread(
    asked: list[dict[str, Any]],
) -> None:
    crossed = of(asked, "cross-reference")

    assert crossed
    for q in crossed:
        assert len(q["relevant_days"]) == 2
        assert len({thread.rpartition("-")[0] for thread, _ in q["derive"]["of"]}) == 2


def test_every_refusal_has_a_twin_who_may_know(asked: list[dict[str, Any]]) -> None:
    found = of(asked, "information-boundary")
    refused = {q["derive"]["thread"] for q in found if q["expected_disclosure"] == "refuse"}
    answered = {q["derive"]["thread"] for q in found if q["expected_disclosure"] == "answer"}

    assert len(refused) > 5
    assert refused <= answered


def test_all_three_disclosures_occur(asked: list[dict[str, Any]]) -> None:
    found = Counter(q["expected_disclosure"] for q in of(asked, "information-boundary"))

    assert set(found) == {"refuse", "partial", "answer"}


def test_a_refusal_tells_nothing_and_can_be_caught_leaking(asked: list[dict[str, Any]]) -> None:
    refused = [q for q in asked if q.get("expected_disclosure") == "refuse"]

    assert refused
    for q in refused:
        assert q["withheld"]
        assert not [value for value in q["withheld"] if value in q["answer"]]
        assert "atoms" not in q


def test_a_secret_made_public_is_answered_from_then_on(asked: list[dict[str, Any]]) -> None:
    refused = {
        (q["derive"]["thread"], q["derive"]["slot"], q["query_session"]): q
        for q in asked
        if q["derive"].get("why") == "secret"
    }
    published = [
        (refused[key], q)
        for q in asked
        if q.get("expected_disclosure") == "answer"
        and (key := (q["derive"]["thread"], q["derive"]["slot"], q["query_session"])) in refused
    ]

    assert published
    for before, after in published:
        assert before["irrelevant_after"] < after["answerable_from"]


def test_what_was_to_be_forgotten_is_refused_to_people_who_received_it(
    asked: list[dict[str, Any]], built: Build
) -> None:
    told = read_days(built(**LENT))
    forgotten = [q for q in asked if q["derive"].get("why") == "forgotten"]

    assert forgotten
    for q in forgotten:
        assert q["query_session"] == "bank"
        span = q["evidence"][-1]
        assert "forget" in told[span["day"]][span["start"] : span["end"]]
        assert q["answerable_from"] == span["day"]


def test_a_month_is_counted_summed_and_compared_when_it_is_over(
    asked: list[dict[str, Any]], built: Build
) -> None:
    found = of(asked, "synthesis")

    assert {q["derive"]["op"] for q in found} == {
        "changes",
        "count",
        "total",
        "highest",
        "lowest",
    }
    for q in found:
        if q["derive"]["op"] == "count":
            assert int(q["answer"].rstrip(".")) == len(q["evidence"])
        assert len(q["relevant_days"]) > 1
        assert q["answerable_from"] >= max(q["relevant_days"])
