"""What a run took: by corpus size, and in all."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from recall_bench.analysis.costs.spending import RunSpending, Usages, read_spending
from recall_bench.analysis.costs.views import CostMeasure, CostPoint, RunCosts
from recall_bench.analysis.trials import TrialRow, TrialTable
from recall_bench.core.plan import Lifecycle
from recall_bench.core.standing import TrialState
from recall_bench.core.usage import Usage
from recall_bench.reporting.folder import RunFolder

_UNTIMED_REPAIR: Final = "untimed"
"""How an import calls answers without a time on record."""


def measure_costs(folder: RunFolder, table: TrialTable) -> RunCosts:
    """The costs of the system and its reader; what judges cost is not among them.

    Personas are taken together: seconds and days are summed before one is divided by the other,
    answers are ranked in one list, and sizes are added up.
    """
    run = _CostedRun(folder, table, read_spending(folder, table.rows))
    parts: dict[str, list[TrialRow]] = {}
    for row in table.rows:
        parts.setdefault(row.trial.checkpoint, []).append(row)
    points = tuple(
        run.build_point(each.label, parts[each.label])
        for each in table.plan.checkpoints
        if each.label in parts
    )
    return RunCosts(
        points=points, measures=run.measure_run(points), notes=tuple(run.list_gaps(points))
    )


def find_quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that this share of all does not exceed; None where there is none."""
    ranked = sorted(values)
    return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else None


@dataclass(frozen=True, slots=True)
class _CostedRun:
    folder: RunFolder
    table: TrialTable
    spending: RunSpending

    def build_point(self, label: str, rows: Sequence[TrialRow]) -> CostPoint:
        answered = self._list_times(rows)
        spent = self.spending
        return CostPoint(
            checkpoint=label,
            days=max(row.cutoff for row in rows),
            ingest_s_a_day=self._average_ingest((label,)),
            query_p50_s=find_quantile(answered, 0.5),
            query_p95_s=find_quantile(answered, 0.95),
            delivered_tokens=_average_passages(rows),
            ingest_usage=None if spent.ingest is None else spent.ingest.get(label, Usage()),
            query_usage=None if spent.query is None else spent.query.get(label, Usage()),
            index_bytes=self._sum_bytes(label, rows),
        )

    def measure_run(self, points: Sequence[CostPoint]) -> dict[CostMeasure, float]:
        """The whole run by each measure that is known."""
        answered = self._list_times(self.table.rows)
        found = {
            CostMeasure.INGEST: self._average_ingest(tuple(point.checkpoint for point in points)),
            CostMeasure.QUERY_P50: find_quantile(answered, 0.5),
            CostMeasure.QUERY_P95: find_quantile(answered, 0.95),
            CostMeasure.TOKENS: self._average_tokens(),
            CostMeasure.MONEY: self._price_answers(len(_list_seconds(self.table.rows))),
            CostMeasure.BYTES: points[-1].index_bytes if points else None,
        }
        return {measure: float(cost) for measure, cost in found.items() if cost is not None}

    def list_gaps(self, points: Sequence[CostPoint]) -> list[str]:
        """What is not known, and what would make it known."""
        spent, notes = self.spending, []
        if spent.query is None:
            notes.append(
                "nobody says what the system spends on models; --endpoint counts what it spends "
                "there, or its answers can say so (usage)"
            )
        elif spent.is_reader_alone:
            notes.append(
                "tokens and money of answers are the reader's alone; what the system spends "
                "itself, --endpoint counts"
            )
        if spent.query is not None and spent.ingest is None:
            notes.append("nobody says what feeding spends on models; --endpoint counts it")
        if spent.silent:
            notes.append(
                "tokens and money of an answer are not known: of those answered, so many do not "
                f"say what was spent on them: {spent.silent:,}"
            )
        if self.table.plan.lifecycle is Lifecycle.FRESH and _is_spent(spent.ingest):
            notes.append(
                "each checkpoint was fed from the first day (fresh), and money counts every time"
            )
        if self._untimed_count:
            notes.append(
                "how long an answer takes is not known: so many were imported without a time on "
                f"record: {self._untimed_count:,}"
            )
        if spent.total.unpriced:
            notes.append(
                f"money is not known: nobody knows the price of {spent.total.unpriced:,} calls"
            )
        if not points or points[-1].index_bytes is None:
            notes.append(
                "the size of the index is not known at the last checkpoint; the system, or its "
                "adapter, can say it (stored_bytes)"
            )
        return notes

    def _average_ingest(self, labels: Sequence[str]) -> float | None:
        clocks = [
            standing.times[standing.row[label]]
            for standing in self.folder.states.scenarios.values()
            for label in labels
            if label in standing.row
        ]
        days = sum(clock.days_fed for clock in clocks)
        seconds = sum(clock.ingest_s + clock.settle_s for clock in clocks)
        return seconds / days if days else None

    @property
    def _untimed_count(self) -> int:
        """Answers whose time the files of an import do not tell; their seconds read 0."""
        card = self.table.plan.imported
        repairs = () if card is None else card.repairs
        return sum(each.count for each in repairs if each.name == _UNTIMED_REPAIR)

    def _list_times(self, rows: Sequence[TrialRow]) -> list[float]:
        """How long each answer took; nothing unless that is known of all."""
        return [] if self._untimed_count else _list_seconds(rows)

    @property
    def _is_partly_known(self) -> bool:
        return self.spending.is_reader_alone or self.spending.silent > 0

    def _average_tokens(self) -> float | None:
        """Of models and of passages, for one answer; None unless what models read is known."""
        spent, reader = self.spending.query, self.table.plan.reader
        answers = len(_list_seconds(self.table.rows))
        if spent is None or self._is_partly_known or not answers:
            return None
        read = sum(usage.input_tokens for usage in spent.values())
        if reader is None or reader.model is None:
            read += sum(row.delivery.tokens for row in self.table.rows if row.delivery is not None)
        return read / answers

    def _price_answers(self, answers: int) -> float | None:
        spent = self.spending
        is_known = spent.query is not None and spent.ingest is not None
        if not is_known or self._is_partly_known or spent.total.unpriced or not answers:
            return None
        return 1000 * spent.total.cost_usd / answers

    def _sum_bytes(self, label: str, rows: Sequence[TrialRow]) -> int | None:
        """All personas together; None unless each of them says."""
        told = self.spending.bytes.get(label, {})
        sizes = [told.get(name) for name in dict.fromkeys(row.trial.scenario for row in rows)]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


def _is_spent(usages: Usages | None) -> bool:
    return any(usage.calls for usage in (usages or {}).values())


def _list_seconds(rows: Sequence[TrialRow]) -> list[float]:
    """How long each answer took; a failure is none, whether it came at once or timed out."""
    return [
        row.seconds
        for row in rows
        if row.seconds is not None and row.state is not TrialState.NOT_ANSWERED
    ]


def _average_passages(rows: Sequence[TrialRow]) -> float | None:
    tokens = [row.delivery.tokens for row in rows if row.delivery is not None]
    return sum(tokens) / len(tokens) if tokens else None
