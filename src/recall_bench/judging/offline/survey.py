"""Measures answers for the calibration, remembering what it has read of their questions."""

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.offline.abstention import Polarity, Reading
from recall_bench.judging.offline.case import Case, Right
from recall_bench.judging.offline.contents import Account, Reader
from recall_bench.judging.offline.evidence import NO_TOKENS, EvidenceIndex, Window, tokens
from recall_bench.judging.offline.features import Ground, Nearness, Sample, emphases, measured
from recall_bench.judging.offline.grading import READ_CHARACTERS, Grade, best_match
from recall_bench.judging.offline.siding import side_of
from recall_bench.judging.offline.wording import plain

NEAREST = 5
"""So many sentences of the evidence are what is told about a reference."""

_NOWHERE = Nearness(0.0, NO_TOKENS)


class Surveyor:
    """Takes the numbers of answers about the scenarios it has studied."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._evidence: dict[str, EvidenceIndex] = {}
        self._near: dict[tuple[int, int], tuple[Window, Ground, Nearness]] = {}
        self._grounds: dict[tuple[str, str], tuple[Case, Ground]] = {}

    def study(self, scenario: Scenario) -> None:
        """Know where the evidence of this scenario's questions is; it is read when needed."""
        self._evidence[scenario.id] = EvidenceIndex(scenario, self._reader)

    def numbers(
        self, exhibit: Exhibit, case: Case, account: Account, reading: Reading, grade: Grade
    ) -> dict[str, float]:
        """All there is to measure of one answer, by name."""
        match = grade.match or best_match(case, account)
        text = exhibit.answer.text[:READ_CHARACTERS]
        marked = emphases(text)
        ground = self._ground(exhibit, case)
        window = self._evidence[exhibit.scenario].window(exhibit.item, exhibit.days)
        said = tuple(map(tokens, account.passages))
        return measured(
            Sample(
                case=case,
                ground=ground,
                account=account,
                reading=reading,
                side=self._side(case, account, reading),
                reference=match.reference,
                coverage=match.coverage,
                rivalry=match.rivalry,
                correctness=grade.correctness,
                completeness=grade.completeness,
                window=window,
                near=self._nearness(window, ground),
                answer=text,
                said=said,
                sentences=account.sentences,
                emphases=len(marked),
                emphasised=tokens(self._reader.read(plain(" ; ".join(marked))))
                if marked
                else NO_TOKENS,
            )
        )

    def _side(self, case: Case, account: Account, reading: Reading) -> Polarity | None:
        """Which side an answer takes; beyond its first word it matters only where one is asked."""
        if case.right is Right.TELLS or not account.passages:
            return reading.polarity
        return side_of(case, account, reading)

    def _nearness(self, window: Window | None, ground: Ground) -> Nearness:
        if window is None:
            return _NOWHERE
        key = id(window), id(ground)
        known = self._near.get(key)
        if known is None or known[0] is not window or known[1] is not ground:
            near = Nearness(
                window.support(ground.reference), window.nearest(ground.reference, NEAREST)
            )
            known = self._near[key] = window, ground, near
        return known[2]

    def _ground(self, exhibit: Exhibit, case: Case) -> Ground:
        key = exhibit.scenario, case.item.id
        known = self._grounds.get(key)
        if known is None or known[0] is not case:
            known = self._grounds[key] = case, Ground.of(case, self._reader)
        return known[1]
