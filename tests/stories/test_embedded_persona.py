"""The embedded persona can be proved: what a reference says stands in its days, and no earlier."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

import yaml

from recall_bench.core.scenario import CATEGORIES, DIFFICULTIES, GROUP_CATEGORIES, PRINCIPAL
from recall_bench.stories.shipped import SAMPLE, unpack_story
from tests.loops import loop_over

HOME = unpack_story(SAMPLE)
EPOCH = date(2025, 3, 3)
DAYS = range(1, 31)
MONTHS = ("January", "February", "March", "April", "May", "June")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

SECRETS = {
    "insurers": "£72,000|£5,000|NM/25/0317|lamp|unlit|2 March|85 to 15|£54,700|arbitrat"
    "|£38,000|£46,500|£41,000|£43,250",
    "personnel": "cataract|left eye|operation|sight test|deputy|£39,400|1 May|4 April",
}
"""What only the named session may say, as patterns."""

SAID_ONCE = {"q002": "oilskin locker", "q024": "fruit cake"}
"""What to look for where a reference of the early days holds no figure."""

LINKS = {
    "q022": ("09:05", "dolphin"),
    "q040": ("15:31", "Torvik"),
    "q047": ("3 hPa", "1022"),
    "q052": ("3.6", "0.3"),
    "q056": ("Pringle", "Lisle"),
    "q057": ("Alec Rowe", "Ina Mouat"),
    "q069": ("mudline", "£180"),
    "q077": ("4.2", "3.5"),
}
"""The two ends of each cross-reference."""

MIRRORS = dict(
    pair.split(">")
    for pair in "q005>q036 q010>q048 q011>q050 q012>q073 q019>q044 "
    "q033>q067 q044>q087 q065>q076 q067>q086 q079>q089".split()
)
"""For each question that is overtaken, the one that asks for what overtook it."""

_ATOM = re.compile(
    r"£\d+(?:,\d{3})*(?:\.\d+)?|\d{2}:\d{2}|\d{1,2} (?:March|April|May|June)\b|\d+ to \d+"
    r"|\d+\.\d+|\d{1,3}(?:,\d{3})+|\d{3,}|\b[A-Z]+-?\d+\b|No\. \d+|\b\d{1,2} \w+|\"[^\"]+\""
)
_WORD_NUMBER = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|forty|fifty)\b",
    re.IGNORECASE,
)
_NAME = re.compile(rf"(?<!^)(?<![.:?] )\b(?!{'|'.join(WEEKDAYS + MONTHS)}|Tally)[A-Z][a-z]+\b")


def calendar_date(text: str) -> date:
    day, month = text.split()
    return date(EPOCH.year, MONTHS.index(month) + 1, int(day))


def number(text: str) -> float:
    return float(text.split(maxsplit=1)[0].lstrip("£").replace(",", ""))


def minutes(start: str, end: str) -> float:
    (h1, m1), (h2, m2) = (map(int, clock.split(":")) for clock in (start, end))
    return (h2 - h1) * 60 + m2 - m1


def nights(start: str, end: str) -> float:
    return (calendar_date(end) - calendar_date(start)).days


def total(*parts: str) -> float:
    return round(sum(number(part) for part in parts), 2)


def less(whole: str, part: str) -> float:
    return round(number(whole) - number(part), 2)


def count(*parts: str) -> float:
    return len(parts)


DERIVED: dict[str, tuple[dict[str, float], Callable[..., float], tuple[str, ...]]] = {
    "q016": ({"48 minutes": 48}, minutes, ("06:52", "07:40")),
    "q023": ({"three": 3}, count, ("07:30", "10:15", "07:30")),
    "q039": ({"55 minutes": 55}, minutes, ("22:00", "22:55")),
    "q047": ({"1019": 1019}, less, ("1022", "3 hPa")),
    "q051": ({"12 days": 12}, nights, ("5 March", "17 March")),
    "q052": ({"3.9": 3.9}, total, ("3.6", "0.3")),
    "q058": ({"6 hours": 360, "25 minutes": 25}, minutes, ("09:20", "15:45")),
    "q060": ({"4,480": 4480}, less, ("8,460", "3,980")),
    "q061": ({"11 days": 11}, nights, ("10 March", "21 March")),
    "q066": ({"8 days": 8}, nights, ("17 March", "25 March")),
    "q071": ({"£20,900": 20900}, total, ("£1,860", "£17,900", "£1,140")),
    "q074": ({"1,580": 1580}, total, ("820", "760")),
    "q077": ({"0.7": 0.7}, less, ("4.2", "3.5")),
    "q082": ({"31.5": 31.5}, total, ("6.4", "9.1", "7.7", "8.3")),
    "q086": ({"25 days": 25}, nights, ("6 March", "31 March")),
}
"""Figures that no day states: what they are worth, and the sum of stated ones that yields them."""


def stated(atom: str, text: str) -> bool:
    """Whether the text holds the atom itself and not a longer figure around it."""
    found = re.finditer(rf"(?<![\w£]){re.escape(atom)}(?!\w|[.,:]\d)", text, re.IGNORECASE)
    return any(not re.search(r"\d[.,:/]$", text[: match.start()]) for match in found)


@cache
def day_text(day: int) -> str:
    return (HOME / "memories-30d" / f"day-{day:04}.md").read_text(encoding="utf-8")


def sections(day: int) -> dict[str, str]:
    """Each session of a day with its text."""
    _, *parts = re.split(r"^# session: (\S+)$", day_text(day), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def sentences(day: int) -> Iterator[str]:
    for line in day_text(day).splitlines():
        if not line.startswith(("#", "---", "type:")):
            yield from (part for part in re.split(r"(?<=[.!?:;])\s+", line.lstrip("- ")) if part)


def words(text: str) -> list[str]:
    return re.findall(r"[\w£.:,']*\w", text.lower())


def read(name: str) -> Any:
    return yaml.load((HOME / name).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def name_of(item: dict[str, Any]) -> str:
    return str(item["id"]).removeprefix("harbour-office-")


def days_of(item: dict[str, Any]) -> list[int]:
    return [int(day) for day in item["relevant_days"]]


def date_of(day: int) -> str:
    when = EPOCH + timedelta(days=day - 1)
    return f"{when.day} {MONTHS[when.month - 1]}"


def figures(item: dict[str, Any]) -> list[str]:
    """What a day must state: not a sum over stated figures, and not the date of the day itself."""
    known = {*DERIVED.get(name_of(item), ({},))[0], *map(date_of, days_of(item))}
    return [atom for atom in _ATOM.findall(item["answer"]) if atom not in known]


def evidence(item: dict[str, Any]) -> str:
    """What those who ask may know of the relevant days: the session named, or all open to them."""
    if named := re.match(r"In the (\w+) group", item["question"]):
        return "\n".join(sections(day)[named[1]] for day in days_of(item))
    asker = item.get("query_session", PRINCIPAL)
    closed = set() if asker == PRINCIPAL else set(ISOLATED) - {asker}
    return "\n".join(
        text for day in days_of(item) for name, text in sections(day).items() if name not in closed
    )


SESSIONS: list[dict[str, Any]] = read("persona.yaml")["sessions"]
ISOLATED = [session["id"] for session in SESSIONS if session.get("isolated") == "true"]
ARCS: list[dict[str, Any]] = read("arcs-30d.yaml")["arcs"]
CORRECTIONS = [arc for arc in ARCS if arc["type"] == "correction"]
ITEMS: list[dict[str, Any]] = read("qa-30d/questions.yaml")
BY_NAME = {name_of(item): item for item in ITEMS}

each_item = loop_over(ITEMS, name_of)
each_day = loop_over(DAYS)


def of_category(category: str) -> list[dict[str, Any]]:
    return [item for item in ITEMS if item["category"] == category]


def running(day: int) -> int:
    return sum(int(arc["startDay"]) <= day <= int(arc["endDay"]) for arc in ARCS)


def test_the_story_has_exactly_thirty_days() -> None:
    names = sorted(path.name for path in (HOME / "memories-30d").iterdir())

    assert names == [f"day-{day:04}.md" for day in DAYS]
    assert read("arcs-30d.yaml")["epoch"] == EPOCH.isoformat()


@each_day
def test_a_day_has_the_canonical_shape(day: int) -> None:
    text, active = day_text(day), sections(day)

    assert text.startswith("---\ntype: daily\n---\n\n# session: principal\n\n### ")
    assert list(active) == [name["id"] for name in SESSIONS if name["id"] in active]
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == len(active)
    assert all(part.startswith("\n\n### ") for part in active.values())
    assert not re.search(r"[ \t\r]$", text, re.MULTILINE)


@each_day
def test_a_day_names_its_date_and_is_as_long_as_its_events_deserve(day: int) -> None:
    shortest, longest = (150, 700) if running(day) else (60, 120)

    assert f"{WEEKDAYS[(day - 1) % 7]} {date_of(day)}" in day_text(day)
    assert shortest <= len(day_text(day).split()) <= longest


def test_every_weekday_beside_a_date_is_right() -> None:
    beside = re.compile(rf"\b({'|'.join(d[:3] for d in WEEKDAYS)})[a-z]* (\d{{1,2}})\b(?: (\w+))?")
    texts = [*map(day_text, DAYS), *(f"{item['question']} {item['answer']}" for item in ITEMS)]
    found = [match for text in texts for match in beside.findall(text)]
    wrong = [
        (weekday, day, month)
        for weekday, day, month in found
        if calendar_date(f"{day} {month if month in MONTHS else 'March'}").strftime("%a") != weekday
    ]

    assert wrong == []
    assert len(found) > 70


def test_arcs_are_of_all_six_kinds_and_at_most_four_run_at_once() -> None:
    kinds = Counter(arc["type"] for arc in ARCS)
    usual = {"project", "incident", "decision", "learning", "relationship", "correction"}

    assert set(kinds) == usual
    assert kinds["correction"] == 2
    assert 6 <= len(ARCS) <= 8
    assert max(map(running, DAYS)) == 4
    assert [day for day in DAYS if not running(day)] == [20, 21, 22]


@loop_over(ARCS, lambda arc: arc["id"])
def test_an_arc_happens_where_and_when_it_says(arc: dict[str, Any]) -> None:
    span = range(int(arc["startDay"]), int(arc["endDay"]) + 1)
    told = {int(event["day"]) for event in arc["directives"]}
    places = {arc["primarySession"], *arc.get("referencedSessions", ())}

    assert told <= set(span) <= set(DAYS)
    assert places <= {session["id"] for session in SESSIONS}
    assert any(arc["primarySession"] in sections(day) for day in told)


@loop_over(CORRECTIONS, lambda arc: arc["id"])
def test_a_correction_never_leaks_early_and_the_old_value_survives_only_as_old(
    arc: dict[str, Any],
) -> None:
    first, corrected = int(arc["wrongDay"]), int(arc["correctedDay"])
    (wrong,), (right,) = (_ATOM.findall(arc[key]) for key in ("wrongBelief", "correctedBelief"))
    after = [line for day in range(corrected, 31) for line in sentences(day) if stated(wrong, line)]

    assert min(day for day in DAYS if stated(wrong, day_text(day))) == first
    assert min(day for day in DAYS if stated(right, day_text(day))) == corrected
    assert not stated(right, arc["description"])
    assert [line for line in after if not re.search(r"\b(?:not|no longer|old)\b", line)] == []


@loop_over(SECRETS)
def test_a_secret_is_stated_in_its_own_session_only(session: str) -> None:
    secret = re.compile(rf"(?<!\w)(?:{SECRETS[session]})", re.IGNORECASE)
    told = {name for day in DAYS for name, text in sections(day).items() if secret.search(text)}
    outsiders = [item for item in ITEMS if session in item.get("forbidden_sessions", ())]

    assert told == {session}
    assert not any(secret.search(item["question"] + item["answer"]) for item in outsiders)


@each_item
def test_a_question_is_complete(item: dict[str, Any]) -> None:
    optional = {"query_session", "forbidden_sessions", "expected_disclosure", "irrelevant_after"}
    required = "id question answer category difficulty relevant_days requires_synthesis".split()

    assert set(item) - optional == set(required)
    assert item["category"] in CATEGORIES
    assert item["difficulty"] in DIFFICULTIES
    assert set(days_of(item)) <= set(DAYS)
    assert days_of(item) == sorted(set(days_of(item)))
    assert item["requires_synthesis"] == ("true" if len(days_of(item)) > 1 else "false")


def test_ids_count_up_as_questions_open_and_none_is_asked_twice() -> None:
    alike = Counter(frozenset(words(item["question"])) for item in ITEMS)

    assert list(BY_NAME) == [f"q{n:03}" for n in range(1, len(ITEMS) + 1)]
    assert all(max(days_of(a)) <= max(days_of(b)) for a, b in pairwise(ITEMS))
    assert max(alike.values()) == 1


@each_item
def test_everything_definite_in_a_reference_stands_in_its_days(item: dict[str, Any]) -> None:
    derived = DERIVED.get(name_of(item), ({},))[0]
    spoken = [w for w in _WORD_NUMBER.findall(item["answer"]) if w.lower() not in derived]
    definite = [*figures(item), *spoken, *_NAME.findall(item["answer"])]

    assert [atom for atom in definite if not stated(atom, evidence(item))] == []


@each_item
def test_no_figure_of_a_reference_stands_in_an_earlier_day(item: dict[str, Any]) -> None:
    earlier = "\n".join(day_text(day) for day in range(1, min(days_of(item))))

    assert [atom for atom in figures(item) if stated(atom, earlier)] == []


@loop_over(DERIVED)
def test_a_derived_figure_follows_from_figures_of_the_reference(name: str) -> None:
    values, operation, operands = DERIVED[name]

    assert operation(*operands) == sum(values.values())
    assert all(stated(atom, BY_NAME[name]["answer"]) for atom in (*values, *operands))


@each_item
def test_a_question_speaks_its_own_words_and_names_no_later_date(item: dict[str, Any]) -> None:
    asked, told = words(item["question"]), " ".join(words(evidence(item)))
    fives = [" ".join(asked[i : i + 5]) for i in range(len(asked) - 4)]
    named = re.findall(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)})\b", item["question"])

    assert [five for five in fives if f" {five} " in f" {told} "] == []
    assert all(calendar_date(n) <= calendar_date(date_of(max(days_of(item)))) for n in named)


def test_time_is_named_by_the_calendar_and_never_by_number() -> None:
    numbered = re.compile(r"\b(?:day|week)[ -]?\d|checkpoint", re.IGNORECASE)
    texts = [*map(day_text, DAYS), *(item["question"] + item["answer"] for item in ITEMS)]

    assert [text for text in texts if numbered.search(text)] == []


def test_every_category_is_asked_often_enough() -> None:
    for category in CATEGORIES:
        assert len(of_category(category)) >= (6 if category in GROUP_CATEGORIES else 7), category


def test_negatives_are_balanced_by_things_that_did_happen() -> None:
    items = of_category("negative-recall")
    absent = [item for item in items if item["answer"].startswith("No,")]
    happened = [item for item in items if item["answer"].startswith("Yes,")]

    assert len(absent) + len(happened) == len(items)
    assert 0.4 <= len(absent) / len(items) <= 0.6
    assert not any(figures(item) for item in absent)


def test_questions_open_early_and_keep_opening() -> None:
    early = [item for item in ITEMS if max(days_of(item)) <= 5]
    blocks = Counter((max(days_of(item)) - 1) // 5 for item in ITEMS)

    assert len(early) >= 12
    assert len({item["category"] for item in early}) >= 5
    assert all(blocks[block] >= 7 for block in range(6))


def test_an_overtaken_question_retires_the_day_before_its_mirror_opens() -> None:
    overtaken = {name_of(item): int(day) for item in ITEMS if (day := item.get("irrelevant_after"))}

    assert set(overtaken) == set(MIRRORS)
    for name, until in overtaken.items():
        item, mirror = BY_NAME[name], BY_NAME[MIRRORS[name]]
        assert max(days_of(item)) <= until < max(DAYS)
        assert max(days_of(mirror)) <= until + 1
        assert mirror["answer"] != item["answer"]


def test_a_boundary_item_has_a_twin_that_may_be_answered() -> None:
    boundary = of_category("information-boundary")
    answerable = [item for item in boundary if item["expected_disclosure"] == "answer"]
    guarded = [item for item in boundary if item not in answerable]

    assert {item["expected_disclosure"] for item in guarded} == {"refuse", "partial"}
    assert all("forbidden_sessions" not in item for item in answerable)
    for item in guarded:
        (forbidden,) = item["forbidden_sessions"]
        insiders = {forbidden, PRINCIPAL}
        assert item["query_session"] not in insiders
        assert any(
            twin["query_session"] in insiders and set(days_of(twin)) <= set(days_of(item))
            for twin in answerable
        ), item["id"]


def test_a_group_item_leaves_more_than_one_person_to_choose_from() -> None:
    for item in of_category("group-session-attribution"):
        cast = {person for session in SESSIONS for person in session["participants"]}
        present = [p for p in cast if stated(p.split()[-1], evidence(item))]

        assert item["answer"].rstrip(".") in cast
        assert len(present) >= 2, item["id"]


def test_what_the_first_days_said_once_is_said_nowhere_else() -> None:
    for item in of_category("recency-bias-resistance"):
        told = figures(item) or [SAID_ONCE[name_of(item)]]
        where = {day for day in DAYS for atom in told if stated(atom, day_text(day))}

        assert where == set(days_of(item)), item["id"]
        assert max(where) <= 7


def test_the_ends_of_a_cross_reference_never_meet_on_one_day() -> None:
    assert set(LINKS) == {name_of(item) for item in of_category("cross-reference")}
    for name, ends in LINKS.items():
        told = [{d for d in DAYS if stated(end, day_text(d))} for end in ends]

        assert all(days & set(days_of(BY_NAME[name])) for days in told), name
        assert not told[0] & told[1], name


def test_at_least_85_percent_of_sentences_are_new() -> None:
    long = [" ".join(words(s)) for day in DAYS for s in sentences(day) if len(words(s)) >= 6]

    assert len(long) > 400
    assert len(set(long)) / len(long) >= 0.85
