"""The side an answer takes in a yes-or-no question.

A side is stated outright, concluded, implied by saying that there is no record, by repeating the
reference's statement, by taking up the question ("it did not"), or by restating it.
"""

import re

from recall_bench.judging.offline.answer_sentence import weigh_sentences
from recall_bench.judging.offline.case import GradingCase, RightResponse
from recall_bench.judging.offline.contents import (
    AnswerContents,
    find_names,
    remove_denied_names,
)
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import NEGATIONS, Phrase
from recall_bench.judging.offline.relations import read_time_relation, split_clauses
from recall_bench.judging.offline.required_part import IDLE
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_polar,
    is_unknowing,
    remove_opener,
)
from recall_bench.text.text import STOPWORDS, load_stemmer, normalise
from recall_bench.text.values import QUANTITY, TIME, find_values

QUESTION_SHARE = 0.5
"""The share of the question's words that makes an opening be about the question."""
STATEMENT_SHARE = 0.75
"""The share of the reference's statement that puts an opening on its side."""
SHORT_CLAUSE = 6
"""The longest clause that is about the question for its verb alone: "the claim was rejected"."""
RELATION_WORDS = 12
"""The longest sentence that is about nothing but which of two events came first."""
SHORT_ANSWER = 2
"""The most sentences of an answer that is read clause by clause for a free-text reference."""
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
    r"|would|can|could)(?P<no>\snot|n't)?(?:\s(?:indeed|certainly|actually|in fact))?\W*"
    r"(?:$|[,.;:!]|(?:because|since|but)\b)",
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
    return _find_told_side(case, account) or _find_read_side(case, account, reading)


def _find_told_side(case: GradingCase, account: AnswerContents) -> Polarity | None:
    """The side of an answer that tells what the reference does, or turns the question round."""
    is_affirmed = case.right is RightResponse.AFFIRMS
    if _is_statement_denied(case, account):
        return Polarity.NO if is_affirmed else Polarity.YES
    is_reversed = case.claim is not None and case.claim.is_reversed(account.text, case.reader)
    if (
        is_reversed
        or _leaves_something_out(case, account)
        or _denies_name(case, account)
        or _names_another(case, account)
        or _names_substitute(case, account)
    ):
        return Polarity.NO
    opening = account.sentences[0]
    if _TOOK_PLACE.match(opening) and not _CLAUSE_NEGATION.search(opening):
        phrase = case.reader.read_phrase(normalise(case.item.text))
        return Polarity.NO if phrase.tokens & _FAILING else Polarity.YES
    if not is_affirmed and _is_question_affirmed(case, account):
        return Polarity.YES
    if _is_statement_repeat(case, account) or _is_about_statement(case, account):
        return Polarity.YES if is_affirmed else Polarity.NO
    return None


def _find_read_side(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> Polarity | None:
    """The side of the clauses that are about the question, or of the opening."""
    # The calibration learned from the plain reading, which suits long answers better.
    is_short = len(account.sentences) <= SHORT_ANSWER
    is_ruled = case.is_exact or (case.right is RightResponse.ABSTAINS and is_short)
    is_own = is_ruled and not account.is_quoting
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
    if case.statement.measure_likeness(opening) >= STATEMENT_SHARE:
        return True
    if _ANY.search(case.item.text) and _SOME_OF_THEM.match(account.sentences[0]):
        return case.right is RightResponse.AFFIRMS
    return len(account.sentences) <= SHORT_ANSWER and _is_clause_repeat(case, account)


def _is_clause_repeat(case: GradingCase, account: AnswerContents) -> bool:
    """Whether a clause of the answer states one of the reference, in words of the same meaning."""
    statement = remove_opener(normalise(case.item.truth.reference))
    # Where it is asked whether there was any, to name the thing is to say so.
    is_any = case.right is RightResponse.AFFIRMS and _ANY.search(case.item.text)
    least = 1 if is_any else 2
    clauses = [
        case.reader.read_phrase(text[start:end])
        for text in account.sentences
        for start, end in split_clauses(text, _SUBORDINATE)
    ]
    return any(
        not phrase.find_missing(clause, _LINKING, IDLE) and phrase.is_denied == clause.is_denied
        for start, end in split_clauses(statement, _SUBORDINATE)
        if len((phrase := case.reader.read_phrase(statement[start:end])).content - _LINKING)
        >= least
        for clause in clauses
    )


def _leaves_something_out(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an opening says "all but one" where a question asks whether it was all."""
    opening = account.sentences[0]
    asked = case.reader.read_phrase(normalise(case.item.text)).tokens
    return not asked.isdisjoint(_ALL) and _EXCEPT.search(opening) is not None


def _denies_name(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an opening says of a person in the question that it was not them."""
    opening = account.sentences[0]
    denied = set(find_names(opening)).difference(find_names(remove_denied_names(opening)))
    return not denied.isdisjoint(find_names(normalise(case.item.text)))


def _is_question_affirmed(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an opening says what the question asks, without the words of the reference."""
    question, opening = normalise(case.item.text), account.sentences[0]
    subjects = [_TITLED.findall(text)[:1] for text in (question[1:], opening)]
    is_subject = bool(subjects[0]) and subjects[0] == subjects[1]
    if is_subject and (ellipsis := _NAME_DID.match(opening)):
        return ellipsis["no"] is None
    phrase = case.reader.read_phrase(question)
    news = case.statement.content - phrase.tokens if case.statement else frozenset[str]()
    for start, end in split_clauses(opening, _SUBORDINATE):
        clause = opening[start:end]
        if _CLAUSE_NEGATION.search(clause) or _INSTEAD_OF.search(clause):
            continue
        target = case.reader.read_phrase(clause)
        hits = len(phrase.content) - len(phrase.find_missing(target))
        is_pronoun = _PRONOUN_SUBJECT.match(clause) is not None
        if hits + is_pronoun >= len(phrase.content) > 1 and target.tokens.isdisjoint(news):
            return True
        if is_subject and hits >= QUESTION_SHARE * len(phrase.content):
            return True
    return False


def _names_another(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an opening names another person, where it is asked if it was one person."""
    cleft = _CLEFT.match(normalise(case.item.text))
    if cleft is None:
        return False
    opening = account.sentences[0]
    wanted = {word.lower() for word in cleft["name"].split()}
    named = set(find_names(opening)) - set(find_names(normalise(case.item.text)))
    is_other = bool(named) and wanted.isdisjoint(word.lower() for word in _TITLED.findall(opening))
    return is_other and not named & case.reader.read(normalise(case.item.truth.reference)).words


_SUBSTITUTE = re.compile(
    r"\b(?:it|that|this)(?:'s| was| is| were| had been) (?:actually |really |in fact |rather )?"
    r"(?:(?:Dr|Mr|Mrs|Ms)\.? )?(?P<it>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*)"
    r"|(?P<who>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*) (?:actually |really )?"
    r"(?:did(?!n't| not)|was the one|is the one|were the ones|who did)"
)
_INSTEAD = re.compile(
    r"^\W*(?:(?:it|that|this) (?:went|goes|belongs|was given|was sold) to )?(?:the |Dr\.? "
    r"|Mrs?\.? |Ms\.? )?"
    r"(?P<name>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*)\s?(?=[a-z.]|$)"
)
SHORT_REFERENCE = 12
"""The most words of a reference that says no, and whom or what it was instead."""


def names_other_substitute(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an answer says who or what it was instead, and the reference says another.

    Values are compared where the reference gives one in place of the question's.
    """
    question, reference = normalise(case.item.text), normalise(case.item.truth.reference)
    if len(reference.split()) > SHORT_REFERENCE or not is_polar(question):
        return False
    text = remove_opener(account.text).lstrip(" ,;:.-")
    values = [atom for atom in find_values(reference) if not case.question.holds(atom)]
    stated = [atom for atom in find_values(text) if not case.question.holds(atom)]
    if len(values) == 1 and any(values[0].is_rival_of(atom) for atom in stated):
        return not any(values[0].matches(atom) for atom in stated)
    substitute = _find_substitute(case)
    if not substitute or substitute & {word.lower() for word in _TITLED.findall(text)}:
        return False
    named = [found["it"] or found["who"] for found in _SUBSTITUTE.finditer(text)]
    opening = _INSTEAD.match(text) if _is_name_first(text) else None
    statement = case.reader.read_phrase(remove_opener(reference))
    news = statement.content - case.reader.read_phrase(question).tokens
    if opening is not None and len(news) <= len(substitute) + 1:
        named.append(opening["name"])
    asked = case.question.words | STOPWORDS
    return any(asked.isdisjoint(name.lower().split()) for name in named)


def _is_name_first(text: str) -> bool:
    """Whether a text does not begin with a word of the language."""
    first = text.split(None, 1)[0].lower() if text.strip() else ""
    is_pronoun = first in ("it", "that", "this", "the")
    return is_pronoun or load_stemmer().stemWord(first) not in load_lexicon()


def _find_substitute(case: GradingCase) -> set[str]:
    """The names that a short reference gives in place of the question's."""
    question, reference = normalise(case.item.text), normalise(case.item.truth.reference)
    statement = remove_opener(reference)
    if len(reference.split()) > SHORT_REFERENCE:
        return set()
    names = {word.lower() for word in _TITLED.findall(statement)} & set(
        find_names(f"so {statement.lstrip(' ,;:')}")
    )
    return names - {word.lower() for word in _TITLED.findall(question)}


def _names_substitute(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an answer names the one of the reference instead of the one of the question."""
    question = normalise(case.item.text)
    asked = set(find_names(f"so {question[:1].lower()}{question[1:]}"))
    substitute = _find_substitute(case)
    if case.right is RightResponse.AFFIRMS or not substitute or not asked:
        return False
    text = remove_denied_names(" ".join(account.sentences[:2]))
    titled = {word.lower() for word in _TITLED.findall(text)}
    return bool(titled & substitute) and not titled & asked


_CLEFT = re.compile(r"(?:Was|Is|Were)\sit\s(?P<name>[A-Z][\w-]*(?:\s[A-Z][\w-]*)?)\s(?:who|that)\b")
_NAME_DID = re.compile(
    r"\W*[A-Z][\w-]*(?:\s[A-Z][\w-]*)?\s(?:did|was|is|has|had|does|were)(?P<no>\snot|n't)?\W*"
    r"(?:$|[,.;:!]|(?:because|since)\b)"
)
_PRONOUN_SUBJECT = re.compile(r"\W*(?:it|they|he|she)\b", re.IGNORECASE)


def _is_about_statement(case: GradingCase, account: AnswerContents) -> bool:
    """Whether an opening has nothing but words of the question and of the reference's statement."""
    if case.statement is None or case.exact is None:
        return False
    phrase = case.reader.read_phrase(normalise(case.item.text))
    opening = case.reader.read_phrase(account.sentences[0])
    news = case.statement.content - phrase.tokens
    own = opening.content - phrase.tokens
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


_TITLED = re.compile(r"\b[A-Z][a-z]+\b")
_NOTHING_LEFT = re.compile(
    r"\b(?:nothing|none|no \w+)\b(?: \w+){0,3}? (?P<what>outstanding|open|owing|due|missing|left"
    r"|unpaid|pending|remain\w*|to come|wanting)\b",
    re.IGNORECASE,
)
"""Where nothing is missing, nothing is denied."""
_INSTEAD_OF = re.compile(r"\b(?:instead of|rather than)\s(?P<what>\w+)", re.IGNORECASE)
_EXCEPT = re.compile(
    r"\b(?:all|everything|everyone|every \w+)\b.{0,20}? (?:but|except|apart from|save for|bar)\b",
    re.IGNORECASE,
)
_ALL = frozenset({"all", "full", "everi", "each", "complet", "whole", "entir", "everyth", "both"})
_CLAUSE_NEGATION = re.compile(
    r"\b(?:not|no|none|never|nobody|nothing|neither|without|cannot|no one|hardly|against"
    r"|elsewhere|too late|off until"
    r"|still (?:waiting|pending|outstanding|missing|open|to come|on (?:its|the|their) way))\b"
    r"|n't\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^\W*(?:(?:so|and|but|then)\s)?(?:it|they|he|she|that|this|there|we|you|nobody|no one|none"
    r"|nothing|not (?:one|a single)|(?:the|that) (?:\w+ )?(?:idea|plan|job|project|thing|matter"
    r"|event|attempt|proposal|offer|deal))\b"
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
_SUBORDINATE = re.compile(
    r"[,;:](?=\s)|[.!?](?=\s|$)|\n"
    r"|\s(?:and|while|whereas|but|because|since|after|as|although|though)\s",
    re.IGNORECASE,
)
_SUBORDINATOR = re.compile(
    r"\b(?:while|whereas|because|since|after|as|although|though)\s+$", re.IGNORECASE
)
_LINKING = frozenset("becom instead then turn happen end go get make come take place".split())
"""Stems of words that say only that something was so."""
_ANY = re.compile(r"\b(?:any\w*|some\w*|ever)\b", re.IGNORECASE)
_SOME_OF_THEM = re.compile(
    r"\W*(?:some|several|many|most|one|two|three|four|five|six) of (?:them|us|you)\b", re.IGNORECASE
)
_TOOK_PLACE = re.compile(
    r"\W*(?:it|that|this|they)\s(?:really\s|indeed\s|did\s)?"
    r"(?:took place|happened|went ahead|came off|occurred|went through)\b",
    re.IGNORECASE,
)
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
    phrase = case.reader.read_phrase(_NAME_OR_FIGURE.sub(" ", normalise(case.item.text)))
    best: tuple[int, Polarity] | None = None
    for start, end in split_clauses(account.text, _SUBORDINATE):
        clause = account.text[start:end].strip()
        is_asked = account.text[end : end + 1] == "?"
        is_aside = _SUBORDINATOR.search(account.text, 0, start) is not None
        if is_asked or is_aside or is_unknowing(clause) or _NO_CLAIM.search(clause):
            continue
        if _NOT_ONE.search(clause):
            fails = case.reader.read_phrase(clause).tokens & _FAILING
            return Polarity.YES if fails else Polarity.NO
        found = _weigh_clause(case, clause, phrase)
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
    fails = _tells_failure(case, asked, target)
    match = _NOTHING_LEFT.search(clause)
    is_left_asked = (
        match is not None and case.reader.read_phrase(match["what"]).tokens & asked.tokens
    )
    rest = clause if is_left_asked else _NOTHING_LEFT.sub(" ", clause)
    negations = len(_CLAUSE_NEGATION.findall(rest))
    instead = _INSTEAD_OF.search(clause)
    if instead is not None:
        negations += bool(case.reader.read_phrase(instead["what"]).content & asked.content)
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


def _tells_failure(case: GradingCase, asked: Phrase, target: Phrase) -> bool:
    """Whether a clause has a verb of failing that is no word of the question or the reference."""
    found = target.tokens & _FAILING
    if not found or asked.tokens & _FAILING:
        return False
    if case.right is RightResponse.AFFIRMS and case.statement is not None:
        found -= case.statement.tokens
    alike = frozenset[str]().union(*map(load_lexicon().find_alike, asked.content))
    return bool(found - alike)


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
    relation = read_time_relation(offered, opening, case.reader)
    if relation is None:
        return None
    return Polarity.YES if relation == asked[0].lower() else Polarity.NO


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
