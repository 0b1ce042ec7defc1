"""Targets that read what suites, selections and diagnoses leave behind."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

from recall_bench.core.append_log import LineChain, split_link
from recall_bench.core.diagnosis import (
    Diagnosis,
    SystemHealth,
    identify_system,
    load_diagnosis,
    save_diagnosis,
)
from recall_bench.core.memory import SystemCard
from recall_bench.core.settings import Settings
from recall_bench.engine.experiment import execute
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.suites.behaviour_assembly import BehaviourRequest, assemble_behaviour
from recall_bench.reporting.suites.report_text import render_behaviour
from recall_bench.reporting.suites.suite_report import build_behaviour_report
from recall_bench.systems.python.system import build_python_system
from tests.faulty.behaviour_reference import ReferenceMemory
from tests.fuzz.mutator import Format
from tests.fuzz.target import ContentReader, FuzzTarget, Reading, Seed, make_file_target

_CARD = SystemCard(name="examined", version="3")


def _open_suite_journal(folder: Path) -> ContentReader:
    """Changes to the journal of a suite by someone who seals it again."""
    (folder / "state").mkdir()
    system = build_python_system(ReferenceMemory, state_dir=folder / "state")
    settings = Settings(into=folder / "run")
    request = BehaviourRequest(suite="erasure", settings=settings, stories=1, patience_s=0.2)
    run = execute(assemble_behaviour(request, system)).folder.path
    lines = [split_link(line)[0] for line in (run / JOURNAL).read_bytes().splitlines()]

    def parse(content: bytes) -> Reading:
        chain = LineChain()
        sealed = (chain.add(line) + b"\n" for line in content.split(b"\n") if line)
        (run / JOURNAL).write_bytes(b"".join(sealed))
        found = RunFolder.open(run)
        text = render_behaviour(build_behaviour_report(found))
        return Reading(text, (found.last_link, text))

    return ContentReader([Seed(b"\n".join(lines), Format.LINES)], parse)


def _write_diagnosis(folder: Path) -> None:
    found = Diagnosis(
        health=SystemHealth.VALID,
        system=identify_system(_CARD),
        at=datetime(2026, 5, 4, tzinfo=UTC),
        code="1",
        figures={"score": 3.5},
        story="somebody, 40 days",
    )
    with mock.patch.dict(os.environ, RECALL_BENCH_CACHE=str(folder)):
        save_diagnosis(found)


def _look_at_diagnosis(folder: Path) -> Reading:
    """One that was changed is read as it stands, or not at all."""
    with mock.patch.dict(os.environ, RECALL_BENCH_CACHE=str(folder)):
        found = load_diagnosis(_CARD)
    return Reading(found, found)


def list_suite_targets() -> Sequence[FuzzTarget]:
    """The journal of a suite, and a saved diagnosis."""
    return (
        FuzzTarget(name="journal of a suite", open=_open_suite_journal),
        make_file_target(
            "saved diagnosis", _write_diagnosis, _look_at_diagnosis, files=("*.json",)
        ),
    )
