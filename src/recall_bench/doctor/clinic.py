"""The doctor's rooms: the thirty days that come with the package, and who is compared with."""

from typing import cast

from recall_bench import plugins
from recall_bench.core.memory import MemorySystem
from recall_bench.core.question import Scenario
from recall_bench.datasets.evidence import share_evidence
from recall_bench.doctor.examination import DoctorSetup

CONTROLS = ("none", "random", "oracle")


def build_doctor_setup(scenario: Scenario, code: str) -> DoctorSetup:
    """The controls among the built-in systems, the extractive reader and the offline judge.

    `code` names the version of the harness that examines.
    """
    from recall_bench.judging.offline.judge import OfflineJudge
    from recall_bench.reading.extractive import ExtractiveReader

    return DoctorSetup(
        scenario=scenario,
        controls={name: _load_control(name, scenario) for name in CONTROLS},
        reader=ExtractiveReader(),
        judge=OfflineJudge({}),
        code=code,
    )


def _load_control(name: str, scenario: Scenario) -> MemorySystem:
    system = cast("MemorySystem", plugins.load_plugin("systems", name)({}))
    share_evidence(system, scenario)
    return system
