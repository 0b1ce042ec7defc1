"""The judge that needs no model: the same answer gets the same marks on any machine.

Where the truth lists what a right answer contains, rules decide. Where there is only a free-text
reference, a calibration weighs what the rules and some plain features find. Rules have the last
word on a leak, a non-answer to an answerable question, and a value that the history does not hold.

The answer cannot influence its grade by talking about it: that text is not read.
"""

import re
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache

import msgspec
from msgspec.structs import replace

from recall_bench.core.errors import JudgeFault, UsageError
from recall_bench.core.scenario import Expects, Item, Scenario, StoryTime
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Finding, JudgeCard, Strictness, Verdict
from recall_bench.judging.offline.calibration import (
    AdditiveModel,
    PassChances,
    digest_question,
    load_calibration,
    load_model,
    scale_odds,
)
from recall_bench.judging.offline.case import GradingCase, RightResponse, prepare_case
from recall_bench.judging.offline.contents import AnswerContents, ContentReader, split_citations
from recall_bench.judging.offline.features import FeatureExtractor, is_evidence_feature_set
from recall_bench.judging.offline.grade import (
    MAX_ANSWER_CHARACTERS,
    ExtraClaims,
    RuleGrade,
    find_extra_claims,
    grade_answer,
    read_answer,
    score_groundedness,
)
from recall_bench.judging.offline.history_index import (
    EvidenceIndex,
    HistoryAsOf,
    HistoryIndex,
    list_cited_days,
)
from recall_bench.judging.offline.leaks import find_answer_leaks
from recall_bench.judging.offline.stance import Stance, StanceReading
from recall_bench.text.relative_dates import expand_relative_dates
from recall_bench.text.text import normalise, remove_echo

CORRECTNESS_BARS = (0.15, 0.35, 0.65)
"""The least score for one, two and three points."""
COMPLETENESS_BARS = (0.2, 0.6)
GROUNDED_BARS = (0.5,)
SCORE_BARS = {
    "correctness": CORRECTNESS_BARS,
    "completeness": COMPLETENESS_BARS,
    "grounded": GROUNDED_BARS,
}
CHANCE_DIGITS = 4
LEAST_CHANCE = 0.01
"""No probability is closer to 0 or 1 than this."""


class RuleScores(msgspec.Struct, frozen=True, gc=False):
    """Scores from 0 to 1 by the rules, and why."""

    correctness: float
    completeness: float
    grounded: float
    reason: str
    findings: tuple[Finding, ...] = ()
    is_exact: bool = False
    """Whether the truth lists what a right answer contains, so that rules decide alone."""

    @property
    def verdict(self) -> Verdict:
        """The marks for these scores."""
        marked = {name: _mark_score(name, getattr(self, name)) for name in SCALES}
        return Verdict(
            marks={name: points for name, (points, _) in marked.items()},
            reason=self.reason,
            probabilities={name: chance for name, (_, chance) in marked.items()},
            findings=self.findings,
        )

    def scale_odds(self, factor: float) -> "RuleScores":
        """The same, with the odds of both scores of the answer multiplied; 0 and 1 stay so.

        Whether something is invented is certain, and stays as it is.
        """
        return replace(
            self,
            correctness=scale_odds(self.correctness, factor),
            completeness=scale_odds(self.completeness, factor),
        )


def clip_chance(chance: float) -> float:
    """A chance that is never certain."""
    return round(min(max(chance, LEAST_CHANCE), 1.0 - LEAST_CHANCE), CHANCE_DIGITS)


def _compute_chance(mark: str, score: float) -> float:
    """A half where the score is just enough to pass, rising evenly to either side."""
    bar = SCORE_BARS[mark][PASS[mark] - 1]
    if score < bar:
        return 0.5 * score / bar
    return 0.5 + 0.5 * (score - bar) / (1.0 - bar)


@lru_cache(maxsize=1024)
def _mark_score(mark: str, score: float) -> tuple[int, float]:
    """The points and the chance of a score: most answers have one of a few."""
    points = sum(score >= bar for bar in SCORE_BARS[mark])
    return points, clip_chance(_compute_chance(mark, score))


MAX_DOUBTED = 0.45
"""The highest chance where a rule forbids a pass."""
MIN_GRANTED = 0.55
"""The lowest chance where a rule grants one."""
MISSING_ALLOWED = {"correctness": 0.49, "completeness": 0.0}
"""The share of a listed reference's entries that may be missing from a passing answer."""
LITTLE_RECALL, LITTLE_NEWS = 0.1, 0.2
"""Below these shares of the reference, and of its news, an answer states nothing of it."""
COMPLETE_DENIAL = COMPLETENESS_BARS[-1]
"""Where there is no such thing, to say so is all that is asked for."""
FULL_RECALL = 0.95
"""From this share on, an answer states all of the reference."""

GRADE_CACHE = 64
"""Grades of one scenario kept in memory, and as many answers with what was read in them: what comes
again later has its verdict."""
VERDICT_CACHE = 4096
"""Verdicts of one scenario kept in memory: one for each of its questions, and some more."""
SHARED_SCENARIOS = 8
"""Scenarios kept in memory for other judges: those of the cells of a matrix, one after another."""

ODDS = {Strictness.STRICT: 1 / 3, Strictness.LENIENT: 3.0}
"""What a reading multiplies odds by. The strict one gives a point only where the calibration has it
deserved three times as likely as not, the lenient one unless it has it three times as likely not.
Scores of the rules between 0 and 1, such as the share of a list that was stated, move likewise.
What is certain is the same in every reading."""

VERSION = "9"
"""Raised whenever a mark moves: a rule, a constant, a weight, or anything they rest on elsewhere.

The golden answers of the tests fail when marks move and the version does not.
"""


class OfflineJudge:
    """Judges by rules and a trained calibration, without a language model."""

    def __init__(self, config: Mapping[str, object]) -> None:
        if others := config.keys() - {"reading"}:
            raise UsageError(
                f"the offline judge has no setting {min(others)!r}; it takes none, so remove it"
            )
        reading = config.get("reading")
        self._reading = None if reading is None else Strictness(str(reading))
        self._studied: dict[str, StudiedScenario] = {}

    @cached_property
    def card(self) -> JudgeCard:
        """Changes whenever a mark could."""
        return JudgeCard(
            name="offline",
            version=VERSION,
            computes=True,
            reading=self._reading,
        )

    def study(self, scenario: Scenario) -> None:
        """Index the scenario's history, unless it is known already.

        A question is prepared when its first answer comes.
        """
        self._studied[scenario.id] = study_scenario(scenario)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The marks for one answer, with reasons."""
        return self.judge_now(exhibit)

    def judge_now(self, exhibit: Exhibit) -> Verdict:
        """The same without async."""
        return self._get_studied(exhibit).judge(exhibit, self._reading)

    def is_trained_on(self, question: str) -> bool:
        """Whether the calibration was trained on answers to this question."""
        return digest_question(question) in load_calibration().training.traces

    def read(self, exhibit: Exhibit) -> "RuleScores | RuleReading":
        """What the rules read in an answer, or its scores where nothing else is needed."""
        return self._get_studied(exhibit).read(exhibit)

    def measure_features(self, exhibit: Exhibit) -> dict[str, float] | None:
        """The features that a calibration weighs; None where rules decide alone."""
        return self._get_studied(exhibit).measure(exhibit)

    def judge_with_model(
        self, exhibit: Exhibit, numbers: dict[str, float], model: AdditiveModel
    ) -> Verdict:
        """The verdict with another calibration than the shipped one."""
        read = self._get_studied(exhibit).read(exhibit)
        if isinstance(read, RuleScores):
            return read.verdict
        return _apply_model(read, numbers, model.predict(numbers))

    def _get_studied(self, exhibit: Exhibit) -> "StudiedScenario":
        studied = self._studied.get(exhibit.scenario)
        if studied is None:
            raise JudgeFault(
                f"the offline judge has not studied scenario {exhibit.scenario!r}; "
                "hand it the scenario before its answers"
            )
        return studied


_CaseKey = tuple[str, int]
"""A question, and which of its versions: labelled answers may bring one with another truth."""
_AnswerKey = tuple[_CaseKey, str, StoryTime, int]
"""The question, the answer, when it was asked, and the last day that was fed."""
_VerdictKey = tuple[_CaseKey, str, str | None, Strictness | None]
"""The question, the answer, the answer with its relative dates written out, and the reading."""


class StudiedScenario:
    """One scenario with its history, its questions and the answers that were read so far.

    Repeats of a question, and systems that quote alike, give the same answer again. So do most
    systems at the next checkpoint, where the verdict is another one only if the history has come to
    hold something that the answer claims.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._reader = share_reader()
        self.history = HistoryIndex(scenario)
        self._features = FeatureExtractor(self._reader)
        self._evidence = EvidenceIndex(scenario, self._reader)
        self._versions: dict[str, list[Item]] = {}
        self._cases: dict[_CaseKey, GradingCase] = {}
        self._verdicts: dict[_VerdictKey, tuple[Verdict, HistoryAsOf]] = {}
        self._grade = lru_cache(maxsize=GRADE_CACHE)(self._grade_text)
        self._readings = lru_cache(maxsize=GRADE_CACHE)(self._read_answer)
        self._dates = lru_cache(maxsize=GRADE_CACHE)(self._resolve_dates)
        self._measures = lru_cache(maxsize=GRADE_CACHE)(self._measure_answer)

    def judge(self, exhibit: Exhibit, manner: Strictness | None = None) -> Verdict:
        """The marks for one answer, with reasons."""
        key = self.prepare(exhibit)
        item, text, asked_at, days = key
        dates = self._dates(item, text, asked_at)
        known = self._verdicts.get((item, text, dates, manner))
        if known is not None and known[1].holds_on(days):
            return known[0]
        history, read = self._readings(key)
        verdict = _judge_reading(read, self._measures(key), manner)
        if len(self._verdicts) >= VERDICT_CACHE:
            del self._verdicts[next(iter(self._verdicts))]
        self._verdicts[item, text, dates, manner] = verdict, history
        return verdict

    def _resolve_dates(self, item: _CaseKey, text: str, asked_at: StoryTime) -> str | None:
        """The answer as it was meant when it was asked; None if no date in it is relative.

        Nothing else in a verdict rests on the time of asking.
        """
        if not self._cases[item].wants_a_date:
            return None
        given = normalise(text[:MAX_ANSWER_CHARACTERS])
        resolved = expand_relative_dates(given, asked_at.date())
        return None if resolved == given else resolved

    def read(self, exhibit: Exhibit) -> "RuleScores | RuleReading":
        """What the rules read in an answer, or its scores where nothing else is needed."""
        return self._readings(self.prepare(exhibit))[1]

    def measure(self, exhibit: Exhibit) -> dict[str, float] | None:
        """The features of an answer; None where rules decide alone."""
        return self._measures(self.prepare(exhibit))

    def prepare(self, exhibit: Exhibit) -> _AnswerKey:
        """Prepare the question, unless it is known as it is, and return all that marks rest on."""
        item = exhibit.item
        versions = self._versions.setdefault(item.id, [])
        try:
            key = item.id, versions.index(item)
        except ValueError:
            key = item.id, len(versions)
            self._cases[key] = prepare_case(item, self._reader)
            versions.append(item)
        return key, exhibit.answer.text, exhibit.asked_at, exhibit.days

    def _read_answer(self, key: _AnswerKey) -> tuple[HistoryAsOf, "RuleScores | RuleReading"]:
        """What the rules read in an answer, and the history as they consulted it."""
        item, answer, asked_at, days = key
        history = HistoryAsOf(self.history, days)
        return history, self._read_as_of(item, answer, asked_at, history)

    def _read_as_of(
        self, item: _CaseKey, answer: str, asked_at: StoryTime, history: HistoryAsOf
    ) -> "RuleScores | RuleReading":
        case = self._cases[item]
        leaks = find_answer_leaks(case, history, answer)
        if leaks:
            reason = f"gives away {', '.join(leaks[:3])}"
            return RuleScores(0.0, 0.0, 0.0, reason, (Finding.LEAK,), is_exact=True)
        if len(answer) > MAX_ANSWER_CHARACTERS and self.history.is_recitation(answer):
            return RuleScores(0.0, 0.0, 1.0, "recites the history", is_exact=case.is_exact)
        given = normalise(answer[:MAX_ANSWER_CHARACTERS])
        text = self._dates(item, answer, asked_at) or given
        if case.wants_times:
            text = _ONCE.sub(lambda found: _TIMES[found[0].lower()], text)
        if case.forms is not None:
            text = case.forms.write_out(text)
        graded = self._grade(item, text)
        if graded is None:
            return RuleScores(0.0, 0.0, 1.0, "the answer is empty", is_exact=case.is_exact)
        account, reading, grade = graded
        as_given = account if text == given else self._read_text(case, given)
        return RuleReading(
            case=case,
            account=account,
            reading=reading,
            grade=grade,
            grounds=find_extra_claims(case, as_given, history),
            history=history,
        )

    def _measure_answer(self, key: _AnswerKey) -> dict[str, float] | None:
        history, read = self._readings(key)
        if isinstance(read, RuleScores) or read.grade.is_exact:
            return None
        days = history.look_up(self._evidence.list_days, list_cited_days(read.case.item))
        return self._features.extract(
            read.case,
            read.account,
            read.reading,
            read.grade,
            answer=key[1],
            window=self._evidence.get_window(days),
        )

    def _read_text(self, case: GradingCase, text: str) -> AnswerContents:
        return self._reader.read_answer(remove_echo(text, case.item.text))

    def _grade_text(
        self, item: _CaseKey, text: str
    ) -> tuple[AnswerContents, StanceReading, RuleGrade] | None:
        """What a text says, and its grade as an answer to a case; None if it says nothing."""
        case = self._cases[item]
        account = self._read_text(case, text)
        reading = read_answer(case, account)
        if reading.stance is Stance.SILENT:
            return None
        return account, reading, grade_answer(case, account, reading)


_TIMES = {"once": "1 time", "twice": "2 times", "thrice": "3 times"}
_ONCE = re.compile(rf"\b(?:{'|'.join(_TIMES)})\b", re.IGNORECASE)

_shared: list[StudiedScenario] = []
"""The scenarios that were studied last, the latest at the end."""


def study_scenario(scenario: Scenario) -> StudiedScenario:
    """Index the history of a scenario, unless a judge of this process did so not long ago."""
    found = next((each for each in _shared if each.scenario == scenario), None)
    if found is None:
        found = StudiedScenario(scenario)
    else:
        _shared.remove(found)
    _shared.append(found)
    del _shared[:-SHARED_SCENARIOS]
    return found


@cache
def share_reader() -> ContentReader:
    """The reader of all judges of this process: what it extracts depends on the text alone."""
    return ContentReader()


_SIDE = re.compile(r"\A(?:yes|no)\b[.,:;]?\s*", re.IGNORECASE)
"""A Yes or No before what is quoted."""


class RuleReading(msgspec.Struct, frozen=True, gc=False):
    """An answer as the rules read it."""

    case: GradingCase
    account: AnswerContents
    reading: StanceReading
    grade: RuleGrade
    grounds: ExtraClaims
    history: HistoryAsOf

    @property
    def is_quoted(self) -> bool:
        """Whether it is only sentences quoted from the history, with or without their days.

        A right Yes or No may come first.
        """
        first, *others = self.account.sentences or ("",)
        is_known = self._is_known(first) or (
            self.grade.correctness > 0 and self._is_known(_SIDE.sub("", first))
        )
        return is_known and all(map(self._is_known, others))

    def _is_known(self, sentence: str) -> bool:
        body = split_citations(sentence)[0].strip()
        return not body or self.history.is_sentence_known(body)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules found."""
        is_made_up = self.grounds.invented or self.grade.affirms_what_never_was
        return (*self.grade.findings, *((Finding.FABRICATION,) if is_made_up else ()))

    @property
    def reason(self) -> str:
        """The reason, in words."""
        if self.grade.affirms_what_never_was:
            return f"{self.grade.reason}; affirms what never was"
        if self.grounds.invented:
            invented = ", ".join(self.grounds.invented[:3])
            return f"{self.grade.reason}; the history does not mention {invented}"
        return self.grade.reason


def _judge_reading(
    read: RuleScores | RuleReading,
    numbers: dict[str, float] | None,
    manner: Strictness | None,
) -> Verdict:
    """The verdict of the shipped calibration; of the rules alone where nothing was measured."""
    if isinstance(read, RuleScores) or numbers is None:
        scores = score_reading(read)
        verdict = scores.verdict
        if manner is None:
            return verdict
        return verdict.replace(marks=scores.scale_odds(ODDS[manner]).verdict.marks)
    model = load_model(with_evidence=is_evidence_feature_set(numbers))
    opinion = model.predict(numbers)
    verdict = _apply_model(read, numbers, opinion)
    if manner is None:
        return verdict
    shifted = _apply_model(read, numbers, opinion.scale_odds(ODDS[manner]))
    return verdict.replace(marks=shifted.marks)


def score_reading(read: RuleScores | RuleReading) -> RuleScores:
    """The scores by rules alone."""
    if isinstance(read, RuleScores):
        return read
    return RuleScores(
        correctness=read.grade.correctness,
        completeness=read.grade.completeness,
        grounded=score_groundedness(read.grade, read.grounds),
        reason=read.reason,
        findings=read.findings,
        is_exact=read.grade.is_exact,
    )


def _apply_model(read: RuleReading, numbers: dict[str, float], opinion: PassChances) -> Verdict:
    """The verdict of the model, within what the rules allow."""
    for mark, allowed in MISSING_ALLOWED.items():
        if _is_failure_certain(read, numbers, allowed):
            opinion = opinion.limit(mark, MAX_DOUBTED)
        elif _is_complete(read, numbers):
            opinion = opinion.ensure(mark, MIN_GRANTED)
    if read.case.right is RightResponse.ABSTAINS and read.grade.completeness >= COMPLETE_DENIAL:
        for mark in ("correctness", "completeness"):
            opinion = opinion.ensure(mark, MIN_GRANTED)
    elif _is_bare_denial(read, numbers):
        opinion = opinion.limit("completeness", MAX_DOUBTED)
    if read.grounds.invented:
        opinion = opinion.limit("grounded", MAX_DOUBTED)
    elif read.is_quoted:
        opinion = opinion.ensure("grounded", MIN_GRANTED)
    chance = opinion.get_pass_chance("correctness")
    return Verdict(
        marks={mark: opinion.count_points(mark) for mark in SCALES},
        reason=f"{read.reason}; right with a chance of {chance:.0%}",
        probabilities={mark: clip_chance(opinion.get_pass_chance(mark)) for mark in SCALES},
        findings=read.findings,
    )


def _is_failure_certain(
    read: RuleReading, numbers: dict[str, float], untold_allowed: float
) -> bool:
    """Whether an answer is a non-answer, takes the wrong side, or states nothing that was asked."""
    if read.grade.is_non_answer or read.grade.is_stated is False:
        return True
    if read.case.right is not RightResponse.TELLS:
        return read.grade.correctness == 0
    tells_nothing = numbers["recall"] < LITTLE_RECALL and 0 <= numbers["stem_news"] < LITTLE_NEWS
    tells_another = numbers["values_share"] == 0 and numbers["contradicting"] > 0
    return tells_nothing or tells_another or numbers["list_untold"] > untold_allowed


def _is_bare_denial(read: RuleReading, numbers: dict[str, float]) -> bool:
    """Whether an answer denies, and tells none of what the reference gives besides."""
    if read.case.right is not RightResponse.DENIES:
        return False
    if read.case.item.truth.expects is Expects.CORRECT and numbers["recall"] == 0:
        return True  # A correction says what was so.
    return numbers["values_asked"] > 0 and numbers["values_found"] == 0


def _is_complete(read: RuleReading, numbers: dict[str, float]) -> bool:
    is_answered = read.case.right is RightResponse.TELLS and not read.reading.stance.is_non_answer
    if read.grade.is_stated:
        return is_answered
    is_whole = numbers["recall"] >= FULL_RECALL and numbers["values_share"] != 0
    return is_answered and is_whole and numbers["contradicting"] == 0
