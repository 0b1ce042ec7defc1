"""The judge that needs no model: the same answer gets the same marks, on any machine, at once.

It compares values, names and words, so it knows a wrong amount for certain and a far paraphrase
only in part. What it cannot be is talked into anything: an answer is never read for what it says
about its own grade.
"""

from collections.abc import Mapping
from functools import cached_property

from recall_bench.core.question import Disclosure, Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from recall_bench.errors import JudgeFault, UsageError
from recall_bench.judging.offline.abstention import Stance, apart_from_refusal, read_stance
from recall_bench.judging.offline.assessment import Assessment
from recall_bench.judging.offline.boundary import Secrecy
from recall_bench.judging.offline.case import Case, prepare
from recall_bench.judging.offline.contents import Reader
from recall_bench.judging.offline.grading import READ_CHARACTERS, Grade, grade_answer
from recall_bench.judging.offline.grounding import Grounds, find_grounds, groundedness
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.rules import rules_digest
from recall_bench.judging.offline.wording import plain

VERSION = "1"
"""Raised whenever the code of a rule changes; its constants are in the digest."""


class OfflineJudge:
    """Grades by rule. Every scenario it has studied can be judged, in any order."""

    def __init__(self, config: Mapping[str, object]) -> None:
        if config:
            raise UsageError(
                f"the offline judge has no setting {min(config)!r}; it takes none, so remove it"
            )
        self._reader = Reader()
        self._histories: dict[str, HistoryIndex] = {}
        self._cases: dict[tuple[str, str], Case] = {}

    @cached_property
    def card(self) -> JudgeCard:
        """Changes whenever a grade could."""
        return JudgeCard(
            name="offline",
            version=VERSION,
            rules_digest=rules_digest(),
            computes=True,
        )

    def study(self, scenario: Scenario) -> None:
        """Index what the scenario tells and when, and read its questions."""
        self._histories[scenario.id] = HistoryIndex(scenario)
        for item in scenario.items:
            self._cases[scenario.id, item.id] = prepare(item, self._reader)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The marks for one answer, with reasons."""
        return self.assess(exhibit).verdict

    def assess(self, exhibit: Exhibit) -> Assessment:
        """The scores behind the marks, for those who measure the judge."""
        history = self._histories.get(exhibit.scenario)
        if history is None:
            raise JudgeFault(
                f"the offline judge has not studied scenario {exhibit.scenario!r}; "
                "hand it the scenario before its answers"
            )
        case = self._case(exhibit)
        text = plain(exhibit.answer.text)
        if case.has_secrets:
            leaks = Secrecy(case, history, exhibit.days).leaks(self._reader.account(text))
            if leaks:
                return Assessment(0.0, 0.0, 0.0, f"gives away {', '.join(leaks[:3])}")
        account = self._reader.account(text[:READ_CHARACTERS])
        is_partial = case.item.truth.disclosure is Disclosure.PARTIAL
        reading = read_stance(apart_from_refusal(account.text) if is_partial else account.text)
        if reading.stance is Stance.SILENT:
            return Assessment(0.0, 0.0, 1.0, "the answer is empty")
        grade = grade_answer(case, account, reading)
        grounds = find_grounds(case, account.contents, history, exhibit.days)
        return Assessment(
            correctness=grade.correctness,
            completeness=grade.completeness,
            grounded=groundedness(grade, grounds),
            reason=_reason(grade, grounds),
        )

    def _case(self, exhibit: Exhibit) -> Case:
        key = (exhibit.scenario, exhibit.item.id)
        found = self._cases.get(key)
        if found is None or found.item != exhibit.item:
            found = self._cases[key] = prepare(exhibit.item, self._reader)
        return found


def _reason(grade: Grade, grounds: Grounds) -> str:
    if grade.affirms_what_never_was:
        return f"{grade.reason}; affirms what never was"
    if grounds.invented:
        return f"{grade.reason}; nobody had told {', '.join(grounds.invented[:3])}"
    return grade.reason
