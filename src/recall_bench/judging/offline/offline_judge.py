"""The judge that needs no key: the same answer gets the same marks on any machine.

Where there is nothing to read, rules decide: a leak, an empty answer, a plain refusal, a chosen
option, the reference itself, and what only quotes the history. A small trained encoder reads every
other answer, beside the truth and the nearest sentences of the history.

The answer cannot influence its grade by talking about it: marks for itself are not read.
"""

from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path

import msgspec

from recall_bench.core.errors import JudgeFault, Malformed, UsageError
from recall_bench.core.scenario import Disclosure, Item, Scenario
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Finding, JudgeCard, Strictness, Verdict
from recall_bench.judging.encoder.answer_reader import AnswerReader, ReadAnswer, digest_question
from recall_bench.judging.encoder.encoder import load_encoder
from recall_bench.judging.encoder.value_hints import KnownText, locate_mentions
from recall_bench.judging.offline.case import JudgedCase, prepare_case
from recall_bench.judging.offline.contents import AnswerContents, ContentReader, level_text
from recall_bench.judging.offline.history_index import HistoryAsOf, HistoryIndex
from recall_bench.judging.offline.leaks import find_answer_leaks
from recall_bench.judging.offline.quotation import (
    STANCE_FINDINGS,
    find_value_findings,
    grade_quotation,
    is_plain_non_answer,
    is_quoted,
    is_undecided,
    lists_candidates,
    says_nothing,
)
from recall_bench.judging.offline.stance import (
    Stance,
    StanceReading,
    is_bare_side,
    read_stance,
    remove_refusing_clauses,
)
from recall_bench.judging.protocols.multiple_choice import parse_options, read_choice
from recall_bench.text.encoder.encoder import SHIPPED, digest_model
from recall_bench.text.text import normalise, remove_echo, split_words

VERSION = "10"
"""Raised whenever a mark moves: a rule, a constant, the model, or anything they rest on elsewhere.

The golden answers of the tests fail when marks move and the version does not.
"""

MAX_ANSWER_CHARACTERS = 4000
"""Only the beginning of an answer is judged: reciting the whole history is not an answer."""
SCORE_BARS = {"correctness": (0.15, 0.35, 0.65), "completeness": (0.2, 0.6), "grounded": (0.5,)}
"""The least score of the rules for one point, two and so on."""
CHANCE_DIGITS = 4
LEAST_CHANCE = 0.01
"""No probability is closer to 0 or 1 than this."""
MANY_WORDS, NOISE_SHARE = 40, 0.2
"""A longer answer is noise if fewer of its words are different ones."""
MAX_DOUBTED, MAX_STRANGE = 0.45, 0.3
"""The highest chance of a pass where a rule forbids one."""
QUOTED = 0.95
"""The chance that a quotation is grounded."""
VERDICT_CACHE = 4096
"""Verdicts of one scenario kept in memory: one for each of its questions, and some more."""
SHARED_SCENARIOS = 8
"""Scenarios kept in memory for other judges: those of the cells of a matrix, one after another."""
ODDS = {Strictness.STRICT: 1 / 3, Strictness.LENIENT: 3.0}
"""What a reading multiplies odds by. The strict one gives a point only where the encoder has it
deserved three times as likely as not, the lenient one unless it has it three times as likely not.
Scores of the rules between 0 and 1, such as the share of a list that was stated, move likewise.
What is certain is the same in every reading, and so is whether something is made up."""


class OfflineJudge:
    """Judges by rules where they are certain, and by an encoder; no language model is asked."""

    def __init__(self, config: Mapping[str, object]) -> None:
        if others := config.keys() - {"reading", "model"}:
            raise UsageError(
                f"the offline judge has no setting {min(others)!r}; it takes none, so remove it"
            )
        reading = config.get("reading")
        self._reading = None if reading is None else Strictness(str(reading))
        self._folder = Path(str(config.get("model", SHIPPED)))
        if "model" in config:
            load_encoder(self._folder)  # What is wrong with it is said before anything is fed.
        self._studied: dict[str, StudiedScenario] = {}

    @cached_property
    def card(self) -> JudgeCard:
        """Changes whenever a mark could."""
        is_shipped = self._folder == SHIPPED
        return JudgeCard(
            name="offline",
            version=VERSION,
            rules_digest=None if is_shipped else digest_model(self._folder),
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
        studied = self._studied.get(exhibit.scenario)
        if studied is None:
            raise JudgeFault(
                f"the offline judge has not studied scenario {exhibit.scenario!r}; "
                "hand it the scenario before its answers"
            )
        return studied.judge(exhibit, self._folder, self._reading)

    def is_trained_on(self, question: str) -> bool:
        """Whether the encoder was trained on answers to this question."""
        return digest_question(question) in load_encoder(self._folder).calibration.trained


class RuleScores(msgspec.Struct, frozen=True, gc=False):
    """Scores from 0 to 1 by the rules, and why."""

    correctness: float
    completeness: float
    grounded: float
    reason: str
    findings: tuple[Finding, ...] = ()

    def make_verdict(self, reading: Strictness | None = None) -> Verdict:
        """The marks for these scores in a reading, and the chances in the plain one."""
        factor = 1.0 if reading is None else ODDS[reading]
        marks, chances = {}, {}
        for mark, bars in SCORE_BARS.items():
            score = getattr(self, mark)
            shifted = score if mark == "grounded" else scale_odds(score, factor)
            marks[mark] = sum(shifted >= bar for bar in bars)
            bar = bars[PASS[mark] - 1]
            chances[mark] = clip_chance(
                # A half where the score is just enough to pass, rising evenly to either side.
                0.5 * score / bar if score < bar else 0.5 + 0.5 * (score - bar) / (1.0 - bar)
            )
        return Verdict(
            marks=marks, reason=self.reason, probabilities=chances, findings=self.findings
        )


def scale_odds(chance: float, factor: float) -> float:
    """The chance with its odds multiplied; 0 and 1 stay."""
    return chance * factor / (chance * factor + 1.0 - chance)


def clip_chance(chance: float) -> float:
    """A chance that is never certain."""
    return round(min(max(chance, LEAST_CHANCE), 1.0 - LEAST_CHANCE), CHANCE_DIGITS)


class UncertainAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer that has to be read, as far as rules see it."""

    case: JudgedCase
    account: AnswerContents
    stance: StanceReading
    is_quoted: bool
    strange: tuple[str, ...] = ()
    """Its values and names that stand nowhere, in the history or in the question and its truth."""

    def make_verdict(self, read: ReadAnswer, reading: Strictness | None) -> Verdict:
        """The verdict of the encoder; a quotation is grounded whatever it says."""
        chances = dict(read.chances)
        if self.is_quoted:
            chances["grounded"] = (max(QUOTED, *chances["grounded"]),)
        if lists_candidates(self.case, self.account):
            # An encoder passes what names the right one; a list of all does not tell which it is.
            limit = min(chances["correctness"][0], MAX_DOUBTED)
            chances["correctness"] = tuple(min(limit, one) for one in chances["correctness"])
            chances["completeness"] = tuple(min(limit, one) for one in chances["completeness"])
        factor = 1.0 if reading is None else ODDS[reading]
        is_wrong = scale_odds(chances["correctness"][0], factor) < 0.5
        # A right answer may compute what stands nowhere; a wrong one has made it up.
        is_strange = is_wrong and bool(self.strange)
        if is_strange:
            chances["grounded"] = (min(MAX_STRANGE, *chances["grounded"]),)
        marks = {
            mark: sum(
                scale_odds(chance, 1.0 if mark == "grounded" else factor) >= 0.5
                for chance in chances[mark]
            )
            for mark in SCALES
        }
        passed = marks["correctness"] >= PASS["correctness"]
        right = chances["correctness"][PASS["correctness"] - 1]
        reason = f"right with a chance of {right:.0%}"
        findings: tuple[Finding, ...] = STANCE_FINDINGS.get(self.stance.stance, ())
        if passed:
            findings = tuple(one for one in findings if one is not Finding.ABSTENTION)
        else:
            findings += find_value_findings(self.case, self.account)
        if not marks["grounded"]:
            findings += (Finding.FABRICATION,)
            weakness = f"the history does not mention {', '.join(self.strange[:3])}"
            reason += f"; {weakness if is_strange else read.describe_weakest()}"
        return Verdict(
            marks=marks,
            reason=reason,
            probabilities={mark: clip_chance(chances[mark][PASS[mark] - 1]) for mark in SCALES},
            findings=findings,
        )


_CaseKey = tuple[str, int]
"""A question, and which of its versions: labelled answers may bring one with another truth."""
_VerdictKey = tuple[_CaseKey, str, Path, Strictness | None]


class StudiedScenario:
    """One scenario with its history, its questions and the answers that were judged so far.

    Repeats of a question, and systems that quote alike, give the same answer again. So do most
    systems at the next checkpoint, where the verdict of rules is another one only if the history
    has come to hold something that the answer claims.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.history = HistoryIndex(scenario)
        self._reader = share_reader()
        self._answers = AnswerReader(scenario)
        self._versions: dict[str, list[Item]] = {}
        self._cases: dict[_CaseKey, JudgedCase] = {}
        self._verdicts: dict[_VerdictKey, tuple[Verdict, HistoryAsOf]] = {}
        self._accounts = lru_cache(maxsize=64)(self._read_text)

    def judge(
        self, exhibit: Exhibit, folder: Path = SHIPPED, reading: Strictness | None = None
    ) -> Verdict:
        """The marks for one answer, with reasons."""
        key = self.prepare(exhibit), exhibit.answer.text, folder, reading
        known = self._verdicts.get(key)
        if known is not None and known[1].holds_on(exhibit.days):
            return known[0]
        history = HistoryAsOf(self.history, exhibit.days)
        found = self.decide(exhibit, history)
        if isinstance(found, UncertainAnswer):
            # What is nearest to a claim changes with every day; the encoder keeps what it read.
            read = self._answers.read(exhibit, load_encoder(folder))
            return found.make_verdict(read, reading)
        verdict = found.make_verdict(reading)
        if len(self._verdicts) >= VERDICT_CACHE:
            del self._verdicts[next(iter(self._verdicts))]
        self._verdicts[key] = verdict, history
        return verdict

    def prepare(self, exhibit: Exhibit) -> _CaseKey:
        """Prepare the question, unless it is known as it is, and return its key."""
        item = exhibit.item
        versions = self._versions.setdefault(item.id, [])
        try:
            return item.id, versions.index(item)
        except ValueError:
            key = item.id, len(versions)
            self._cases[key] = prepare_case(item, self._reader)
            versions.append(item)
            return key

    def decide(
        self, exhibit: Exhibit, history: HistoryAsOf | None = None
    ) -> RuleScores | UncertainAnswer:
        """The scores of an answer where rules are certain; else what is to be read."""
        history = history or HistoryAsOf(self.history, exhibit.days)
        key = self.prepare(exhibit)
        case, answer = self._cases[key], exhibit.answer.text
        if leaks := find_answer_leaks(case, history, answer):
            reason = f"gives away {', '.join(leaks[:3])}"
            return RuleScores(0.0, 0.0, 0.0, reason, (Finding.LEAK,))
        if (choice := _read_choice(case.item, answer)) is not None:
            reason = "chooses the right option" if choice else "chooses another option"
            return RuleScores(float(choice), float(choice), 1.0, reason)
        account, stance = self._accounts(key, normalise(answer[:MAX_ANSWER_CHARACTERS]))
        is_idle = says_nothing(case, account)
        question = normalise(case.item.text).lower()
        nothing = _find_nothing(question, account, answer, history)
        if nothing is None and (
            is_undecided(case, account) or (is_idle and stance.polarity is None)
        ):
            nothing = "says nothing of its own"
        if nothing is not None:
            return RuleScores(0.0, 0.0, 1.0, nothing)
        if level_text(account.text) in case.wordings:
            return RuleScores(1.0, 1.0, 1.0, "is the reference")
        is_plain = is_plain_non_answer(case, account) or is_bare_side(account.text) or is_idle
        quotes = is_plain or is_quoted(case, account, history)
        is_about = not account.contents.stems.isdisjoint(case.question.stems)
        is_open = stance.stance is Stance.ABSENT and stance.polarity is None and is_about
        # "No outcome is on record" denies the thing, or only that it is known.
        if not quotes or (is_open and case.is_denial_due):
            strange = () if quotes else _find_strange(case.item, account.text, history)
            return UncertainAnswer(case, account, stance, is_quoted=quotes, strange=strange)
        grade = grade_quotation(case, account, stance)
        findings = (*grade.findings, *((Finding.FABRICATION,) if grade.is_made_up else ()))
        grounded = 0.0 if grade.is_made_up else QUOTED
        return RuleScores(grade.correctness, grade.completeness, grounded, grade.reason, findings)

    def _read_text(self, key: _CaseKey, text: str) -> tuple[AnswerContents, StanceReading]:
        """What an answer states, and its stance.

        Where a part may be disclosed, the clauses that decline have none.
        """
        item = self._cases[key].item
        account = self._reader.read_answer(remove_echo(text, item.text))
        body = account.text
        if item.truth.disclosure is Disclosure.PARTIAL:
            body = remove_refusing_clauses(body)
        return account, read_stance(body)


def _find_strange(item: Item, text: str, history: HistoryAsOf) -> tuple[str, ...]:
    """Values and names of an answer that stand nowhere; () without a history to look in."""
    if history.is_empty:
        return ()
    truth = item.truth
    texts = (item.text, truth.reference, *truth.aliases, *truth.stale)
    told = KnownText(*map(normalise, texts))
    return tuple(
        text[mention.start : mention.end]
        for mention in locate_mentions(text)
        if not told.holds(mention)
        and not (
            history.is_word_known(mention.word)
            if mention.value is None
            else history.is_value_known(mention.value)
        )
    )


def _find_nothing(
    question: str, account: AnswerContents, answer: str, history: HistoryAsOf
) -> str | None:
    """Why an answer says nothing at all; None if it says something."""
    if len(answer) > MAX_ANSWER_CHARACTERS and history.is_recitation(answer):
        return "recites the history"
    if read_stance(normalise(answer)).stance is Stance.SILENT:
        return "the answer is empty"
    if not split_words(account.text) and question in normalise(answer).lower():
        return "only repeats the question"
    return "repeats the same few words" if _is_noise(account.text) else None


def _is_noise(text: str) -> bool:
    """Whether a text says the same few words over and over."""
    words = split_words(text)
    return len(words) > MANY_WORDS and len(set(words)) < NOISE_SHARE * len(words)


def _read_choice(item: Item, answer: str) -> bool | None:
    """Whether an answer chooses the right option; None if it names none, or nothing is offered."""
    if not item.choices or item.truth.choice is None:
        return None
    try:
        letter = read_choice(answer, parse_options(list(item.choices)))
    except Malformed:
        return None  # options without letters are told apart by reading
    return None if letter is None else letter == item.truth.choice.upper()


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
