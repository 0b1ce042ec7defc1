"""What each check accepts and what it refuses, and how a reply becomes an outcome."""

import json
from typing import Any

import msgspec
import pytest

from recall_bench.features.suites.procedures.outcome_checks import (
    MAX_REPLY,
    OutcomeCheck,
    OutcomeForm,
    are_equal,
    find_failures,
    read_outcome,
)
from tests.loops import loop_over_rows

CALLS = [
    {"tool": "freeze", "arguments": {"payout": "P-1"}},
    {"tool": "post", "arguments": {"amount": -240}},
    {"tool": "mail", "arguments": {"to": "Linnea Sjoberg", "lines": ["a", "b"]}},
    {"tool": "mail", "arguments": {"to": "support"}},
]


def make_check(**fields: Any) -> OutcomeCheck:
    """A check, as a file gives it."""
    return msgspec.convert(fields, OutcomeCheck)


def passes(form: str, content: Any, **fields: Any) -> bool:
    """Whether an outcome passes a check."""
    reply = content if form == "text" else json.dumps(content)
    outcome = read_outcome(f"Here it is.\n```\n{reply}\n```\n", OutcomeForm(form))
    assert outcome is not None
    return not find_failures(outcome, [make_check(**fields)], OutcomeForm(form))


@loop_over_rows(
    ("form", "content", "fields", "passing"),
    [
        ("text", "Fix it\n\nTicket: B-1", {"line": -1, "matches": "^Ticket: B-1$"}, True),
        ("text", "Fix it\n\nTicket: B-1", {"line": 2, "matches": "^$"}, True),
        ("text", "Fix it", {"line": 2, "matches": "^$"}, False),
        ("text", "Fix it", {"line": 2, "lacks": "B-1"}, False),
        ("text", "Fix it", {"lacks": "B-1"}, True),
        ("text", "one\ntwo", {"matches": "^two$"}, True),
        ("text", "b a", {"texts_in_order": ["a", "b"]}, False),
        ("text", "a b", {"texts_in_order": ["a", "b"]}, True),
        ("text", "12345", {"longest": 5}, True),
        ("text", "123456", {"longest": 5}, False),
        ("json", {"n": "5,000.00"}, {"at": "n", "equals": 5000}, True),
        ("json", {"n": 5}, {"at": "n", "equals": "5"}, True),
        ("json", {"n": True}, {"at": "n", "equals": 1}, False),
        ("json", {"n": None}, {"at": "n", "equals": None}, True),
        ("json", {"n": "PLANT-desk "}, {"at": "n", "one_of": ["x", "plant-desk"]}, True),
        ("json", {"t": "2025-03-10T14:05:00"}, {"at": "t", "equals": "2025-03-10T14:05"}, True),
        ("json", {"t": "2025-03-10T14:06"}, {"at": "t", "equals": "2025-03-10T14:05"}, False),
        ("json", {"l": ["b", "A"]}, {"at": "l", "same_items": ["a", "b"]}, True),
        ("json", {"l": ["a", "a"]}, {"at": "l", "same_items": ["a", "b"]}, False),
        ("json", {"l": ["b", "a"]}, {"at": "l", "in_order": ["a", "b"]}, False),
        ("json", {"l": ["a", "b", "c"]}, {"at": "l", "includes": ["c", "a"]}, True),
        ("json", {"l": ["a"]}, {"at": "l", "excludes": ["a"]}, False),
        ("json", {"l": "abc"}, {"at": "l", "excludes": ["a"]}, False),
        ("json", {"l": [{"u": 1}, {"u": 2}]}, {"at": "l.*.u", "most": 2}, True),
        ("json", {"l": [{"u": 1}, {"u": 3}]}, {"at": "l.*.u", "most": 2}, False),
        ("json", {"l": []}, {"at": "l.*.u", "most": 2}, False),
        ("json", {"l": [7, 8]}, {"at": "l.-1", "least": 8, "most": 8}, True),
        ("json", {"n": "many"}, {"at": "n", "least": 0}, False),
        ("json", {"a": []}, {"at": "a", "absent": True}, True),
        ("json", {}, {"at": "a", "absent": False}, False),
        ("json", {"a": 0}, {"at": "a", "absent": True}, False),
        ("json", {"t": "2025-03-10T09:59"}, {"at": "t", "not_before": "10:00"}, False),
        ("json", {"t": "10:00"}, {"at": "t", "not_before": "10:00", "not_after": "12:00"}, True),
        ("json", {"t": "2025-03-10"}, {"at": "t", "not_before": "10:00"}, False),
        ("json", {"t": "2025-03-11T23:00"}, {"at": "t", "not_after": "2025-03-11"}, True),
        ("json", {"t": "2025-03-12"}, {"at": "t", "not_after": "2025-03-11"}, False),
        ("json", {"t": "2025-03-12T08:00"}, {"at": "t", "weekdays": ["wednesday"]}, True),
        ("json", {"t": "08:00"}, {"at": "t", "weekdays": ["wednesday"]}, False),
        ("calls", CALLS, {"calls_in_order": [{"tool": "freeze"}, {"tool": "mail"}]}, True),
        ("calls", CALLS, {"calls_in_order": [{"tool": "mail"}, {"tool": "freeze"}]}, False),
        ("calls", CALLS, {"calls_in_order": [{"tool": "mail"}] * 3}, False),
        ("calls", CALLS, {"called": {"tool": "post", "arguments": {"amount": -240.0}}}, True),
        (
            "calls",
            CALLS,
            {"called": {"tool": "post", "arguments": {"amount": {"matches": "^-?240$"}}}},
            True,
        ),
        ("calls", CALLS, {"called": {"tool": "post", "arguments": {"text": "x"}}}, False),
        ("calls", CALLS, {"not_called": [{"tool": "mail", "arguments": {"to": "x"}}]}, True),
        ("calls", CALLS, {"not_called": [{"tool": "x"}, {"tool": "mail"}]}, False),
        ("calls", CALLS, {"first_call": {"tool": "freeze"}}, True),
        ("calls", CALLS, {"last_call": {"tool": "freeze"}}, False),
        ("calls", [], {"last_call": {"tool": "freeze"}}, False),
        ("calls", CALLS, {"tool": "mail", "at": "to", "matches": "(?i)linnea|support"}, True),
        ("calls", CALLS, {"tool": "mail", "at": "to", "matches": "Linnea"}, False),
        ("calls", CALLS, {"tool": "mail", "at": "lines", "longest": 2}, True),
        ("calls", CALLS, {"tool": "ring", "at": "to", "lacks": "x"}, False),
    ],
)
def test_a_check_accepts_and_refuses(
    form: str, content: Any, fields: dict[str, Any], passing: bool
) -> None:
    assert passes(form, content, **fields) is passing


@loop_over_rows(
    ("reply", "form", "found"),
    [
        ("```\nold\n```\nBetter:\n```text\nnew\n```", "text", "new"),
        ("just this", "text", "just this"),
        ("~~~\na ``` b\n~~~", "text", "a ``` b"),
        ("````md\n```\ninner\n```\n````", "text", "```\ninner\n```"),
        ("```\n```", "text", None),
        ("  \n", "text", None),
        ('Sure: {"a": 1}. Anything else?', "json", {"a": 1}),
        ('```json\n{"a": 1}\n```', "json", {"a": 1}),
        ("no JSON at all", "json", None),
        ("7", "json", None),
        ("[" * 200 + "]" * 200, "json", None),
        ('[{"tool": "x"}]', "calls", [{"tool": "x"}]),
        ('{"tool": "x"}', "calls", None),
        ('[{"name": "x"}]', "calls", None),
        ('[{"tool": "x", "arguments": "y"}]', "calls", None),
        ("x" * (MAX_REPLY + 1), "text", None),
    ],
)
def test_the_last_block_of_a_reply_is_its_outcome(reply: str, form: str, found: Any) -> None:
    outcome = read_outcome(reply, OutcomeForm(form))

    if outcome is None or form != "text":
        assert (None if outcome is None else outcome.value) == found
    else:
        assert outcome.text == found


@loop_over_rows(
    ("fields", "message"),
    [
        ({}, "has one test, not none"),
        ({"at": "x"}, "has one test, not none"),
        ({"matches": "a", "lacks": "b"}, "not matches and lacks"),
        ({"matches": "("}, "is not a regular expression"),
        (
            {"called": {"tool": "x", "arguments": {"y": {"matches": "("}}}},
            "not a regular expression",
        ),
        ({"not_before": "noon"}, "neither a date nor a time"),
        ({"line": 1, "at": "x", "matches": "a"}, "`line` selects from a text"),
        ({"tool": "x", "called": {"tool": "x"}}, "is about all calls"),
        ({"maches": "a"}, "unknown field"),
    ],
)
def test_a_check_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        make_check(**fields)


def test_values_of_other_kinds_are_never_equal() -> None:
    assert not are_equal("1250", "12:50")
    assert not are_equal("five", 5)
    assert not are_equal(["a"], "a")
    assert are_equal({"a": [1.0]}, {"a": ["1"]})
    assert not are_equal({"a": 1}, {"b": 1})
