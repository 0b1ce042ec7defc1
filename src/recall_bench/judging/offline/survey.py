"""Measures answers for the calibration, remembering what it has read of their questions."""

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.offline.abstention import Reading
from recall_bench.judging.offline.case import Case
from recall_bench.judging.offline.contents import Account, Reader
from recall_bench.judging.offline.evidence import EvidenceIndex, tokens
from recall_bench.judging.offline.features import Ground, Sample, emphases, measured
from recall_bench.judging.offline.grading import READ_CHARACTERS, Grade, best_match
from recall_bench.judging.offline.siding import side_of
from recall_bench.judging.offline.wording import plain


class Surveyor:
    """Takes the numbers of answers about the scenarios it has studied."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._evidence: dict[str, EvidenceIndex] = {}
        self._grounds: dict[tuple[str, str], tuple[Case, Ground]] = {}

    def study(self, scenario: Scenario) -> None:
        """Know where the evidence of this scenario's questions is; it is read when needed."""
        self._evidence[scenario.id] = EvidenceIndex(scenario, self._reader)

    def numbers(
        self, exhibit: Exhibit, case: Case, account: Account, reading: Reading, grade: Grade
    ) -> dict[str, float]:
        """All there is to measure of one answer, by name."""
        match = best_match(case, account)
        text = exhibit.answer.text[:READ_CHARACTERS]
        marked = [plain(passage) for passage in emphases(text)]
        said = tuple(map(tokens, account.passages))
        return measured(
            Sample(
                case=case,
                ground=self._ground(exhibit, case),
                account=account,
                order=self._reader.order(account.text),
                reading=reading,
                side=side_of(case, account, reading) if account.passages else None,
                reference=match.reference,
                coverage=match.coverage,
                rivalry=match.rivalry,
                correctness=grade.correctness,
                completeness=grade.completeness,
                window=self._evidence[exhibit.scenario].window(exhibit.item, exhibit.days),
                answer=plain(text),
                said=said,
                sentences=account.sentences,
                emphases=len(marked),
                emphasised=tokens(self._reader.read(" ; ".join(marked))),
                first_emphasised=tokens(self._reader.read(marked[0] if marked else "")),
            )
        )

    def _ground(self, exhibit: Exhibit, case: Case) -> Ground:
        key = exhibit.scenario, case.item.id
        known = self._grounds.get(key)
        if known is None or known[0] is not case:
            known = self._grounds[key] = case, Ground.of(case, self._reader)
        return known[1]
