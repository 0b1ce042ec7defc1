"""Every adapter that is broken on purpose is caught by the check named for it; the honest one by
none.

Where the misses of a run land that a fault costs is tested with the attribution of misses.
"""

import pytest

from recall_bench.core.memory import Offer
from recall_bench.reporting.analyses.attribution import FailureLeaf
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import CHECKS, Honest, Outcome, check_system
from tests.faulty import faults
from tests.faulty.faults import FAULTS, Faulty
from tests.loops import loop_over_rows

NAMES = [check.name for check in CHECKS]
CAUGHT = [(fault, name) for fault in FAULTS for name in fault.caught_by]


async def outcomes(adapter: type[Honest], *only: str, **config: object) -> dict[str, Outcome]:
    system = build_python_system(adapter, config)
    try:
        report = await check_system(system, only=only)
    finally:
        await system.close()
    return {check.name: check.outcome for check in report.checks}


@pytest.mark.anyio
async def test_the_honest_memory_passes_every_check() -> None:
    found = await outcomes(Honest)

    assert found == dict.fromkeys(NAMES, Outcome.PASSED) | dict.fromkeys(
        Offer, Outcome.NOT_APPLICABLE
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fault", "check"), CAUGHT, ids=[f"{fault.__name__} by {name}" for fault, name in CAUGHT]
)
async def test_a_fault_is_caught_by_name(fault: type[Faulty], check: str) -> None:
    assert await outcomes(fault, check) == {check: Outcome.FAILED}


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(5))
async def test_three_writes_in_ten_are_missed_whatever_the_lot(seed: int) -> None:
    found = await outcomes(faults.DropsWrites, "round-trip", seed=seed)

    assert found == {"round-trip": Outcome.FAILED}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.battery != "contract"], ids=lambda f: f.__name__
)
async def test_what_only_doctor_or_a_run_can_see_breaks_no_clause(fault: type[Faulty]) -> None:
    config = {"step_s": 0.0} if fault is faults.SlowsDown else {}

    found = await outcomes(fault, *set(NAMES) - {"large-day", *Offer}, **config)

    assert set(found.values()) == {Outcome.PASSED}


@loop_over_rows("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_says_who_catches_it(fault: type[Faulty]) -> None:
    assert bool(fault.caught_by) == (fault.battery == "contract")
    assert set(fault.caught_by) <= set(NAMES)
    assert fault.name == fault.__name__
    assert getattr(faults, fault.__name__) is fault


@loop_over_rows("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_says_in_which_leaf_its_misses_land(fault: type[Faulty]) -> None:
    costs_nothing = {"SlowsDown", "AnswersErrors", "CountsWrong"}

    assert (fault.lands_in is None) == (fault.__name__ in costs_nothing)
    assert fault.lands_in is None or fault.lands_in in set(FailureLeaf)


def test_every_leaf_but_the_unknown_one_has_a_fault_that_lands_there() -> None:
    assert {fault.lands_in for fault in FAULTS if fault.lands_in} == set(FailureLeaf) - {
        FailureLeaf.UNTRACED
    }


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fault", "check", "said"),
    [
        (
            "DropsWrites",
            "round-trip",
            "only 13 (65%) were, and what was fed on days 1–2, 5–7, 10, 19",
        ),
        ("NeverSettles", "readiness", "only when asked for the 13th time"),
        ("LosesTail", "readiness", "it was not in 31 attempts"),
        ("ReversesTime", "order", "only the earlier"),
        ("IgnoresDates", "dates", "the clock the card claims, native, but saw in-text"),
        ("CrashesOnSeventh", "round-trip", "RuntimeError: the seventh question is too much"),
        ("AnswersErrors", "errors", "'Error: the query contains no search terms"),
        ("KeepsOldMemories", "reset", "nothing of the one before it, but it returned"),
        ("ForgetsUnicode", "unicode", "Greek, Cyrillic, Arabic"),
        ("CountsWrong", "count", "it counts 7"),
    ],
)
async def test_a_failure_says_what_was_seen(fault: str, check: str, said: str) -> None:
    system = build_python_system(getattr(faults, fault))
    report = await check_system(system, only=[check])
    await system.close()

    message = report.get_result(check).message

    assert message.startswith("expected ")
    assert said in message
    assert "; " in message
