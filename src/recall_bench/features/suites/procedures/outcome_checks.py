"""Check the outcome of a task by program: a text, a JSON document, or a list of tool calls.

A check selects a part of the outcome and tests it. A part that is missing fails every test but
`absent`. Nothing here knows which memory or model made the outcome.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Literal

import msgspec

from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.untrusted_json import decode_plain_json

CHECKS_VERSION = "1"
"""Increase it when a check reads an outcome in another way."""

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEKDAYS: tuple[Weekday, ...] = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)


MAX_REPLY = 20_000
"""Characters of a reply that can be the outcome of a task: patterns are looked for in it."""


class OutcomeForm(StrEnum):
    """What the outcome of a task is."""

    TEXT = "text"
    """A text: a commit message, a letter, a file."""
    JSON = "json"
    """One JSON document."""
    CALLS = "calls"
    """A JSON list of tool calls, in order: `{"tool": NAME, "arguments": {...}}`."""


class WantedCall(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A call as a check describes it: a tool, and the arguments that matter."""

    tool: str
    arguments: dict[str, object] = msgspec.field(default_factory=dict)
    """Compared as by `equals`, or with a regular expression: `{matches: PATTERN}`. Arguments that
    are not named may be anything."""

    def __post_init__(self) -> None:
        for value in self.arguments.values():
            if (pattern := _get_pattern(value)) is not None:
                _compile(pattern)


class OutcomeCheck(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One check: what it selects, and exactly one test (`least` and `most` may stand together)."""

    rule: str | None = None
    """The convention that it tests; None if it tests whether the task was done at all."""

    at: str | None = None
    """The part of a JSON document or of a call's arguments: `lines.0.amount`; `*` is every
    element of a list, of which there must be one."""
    tool: str | None = None
    """The calls to this tool: all of them have to pass, and there must be one."""
    line: int | None = None
    """The line of a text, from 1; negative numbers count from the end. Blank lines count."""

    equals: object | msgspec.UnsetType = msgspec.UNSET
    """The value is this one. Case and blanks of texts do not matter, nor the form of numbers."""
    one_of: tuple[object, ...] | None = None
    same_items: tuple[object, ...] | None = None
    """The list has these elements, in any order."""
    in_order: tuple[object, ...] | None = None
    """The list has these elements, in this order, and no other."""
    includes: tuple[object, ...] | None = None
    excludes: tuple[object, ...] | None = None
    matches: str | None = None
    """The regular expression is found in the text. Case counts unless it says (?i)."""
    lacks: str | None = None
    """The regular expression is not found in it."""
    texts_in_order: tuple[str, ...] | None = None
    """The regular expressions are found one after the other."""
    longest: int | None = None
    """The text has at most this many characters, or the list this many elements."""
    least: float | None = None
    most: float | None = None
    not_before: str | None = None
    """A date, a time of day, or both: 2025-03-10, 10:00, 2025-03-10T10:00."""
    not_after: str | None = None
    weekdays: tuple[Weekday, ...] | None = None
    absent: bool | None = None
    """True if nothing may be there, not even an empty value; False if something must."""
    calls_in_order: tuple[WantedCall, ...] | None = None
    """These calls are made in this order; others may stand between them."""
    called: WantedCall | None = None
    not_called: tuple[WantedCall, ...] | None = None
    first_call: WantedCall | None = None
    last_call: WantedCall | None = None

    def __post_init__(self) -> None:
        ComputedRecord.__post_init__(self)
        tests = list_tests(self)
        if len(tests) != 1 and set(tests) not in ({"least", "most"}, {"not_before", "not_after"}):
            raise ValueError(f"a check has one test, not {' and '.join(tests) or 'none'}")
        for pattern in (self.matches, self.lacks, *(self.texts_in_order or ())):
            if pattern is not None:
                _compile(pattern)
        for moment in (self.not_before, self.not_after):
            if moment is not None and read_moment(moment) is None:
                raise ValueError(f"{moment!r} is neither a date nor a time of day")
        if self.line is not None and (self.at is not None or self.tool is not None):
            raise ValueError("`line` selects from a text, `at` and `tool` from JSON")
        if tests[0] in _CALL_TESTS and (self.at or self.tool):
            raise ValueError(f"`{tests[0]}` is about all calls; leave out `at` and `tool`")


_SELECTORS = ("rule", "at", "tool", "line")
_CALL_TESTS = ("calls_in_order", "called", "not_called", "first_call", "last_call")


def list_tests(check: OutcomeCheck) -> list[str]:
    """List the tests that a check states."""
    return [
        name
        for name in check.__struct_fields__
        if name not in _SELECTORS and getattr(check, name) not in (None, msgspec.UNSET)
    ] + (["equals"] if check.equals is None else [])


class TaskOutcome(Record, frozen=True, kw_only=True):
    """What a reply holds: the text of its block, and what that means."""

    text: str
    value: object = None
    """The JSON document or the list of calls; None for a text."""


_FENCE = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[^\n`]*\n(?P<body>.*?)^[ \t]*(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


def read_outcome(reply: str, form: OutcomeForm) -> TaskOutcome | None:
    """Read the outcome from a reply: its last fenced block, or all of it if it has none.

    None if the reply has no text or a very long one, or is to be JSON and is not, or is to be calls
    and is none.
    """
    if len(reply) > MAX_REPLY:
        return None
    blocks = [match["body"] for match in _FENCE.finditer(reply.replace("\r\n", "\n"))]
    text = (blocks[-1] if blocks else reply).strip("\n").rstrip()
    if not text.strip():
        return None
    if form is OutcomeForm.TEXT:
        return TaskOutcome(text=text)
    value = _parse_document(text)
    if value is None or (form is OutcomeForm.CALLS and not _are_calls(value)):
        return None
    return TaskOutcome(text=text, value=value)


def _parse_document(text: str) -> object:
    """The document, or the one between the first bracket and the last of a text around it."""
    start = min((text.find(bracket) for bracket in "{[" if bracket in text), default=-1)
    end = max(text.rfind("}"), text.rfind("]"))
    for part in (text, text[start : end + 1] if 0 <= start < end else ""):
        try:
            document = decode_plain_json(part)
        except msgspec.DecodeError:
            continue
        if isinstance(document, dict | list):
            return document
    return None


def _are_calls(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(part, dict)
        and isinstance(part.get("tool"), str)
        and isinstance(part.get("arguments", {}), dict)
        for part in value
    )


def find_failures(
    outcome: TaskOutcome, checks: Sequence[OutcomeCheck], form: OutcomeForm
) -> list[OutcomeCheck]:
    """List the checks that an outcome does not pass, in their order."""
    return [check for check in checks if not passes(outcome, check, form)]


def passes(outcome: TaskOutcome, check: OutcomeCheck, form: OutcomeForm) -> bool:
    """Whether an outcome passes one check."""
    if list_tests(check)[0] in _CALL_TESTS:
        return _test_calls(_list_calls(outcome), check)
    parts = list(_select(outcome, check, form))
    if check.absent is not None:
        return any(not _is_empty(part) for part in parts) is not check.absent
    return bool(parts) and all(_test_part(part, check) for part in parts)


def _select(outcome: TaskOutcome, check: OutcomeCheck, form: OutcomeForm) -> Iterator[object]:
    """The parts that a check selects; none if they are not there."""
    if form is OutcomeForm.TEXT:
        yield from _select_line(outcome.text, check.line)
    elif form is OutcomeForm.CALLS and check.tool is not None:
        for name, arguments in _list_calls(outcome):
            if name == check.tool:
                yield from _follow(arguments, check.at)
    else:
        yield from _follow(outcome.value, check.at)


def _select_line(text: str, line: int | None) -> Iterator[str]:
    if line is None:
        yield text
        return
    lines = text.split("\n")
    place = line - 1 if line > 0 else len(lines) + line
    if 0 <= place < len(lines):
        yield lines[place].rstrip()


def _follow(value: object, path: str | None) -> Iterator[object]:
    if not path:
        yield value
        return
    step, _, rest = path.partition(".")
    if step == "*" and isinstance(value, list):
        for part in value:
            yield from _follow(part, rest)
    elif isinstance(value, dict) and step in value:
        yield from _follow(value[step], rest)
    elif isinstance(value, list) and re.fullmatch(r"-?\d+", step):
        place = int(step)
        if -len(value) <= place < len(value):
            yield from _follow(value[place], rest)


def _test_part(part: object, check: OutcomeCheck) -> bool:
    if check.equals is not msgspec.UNSET:
        return are_equal(part, check.equals)
    return all(
        test(part, getattr(check, name))
        for name, test in _TESTS.items()
        if getattr(check, name) is not None
    )


def are_equal(one: object, other: object) -> bool:
    """Whether two values are equal; case, blanks and the form of numbers do not matter.

    >>> are_equal("£5,000.00", 5000)
    True
    """
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, dict | list) or isinstance(other, dict | list):
        return False
    if isinstance(one, str) and isinstance(other, str):
        moments = read_moment(one), read_moment(other)
        return _simplify(one) == _simplify(other) or (
            None not in moments and moments[0] == moments[1]
        )
    numbers = read_number(one), read_number(other)
    return None not in numbers and numbers[0] == numbers[1]


def _simplify(text: str) -> str:
    return " ".join(text.split()).casefold()


def read_number(value: object) -> Decimal | None:
    """The number that a value is; None if it is none. `£5,000.00` is one, `5 days` is not."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    plain = re.sub(r"(?<=\d)[,_ ](?=\d{3})|^[£$€]\s*|\s*[£$€%]$", "", str(value).strip())
    try:
        decimal = Decimal(plain)
    except InvalidOperation:
        return None
    return decimal if decimal.is_finite() else None


def _has_items(part: object, wanted: Sequence[object]) -> bool:
    if not isinstance(part, list) or len(part) != len(wanted):
        return False
    unmatched = list(part)
    for item in wanted:
        place = next((n for n, other in enumerate(unmatched) if are_equal(other, item)), None)
        if place is None:
            return False
        del unmatched[place]
    return True


def _holds(part: object, wanted: object) -> bool:
    """Whether a list has the element."""
    return isinstance(part, list) and any(are_equal(item, wanted) for item in part)


def _find_in_order(text: object, patterns: Sequence[str]) -> bool:
    place = 0
    for pattern in patterns:
        match = _compile(pattern).search(str(text), place)
        if match is None:
            return False
        place = match.end()
    return True


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def _is_found(part: object, pattern: str) -> bool:
    return isinstance(part, str | int | float) and _compile(pattern).search(str(part)) is not None


Moment = datetime | date | time
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
"""Python also reads `20250310` and `1250`, which are numbers here."""


def read_moment(value: object) -> Moment | None:
    """The date, the time of day, or both, in ISO form; None if it is none."""
    if not isinstance(value, str):
        return None
    text = value.strip().replace(" ", "T", 1).removesuffix("Z")
    if not _MOMENT.match(text):
        return None
    readers: tuple[Callable[[str], Moment], ...] = (
        date.fromisoformat,
        time.fromisoformat,
        datetime.fromisoformat,
    )
    for reader in readers:
        try:
            parsed = reader(text)
        except ValueError:
            continue
        return parsed if not isinstance(parsed, datetime | time) else parsed.replace(tzinfo=None)
    return None


def _compare_moments(part: object, limit: str) -> int | None:
    """-1, 0 or 1 as the part lies before, at or after the limit; None if they do not compare."""
    moment, bound = read_moment(part), read_moment(limit)
    if isinstance(moment, datetime) and not isinstance(bound, datetime):
        moment = moment.date() if isinstance(bound, date) else moment.time()
    if moment is None or bound is None or type(moment) is not type(bound):
        return None
    return (moment > bound) - (moment < bound)  # type: ignore[operator]


def _falls_on(part: object, weekdays: Sequence[str]) -> bool:
    moment = read_moment(part)
    return isinstance(moment, date) and _WEEKDAYS[moment.weekday()] in weekdays


def _is_short(part: object, longest: int) -> bool:
    return isinstance(part, str | list | dict) and len(part) <= longest


def _is_empty(part: object) -> bool:
    return part is None or part in ("", [], {})


def _is_at_least(part: object, least: float) -> bool:
    number = read_number(part)
    return number is not None and number >= Decimal(str(least))


def _is_at_most(part: object, most: float) -> bool:
    number = read_number(part)
    return number is not None and number <= Decimal(str(most))


_TESTS: Mapping[str, Callable[..., bool]] = {
    "one_of": lambda part, wanted: any(are_equal(part, choice) for choice in wanted),
    "same_items": _has_items,
    "in_order": lambda part, wanted: are_equal(part, list(wanted)),
    "includes": lambda part, wanted: all(_holds(part, entry) for entry in wanted),
    "excludes": lambda part, wanted: (
        isinstance(part, list) and not any(_holds(part, excluded) for excluded in wanted)
    ),
    "matches": _is_found,
    "lacks": lambda part, pattern: (
        isinstance(part, str | int | float) and not _is_found(part, pattern)
    ),
    "texts_in_order": _find_in_order,
    "longest": _is_short,
    "least": _is_at_least,
    "most": _is_at_most,
    "not_before": lambda part, limit: _compare_moments(part, limit) in (0, 1),
    "not_after": lambda part, limit: _compare_moments(part, limit) in (-1, 0),
    "weekdays": _falls_on,
}


def _list_calls(outcome: TaskOutcome) -> list[tuple[str, Mapping[str, object]]]:
    if not isinstance(outcome.value, list):
        return []
    return [
        (
            str(call["tool"]),
            arguments if isinstance(arguments := call.get("arguments"), dict) else {},
        )
        for call in outcome.value
        if isinstance(call, dict) and "tool" in call
    ]


def _fits(call: tuple[str, Mapping[str, object]], wanted: WantedCall) -> bool:
    name, arguments = call
    return name == wanted.tool and all(
        key in arguments and _is_argument(arguments[key], value)
        for key, value in wanted.arguments.items()
    )


def _is_argument(found: object, wanted: object) -> bool:
    pattern = _get_pattern(wanted)
    return are_equal(found, wanted) if pattern is None else _is_found(found, pattern)


def _get_pattern(wanted: object) -> str | None:
    """The pattern of an argument that is described by one."""
    if not isinstance(wanted, dict) or wanted.keys() != {"matches"}:
        return None
    return str(wanted["matches"])


def _test_calls(calls: Sequence[tuple[str, Mapping[str, object]]], check: OutcomeCheck) -> bool:
    if check.not_called is not None:
        return not any(_fits(call, pattern) for call in calls for pattern in check.not_called)
    if check.first_call is not None:
        return bool(calls) and _fits(calls[0], check.first_call)
    if check.last_call is not None:
        return bool(calls) and _fits(calls[-1], check.last_call)
    patterns = (check.called,) if check.called is not None else check.calls_in_order or ()
    remaining = iter(calls)
    return all(any(_fits(call, pattern) for call in remaining) for pattern in patterns)
