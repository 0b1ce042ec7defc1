"""Whether an answer fits its question word and its own atoms.

Only clear mismatches are reported: a sum for a person, no date for a when, a yes for a which.
"""

import re
from collections.abc import Collection, Iterator

from recall_bench.core.scenario import BOUNDARY, NEGATIVE, Disclosure
from recall_bench.features.personas.checks.check_result import (
    QuestionProblem,
    make_support_problem,
)
from recall_bench.features.personas.checks.support_check import is_withheld
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.value_index import NUMBER_WORDS, DayLog, LintQuestion, ValueIndex
from recall_bench.text.text import TEXT_STOPWORDS
from recall_bench.text.text_values import (
    CALENDAR_WORDS,
    DATE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    TIME,
    TextValue,
    collect_stems,
    find_claims,
    list_words,
    locate_text_values,
    normalise_text,
)
from recall_bench.text.words import contains_phrase

_DATED = frozenset({DATE})
_COUNTED = frozenset({MONEY, PERCENT, NUMBER})
_HELPER = r"(?:am|are|can|could|did|do|does|had|has|have|is|may|must|should|was|were|will|would)\b"
_OPENING = re.compile(
    r"\W*(?P<before>(?:according|across|added|after|among|as|at|before|between|by|during"
    r"|following|for|from|in|of|on|over|since|taken|throughout|to|under|until|upon|when|with"
    r"|within)\b[^,;:?]*,\s)?"
    r"(?:"
    r"(?P<count>(?:(?:after|by|for|from|in|of|on|to|with|within)\s)?how\s(?:many|much)\b)"
    r"|(?P<date>(?:(?:as\sof|by|for|from|in|on|since|to|until)\s)?"
    rf"(?:what|which)\s(?:calendar\s)?(?:date|day|month|weekday|year)(?=\W*$|\s(?:of\b|{_HELPER})))"
    rf"|(?P<when>when(?=\s{_HELPER})|(?:by|from|since|until)\swhen\b)"
    r"|(?P<who>(?:(?:about|before|by|for|from|of|on|to|with)\swhom|who|whom)\b)"
    r"|(?P<other>(?:(?:about|after|at|by|for|from|in|of|on|to|under|with)\s)?"
    r"(?:(?:what|how)(?!\sabout)|which|whose|where|why)\b|(?:describe|explain|give|list|name|put)\b)"
    r")(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_WHETHER = re.compile(rf"(?:[,;:?]|\s-)\s(?:(?:and|or|if\sso|so),?\s)?{_HELPER}", re.IGNORECASE)
"""A second part that may be answered with yes or no."""
_IGNORANCE = re.compile(
    r"\W*(?:"
    r"(?:i|we)\s(?:do\snot|don't|cannot|can\snot|can't)\s(?:know|recall|remember)\b"
    r"|(?:i'm|i\sam|we're|we\sare)\s(?:not\ssure|unsure|not\scertain)\b"
    r"|(?:(?:i|we)\s(?:cannot|can\snot|can't)\s(?:say|tell)|(?:(?:i|we)\shave\s)?no\sidea"
    r"|do\snot\sknow|don't\sknow|not\ssure|unsure|unknown|not\sknown|n/a)\W*$"
    r")",
    re.IGNORECASE,
)
_NEGATION = frozenset(
    "no not none never nothing neither nobody nowhere nor cannot without t".split()
)
_AMOUNTS = frozenset(NUMBER_WORDS.values()) | frozenset(
    "a all almost an barely billion both completely considerably couple double dozen dozens each"
    " enough entire entirely every everybody everyone everything few free fully greatly half"
    " hundred hundreds less little lot lots majority many million minority more most much nearly"
    " nil once one pair partly plenty quarter quarters same several significantly single slightly"
    " some somewhat third thirds thousand thousands treble triple twice whole zero".split()
)
_LIST = re.compile(r"[,;]|\band\b", re.IGNORECASE)
"""A list can be counted."""
_TIMES = (
    CALENDAR_WORDS
    | frozenset(NUMBER_WORDS.values())
    | frozenset(
        "afternoon always anniversary autumn birthday christmas clock dawn day days dusk earlier"
        " easter eve evening fifth first fortnight fourth holiday hour hours hrs immediately last"
        " later midday midnight midsummer minute minutes month months morning next night noon now"
        " past quarter season second seconds soon spring summer sunrise sunset term third today"
        " tomorrow tonight week weekend weekends weeks winter year years yesterday".split()
    )
)
_EVENTS = frozenset(
    "after as at before by during following from if in moment on once since till unless until upon"
    " when whenever while with within".split()
)
"""Words that tie an answer to an event."""


def check_answer_kind(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionProblem]:
    """An answer of another kind than the question asks for, or without knowledge."""
    if is_withheld(asked):
        return
    answer = normalise_text(asked.reference)
    if is_ignorant(answer):
        if asked.category != NEGATIVE and not _is_said(corpus, asked, answer):
            yield make_support_problem(
                f"the answer “{asked.reference:.60}” does not know, and the question expects one "
                "that does; write what the days say, or take the question out",
                is_severe=True,
            )
        return
    kind = _detect_kind(asked.item.text)
    mismatch = None if kind is None else _describe_mismatch(kind, answer)
    if mismatch is not None:
        yield make_support_problem(
            f"the answer “{asked.reference:.60}” is {mismatch}; correct the question or the answer",
            is_severe=True,
        )


def is_ignorant(answer: str) -> bool:
    """Whether an answer only says that it does not know."""
    return _IGNORANCE.match(normalise_text(answer)) is not None


def _is_bare(answer: str) -> bool:
    """Whether an answer is just a sum, a number, a date or a time."""
    level = normalise_text(answer)
    is_bare = [(start, end) for start, end, atom in locate_text_values(level) if _is_plain(atom)]
    for start, end in reversed(is_bare):
        level = level[:start] + level[end:]
    return bool(is_bare) and all(
        word in TEXT_STOPWORDS or word in CALENDAR_WORDS for word in list_words(level)
    )


def _is_plain(atom: TextValue) -> bool:
    """Whether a value is no code and has no unit."""
    if atom.kind == NUMBER:
        return atom.value == atom.core
    return atom.kind in {MONEY, PERCENT, DATE, TIME}


def _detect_kind(question: str) -> str | None:
    """The kind of answer that the question asks for; None if unclear."""
    level = normalise_text(question)
    match = _OPENING.match(level)
    if match is None or _WHETHER.search(level):
        return None
    # After an opening clause, a comma may end a relative clause with `who` or `which`.
    if match["before"] and "," in match["rest"]:
        return None
    return next(kind for kind in ("count", "date", "when", "who", "other") if match[kind])


def _describe_mismatch(kind: str, answer: str) -> str | None:
    """What an answer is instead of the requested kind; None if it may be of that kind."""
    words = list_words(answer)
    if words in (["yes"], ["no"]):
        return "a yes or a no to a question that asks for more"
    if kind == "who":
        return "a bare value to a question that asks who" if _is_bare(answer) else None
    if kind == "other" or not _NEGATION.isdisjoint(words):
        return None
    if kind == "count":
        is_told = _is_figure_left(answer, _DATED) or not _AMOUNTS.isdisjoint(words)
        is_told = is_told or _LIST.search(answer) is not None
        return None if is_told else "no number, and the question asks how many or how much"
    ties = _TIMES | _EVENTS if kind == "when" else _TIMES
    is_told = _is_figure_left(answer, _COUNTED) or not ties.isdisjoint(words)
    return None if is_told else "no date, and the question asks when"


def _is_figure_left(answer: str, other: Collection[str]) -> bool:
    """Whether an answer has a figure besides values of the other kinds."""
    rest = answer
    for start, end, atom in reversed(list(locate_text_values(answer))):
        if atom.kind in other and not _is_possible_date(atom):
            rest = rest[:start] + rest[end:]
    return any(char.isdigit() for char in rest)


def _is_possible_date(atom: TextValue) -> bool:
    """Whether a number has no unit, or is a year."""
    is_year = re.fullmatch(r"(?:19|20)\d\d", atom.core) is not None
    return atom.kind == NUMBER and (is_year or atom.value == atom.core)


def _is_said(corpus: LintCorpus, asked: LintQuestion, answer: str) -> bool:
    """Whether a relevant day says the same words: then it is a fact of the story."""
    row = " ".join(list_words(answer))
    return any(
        row in " ".join(list_words(normalise_text(corpus.by_number[day].text)))
        for day in asked.days
    )


_MAX_SHOWN = 3
_STATING = frozenset(
    "did does had has have he is it never nobody none not nothing she that there they was we were"
    " will".split()
)
"""Words of a sentence that may mean yes or no."""
_FIGURES = {word: figure for figure, word in NUMBER_WORDS.items()}


def check_atoms(asked: LintQuestion) -> Iterator[QuestionProblem]:
    """An answer without its own atoms: the reference would be graded as wrong.

    An alias in the answer stands for all atoms. Values may have another spelling.
    """
    demanded = asked.item.truth.atoms
    if not demanded or _is_refusal_due(asked):
        return
    missing = [atom for atom in demanded if not _is_atom_met(asked, atom)]
    if not missing or any(
        contains_phrase(asked.reference, alias) for alias in asked.item.truth.aliases
    ):
        return
    named = ", ".join(missing[:_MAX_SHOWN]) + (", …" if len(missing) > _MAX_SHOWN else "")
    if len(missing) < len(demanded):
        yield make_support_problem(
            f"the answer lacks {named}, which its atoms demand; correct one of the two"
        )
    else:
        yield make_support_problem(
            f"the answer “{asked.reference:.60}” holds none of its own atoms ({named}), which "
            "every right answer has to hold; correct the answer or atoms",
            is_severe=True,
        )


def _is_refusal_due(asked: LintQuestion) -> bool:
    disclosure = asked.item.truth.disclosure
    return disclosure is Disclosure.REFUSE or (disclosure is None and asked.category == BOUNDARY)


def is_in_answer(answer: str, atom: str) -> bool:
    """Whether the answer holds an atom, possibly in another spelling."""
    if contains_phrase(answer, atom) or contains_phrase(
        _convert_numbers(answer), _convert_numbers(atom)
    ):
        return True
    letters = [char for char in atom if char.isalnum()]
    # Scripts without blanks between words have no whole words.
    if letters and not any(char.isascii() for char in letters) and atom in answer:
        return True
    stems = collect_stems(atom)
    if stems and stems <= collect_stems(answer) and not any(char.isdigit() for char in letters):
        return True
    return _is_spelled_otherwise(answer, atom)


def _is_atom_met(asked: LintQuestion, atom: str) -> bool:
    """Whether the answer holds the atom, or means the yes or no that it is."""
    answer = asked.reference
    side = list_words(atom)
    if side not in (["yes"], ["no"]) or contains_phrase(answer, atom):
        return is_in_answer(answer, atom)
    takes_other = asked.denies if side == ["yes"] else asked.affirms
    is_told = not takes_other and not is_ignorant(answer)
    return is_told and not _STATING.isdisjoint(list_words(answer))


def _is_spelled_otherwise(answer: str, atom: str) -> bool:
    """Whether each value and name of an atom is in the answer in any spelling."""
    claims = find_claims(atom)
    values = ValueIndex([DayLog(0, "", answer)], claims)
    names = [set(claim.words) for claim in find_claims(answer) if claim.kind == NAME]
    return bool(claims) and all(
        any(name <= set(claim.words) for name in names)
        if claim.kind == NAME
        else values.find_loose_days(claim)
        for claim in claims
    )


def _convert_numbers(text: str) -> str:
    """The text with its numbers as figures."""
    return " ".join(
        _FIGURES.get(word.lower().strip(".,;:!?"), word) for word in normalise_text(text).split()
    )
