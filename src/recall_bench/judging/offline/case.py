"""A question prepared for grading, and the side an answer takes in a yes-or-no question.

A side is stated outright, concluded, implied by saying that there is no record, by repeating the
reference's statement, by taking up the question ("it did not"), or by restating it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from recall_bench.core.scenario import Disclosure, Expects, Item
from recall_bench.core.text import load_stemmer, normalise, split_sentences
from recall_bench.core.values import DATE, QUANTITY, TIME, find_values
from recall_bench.judging.offline.contents import (
    AnswerContents,
    ContentReader,
    TextContents,
    find_names,
)
from recall_bench.judging.offline.coverage import Reference
from recall_bench.judging.offline.exact import ExactTruth, make_exact_truth
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import NEGATIONS, Phrase
from recall_bench.judging.offline.relations import read_time_relation, split_clauses
from recall_bench.judging.offline.required_part import (
    IDLE,
    RequiredPart,
    make_required_part,
    weigh_sentences,
)
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_polar,
    is_unknowing,
    read_stance,
    remove_opener,
)


class RightResponse(StrEnum):
    """What a right answer does."""

    TELLS = "tell the reference"
    AFFIRMS = "say yes"
    DENIES = "say no"
    ABSTAINS = "say that there is no such thing"
    DECLINES = "decline"


_SIDES = {"yes": RightResponse.AFFIRMS, "no": RightResponse.DENIES}


@dataclass(frozen=True, slots=True)
class GradingCase:
    """One item, prepared once for all its answers."""

    item: Item
    right: RightResponse
    question: TextContents
    references: tuple[Reference, ...]
    """The reference and its aliases."""
    exact: ExactTruth | None
    """What every right answer contains, where the truth lists it."""
    statement: Phrase | None
    """What the reference says beside its yes or no."""
    gist: RequiredPart | None
    """A short reference without values, to be stated in full, in any words."""
    relation: str | None
    """Whether the first of two events was before or after the second, where that is asked."""
    secrets: tuple[RequiredPart, ...]
    """Withheld values and canaries of the dataset."""
    short_secrets: frozenset[str]
    """The first and last names of the persons among them."""
    reader: ContentReader

    @property
    def is_exact(self) -> bool:
        """Whether the truth leaves nothing to interpretation."""
        truth = self.item.truth
        is_guarded = bool(truth.withheld or truth.canaries or truth.forbidden_sessions)
        return (
            self.exact is not None
            or self.is_unknown
            or (self.right is RightResponse.DECLINES and is_guarded)
        )

    @property
    def is_unknown(self) -> bool:
        """Whether all that the reference says is that the answer is not on record."""
        is_open = self.item.truth.expects is Expects.ANSWER
        return is_open and self.right is RightResponse.ABSTAINS

    @property
    def wants_a_date(self) -> bool:
        """Whether a right answer holds a date."""
        things = self.exact.required if self.exact else ()
        return any(thing.value is not None and thing.value.kind == DATE for thing in things)

    @property
    def is_denial_due(self) -> bool:
        """Whether the truth is a No, and not only that nothing is on record."""
        truth = self.item.truth
        if truth.atoms and truth.atoms[0].lower() in _SIDES:
            return truth.atoms[0].lower() == "no"
        return read_stance(normalise(truth.reference)).polarity is Polarity.NO

    @property
    def has_secrets(self) -> bool:
        """Whether the asker may not know something."""
        disclosure = self.item.truth.disclosure
        return self.right is RightResponse.DECLINES or disclosure is Disclosure.PARTIAL

    @property
    def known(self) -> tuple[TextContents, ...]:
        """Texts whose values need no support in the history."""
        return (self.question, *(reference.contents for reference in self.references))


def prepare_case(item: Item, reader: ContentReader) -> GradingCase:
    """Prepare the question, its reference and its aliases."""
    question = reader.read(normalise(item.text))
    right = _find_right_response(item)
    takes_side = right in (RightResponse.AFFIRMS, RightResponse.DENIES, RightResponse.ABSTAINS)
    statement = (
        reader.read_phrase(remove_opener(normalise(item.truth.reference))) if takes_side else None
    )
    return GradingCase(
        item=item,
        right=right,
        question=question,
        exact=make_exact_truth(item, question, reader),
        statement=statement if statement and statement.content else None,
        gist=_make_gist(item, right, reader),
        relation=read_time_relation(normalise(item.text), normalise(item.truth.reference), reader),
        secrets=tuple(
            make_required_part(normalise(secret), (), (), reader)
            for secret in (*item.truth.withheld, *item.truth.canaries)
        ),
        short_secrets=frozenset(
            name for secret in item.truth.withheld for name in _split_person(normalise(secret))
        ),
        reader=reader,
        references=tuple(
            Reference.build(
                remove_opener(normalise(text)) if takes_side else normalise(text), question, reader
            )
            for text in (item.truth.reference, *item.truth.aliases)
        ),
    )


def _split_person(name: str) -> list[str]:
    """The names of a person, each of which is told by itself; none for a firm or a place."""
    parts = name.split()
    is_name = len(parts) in (2, 3) and all(part.istitle() and part.isalpha() for part in parts)
    if not is_name:
        return []
    stem = load_stemmer().stemWord
    first, *_, last = parts
    if stem(first.lower()) in load_lexicon() and stem(last.lower()) in load_lexicon():
        return []
    return [part for part in (first, last) if len(part) > 2]


GIST_WORDS = 3
"""The most news in a reference that has to be stated in full."""


def _make_gist(item: Item, right: RightResponse, reader: ContentReader) -> RequiredPart | None:
    truth = item.truth
    if truth.atoms or right is not RightResponse.TELLS:
        return None
    asked = normalise(item.text)
    part = make_required_part(normalise(truth.reference).rstrip(" ."), (), (), reader, asked)
    if part.phrase is None or part.phrase.figures:
        return None
    return part if 1 <= len(part.phrase.content - part.given) <= GIST_WORDS else None


def _find_right_response(item: Item) -> RightResponse:
    truth = item.truth
    withhold = truth.disclosure is None and truth.expects is Expects.WITHHOLD
    if withhold or truth.disclosure is Disclosure.REFUSE:
        return RightResponse.DECLINES
    if truth.expects is Expects.ABSTAIN:
        return RightResponse.ABSTAINS
    question, reference = normalise(item.text), normalise(truth.reference)
    reading = read_stance(reference)
    if truth.atoms:
        side = _SIDES.get(truth.atoms[0].lower())
        return side or _get_stated_side(question, reading) or RightResponse.TELLS
    if reading.polarity is not None:
        return RightResponse.DENIES if reading.polarity is Polarity.NO else RightResponse.AFFIRMS
    if not is_polar(question) or " or " in item.text:
        is_unknown = _is_unknown(question, reference, reading)
        return RightResponse.ABSTAINS if is_unknown else RightResponse.TELLS
    denies = reading.is_negated or reading.stance is Stance.ABSENT
    return RightResponse.DENIES if denies else RightResponse.AFFIRMS


def _get_stated_side(question: str, reference: StanceReading) -> RightResponse | None:
    """The side of a reference that opens with yes or no, where a question asks for one."""
    if reference.polarity is None or not is_polar(question):
        return None
    return RightResponse.DENIES if reference.polarity is Polarity.NO else RightResponse.AFFIRMS


def _is_unknown(question: str, reference: str, reading: StanceReading) -> bool:
    """Whether all that a reference says is that the answer is not on record."""
    if reading.stance not in (Stance.ABSENT, Stance.IGNORANT) or " but " in reference:
        return False
    told = {atom.core for atom in find_values(reference)}
    asked = {atom.core for atom in find_values(question)}
    return len(split_sentences(reference)) == 1 and told <= asked


QUESTION_SHARE = 0.5
"""The share of the question's words that makes an opening be about the question."""
STATEMENT_SHARE = 0.75
"""The share of the reference's statement that puts an opening on its side."""
SHORT_CLAUSE = 6
"""The longest clause that is about the question for its verb alone: "the claim was rejected"."""
RELATION_WORDS = 12
"""The longest sentence that is about nothing but which of two events came first."""
PLAIN_WORDS = 25
"""The longest sentence that can be nothing but a yes or a no."""

_CONCLUSION = re.compile(
    r"[,;:-]\s*(?:(?:so|hence|therefore|thus|in short)\b,?\s*)?"
    r"(?:(?:the answer|that) is |I(?:'d| would|'ll) say )?(yes|no)\W*$"
    r"|\b(?:answer (?:is|was|would be|must be)|it is|it's|that is|that's|makes (?:it|that)|so)"
    r"\W+(?:an? )?(?:\w+ )?(yes|no)\b"
    r"|[,;]\s(?:but|and|so|then|actually)\s(yes|no)\b(?=\s?[,;:.-])",
    re.IGNORECASE,
)
_OUTRIGHT = re.compile(
    r"\W*(?P<sure>definitely|certainly|absolutely|clearly|apparently|indeed|of course|surely)?\W*"
    r"(?P<no>not\b)?",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    r"\W*(?:it|he|she|they|we|you|I|that|this|there)\s(?:did|does|do|was|were|is|are|has|have|had|will"
    r"|would|can|could)(?P<no>\snot|n't)?\W*(?:$|[,.;!])",
    re.IGNORECASE,
)
_TAKES_UP = re.compile(
    r"\b(?:it|that|this|he|she|they|there|indeed)\b.{0,30}?\b(?:did|does|do|was|were|is|are|has"
    r"|have|had|happened|took place|occurred)\b",
    re.IGNORECASE,
)


def find_side(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> Polarity | None:
    """The side that an answer takes; None if it takes none, or both."""
    if takes_both_sides(account):
        return None
    if reading.polarity is Polarity.YES and _NOT_ANY.search(account.sentences[0]):
        return Polarity.NO
    stated = reading.polarity or _find_conclusion(account) or _find_outright(account)
    if stated is None and reading.stance is Stance.ABSENT:
        stated = Polarity.NO
    if stated is None and case.exact is not None:
        stated = _find_time_side(case, account)
    if stated is not None or _NO_CLAIM.search(account.sentences[0]):
        return stated
    if _is_statement_denied(case, account):
        return Polarity.NO if case.right is RightResponse.AFFIRMS else Polarity.YES
    if _is_statement_repeat(case, account) or _is_about_statement(case, account):
        return Polarity.YES if case.right is RightResponse.AFFIRMS else Polarity.NO
    # The calibration learned from the plain reading, which suits long answers better.
    is_own = case.is_exact and not account.is_quoting
    by_clause = _find_clause_side(case, account) if is_own else None
    return by_clause or _find_implied_side(case, account, reading)


_GUESS = re.compile(
    r"\b(?:probably|likely|presumably|perhaps|maybe|possibly|guess|estimate|suppose|I think"
    r"|I believe|must have|may have|might have|may be|might be|could be|should be|I'd say"
    r"|best bet)\b",
    re.IGNORECASE,
)
_ASKS_AMOUNT = re.compile(
    r"\bhow (?:much|many|long|far|old|big|tall|wide)\b|\b(?:cost|price|amount|number|sum|fee)\b",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\b(?:who|whose|whom|name|called)\b", re.IGNORECASE)
_NAMES = re.compile(r"\b(?:is|was|called|named|by)\s(?:(?:Mr|Mrs|Ms|Dr)\.?\s)?[A-Z][a-z]")
_ASKS_TIME = re.compile(r"\bwhen\b|\b(?:what|which) (?:day|date|time|month|hour)\b", re.IGNORECASE)


def guesses_all_the_same(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an answer says that something is not on record, and then gives it or guesses it."""
    question = normalise(case.item.text)
    for start, end in split_clauses(account.text):
        clause = account.text[start:end]
        if is_unknowing(clause):
            continue
        values = [atom for atom in find_values(clause) if not case.question.holds(atom)]
        if _GUESS.search(clause) and (values or set(find_names(clause)) - case.question.words):
            return True
        if _ASKS_NAME.search(question) and _NAMES.search(clause):
            return True
        if _ASKS_TIME.search(question):
            is_given = any(atom.kind == TIME for atom in values)
        else:
            is_given = _ASKS_AMOUNT.search(question) is not None and any(
                atom.kind == QUANTITY for atom in values
            )
        if is_given and not _CLAUSE_NEGATION.search(clause):
            return True
    return False


def takes_both_sides(account: AnswerContents) -> bool:
    """Whether an answer says yes and no."""
    return _BOTH_SIDES.search(account.text) is not None


def is_plain_yes(case: GradingCase, account: AnswerContents, reading: StanceReading) -> bool:
    """Whether an answer says yes outright, or only that it did happen."""
    outright = reading.polarity or _find_conclusion(account) or _find_outright(account)
    if outright is not None:
        return outright is Polarity.YES
    opening = weigh_sentences(account, case.question.stems, frozenset())[0]
    if reading.is_negated or reading.stance is not Stance.ANSWERS or not opening.is_bare:
        return False
    if _NO_CLAIM.search(opening.text):
        return False
    repeats = opening.relevance >= QUESTION_SHARE * len(case.question.stems)
    return repeats or _TAKES_UP.search(opening.text) is not None


def _find_conclusion(account: AnswerContents) -> Polarity | None:
    for sentence in account.sentences[:2]:
        match = _CONCLUSION.search(sentence)
        if match:
            found = match[1] or match[2] or match[3]
            return Polarity.NO if found.lower() == "no" else Polarity.YES
    return None


def _find_outright(account: AnswerContents) -> Polarity | None:
    """The side of an answer that opens "certainly not", or is just "certainly"."""
    opening = account.sentences[0]
    if _EVERY.match(opening) and not _CLAUSE_NEGATION.search(opening):
        return Polarity.YES
    ellipsis = _ELLIPSIS.match(opening)
    if ellipsis is not None:
        return Polarity.NO if ellipsis["no"] else Polarity.YES
    match = _OUTRIGHT.match(opening)
    if match is None or not (match["sure"] or match["no"]):
        return None
    if not _is_short(opening):
        return None
    if match["no"]:
        return Polarity.NO
    return Polarity.YES if not opening[match.end() :].strip(" .!") else None


def _is_statement_repeat(case: GradingCase, account: AnswerContents) -> bool:
    if case.statement is None:
        return False
    opening = case.reader.read_phrase(account.sentences[0])
    return case.statement.measure_likeness(opening) >= STATEMENT_SHARE


def _is_about_statement(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an opening has nothing but words of the question and of the reference's statement."""
    if case.statement is None or case.exact is None:
        return False
    asked = case.reader.read_phrase(normalise(case.item.text))
    opening = case.reader.read_phrase(account.sentences[0])
    news = case.statement.content - asked.tokens
    own = opening.content - asked.tokens
    stated = news - case.statement.find_missing(opening)
    is_about = bool(stated) and len(opening.content) > 1 and own <= news
    return is_about and case.statement.is_denied == opening.is_denied


def _is_statement_denied(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an answer has all the words of the reference's statement, and a negation more."""
    if case.statement is None or case.exact is None:
        return False
    opening = account.sentences[0]
    clauses = [case.reader.read_phrase(opening[a:b]) for a, b in split_clauses(opening)]
    return any(
        case.statement.content <= clause.tokens and not case.statement.is_denied_as_in(clause)
        for clause in clauses
    )


_CLAUSE_NEGATION = re.compile(
    r"\b(?:not|no|none|never|nobody|nothing|neither|without|cannot|no one|hardly|against"
    r"|elsewhere|too late|off until"
    r"|still (?:waiting|pending|outstanding|missing|open|to come|on (?:its|the|their) way))\b"
    r"|n't\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^\W*(?:(?:so|and|but|then)\s)?(?:it|they|he|she|that|this|there|we|you|nobody|no one|none"
    r"|nothing|not (?:one|a single))\b"
    r"|\b(?:did|does|do|was|were|is|are|has|have|had|may|can|could|will|would|should)(?: not"
    r"|n't)\W*$",
    re.IGNORECASE,
)
_FAILING = frozenset(
    """
    reject refus withhold deni fail cancel declin lack miss skip omit prevent forbid ban abandon
    drop scrap postpon veto disallow leav stop away doubt doubtful skeptic
    """.split()
) | {"turn down", "hold back", "keep back", "keep out", "call off", "rule out", "fall through"}
_NOT_ONE = re.compile(r"\b(?:not (?:one|a single)|none of|not any)\b", re.IGNORECASE)
_BOTH_SIDES = re.compile(
    r"\b(?:yes\b\W+(?:(?:or|and|perhaps|maybe)\W+)?no|no\b\W+(?:(?:or|and|perhaps|maybe)\W+)?yes)\b",
    re.IGNORECASE,
)
_NOT_ANY = re.compile(
    r"^(?!.*\b(?:but|only|though)\b).*\b(?:none|nobody|no one|nothing|not (?:one|a single))\b",
    re.IGNORECASE,
)
_NO_CLAIM = re.compile(
    r"^\W*(?:only|unless|if|when|once|except)\b|\b(?:could|might|may|would) have\b|\beither"
    r" way\b|\?$",
    re.IGNORECASE,
)
_NAME_OR_FIGURE = re.compile(r"(?<!^)\b(?:[A-Z][\w'-]*|\w*\d\w*)\b")
_PRONOUN_OBJECT = re.compile(r"\b(?:it|them|that|so|this)\W*$", re.IGNORECASE)


def _find_clause_side(case: GradingCase, account: AnswerContents) -> Polarity | None:
    """The side of the clause that says most about the question, in words of the same meaning.

    A clause is negative by a negation, by the opposite of a word of the question, or by a verb of
    failing; two of them cancel out.
    """
    asked = case.reader.read_phrase(_NAME_OR_FIGURE.sub(" ", normalise(case.item.text)))
    best: tuple[int, Polarity] | None = None
    for start, end in split_clauses(account.text):
        clause = account.text[start:end].strip()
        is_asked = account.text[end : end + 1] == "?"
        if is_asked or is_unknowing(clause) or _NO_CLAIM.search(clause):
            continue
        if _NOT_ONE.search(clause):
            fails = case.reader.read_phrase(clause).tokens & _FAILING
            return Polarity.YES if fails else Polarity.NO
        found = _weigh_clause(case, clause, asked)
        if found is not None and (best is None or found[0] >= best[0]):
            best = found
    return best[1] if best else None


def _weigh_clause(case: GradingCase, clause: str, asked: Phrase) -> tuple[int, Polarity] | None:
    """How much a clause says about the question, and on which side; None if nothing."""
    target = case.reader.read_phrase(clause)
    missing = asked.find_missing(target, asked.figures, IDLE)
    find_opposites = load_lexicon().find_opposites
    stated = target.tokens - NEGATIONS
    opposed = sum(
        not find_opposites(word).isdisjoint(stated) or f"un{word.removeprefix('re')}" in stated
        for word in missing
    )
    opposed += _is_time_opposed(asked, target)
    hits = len(asked.content - asked.figures) - len(missing)
    fails = bool(target.tokens & _FAILING) and not asked.tokens & _FAILING
    negations = len(_CLAUSE_NEGATION.findall(clause))
    is_negative = (negations + bool(opposed or fails)) % 2 == 1
    takes_up = _SUBJECT.search(clause) is not None or (
        fails and len(clause.split()) <= SHORT_CLAUSE
    )
    reach = hits + 2 * (_PRONOUN_OBJECT.search(clause) is not None)
    if is_negative:
        is_about_it = bool(
            hits or opposed or (takes_up and (negations or not clause.startswith("there")))
        )
    else:
        is_about_little_else = len(target.content - asked.content) <= max(1, hits)
        is_near = 2 * reach >= len(asked.content) or len(clause.split()) < SHORT_CLAUSE
        is_near = is_near or (takes_up and is_about_little_else)
        is_about_it = bool(hits or opposed) and is_near
    if not is_about_it:
        return None
    return hits + 2 * opposed + fails + takes_up, Polarity.NO if is_negative else Polarity.YES


_TIME_RELATION = re.compile(r"\b(?:before|after)\b", re.IGNORECASE)


def _find_time_side(case: GradingCase, account: AnswerContents) -> Polarity | None:
    """The side of an answer that says which came first, where it is asked if one did."""
    question = normalise(case.item.text)
    asked = _TIME_RELATION.findall(question)
    opening = account.sentences[0]
    is_plain = not _CLAUSE_NEGATION.search(opening) and len(opening.split()) <= RELATION_WORDS
    if len(asked) != 1 or not is_polar(question) or not is_plain:
        return None
    offered = _TIME_RELATION.sub("before or after", question)
    told = read_time_relation(offered, opening, case.reader)
    if told is None:
        return None
    return Polarity.YES if told == asked[0].lower() else Polarity.NO


_EARLIER, _LATER = frozenset({"before", "earlier"}), frozenset({"after", "later", "afterward"})


def _is_time_opposed(asked: Phrase, target: Phrase) -> bool:
    """Whether a clause says "later" where a question says "before", or the other way round."""
    return any(
        not asked.tokens.isdisjoint(one)
        and asked.tokens.isdisjoint(other)
        and target.tokens.isdisjoint(one)
        and not target.tokens.isdisjoint(other)
        for one, other in ((_EARLIER, _LATER), (_LATER, _EARLIER))
    )


_EVERY = re.compile(
    r"\W*(?:every (?:single )?one|all|each|both) (?:of them|were|was)\b", re.IGNORECASE
)


def _find_implied_side(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> Polarity | None:
    asked = case.question.stems
    opening = weigh_sentences(account, asked, frozenset())[0]
    is_about_it = opening.relevance >= QUESTION_SHARE * len(asked)
    if reading.is_negated:
        denies = reading.denies_existence and (opening.relevance or opening.is_direct)
        is_plain = opening.is_bare and _is_short(opening.text)
        return Polarity.NO if denies or is_plain or is_about_it else None
    takes_up = opening.is_bare and _TAKES_UP.search(opening.text) is not None
    return Polarity.YES if takes_up or is_about_it else None


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) <= PLAIN_WORDS
