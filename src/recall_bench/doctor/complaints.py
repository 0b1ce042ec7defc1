"""From what was measured to what is wrong: every rule of the doctor, and the figure it turns on."""

from collections.abc import Iterator, Mapping, Sequence

from recall_bench.core.diagnosis import DoctorFinding, SystemHealth
from recall_bench.core.memory import Clock, SystemCard
from recall_bench.doctor.sitting import ProbeResult
from recall_bench.testing.report import CheckResult, ContractReport, Outcome

_HARMLESS = {"order", "finalize", "asking", "unicode", "large-day"}
"""Clauses whose breach bends some numbers; a breach of any other makes all of them wrong."""

INVENTS = 0.2
"""The share of made-up answers from an empty memory that is more than a slip."""

SLOWER = 2.0
SLOWER_BY_S = 0.02
"""A late answer takes so many times an early one's time, and so much longer, before it is growth
of the system rather than noise of the machine. Whoever looks at everything stored grows too, but
over a few weeks only by microseconds; a millisecond a day is a second over a thousand."""

HEAVIER = 3.0
HEAVIER_BY = 1_000_000
"""The last third of the days adds so many times what the third before it added, and so much."""


def check_contract_report(report: ContractReport) -> Iterator[DoctorFinding]:
    """Every clause of the contract that is broken."""
    for check in report.checks:
        if check.outcome is Outcome.FAILED:
            yield _make_finding(check)


def _make_finding(check: CheckResult) -> DoctorFinding:
    health = SystemHealth.SUSPECT if check.name in _HARMLESS else SystemHealth.INVALID
    return DoctorFinding(check=check.name, health=health, message=check.message)


def check_empty_memory(empty: ProbeResult, none: ProbeResult) -> Iterator[DoctorFinding]:
    """Knowing, or inventing, what it was never told."""
    asked = len(empty.replies)
    if empty.known > none.known + max(1, asked // 20):
        yield DoctorFinding(
            check="empty-control",
            health=SystemHealth.INVALID,
            message=(
                f"it knew {empty.known} of {asked} answers before it was told anything, where "
                f"silence gets {none.known} right; see what an earlier memory left behind"
            ),
        )
    if empty.invented > INVENTS * asked:
        yield DoctorFinding(
            check="empty-control",
            health=SystemHealth.SUSPECT,
            message=(
                f"it made up {empty.invented} of {asked} answers about a story it was never told; "
                "its hallucination rate will say more about its words than about its memory"
            ),
        )


def check_controls(
    fed: ProbeResult, controls: Mapping[str, ProbeResult]
) -> Iterator[DoctorFinding]:
    """A score below what chance and silence reach, or above what can be known."""
    floor = max(("none", "random"), key=lambda name: controls[name].mean)
    if fed.mean <= controls[floor].mean:
        yield DoctorFinding(
            check="random-control",
            health=SystemHealth.SUSPECT,
            message=(
                f"it scores {fed.mean:.2f} of 6 where the control {floor!r} scores "
                f"{controls[floor].mean:.2f}: what it was told does not help it"
            ),
        )
    if fed.mean > controls["oracle"].mean:
        yield DoctorFinding(
            check="oracle-control",
            health=SystemHealth.INVALID,
            message=(
                f"it scores {fed.mean:.2f} of 6 where one who is told where the answers are "
                f"scores {controls['oracle'].mean:.2f}; it must know the references"
            ),
        )
    if fed.faults:
        yield DoctorFinding(
            check="answers",
            health=SystemHealth.INVALID,
            message=f"it failed at {len(fed.faults)} questions of the story, first with "
            f"{fed.faults[0]}",
        )


def measure_changes(fed: ProbeResult, shuffled: ProbeResult) -> float:
    """The part of the answers that another order of dates changes."""
    pairs = list(zip(fed.replies, shuffled.replies, strict=True))
    return sum(before != after for before, after in pairs) / max(1, len(pairs))


def check_date_use(card: SystemCard, share: float) -> Iterator[DoctorFinding]:
    """Dates that it is told and that make no difference, although it says they do."""
    if card.clock is Clock.NATIVE and share == 0:
        yield DoctorFinding(
            check="shuffled-time",
            health=SystemHealth.SUSPECT,
            message=(
                "it declares that it knows dates natively, but every answer stays the same when "
                "each day gets the date of another; see that the date is passed on"
            ),
        )


def check_latency(seconds: Sequence[float | None]) -> Iterator[DoctorFinding]:
    """Answers that take longer and longer as the story grows, few days as it has."""
    early, late = seconds[0], seconds[-1]
    if early is None or late is None:
        return
    if late > SLOWER * early and late - early > SLOWER_BY_S:
        yield DoctorFinding(
            check="latency",
            health=SystemHealth.SUSPECT,
            message=(
                f"an answer took {1000 * early:.0f} ms after the first quarter of the days and "
                f"{1000 * late:.0f} ms after the last; over a thousand days it may not answer in "
                "time"
            ),
        )


def check_growth(sizes: Sequence[int]) -> Iterator[DoctorFinding]:
    """An index that grows faster than the story."""
    before, last = sizes[-2] - sizes[-3], sizes[-1] - sizes[-2]
    if last > HEAVIER * max(before, 1) and last > HEAVIER_BY:
        yield DoctorFinding(
            check="index-growth",
            health=SystemHealth.SUSPECT,
            message=(
                f"its files grew by {last / 1e6:.1f} MB in the last quarter of the days and by "
                f"{before / 1e6:.1f} MB in the one before"
            ),
        )


def derive_health(complaints: Sequence[DoctorFinding]) -> SystemHealth:
    """The worst of them."""
    found = {complaint.health for complaint in complaints}
    if SystemHealth.INVALID in found:
        return SystemHealth.INVALID
    return SystemHealth.SUSPECT if found else SystemHealth.VALID
