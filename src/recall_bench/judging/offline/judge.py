"""The judge that needs no model: the same answer gets the same marks, on any machine, at once.

Where the truth says what a right answer contains, rules decide. Where there is a reference in
free text and nothing else, what the rules and some plain measures find is weighed by a learned
calibration. Rules have the last word on what must not pass: a leak, a non-answer to a question
that has an answer, a value that nobody had told.

It cannot be talked into anything: an answer is never read for what it says about its own grade.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import SCALES, Exhibit, Finding, JudgeCard, Verdict
from recall_bench.errors import JudgeFault, UsageError
from recall_bench.judging.offline.abstention import Reading, Stance
from recall_bench.judging.offline.assessment import Assessment, clipped
from recall_bench.judging.offline.calibration import Opinion, Weighing, shipped, trace_of, weighing
from recall_bench.judging.offline.case import Case, Right, prepare
from recall_bench.judging.offline.contents import Account, Reader
from recall_bench.judging.offline.features import has_evidence
from recall_bench.judging.offline.grading import READ_CHARACTERS, Grade, grade_answer, read_answer
from recall_bench.judging.offline.grounding import Grounds, find_grounds, groundedness
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.leaks import told_leaks
from recall_bench.judging.offline.relative_dates import written_out
from recall_bench.judging.offline.survey import Surveyor
from recall_bench.judging.offline.wording import plain, without_echo

DOUBTED = 0.45
"""The most that a rule leaves of a chance where it forbids a pass."""
GRANTED = 0.55
"""The least that it leaves where it grants one."""
UNTOLD_ALLOWED = {"correctness": 0.49, "completeness": 0.0}
"""The share of a listed reference's entries that may be missing from an answer that passes."""
HARDLY, HARDLY_NEW = 0.1, 0.2
"""An answer with less of the reference, and of what is new in it, tells nothing of it."""
WHOLE = 0.95
"""An answer that tells this share of the reference tells it all."""

VERSION = "3"
"""Raised whenever a mark moves: a rule, a constant, a weight, or anything they rest on elsewhere.

The golden answers of the tests fail when marks move and the version does not.
"""


class OfflineJudge:
    """By rules and a learned calibration, with no model: the same marks on any machine, at once."""

    def __init__(self, config: Mapping[str, object]) -> None:
        if config:
            raise UsageError(
                f"the offline judge has no setting {min(config)!r}; it takes none, so remove it"
            )
        self._reader = Reader()
        self._surveyor = Surveyor(self._reader)
        self._histories: dict[str, HistoryIndex] = {}
        self._cases: dict[tuple[str, str], Case] = {}

    @cached_property
    def card(self) -> JudgeCard:
        """Changes whenever a grade could."""
        return JudgeCard(
            name="offline",
            version=VERSION,
            computes=True,
        )

    def study(self, scenario: Scenario) -> None:
        """Index what the scenario tells and when, and read its questions."""
        self._histories[scenario.id] = HistoryIndex(scenario)
        self._surveyor.study(scenario)
        for item in scenario.items:
            self._cases[scenario.id, item.id] = prepare(item, self._reader)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The marks for one answer, with reasons."""
        return self.rule(exhibit)

    def rule(self, exhibit: Exhibit) -> Verdict:
        """The same, for those who need not wait."""
        read = self._read(exhibit)
        if isinstance(read, Assessment):
            return read.verdict
        if read.grade.is_exact:
            return _assessed(read).verdict
        numbers = self._numbers(exhibit, read)
        model = weighing(with_evidence=has_evidence(numbers))
        return _weighed(read, numbers, model.opinion(numbers))

    def has_learned_from(self, question: str) -> bool:
        """Whether the calibration learned from answers to this question."""
        return trace_of(question) in shipped().training.traces

    def assess(self, exhibit: Exhibit) -> Assessment:
        """The scores of the rules alone, for those who measure them."""
        read = self._read(exhibit)
        return read if isinstance(read, Assessment) else _assessed(read)

    def measure(self, exhibit: Exhibit) -> dict[str, float] | None:
        """The numbers that a calibration weighs; None where rules decide without it."""
        read = self._read(exhibit)
        if isinstance(read, Assessment) or read.grade.is_exact:
            return None
        return self._numbers(exhibit, read)

    def by_calibration(
        self, exhibit: Exhibit, numbers: dict[str, float], model: Weighing
    ) -> Verdict:
        """The verdict that another calibration than the shipped one leads to."""
        read = self._read(exhibit)
        if isinstance(read, Assessment):
            return read.verdict
        return _weighed(read, numbers, model.opinion(numbers))

    def _read(self, exhibit: Exhibit) -> "Assessment | _Read":
        """All that the rules find in an answer, or at once what it is worth."""
        history = self._histories.get(exhibit.scenario)
        if history is None:
            raise JudgeFault(
                f"the offline judge has not studied scenario {exhibit.scenario!r}; "
                "hand it the scenario before its answers"
            )
        case = self._case(exhibit)
        leaks = told_leaks(case, self._histories, exhibit)
        if leaks:
            reason = f"gives away {', '.join(leaks[:3])}"
            return Assessment(0.0, 0.0, 0.0, reason, (Finding.LEAK,), is_exact=True)
        text = plain(exhibit.answer.text[:READ_CHARACTERS])
        if case.wants_a_date:
            text = written_out(text, exhibit.asked_at.date())
        account = self._reader.account(without_echo(text, case.item.text))
        reading = read_answer(case, account)
        if reading.stance is Stance.SILENT:
            return Assessment(0.0, 0.0, 1.0, "the answer is empty", is_exact=case.is_exact)
        return _Read(
            case=case,
            account=account,
            reading=reading,
            grade=grade_answer(case, account, reading),
            grounds=find_grounds(case, account, history, exhibit.days),
            history=history,
            days=exhibit.days,
        )

    def _numbers(self, exhibit: Exhibit, read: "_Read") -> dict[str, float]:
        return self._surveyor.numbers(exhibit, read.case, read.account, read.reading, read.grade)

    def _case(self, exhibit: Exhibit) -> Case:
        key = (exhibit.scenario, exhibit.item.id)
        found = self._cases.get(key)
        if found is None or found.item != exhibit.item:
            found = self._cases[key] = prepare(exhibit.item, self._reader)
        return found


@dataclass(frozen=True, slots=True)
class _Read:
    """An answer as the rules read it."""

    case: Case
    account: Account
    reading: Reading
    grade: Grade
    grounds: Grounds
    history: HistoryIndex
    days: int

    @property
    def is_quoted(self) -> bool:
        """Whether it is sentences of the history, word for word, and nothing else."""
        return all(self.history.has_quoted(told, self.days) for told in self.account.sentences)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules noticed."""
        is_made_up = self.grounds.invented or self.grade.affirms_what_never_was
        return (*self.grade.findings, *((Finding.FABRICATION,) if is_made_up else ()))

    @property
    def reason(self) -> str:
        """Why, in words."""
        if self.grade.affirms_what_never_was:
            return f"{self.grade.reason}; affirms what never was"
        if self.grounds.invented:
            return f"{self.grade.reason}; nobody had told {', '.join(self.grounds.invented[:3])}"
        return self.grade.reason


def _assessed(read: _Read) -> Assessment:
    """What the rules alone make of an answer."""
    return Assessment(
        correctness=read.grade.correctness,
        completeness=read.grade.completeness,
        grounded=groundedness(read.grade, read.grounds),
        reason=read.reason,
        findings=read.findings,
        is_exact=read.grade.is_exact,
    )


def _weighed(read: _Read, numbers: dict[str, float], opinion: Opinion) -> Verdict:
    """What a calibration makes of an answer, within what the rules allow."""
    for mark, allowed in UNTOLD_ALLOWED.items():
        if _must_fail(read, numbers, allowed):
            opinion = opinion.at_most(mark, DOUBTED)
        elif _tells_it_all(read, numbers):
            opinion = opinion.at_least(mark, GRANTED)
    if read.grounds.invented:
        opinion = opinion.at_most("grounded", DOUBTED)
    elif read.is_quoted:
        opinion = opinion.at_least("grounded", GRANTED)
    return Verdict(
        marks={mark: opinion.points(mark) for mark in SCALES},
        reason=f"{read.reason}; right with a chance of {opinion.chance('correctness'):.0%}",
        probabilities={mark: clipped(opinion.chance(mark)) for mark in SCALES},
        findings=read.findings,
    )


def _must_fail(read: _Read, numbers: dict[str, float], untold_allowed: float) -> bool:
    """Whether an answer is none, takes the wrong side, or tells nothing of what was asked for."""
    if read.grade.is_non_answer:
        return True
    if read.case.right is not Right.TELLS:
        return read.grade.correctness == 0
    tells_nothing = numbers["recall"] < HARDLY and 0 <= numbers["stem_news"] < HARDLY_NEW
    tells_another = numbers["values_share"] == 0 and numbers["contradicting"] > 0
    return tells_nothing or tells_another or numbers["list_untold"] > untold_allowed


def _tells_it_all(read: _Read, numbers: dict[str, float]) -> bool:
    is_answered = read.case.right is Right.TELLS and not read.reading.stance.is_non_answer
    is_whole = numbers["recall"] >= WHOLE and numbers["values_share"] != 0
    return is_answered and is_whole and numbers["contradicting"] == 0
