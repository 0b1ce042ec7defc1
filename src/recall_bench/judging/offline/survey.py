"""Measures answers for the calibration, remembering what it has read of their questions."""

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.offline.abstention import Polarity, StanceReading
from recall_bench.judging.offline.case import GradingCase, RightResponse
from recall_bench.judging.offline.contents import AnswerContents, ContentReader
from recall_bench.judging.offline.evidence import (
    NO_TOKENS,
    EvidenceIndex,
    EvidenceWindow,
    collect_tokens,
)
from recall_bench.judging.offline.features import (
    AnswerSample,
    CaseFeatures,
    EvidenceSupport,
    compute_features,
    find_emphases,
)
from recall_bench.judging.offline.grading import MAX_ANSWER_CHARACTERS, RuleGrade, find_best_match
from recall_bench.judging.offline.siding import find_side
from recall_bench.judging.offline.wording import normalise

NEAREST = 5
"""So many sentences of the evidence are what is told about a reference."""

_NO_SUPPORT = EvidenceSupport(0.0, NO_TOKENS)


class FeatureExtractor:
    """Takes the numbers of answers about the scenarios it has studied."""

    def __init__(self, reader: ContentReader) -> None:
        self._reader = reader
        self._evidence: dict[str, EvidenceIndex] = {}
        self._near: dict[tuple[int, int], tuple[EvidenceWindow, CaseFeatures, EvidenceSupport]] = {}
        self._grounds: dict[tuple[str, str], tuple[GradingCase, CaseFeatures]] = {}

    def study(self, scenario: Scenario) -> None:
        """Know where the evidence of this scenario's questions is; it is read when needed."""
        self._evidence[scenario.id] = EvidenceIndex(scenario, self._reader)

    def extract(
        self,
        exhibit: Exhibit,
        case: GradingCase,
        account: AnswerContents,
        reading: StanceReading,
        grade: RuleGrade,
    ) -> dict[str, float]:
        """All there is to measure of one answer, by name."""
        match = grade.match or find_best_match(case, account)
        text = exhibit.answer.text[:MAX_ANSWER_CHARACTERS]
        marked = find_emphases(text)
        ground = self._get_case_features(exhibit, case)
        window = self._evidence[exhibit.scenario].find_window(exhibit.item, exhibit.days)
        said = tuple(map(collect_tokens, account.passages))
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
                said=said,
                sentences=account.sentences,
                emphases=len(marked),
                emphasised=collect_tokens(self._reader.read(normalise(" ; ".join(marked))))
                if marked
                else NO_TOKENS,
            )
        )

    def _find_side(
        self, case: GradingCase, account: AnswerContents, reading: StanceReading
    ) -> Polarity | None:
        """Which side an answer takes; beyond its first word it matters only where one is asked."""
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

    def _get_case_features(self, exhibit: Exhibit, case: GradingCase) -> CaseFeatures:
        key = exhibit.scenario, case.item.id
        known = self._grounds.get(key)
        if known is None or known[0] is not case:
            known = self._grounds[key] = case, CaseFeatures.build(case, self._reader)
        return known[1]
