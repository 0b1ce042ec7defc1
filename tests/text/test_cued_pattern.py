"""Patterns that are tried only on texts with a cue."""

import re
from importlib import import_module
from itertools import chain
from typing import Any

from recall_bench.judging.offline import contents, stance
from recall_bench.text import value_patterns
from recall_bench.text.cued_pattern import CuedPattern
from tests.loops import loop_over_rows

PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in (value_patterns, contents, stance)
    for name, value in vars(module).items()
    if isinstance(value, CuedPattern)
}
MOST = 3000
"""Combinations that are tried."""


def list_examples(pattern: re.Pattern[str]) -> list[str]:
    """Texts that a pattern matches: every alternative in one of them, and each repetition."""
    tree = import_module("re._parser").parse(pattern.pattern, pattern.flags)
    padded = (f"{before}{each}{after}" for each in _spell_all(tree) for before, after in _FRAMES)
    return [text for text in padded if pattern.search(text)]


_FRAMES = (("", ""), ("is ", "."), ("a", "a"), ("", " day"), ("", " 1"))


def _spell_all(tree: Any) -> list[str]:
    """The choices of all parts: all combinations of few, each choice of many at least once."""
    found = [""]
    for part in tree:
        choices = _spell(str(part[0]), part[1])
        if len(found) * len(choices) <= MOST:
            found = [one + other for one in found for other in choices]
        else:
            size = max(len(found), len(choices))
            found = [found[n % len(found)] + choices[n % len(choices)] for n in range(size)]
    return found


def _spell(kind: str, content: Any) -> list[str]:
    if kind == "LITERAL":
        return [chr(content)]
    if kind in ("ANY", "NOT_LITERAL"):
        return [" "]
    if kind == "IN":
        signs = re.compile(_write_set(content))
        found = [sign for sign in "a \n1-.,:([)]\"'>$" if signs.match(sign)]
        return found[:2] or [next(sign for sign in map(chr, range(128)) if signs.match(sign))]
    if kind == "BRANCH":
        return list(chain.from_iterable(map(_spell_all, content[1])))
    if kind == "SUBPATTERN":
        return _spell_all(content[3])
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, repeated = content
        once = _spell_all(repeated)
        return [each * max(least, count) for count in {least, min(most, 1)} for each in once]
    assert kind in ("AT", "ASSERT", "ASSERT_NOT"), kind
    return [""]


def _write_set(content: Any) -> str:
    written = ""
    for kind, value in content:
        match str(kind):
            case "NEGATE":
                written += "^"
            case "LITERAL":
                written += re.escape(chr(value))
            case "RANGE":
                written += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
            case _:
                name = str(value).removeprefix("CATEGORY_")
                sign = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.removeprefix("NOT_")]
                written += f"\\{sign.upper() if name.startswith('NOT_') else sign}"
    return f"[{written}]"


@loop_over_rows("name", PATTERNS)
def test_every_match_of_a_pattern_holds_one_of_its_cues(name: str) -> None:
    examples = list_examples(PATTERNS[name].pattern)

    assert examples
    assert [text for text in examples if not PATTERNS[name].has_cue(text)] == []


@loop_over_rows("name", PATTERNS)
def test_no_cue_of_a_pattern_is_superfluous(name: str) -> None:
    cued = PATTERNS[name]
    # One digit stands for all in the examples.
    cues = {"1" if cue.isdigit() else cue for cue in cued._cues}
    examples = [text.lower() for text in list_examples(cued.pattern)]

    assert [cue for cue in cues if not any(cue in text for text in examples)] == []


def test_a_text_without_a_cue_is_neither_searched_nor_changed() -> None:
    cued = CuedPattern(r"\bno (?:idea|clue)\b", "no idea", "no clue")

    assert cued.search("They know.") is None
    assert cued.count("They know.") == 0
    assert cued.sub("", "They know.") == "They know."
    assert "pattern" not in vars(cued)


def test_a_text_with_a_cue_in_any_case_is_matched_as_by_the_pattern() -> None:
    cued = CuedPattern(r"\bno (?:idea|clue)\b", "no idea", "no clue")

    assert cued.search("I have No Idea.")
    assert cued.count("no idea, NO CLUE, piano clue") == 2
    assert cued.sub("-", "no idea, NO CLUE") == "-, -"


def test_a_sign_that_is_a_letter_of_a_cue_in_another_case_hides_no_match() -> None:
    text = "it \N{LATIN SMALL LETTER LONG S}eems so"

    assert re.search(r"\bseems\b", text, re.IGNORECASE)
    assert CuedPattern(r"\bseems\b", "seem").search(text)


def test_a_match_between_two_places_sees_the_edges_of_words_in_the_whole_text() -> None:
    pattern = CuedPattern(r"\bnot\b", "not")
    text = "cannot, not yet"

    found = pattern.search_between(text, 3, len(text))

    assert found is not None
    assert found.span() == (8, 11)
    assert pattern.search_between(text, 3, 6) is None
