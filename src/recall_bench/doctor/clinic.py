"""The doctor's rooms: the thirty days that come with the package, and who is compared with."""

from typing import cast

from recall_bench import plugins
from recall_bench.core.memory import MemorySystem
from recall_bench.core.question import Scenario
from recall_bench.datasets.evidence import confide
from recall_bench.doctor.examination import Clinic

CONTROLS = ("none", "random", "oracle")


def usual_clinic(scenario: Scenario, code: str) -> Clinic:
    """The controls among the built-in systems, the extractive reader and the offline judge.

    `code` names the version of the harness that examines.
    """
    from recall_bench.judging.offline.judge import OfflineJudge
    from recall_bench.reading.extractive import ExtractiveReader

    return Clinic(
        scenario=scenario,
        controls={name: _control(name, scenario) for name in CONTROLS},
        reader=ExtractiveReader(),
        judge=OfflineJudge({}),
        code=code,
    )


def _control(name: str, scenario: Scenario) -> MemorySystem:
    system = cast("MemorySystem", plugins.load("systems", name)({}))
    confide(system, scenario)
    return system
