"""Examine a system before any run: contract, controls, and growth with the story."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TypeVar

from recall_bench.core import user_code
from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.diagnosis import Diagnosis, DoctorFinding, identify_system
from recall_bench.core.errors import SystemFault
from recall_bench.core.event_redaction import redact_card
from recall_bench.core.folders import measure_folder
from recall_bench.core.memory import Asker, MemorySystem, Reader, SystemCard
from recall_bench.core.scenario import BOUNDARY, Expects, Scenario
from recall_bench.core.schedule import shuffle
from recall_bench.core.verdict import Judge
from recall_bench.features.doctor import doctor_probe
from recall_bench.features.doctor.check_context import ContractReport
from recall_bench.features.doctor.contract import check_system
from recall_bench.features.doctor.doctor_probe import ProbeResult, StoryProbe
from recall_bench.stories.supporting_passages import share_evidence

T = TypeVar("T")


@contextmanager
def collect_temporary_files() -> Iterator[Path]:
    """Redirect the temporary files of this process and its children to one folder."""
    before, chosen = os.environ.get("TMPDIR"), tempfile.tempdir
    with TemporaryFolder("doctor") as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = chosen
            if before is None:
                os.environ.pop("TMPDIR", None)
            else:
                os.environ["TMPDIR"] = before


QUESTIONS = 48
"""The number of questions for the system and each control."""

ABSTENTIONS = 4
"""How many of them may ask for what is not in the story: silence is right there."""

PROBES = 9
"""The number of answers timed at each quarter of the story; the median is used."""

QUARTERS = 4


CONTROLS = ("none", "random", "oracle")


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorSetup:
    """What an examination needs: a small story, a reader and a judge."""

    scenario: Scenario
    draw_other: Callable[[], Scenario] | None = None
    """Draw another story, asked about where the system scores low on the first: of a fair system
    that may be the draw."""
    reader: Reader
    judge: Judge
    code: str
    """The version of the harness."""
    seed: str = ""
    """The seed that the story was drawn from, if any."""

    def make_probe(
        self, card: SystemCard, timeout_s: float, story: Scenario | None = None
    ) -> StoryProbe:
        """Make a probe of a story with a spread of the questions that apply to the system."""
        story = story or self.scenario
        items = [
            item
            for item in story.items
            if item.is_open(story.last_day)
            and (card.asker is not Asker.UNTOLD or item.truth.category != BOUNDARY)
        ]
        empty = [item for item in items if item.truth.expects is Expects.ABSTAIN]
        answerable = [item for item in items if item.truth.expects is not Expects.ABSTAIN]
        self.judge.study(story)
        return StoryProbe(
            scenario=story,
            items=(
                *spread_items(answerable, QUESTIONS - ABSTENTIONS),
                *spread_items(empty, ABSTENTIONS),
            ),
            reader=self.reader,
            judge=self.judge,
            timeout_s=timeout_s,
        )


def build_doctor_setup(
    scenario: Scenario, code: str, seed: str = "", draw_other: Callable[[], Scenario] | None = None
) -> DoctorSetup:
    """Build the setup of the extractive reader and the offline judge.

    `code` is the version of the harness; the story was drawn from `seed`, if one is given, and
    `draw_other` draws another one.
    """
    from recall_bench.judging.offline.offline_judge import OfflineJudge
    from recall_bench.systems.readers import ExtractiveReader

    return DoctorSetup(
        scenario=scenario,
        draw_other=draw_other,
        reader=ExtractiveReader(),
        judge=OfflineJudge({}),
        code=code,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorResult:
    """A diagnosis and the contract report behind it."""

    diagnosis: Diagnosis
    contract: ContractReport


def spread_items(items: Sequence[T], count: int) -> list[T]:
    """At most `count` of the items, evenly spread."""
    taken = min(count, len(items))
    return [items[len(items) * number // taken] for number in range(taken)]


async def examine_system(
    system: MemorySystem,
    setup: DoctorSetup,
    files: Path,
    *,
    timeout_s: float,
    on_progress: Callable[[str], None] = lambda _: None,
) -> DoctorResult:
    """Examine a system that was made within `collect_temporary_files`; it stays open.

    Raises SystemGone if it cannot be reached.
    """
    probe = setup.make_probe(system.card, timeout_s)
    controls = await _run_controls(probe)
    figures = {f"score of {name}": result.mean for name, result in controls.items()}
    contract = await check_system(
        system, timeout_s=timeout_s, on_progress=lambda name: on_progress(f"checking {name}")
    )
    findings = [*doctor_probe.check_contract_report(contract)]
    if contract.seen.recall is not None:
        figures["facts found again"] = contract.seen.recall
    on_progress("running a small story")
    story = f"{probe.scenario.id}, {probe.scenario.last_day} days"
    story += f", seed {setup.seed}" if setup.seed else ""
    try:
        fed = await _run_story(system, probe, files, controls, findings=findings, figures=figures)
        stories = "a small story"
        if doctor_probe.is_at_floor(fed, controls) and setup.draw_other is not None:
            # The draw of one story must not decide.
            on_progress("running another small story")
            other = setup.make_probe(system.card, timeout_s, setup.draw_other())
            story += f"; and {other.scenario.id}, {other.scenario.last_day} days"
            stories = "two small stories"
            others = await _run_controls(other)
            fed = fed.join(await other.run(system, other.scenario.episodes))
            controls = {name: result.join(others[name]) for name, result in controls.items()}
            floor = doctor_probe.find_floor(controls)
            figures["score on two stories"] = fed.mean
            figures[f"score of {floor} on two stories"] = controls[floor].mean
        findings += doctor_probe.check_faults(fed, stories)
        findings += doctor_probe.check_floor(fed, controls, stories)
    except SystemFault as fault:
        message = f"it failed on a small story: {fault}"
        findings.append(doctor_probe.make_finding("story", message, is_invalid=True))
    diagnosis = Diagnosis(
        health=doctor_probe.derive_health(findings),
        system=identify_system(redact_card(system.card)),
        at=datetime.now(UTC),
        code=setup.code,
        complaints=tuple(findings),
        clock=contract.seen.clock,
        asker=contract.seen.asker,
        figures={name: round(value, 4) for name, value in figures.items()},
        story=story,
    )
    return DoctorResult(diagnosis=redact_card(diagnosis), contract=contract)


async def _run_controls(probe: StoryProbe) -> dict[str, ProbeResult]:
    controls = load_controls(probe.scenario)
    return {
        name: await probe.run(control, probe.scenario.episodes)
        for name, control in controls.items()
    }


async def _run_story(
    system: MemorySystem,
    probe: StoryProbe,
    files: Path,
    controls: dict[str, ProbeResult],
    *,
    findings: list[DoctorFinding],
    figures: dict[str, float],
) -> ProbeResult:
    """Run three memories: empty, fed the story, and fed it with shuffled days.

    Adds findings and figures, and returns the answers of the one that was fed.
    """
    days = probe.scenario.episodes
    empty = await probe.run(system, ())
    fed, pace, sizes = await _run_growing(system, probe, files)
    # Shuffle the texts between days: a system that uses dates answers differently.
    order = shuffle(list(range(len(days))), seed=42)
    shuffled = [
        day.replace(text=days[other].text, turns=days[other].turns)
        for day, other in zip(days, order, strict=True)
    ]
    moved = await probe.run(system, shuffled)
    changes = doctor_probe.measure_changes(fed, moved)
    findings += doctor_probe.check_empty_memory(empty, controls["none"])
    findings += doctor_probe.check_controls(fed, controls)
    findings += doctor_probe.check_date_use(system.card, changes)
    findings += doctor_probe.check_latency(pace)
    findings += doctor_probe.check_growth(sizes)
    figures |= {
        "score": fed.mean,
        "score of an empty memory": empty.mean,
        "score with shuffled days": moved.mean,
        "answers changed by shuffling": changes,
        **{
            f"ms an answer, {quarter} quarter": 1000 * seconds
            for quarter, seconds in (("first", pace[0]), ("last", pace[-1]))
            if seconds is not None
        },
        "MB on disk": sizes[-1] / 1e6,
        "questions": float(len(fed.replies)),
    }
    return fed


async def _run_growing(
    system: MemorySystem, probe: StoryProbe, files: Path
) -> tuple[ProbeResult, list[float | None], list[int]]:
    """Feed one memory: at each quarter time answers and measure files, at the end ask all.

    The times are the median seconds of an answer, None without answers.
    """
    days = probe.scenario.episodes
    memory = await probe.open(system)
    pace: list[float | None] = []
    sizes: list[int] = []
    faults: list[str] = []
    try:
        for quarter in range(QUARTERS):
            start, end = (len(days) * part // QUARTERS for part in (quarter, quarter + 1))
            await probe.feed(memory, days[start:end])
            timed = await probe.ask(memory, days[:end], probe.items[:PROBES])
            pace.append(median(timed.seconds) if timed.seconds else None)
            sizes.append(measure_folder(files))
            faults += timed.faults
        fed = await probe.ask(memory, days)
        fed.faults[:0] = faults
        return fed, pace, sizes
    finally:
        await probe.close(memory)


def load_controls(scenario: Scenario) -> dict[str, MemorySystem]:
    """Load the controls of a story: `none`, `random` and `oracle`, which has the evidence."""
    controls: dict[str, MemorySystem] = {}
    for name in CONTROLS:
        controls[name] = user_code.load_plugin("systems", name)({})
        share_evidence(controls[name], scenario)
    return controls
