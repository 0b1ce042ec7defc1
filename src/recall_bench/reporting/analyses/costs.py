"""Costs of a run: time, tokens, money and memory, by corpus size and in all.

What a system spent at our endpoint is metered. Its own report of the same calls is then left out,
so that nothing is counted twice.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import combinations
from math import floor, log10
from pathlib import Path
from typing import Final, Literal

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.event import INGEST
from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.record import ComputedRecord, Record, group_by
from recall_bench.core.trial_states import TrialState
from recall_bench.core.untrusted_json import decode_untrusted_line
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.journal import JOURNAL, read_lines
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.groups import find_quantile


class CostMeasure(StrEnum):
    """The costs that a score is compared with."""

    INGEST = "ingest-seconds-a-day"
    QUERY_P50 = "query-seconds-p50"
    QUERY_P95 = "query-seconds-p95"
    TOKENS = "tokens-an-answer"
    """Tokens read by models, and tokens of passages delivered to a reader, for one answer. The
    input of a reader that is a model includes the passages already."""
    MONEY = "dollars-a-thousand-answers"
    """All spending of system and reader, ingestion included, judges excluded."""
    BYTES = "index-bytes"
    """At the last checkpoint, all personas together."""


CostUnit = Literal["s", "tokens", "bytes", "$"]

MEASURE_UNITS: Final[dict[CostMeasure, CostUnit]] = {
    CostMeasure.INGEST: "s",
    CostMeasure.QUERY_P50: "s",
    CostMeasure.QUERY_P95: "s",
    CostMeasure.TOKENS: "tokens",
    CostMeasure.MONEY: "$",
    CostMeasure.BYTES: "bytes",
}
"""The unit of each measure."""

_PER = {
    CostMeasure.INGEST: " a day",
    CostMeasure.TOKENS: " an answer",
    CostMeasure.MONEY: " a thousand answers",
}

_ROUND_UP = 0.9995
"""With three digits, a value of at least this share of a unit is shown as one unit."""

_UNIT_STEPS: Final[dict[CostUnit, tuple[tuple[float, str, float], ...]]] = {
    "s": ((_ROUND_UP, "s", 1.0), (0.0, "ms", 1e-3)),
    "tokens": (
        (_ROUND_UP * 1e6, "million tokens", 1e6),
        (1e4, "thousand tokens", 1e3),
        (0.0, "tokens", 1.0),
    ),
    "bytes": (
        (_ROUND_UP * 1e9, "GB", 1e9),
        (_ROUND_UP * 1e6, "MB", 1e6),
        (_ROUND_UP * 1e3, "kB", 1e3),
        (0.0, "bytes", 1.0),
    ),
    "$": ((0.0, "$", 1.0),),
}
"""(minimum, unit, size): the unit to show if the largest value is at least the minimum."""


def format_cost(measure: CostMeasure, cost: float) -> str:
    """A cost with its unit and basis, as `3 ms a day`."""
    return format_amount(cost, MEASURE_UNITS[measure]) + _PER.get(measure, "")


def format_amount(value: float | None, unit: CostUnit) -> str:
    """An amount in the unit that fits."""
    if value is None:
        return NO_DATA
    if unit == "$":
        return f"${format_money(value)}"
    name, factor = choose_unit(unit, value)
    return f"{_format_digits(value / factor)} {name}"


def choose_unit(unit: CostUnit, largest: float) -> tuple[str, float]:
    """The unit that fits the largest amount, and its size."""
    return next((name, factor) for least, name, factor in _UNIT_STEPS[unit] if largest >= least)


def format_money(dollars: float) -> str:
    """Dollars to the cent; amounts below ten cents with three digits."""
    if dollars and dollars < 0.1:
        return _format_digits(dollars)
    return f"{dollars:,.2f}"


def price_usage(usage: Usage) -> float | None:
    """The cost in dollars; None if the price of a call is unknown."""
    return None if usage.unpriced else usage.cost_usd


def _format_digits(number: float) -> str:
    """Three significant digits, never as a power of ten; all digits before the point."""
    if number == 0:
        return "0"
    places = 2 - floor(log10(float(f"{number:.3g}")))
    digits = f"{number:,.{max(0, places)}f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


class CostPoint(ComputedRecord, frozen=True, kw_only=True):
    """The costs at one corpus size; None where unknown."""

    checkpoint: str
    days: int
    """Story days fed by then, the most of any persona: `full` is not a number of days."""
    ingest_s_a_day: float | None
    """Feeding and settling, for each day fed for this checkpoint, all personas together."""
    query_p50_s: float | None
    query_p95_s: float | None
    """Quantiles of the time to answer."""
    delivered_tokens: float | None
    """Tokens of passages an answer, over answers that came with some."""
    ingest_usage: Usage | None
    """Model usage of ingestion."""
    query_usage: Usage | None
    """Model usage of answering, by system and reader."""
    index_bytes: int | None
    """All personas together."""


class RunCosts(ComputedRecord, frozen=True, kw_only=True):
    """A run's costs over corpus size, and in all."""

    points: tuple[CostPoint, ...]
    measures: dict[CostMeasure, float]
    """The whole run by each measure that is known."""
    notes: tuple[str, ...]
    """What is not known, and what would make it known."""


class Contender(ComputedRecord, frozen=True, kw_only=True):
    """One run in a Pareto chart."""

    name: str
    folder: str
    score: Estimate
    cost: float
    dominated_by: tuple[str, ...]
    """Runs with a significantly higher score at no higher cost."""
    in_doubt: tuple[str, ...] = ()
    """Runs that are at least as good in score and cost, and better in one, but whose score cannot
    be distinguished from this one's."""


class Pareto(Record, frozen=True, kw_only=True):
    """Score against one cost."""

    measure: CostMeasure
    contenders: tuple[Contender, ...]
    """By cost, cheapest first; only runs whose cost is known."""
    unknown: tuple[str, ...]
    """Runs whose cost by this measure is unknown."""


Usages = dict[str, Usage]
"""By the label of a checkpoint."""


class _SpendingAnswer(msgspec.Struct, gc=False):
    usage: Usage | None = None


class _SpendingTrial(msgspec.Struct, gc=False):
    checkpoint: str


class _SpendingLine(msgspec.Struct, gc=False):
    """The fields of an event that are read."""

    type: str
    scenario: str | None = None
    checkpoint: str | None = None
    trial: _SpendingTrial | None = None
    stage: str | None = None
    usage: Usage | None = None
    bytes: int | None = None
    answer: _SpendingAnswer | None = None
    reading_usage: Usage | None = None


_SPENDING_DECODER = msgspec.json.Decoder(_SpendingLine)
_SPENDING_EVENTS = (b'{"type":"metered"', b'{"type":"inspected"')
_PAYER_EVENTS = (*_SPENDING_EVENTS, b'{"type":"answered"')


class RunSpending:
    """What a run spent by checkpoint; None where unknown, as opposed to none.

    Nothing was spent by a system that only computes, without a model as its reader.
    """

    def __init__(self, folder: RunFolder, rows: Iterable[TrialRow]) -> None:
        plan = folder.plan
        self.bytes: dict[str, dict[str, int | None]] = {}
        """The last reported size of the memory, by checkpoint and persona."""
        self._is_metered = self._is_reported = False
        ingest, query = self._read_journal(folder)
        is_free = plan.system.computes and not self._is_metered
        has_model_reader = _has_model_reader(plan)
        reported: Usages = {}
        silent = 0
        for row in rows:
            if row.usage is not None:
                _add_usage(reported, row.trial.checkpoint, row.usage)
            elif row.seconds is not None and row.state is not TrialState.NOT_ANSWERED:
                silent += 1
        self.ingest: Usages | None = ingest if self._is_metered or is_free else None
        self.query: Usages | None = None
        """The system's part and the reader's."""
        if self._is_metered:
            self.query = query
        elif reported:
            self.query = reported
        elif is_free and not has_model_reader:
            self.query = {}
        is_known = self._is_metered or self._is_reported or is_free
        self.is_reader_alone = has_model_reader and bool(reported) and not is_known
        """Whether only the reader reports its usage."""
        self.silent = silent if reported and not self._is_metered else 0
        """Answers without a usage report, where others have one."""

    @property
    def total(self) -> Usage:
        """All that is known to have been spent."""
        parts = [usages for usages in (self.ingest, self.query) if usages is not None]
        return sum((usage for part in parts for usage in part.values()), Usage())

    @property
    def is_partly_known(self) -> bool:
        """Whether some of the answers are known to have cost more."""
        return self.is_reader_alone or self.silent > 0

    def _read_journal(self, folder: RunFolder) -> tuple[Usages, Usages]:
        """Usage that was metered at our endpoint, or that readers report."""
        path, ingest, query = folder.path / JOURNAL, Usages(), Usages()
        # Answers are most of a journal; they are read only if system and reader both report usage.
        events = _PAYER_EVENTS if _has_model_reader(folder.plan) else _SPENDING_EVENTS
        try:
            for _, raw in read_lines(path):
                if not raw.startswith(events):
                    continue
                line = decode_untrusted_line(_SPENDING_DECODER, raw)
                match line:
                    case _SpendingLine(type="metered", checkpoint=str(label), usage=Usage()):
                        self._is_metered = True
                        stage = ingest if line.stage == INGEST else query
                        _add_usage(stage, label, line.usage or Usage())
                    case _SpendingLine(
                        type="inspected", checkpoint=str(label), scenario=str(scenario)
                    ):
                        self.bytes.setdefault(label, {})[scenario] = line.bytes
                    case _SpendingLine(type="answered", trial=_SpendingTrial(checkpoint=label)):
                        # Whether the system itself reports its usage.
                        has_usage = line.answer is not None and line.answer.usage is not None
                        self._is_reported |= has_usage
                        if line.reading_usage is not None:
                            _add_usage(query, label, line.reading_usage)
        except (msgspec.DecodeError, OSError) as error:
            raise DataError(f"{path}: changed while it was read ({error})") from error
        return ingest, query


def _has_model_reader(plan: Plan) -> bool:
    return plan.reader is not None and plan.reader.model is not None


def _add_usage(usages: Usages, label: str, usage: Usage) -> None:
    usages[label] = usages.get(label, Usage()) + usage


_UNTIMED_REPAIR: Final = "untimed"
"""The repair by which an import marks answers without a time."""


def measure_costs(folder: RunFolder, table: TrialTable) -> RunCosts:
    """The costs of the system and its reader, without judges.

    Personas are pooled: seconds and days are summed before they are divided, answers are ranked in
    one list, and sizes are added.
    """
    spent, card = RunSpending(folder, table.rows), table.plan.imported
    # Imported answers without a time have seconds of 0.
    repairs = () if card is None else card.repairs
    untimed = sum(repair.count for repair in repairs if repair.name == _UNTIMED_REPAIR)
    parts = group_by(table.rows, lambda row: row.trial.checkpoint)
    points = []
    for label in (checkpoint.label for checkpoint in table.plan.checkpoints):
        rows = parts.get(label)
        if rows is None:
            continue
        times = [] if untimed else list_seconds(rows)
        tokens = [row.delivery.tokens for row in rows if row.delivery is not None]
        sizes = spent.bytes.get(label, {})
        stored = [sizes.get(name) for name in dict.fromkeys(row.trial.scenario for row in rows)]
        # The size of all memories; None unless all are known.
        sizes_known = [size for size in stored if size is not None]
        points.append(
            CostPoint(
                checkpoint=label,
                days=max(row.cutoff for row in rows),
                ingest_s_a_day=_average_ingest(folder, (label,)),
                query_p50_s=find_quantile(times, 0.5),
                query_p95_s=find_quantile(times, 0.95),
                delivered_tokens=sum(tokens) / len(tokens) if tokens else None,
                ingest_usage=None if spent.ingest is None else spent.ingest.get(label, Usage()),
                query_usage=None if spent.query is None else spent.query.get(label, Usage()),
                index_bytes=sum(sizes_known) if len(sizes_known) == len(stored) else None,
            )
        )
    times = list_seconds(table.rows)
    answers, times = len(times), [] if untimed else times
    costs = {
        CostMeasure.INGEST: _average_ingest(folder, [point.checkpoint for point in points]),
        CostMeasure.QUERY_P50: find_quantile(times, 0.5),
        CostMeasure.QUERY_P95: find_quantile(times, 0.95),
        CostMeasure.TOKENS: _average_tokens(spent, table, answers),
        CostMeasure.MONEY: _price_answers(spent, answers),
        CostMeasure.BYTES: points[-1].index_bytes if points else None,
    }
    return RunCosts(
        points=tuple(points),
        measures={measure: float(cost) for measure, cost in costs.items() if cost is not None},
        notes=tuple(_list_gaps(spent, table.plan, points, untimed)),
    )


def _average_ingest(folder: RunFolder, labels: Sequence[str]) -> float | None:
    clocks = [
        states.times[states.row[label]]
        for states in folder.states.scenarios.values()
        for label in labels
        if label in states.row
    ]
    days = sum(clock.days_fed for clock in clocks)
    return sum(clock.feeding_s for clock in clocks) / days if days else None


def _average_tokens(spent: RunSpending, table: TrialTable, answers: int) -> float | None:
    """Tokens of models and passages an answer; None if the usage of models is unknown."""
    if spent.query is None or spent.is_partly_known or not answers:
        return None
    tokens = sum(usage.input_tokens for usage in spent.query.values())
    if not _has_model_reader(table.plan):
        tokens += sum(row.delivery.tokens for row in table.rows if row.delivery is not None)
    return tokens / answers


def _price_answers(spent: RunSpending, answers: int) -> float | None:
    is_known = spent.query is not None and spent.ingest is not None
    if not is_known or spent.is_partly_known or spent.total.unpriced or not answers:
        return None
    return 1000 * spent.total.cost_usd / answers


def _list_gaps(
    spent: RunSpending, plan: Plan, points: Sequence[CostPoint], untimed: int
) -> Iterator[str]:
    """What is not known, and what would make it known."""
    if spent.query is None:
        yield (
            "model usage of the system is unknown; --endpoint meters what it spends there, or its "
            "answers can report it (usage)"
        )
    elif spent.is_reader_alone:
        yield (
            "tokens and money of answers are the reader's alone; --endpoint meters what the system "
            "spends itself"
        )
    if spent.query is not None and spent.ingest is None:
        yield "model usage of ingestion is unknown; --endpoint meters it"
    if spent.silent:
        yield (
            "tokens and money of an answer are unknown; answers without a usage report: "
            f"{spent.silent:,}"
        )
    has_fed_models = any(usage.calls for usage in (spent.ingest or {}).values())
    if plan.lifecycle is Lifecycle.FRESH and has_fed_models:
        yield "each checkpoint was fed from the first day (fresh), and money counts every time"
    if untimed:
        yield f"the time of an answer is unknown; answers imported without one: {untimed:,}"
    if unpriced := spent.total.unpriced:
        yield f"money is unknown: {unpriced:,} calls have no known price"
    if not points or points[-1].index_bytes is None:
        yield (
            "the size of the index is not known at the last checkpoint; the system, or its "
            "adapter, can report it (stored_bytes)"
        )


def list_seconds(rows: Sequence[TrialRow]) -> list[float]:
    """The time of each answer, failures left out."""
    return [
        row.seconds
        for row in rows
        if row.seconds is not None and row.state is not TrialState.NOT_ANSWERED
    ]


PricedRun = tuple[str, Path | str, Estimate, RunCosts]
"""Name, folder, score and costs of a run."""


ScoreTest = Callable[[int, int], bool]
"""Whether the scores of two runs, by number, are significantly different."""


def build_paretos(
    runs: Sequence[PricedRun], is_distinct: ScoreTest | None = None
) -> tuple[Pareto, ...]:
    """One for each measure that is known of at least two runs.

    Without a test, scores are different if their intervals do not overlap.
    """

    def compare_intervals(one: int, other: int) -> bool:
        first, second = (runs[number][2].interval for number in (one, other))
        if first is None or second is None:
            return False
        return first[0] > second[1] or second[0] > first[1]

    names, test = _name_runs(runs), is_distinct or compare_intervals
    distinct = {
        frozenset((names[one], names[other]))
        for one, other in combinations(range(len(runs)), 2)
        if test(one, other)
    }
    paretos = (_build_pareto(measure, runs, names, distinct) for measure in CostMeasure)
    return tuple(pareto for pareto in paretos if len(pareto.contenders) > 1)


def _build_pareto(
    measure: CostMeasure,
    runs: Sequence[PricedRun],
    names: Sequence[str],
    distinct: Collection[frozenset[str]],
) -> Pareto:
    priced = [
        Contender(
            name=name,
            folder=str(folder),
            score=score,
            cost=costs.measures[measure],
            dominated_by=(),
        )
        for name, (_, folder, score, costs) in zip(names, runs, strict=True)
        if measure in costs.measures
    ]
    priced.sort(key=lambda run: (run.cost, -run.score.value, run.name))
    contenders = []
    for run in priced:
        # At least as good in both, and better in one, intervals disregarded.
        better = [
            other.name
            for other in priced
            if other.score.value >= run.score.value
            and other.cost <= run.cost
            and (other.score.value > run.score.value or other.cost < run.cost)
        ]
        dominant = tuple(name for name in better if frozenset((name, run.name)) in distinct)
        doubtful = tuple(name for name in better if name not in dominant)
        contenders.append(run.replace(dominated_by=dominant, in_doubt=doubtful))
    return Pareto(
        measure=measure,
        contenders=tuple(contenders),
        unknown=tuple(
            name
            for name, (*_, costs) in zip(names, runs, strict=True)
            if measure not in costs.measures
        ),
    )


def _name_runs(runs: Sequence[PricedRun]) -> list[str]:
    """Unique names: with the folder where names repeat, and a number where these do."""
    counts = Counter(name for name, *_ in runs)
    names = [
        name if counts[name] == 1 else f"{name} ({Path(folder).name or folder})"
        for name, folder, *_ in runs
    ]
    if len(set(names)) < len(names):
        names = [name if counts[name] == 1 else f"{name} ({folder})" for name, folder, *_ in runs]
    repeats = [names[:place].count(name) for place, name in enumerate(names)]
    return [
        f"{name} #{before + 1}" if before else name
        for name, before in zip(names, repeats, strict=True)
    ]
