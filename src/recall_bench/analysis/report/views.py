"""A whole report, as numbers: what its page, its pictures, its text and its JSON are made from."""

from recall_bench.analysis.attribution.views import Attribution
from recall_bench.analysis.canaries.views import CanaryWatch
from recall_bench.analysis.costs.views import Pareto, RunCosts
from recall_bench.analysis.degradation.views import Degradation
from recall_bench.analysis.hallucination.views import HallucinationViews
from recall_bench.core.record import Record
from recall_bench.reporting.estimates import Heatmap
from recall_bench.reporting.summary import RunStatus
from recall_bench.statistics.estimate import Estimate


class ReportHeader(Record, frozen=True, kw_only=True):
    """What was run, and whether it holds."""

    system: str
    judge: str
    status: RunStatus
    reason: str
    """Why it is not valid; empty if it is."""
    is_stub: bool
    """Whether its judge was the stub, so that scores mean nothing."""
    overall: Estimate | None
    """Of six points."""
    hallucination: Estimate | None
    """A share of one."""
    facts: tuple[tuple[str, str], ...]
    """Labels and words, as the text report has them."""
    notices: tuple[str, ...]
    """What a reader must know before believing anything here; often empty."""


class RunReport(Record, frozen=True, kw_only=True):
    """Everything that is said about one run."""

    header: ReportHeader
    categories: tuple[str, ...]
    heatmaps: tuple[Heatmap, ...]
    """All personas together first where there are several, then each."""
    hallucination: HallucinationViews
    degradation: Degradation
    attribution: Attribution
    costs: RunCosts
    paretos: tuple[Pareto, ...]
    """Against the runs named beside this one; empty if none was."""
    canaries: CanaryWatch
    seed: int
