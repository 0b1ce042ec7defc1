"""The features of an answer that the calibration weighs.

Each is a plain count or share with a name. Where there is nothing to measure, such as the share of
asked values when no value was asked for, the feature is -1.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log1p

import msgspec

from recall_bench.judging.offline.case import GradingCase, RightResponse
from recall_bench.judging.offline.contents import AnswerContents, ContentReader
from recall_bench.judging.offline.coverage import Coverage, Reference, RivalValues
from recall_bench.judging.offline.grade import MAX_ANSWER_CHARACTERS, RuleGrade, find_best_match
from recall_bench.judging.offline.history_index import (
    NO_TOKENS,
    EvidenceWindow,
    Tokens,
    collect_tokens,
)
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import Phrase, level_text
from recall_bench.judging.offline.side import find_side
from recall_bench.judging.offline.stance import (
    SENTENCE_CACHE,
    Polarity,
    Stance,
    StanceReading,
    count_negations,
    is_polar,
    is_unknowing,
    read_stance,
)
from recall_bench.text.cued_pattern import CuedPattern
from recall_bench.text.text import normalise, split_normalised, split_words
from recall_bench.text.values import DATE, ValueAtom

NO_FEATURE = -1.0
MATCH_SHARE = 0.4
"""Two sentences are about one thing if the answer's holds this share of the reference's."""
CLAIM_TOKENS = 2
"""A sentence with fewer tokens of its own makes no claim that can be checked."""

EVIDENCE_NUMBERS = frozenset(
    """
    support support_least claims
    reference_support beyond_near own_near unheard unheard_share values_unheard values_heard
    names_unheard evidence_days window_sentences quotes_heard quotes_unheard dates_near
    dates_near_share dates_foreign
    """.split()
)
"""The features that exist only where the evidence can be read."""

_CLAUSE = re.compile(r"[,;:.]\s|\s(?:and|but|while|with|then|plus|instead)\s", re.IGNORECASE)
_HEDGE = CuedPattern(
    r"\b(?:appears?|seems?|suggests?|likely|probably|may have|might|implie[sd]|approximately"
    r"|not explicitly|not clearly|no clear|closest|best|roughly|inferred|presumably)\b",
    *("appear", "seem", "suggest", "likely", "probably", "may have", "might", "implie"),
    *("approximately", "not explicitly", "not clearly", "no clear", "closest", "best", "roughly"),
    *("inferred", "presumably"),
)
_RESERVATION = CuedPattern(
    r"\b(?:only|but|however|although|though|partially|partly|not fully|instead)\b",
    *("only", "but", "however", "though", "partially", "partly", "not fully", "instead"),
)
_EMPHASIS = re.compile(
    r'\*\*([^*]{1,400})\*\*|["\u201c]([^"\u201c\u201d\n]{2,300})["\u201d]|`([^`\n]{1,300})`'
)
_QUOTED = re.compile(r'["\u201c]([^"\u201c\u201d\n]{8,300})["\u201d]')
_ENTRY = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s", re.MULTILINE)
_SIDES = {None: 0, Polarity.YES: 1, Polarity.NO: -1}
_RIGHT_SIDES = {RightResponse.AFFIRMS: 1, RightResponse.DENIES: -1, RightResponse.ABSTAINS: -1}


@dataclass(frozen=True, slots=True)
class CaseFeatures:
    """The parts of a case that features need, prepared once for all its answers."""

    question: Tokens
    reference: Tokens
    news: Tokens
    """The tokens of the reference that the question does not hold."""
    clauses: tuple[Tokens, ...]
    """The news of each clause that has any."""
    sentences: tuple[tuple[Tokens, bool], ...]
    """Each sentence of the reference, and whether it holds a negation."""
    reading: StanceReading
    question_words: int
    reference_words: int
    reference_negations: int
    is_polar: bool
    joints: int
    """The number of clause breaks in the reference."""
    is_list: bool
    """Whether the reference is several names or values and nothing else."""
    phrase: Phrase
    """The reference as a phrase,"""
    given: frozenset[str]
    """and the question's words, as a phrase has them."""
    bigrams: frozenset[tuple[str, str]]
    """Neighbouring words of the reference, one of them with content."""

    @classmethod
    def build(cls, case: GradingCase, reader: ContentReader) -> "CaseFeatures":
        """Prepare a case."""
        asked, reference_text = normalise(case.item.text), normalise(case.item.truth.reference)
        question = collect_tokens(case.question)
        parts = (
            collect_tokens(reader.read(clause)) - question
            for clause in _CLAUSE.split(reference_text)
            if clause
        )
        clauses = tuple(part for part in parts if part)
        contents = reader.read(reference_text)
        reference = collect_tokens(contents)
        keys = reader.find_key_stems(reference_text, contents) | {
            f"#{value.core}" for value in contents.values
        }
        return cls(
            question=question,
            reference=reference,
            news=reference - question,
            clauses=clauses,
            sentences=tuple(
                (collect_tokens(reader.read(sentence)), count_negations(sentence) > 0)
                for sentence in split_normalised(reference_text)
            ),
            reading=read_stance(reference_text),
            question_words=len(split_words(asked)),
            reference_words=len(split_words(reference_text)),
            reference_negations=count_negations(reference_text),
            is_polar=is_polar(asked),
            joints=len(_CLAUSE.findall(reference_text)),
            is_list=len(clauses) > 1 and all(clause <= keys for clause in clauses),
            phrase=reader.read_phrase(reference_text),
            given=reader.read_phrase(asked).tokens,
            bigrams=collect_bigrams(reader.read_phrase(reference_text)),
        )


class EvidenceSupport(msgspec.Struct, frozen=True, gc=False):
    """How the evidence supports a reference."""

    support: float
    """How far one sentence states the same."""
    tokens: Tokens
    """The tokens of its nearest sentences."""


class AnswerSample(msgspec.Struct, frozen=True, gc=False):
    """One answer, with everything that was read from it."""

    case: GradingCase
    ground: CaseFeatures
    account: AnswerContents
    reading: StanceReading
    side: Polarity | None
    """The side that the rules see."""
    reference: Reference
    """The wording of the truth that it matches best,"""
    coverage: Coverage
    """how it matches,"""
    rivalry: RivalValues
    """and what it states instead."""
    correctness: float
    """By the rules."""
    completeness: float
    window: EvidenceWindow | None
    near: "EvidenceSupport"
    """The part of the window about the reference."""
    answer: str
    """As given, with its markup."""
    sentence_tokens: tuple[Tokens, ...]
    """The tokens of each sentence,"""
    whole: Tokens
    """and of all."""
    quotes: list[str]
    """The longer passages in quotes."""
    sentences: tuple[str, ...]
    phrase: Phrase
    """The whole text as a phrase."""
    emphases: int
    """The number of passages in bold, in quotes or in code,"""
    emphasised: Tokens
    """and their tokens."""


def collect_bigrams(phrase: Phrase) -> frozenset[tuple[str, str]]:
    """The pairs of neighbouring content words of a phrase."""
    content = [word for word in phrase.row if word in phrase.content]
    return frozenset(pairwise(content))


def is_evidence_feature_set(numbers: dict[str, float]) -> bool:
    """Whether these features include the evidence."""
    return "support" in numbers


def find_emphases(text: str) -> list[str]:
    """The passages in bold, in quotes or in code, in order."""
    return ["".join(groups) for groups in _EMPHASIS.findall(text)]


def compute_features(sample: AnswerSample) -> dict[str, float]:
    """All features, by name; those of the evidence only if there is a window."""
    numbers: dict[str, float] = {}
    for part in (
        _measure_coverage,
        _measure_overlap,
        _measure_stance,
        _measure_shape,
        _measure_emphasis,
        _measure_meaning,
    ):
        numbers.update(part(sample))
    if sample.window is not None:
        numbers.update(_measure_support(sample, sample.window))
    return numbers


def _divide(part: int, whole: int) -> float:
    return part / whole if whole else NO_FEATURE


def _measure_coverage(sample: AnswerSample) -> dict[str, float]:
    coverage, rivalry, asked = sample.coverage, sample.rivalry, sample.reference.asked
    found = len(coverage.found) + len(coverage.cited)
    names = sample.reference.contents.names - sample.case.question.words
    return {
        "rule_correctness": sample.correctness,
        "rule_completeness": sample.completeness,
        "recall": coverage.recall,
        "news": coverage.news,
        "values_asked": len(asked),
        "values_found": found,
        "values_missing": len(coverage.missing),
        "values_share": _divide(found, len(asked)),
        "contradicting": len(rivalry.contradicting),
        "diluting": len(rivalry.diluting),
        "focus": rivalry.focus,
        "names_asked": len(names),
        "names_share": _divide(len(names & sample.account.contents.words), len(names)),
    }


def _measure_overlap(sample: AnswerSample) -> dict[str, float]:
    ground, sentence_tokens, whole = sample.ground, sample.sentence_tokens, sample.whole
    own, news = whole - ground.question, ground.news
    clauses = [len(clause & whole) / len(clause) for clause in ground.clauses]
    opening = sentence_tokens[0] if sentence_tokens else NO_TOKENS
    opening_own = opening - ground.question
    hits = [number for number, claim in enumerate(sentence_tokens) if not claim.isdisjoint(news)]
    told = news & whole
    untold, thin = clauses.count(0.0), sum([share < 0.5 for share in clauses])
    right = len(own & ground.reference)
    return {
        "stem_recall": _divide(len(ground.reference & whole), len(ground.reference)),
        "stem_news": _divide(len(told), len(news)),
        "news_asked": len(news),
        "news_missing": len(news) - len(told),
        "letters_news": _divide(_count_letters(told), _count_letters(news)),
        # What is not the answer's own is the question's.
        "precision": _divide(len(whole) - len(own) + right, len(whole)),
        "precision_own": _divide(right, len(own)),
        "extra": log1p(len(own) - right),
        "clauses": len(clauses),
        "clause_least": min(clauses, default=NO_FEATURE),
        "clause_mean": sum(clauses) / len(clauses) if clauses else NO_FEATURE,
        "clauses_untold": untold,
        "list_untold": _divide(untold, len(clauses)) if ground.is_list else NO_FEATURE,
        "clauses_thin": _divide(thin, len(clauses)),
        "opening_recall": _divide(len(opening & news), len(news)),
        "opening_precision": _divide(len(opening_own & ground.reference), len(opening_own)),
        "first_hit": hits[0] if hits else len(sentence_tokens),
        "idle": _divide(len(sentence_tokens) - len(hits), len(sentence_tokens)),
    }


def _measure_meaning(sample: AnswerSample) -> dict[str, float]:
    """Features of the reference's words in any form: synonyms, opposites, neighbours."""
    ground, target = sample.ground, sample.phrase
    news = ground.phrase.content - ground.given
    missing = ground.phrase.find_missing(target, ground.given)
    find_opposites = load_lexicon().find_opposites
    opposed = sum(
        not find_opposites(word).isdisjoint(target.content - ground.given) for word in missing
    )
    return {
        "alike_news": _divide(len(news) - len(missing), len(news)),
        "alike_missing": len(missing),
        "opposed": opposed,
        "bigram_recall": _divide(
            len(ground.bigrams & collect_bigrams(target)), len(ground.bigrams)
        ),
    }


def _count_letters(found: Iterable[str]) -> int:
    return len("".join(found))


@lru_cache(maxsize=SENTENCE_CACHE)
def _count_hedges(sentence: str) -> int:
    return _HEDGE.count(sentence)


@lru_cache(maxsize=SENTENCE_CACHE)
def _count_reservations(sentence: str) -> int:
    return _RESERVATION.count(sentence)


@lru_cache(maxsize=SENTENCE_CACHE)
def _count_words(sentence: str) -> int:
    return len(split_words(sentence))


def _measure_stance(sample: AnswerSample) -> dict[str, float]:
    ground, reading = sample.ground, sample.reading
    parts = sample.sentences or ("",)
    unknowing = [is_unknowing(part) for part in parts]
    right = _RIGHT_SIDES.get(sample.case.right, 0)
    conflicts, agreements = _count_negation_matches(sample)
    return {
        "answers": reading.stance is Stance.ANSWERS,
        "absent": reading.stance is Stance.ABSENT,
        "ignorant": reading.stance is Stance.IGNORANT,
        "unknowing": sum(unknowing),
        "unknowing_share": sum(unknowing) / len(parts),
        "unknowing_last": unknowing[-1],
        "reference_negated": ground.reading.is_negated,
        "reference_absent": ground.reading.stance is not Stance.ANSWERS,
        "reference_side": _SIDES[ground.reading.polarity],
        "opening_side": _SIDES[reading.polarity],
        "side": _SIDES[sample.side],
        "right_side": right,
        "sides_agree": right * _SIDES[sample.side],
        "tells": sample.case.right is RightResponse.TELLS,
        "negations": sum(map(count_negations, parts)),
        "reference_negations": ground.reference_negations,
        "opening_negated": reading.is_negated,
        "negation_conflicts": conflicts,
        "negation_agreements": agreements,
        "hedges": sum(map(_count_hedges, parts)),
        "reservations": sum(map(_count_reservations, parts)),
        "opening_reservations": _count_reservations(parts[0]),
        "polar": ground.is_polar,
    }


def _count_negation_matches(sample: AnswerSample) -> tuple[int, int]:
    """Sentences that differ only by a negation, and those that agree in it."""
    conflicts = agreements = 0
    for wanted, is_negated in sample.ground.sentences:
        if not wanted or not sample.sentences:
            continue
        shared = [len(tokens & wanted) for tokens in sample.sentence_tokens]
        most = max(shared)
        if most >= MATCH_SHARE * len(wanted):
            text = sample.sentences[shared.index(most)]
            agrees = (count_negations(text) > 0) == is_negated
            conflicts, agreements = conflicts + (not agrees), agreements + agrees
    return conflicts, agreements


def _measure_shape(sample: AnswerSample) -> dict[str, float]:
    account, ground = sample.account, sample.ground
    count = sum(map(_count_words, sample.sentences))
    known = sample.case.known
    dates = [value for value in account.contents.values if value.kind == DATE]
    others = [value for value in account.contents.values if value.kind != DATE]

    def count_extra(found: list[ValueAtom]) -> int:
        return sum(not any(text.holds(value) for text in known) for value in found)

    asked = [value for value in sample.case.question.values if value.kind == DATE]
    return {
        "words": log1p(count),
        "reference_words": log1p(ground.reference_words),
        "question_words": log1p(ground.question_words),
        "length_ratio": log1p(count) - log1p(ground.reference_words),
        "sentences": len(account.passages),
        "reference_sentences": len(ground.sentences),
        "dates": len(dates),
        "extra_dates": count_extra(dates),
        "extra_values": count_extra(others),
        "question_dated": bool(asked),
        "question_date_told": any(map(account.contents.holds, asked)),
        "cited": len(account.cited),
        "extra_names": len(account.contents.names - sample.case.known_words),
        "quotes": len(sample.quotes),
        "entries": len(_ENTRY.findall(sample.answer)),
        "reference_joints": ground.joints,
    }


def _measure_emphasis(sample: AnswerSample) -> dict[str, float]:
    """Features of what an answer puts in bold, in quotes or in code."""
    ground = sample.ground
    own = sample.emphasised - ground.question
    return {
        "emphasised": sample.emphases,
        "emphasised_precision": _divide(len(own & ground.reference), len(own)),
        "emphasised_recall": _divide(len(own & ground.news), len(ground.news))
        if own
        else NO_FEATURE,
    }


def _measure_support(sample: AnswerSample, window: EvidenceWindow) -> dict[str, float]:
    ground, sentence_tokens, whole = sample.ground, sample.sentence_tokens, sample.whole
    own = whole - ground.question
    beyond = own - ground.reference
    near = sample.near.tokens
    unknown = [token for token in own if token not in window.postings]
    values = [v for v in sample.account.contents.values if v.kind != DATE]
    found_count = sum(f"#{value.core}" in window.postings for value in values)
    named = sample.account.contents.names - sample.case.question.words
    supports = list(_list_supports(sentence_tokens, ground.question, window))
    return {
        "support": _average(supports),
        "support_least": min((share for share, _ in supports), default=NO_FEATURE),
        "claims": len(supports),
        "reference_support": sample.near.support,
        "beyond_near": _weigh_share(beyond & near, beyond, window),
        "own_near": _weigh_share(own & (near | ground.reference), own, window),
        "unheard": len(unknown),
        "unheard_share": _divide(len(unknown), len(own)),
        "values_unheard": len(values) - found_count,
        "values_heard": _divide(found_count, len(values)),
        "names_unheard": sum(
            not window.holds_word(name) for name in named - sample.reference.contents.words
        ),
        "evidence_days": len(sample.case.item.truth.evidence),
        "window_sentences": log1p(len(window.sentences)),
        **_measure_quotations(sample, window),
        **_measure_dates(sample, window),
    }


def _measure_quotations(sample: AnswerSample, window: EvidenceWindow) -> dict[str, float]:
    found = [level_text(normalise(quoted)) for quoted in sample.quotes]
    found_count = sum(map(window.is_quote, found))
    return {
        "quotes_heard": _divide(found_count, len(found)),
        "quotes_unheard": len(found) - found_count,
    }


def _measure_dates(sample: AnswerSample, window: EvidenceWindow) -> dict[str, float]:
    """Features of dates: on the evidence days, mentioned on them, or neither."""
    account = sample.account
    dates = [
        value.core for value in (*account.contents.values, *account.cited) if value.kind == DATE
    ]
    near = sum(date in window.dates for date in dates)
    foreign = [d for d in dates if d not in window.dates and f"#{d}" not in window.postings]
    return {
        "dates_near": near,
        "dates_near_share": _divide(near, len(dates)),
        "dates_foreign": len(foreign),
    }


def _list_supports(
    sentence_tokens: tuple[Tokens, ...], known: Tokens, window: EvidenceWindow
) -> Iterator[tuple[float, int]]:
    """For each sentence that makes a claim beyond the known tokens, its support and its size."""
    for claim in sentence_tokens:
        own = claim - known
        if len(own) >= CLAIM_TOKENS:
            yield window.measure_support(own), len(own)


def _average(found: list[tuple[float, int]]) -> float:
    whole = sum(size for _, size in found)
    return sum(share * size for share, size in found) / whole if whole else NO_FEATURE


def _weigh_share(part: Tokens, whole: Tokens, window: EvidenceWindow) -> float:
    total = window.sum_weights(whole)
    return window.sum_weights(part) / total if total > 0 else NO_FEATURE


NEAREST = 5
"""The number of evidence sentences that count as being about a reference."""

_NO_SUPPORT = EvidenceSupport(0.0, NO_TOKENS)


class FeatureExtractor:
    """Computes the features of answers about one scenario."""

    def __init__(self, reader: ContentReader) -> None:
        self._reader = reader
        self._near: dict[tuple[int, int], tuple[EvidenceWindow, CaseFeatures, EvidenceSupport]] = {}
        self._grounds: dict[str, tuple[GradingCase, CaseFeatures]] = {}

    def extract(
        self,
        case: GradingCase,
        account: AnswerContents,
        reading: StanceReading,
        grade: RuleGrade,
        *,
        answer: str,
        window: EvidenceWindow | None,
    ) -> dict[str, float]:
        """All features of one answer, given as it was and as it was read, by name."""
        match = grade.match or find_best_match(case, account)
        text = answer[:MAX_ANSWER_CHARACTERS]
        marked = find_emphases(text)
        ground = self._get_case_features(case)
        sentence_tokens = tuple(map(collect_tokens, account.passages))
        return compute_features(
            AnswerSample(
                case=case,
                ground=ground,
                account=account,
                reading=reading,
                side=self._find_side(case, account, reading),
                reference=match.reference,
                coverage=match.coverage,
                rivalry=match.rivalry,
                correctness=grade.correctness,
                completeness=grade.completeness,
                window=window,
                near=self._find_support(window, ground),
                answer=text,
                sentence_tokens=sentence_tokens,
                whole=NO_TOKENS.union(*sentence_tokens),
                quotes=_QUOTED.findall(text),
                sentences=account.sentences,
                phrase=self._reader.read_phrase(account.text),
                emphases=len(marked),
                emphasised=collect_tokens(self._reader.read(normalise(" ; ".join(marked))))
                if marked
                else NO_TOKENS,
            )
        )

    def _find_side(
        self, case: GradingCase, account: AnswerContents, reading: StanceReading
    ) -> Polarity | None:
        """The side of an answer; beyond its first word only where a side is asked for."""
        if case.right is RightResponse.TELLS or not account.passages:
            return reading.polarity
        return find_side(case, account, reading)

    def _find_support(self, window: EvidenceWindow | None, ground: CaseFeatures) -> EvidenceSupport:
        if window is None:
            return _NO_SUPPORT
        key = id(window), id(ground)
        known = self._near.get(key)
        if known is None or known[0] is not window or known[1] is not ground:
            near = EvidenceSupport(
                window.measure_support(ground.reference),
                window.find_nearest(ground.reference, NEAREST),
            )
            known = self._near[key] = window, ground, near
        return known[2]

    def _get_case_features(self, case: GradingCase) -> CaseFeatures:
        known = self._grounds.get(case.item.id)
        if known is None or known[0] is not case:
            known = self._grounds[case.item.id] = case, CaseFeatures.build(case, self._reader)
        return known[1]
