"""Examine a system before any run: contract, controls, and growth with the story."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar, cast

from recall_bench.core import user_code
from recall_bench.core.diagnosis import Diagnosis, DoctorFinding, identify_system
from recall_bench.core.errors import SystemFault
from recall_bench.core.event_redaction import redact_card
from recall_bench.core.folders import measure_folder
from recall_bench.core.memory import Asker, MemorySystem, Reader, SystemCard
from recall_bench.core.scenario import BOUNDARY, Episode, Expects, Scenario
from recall_bench.core.schedule import shuffle
from recall_bench.core.temporary_files import TemporaryFolder
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorSetup:
    """What an examination needs: a small story, controls, a reader and a judge."""

    scenario: Scenario
    controls: dict[str, MemorySystem]
    """The built-in systems `none`, `random` and `oracle`; the last has the evidence."""
    draw_other: Callable[[], Scenario] | None = None
    """Draw another story, asked about where the system scores low on the first: of a fair system
    that may be the draw."""
    reader: Reader
    judge: Judge
    code: str
    """The version of the harness."""
    seed: str = ""
    """The seed that the story was drawn from, if any."""

    def describe_story(self, other: Scenario | None = None) -> str:
        """The persona, its days, and the seed, so that the examination can be repeated.

        The other story is drawn from the next seed.
        """
        named = f"{self.scenario.id}, {self.scenario.last_day} days"
        named += f", seed {self.seed}" if self.seed else ""
        return named if other is None else f"{named}; and {other.id}, {other.last_day} days"

    def make_probe(
        self, card: SystemCard, timeout_s: float, story: Scenario | None = None
    ) -> StoryProbe:
        """Make a probe of a story with a spread of the questions that apply to the system."""
        story = story or self.scenario
        last = story.last_day
        items = [item for item in story.items if item.is_open(last)]
        items = [
            item
            for item in items
            if (card.asker is not Asker.UNTOLD or item.truth.category != BOUNDARY)
        ]
        empty = [item for item in items if item.truth.expects is Expects.ABSTAIN]
        known = [item for item in items if item.truth.expects is not Expects.ABSTAIN]
        self.judge.study(story)
        return StoryProbe(
            scenario=story,
            items=(
                *spread_items(known, QUESTIONS - ABSTENTIONS),
                *spread_items(empty, ABSTENTIONS),
            ),
            reader=self.reader,
            judge=self.judge,
            timeout_s=timeout_s,
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
    controls = await _run_controls(setup.controls, probe)
    found: list[DoctorFinding] = []
    figures: dict[str, float] = {
        f"score of {name}": result.mean for name, result in controls.items()
    }
    contract = await check_system(
        system, timeout_s=timeout_s, on_progress=lambda name: on_progress(f"checking {name}")
    )
    found += doctor_probe.check_contract_report(contract)
    if contract.seen.recall is not None:
        figures["facts found again"] = contract.seen.recall
    on_progress("running a small story")
    story = setup.describe_story()
    try:
        empty = await probe.run(system, ())
        fed, pace, sizes = await _run_growing(system, probe, files)
        moved = await probe.run(system, _shuffle_days(probe.scenario.episodes))
        runs = _StoryRuns(empty=empty, fed=fed, moved=moved, pace=pace, sizes=sizes)
        found += runs.check(system.card, controls)
        figures |= runs.list_figures()
        scores = _Scores(runs.fed, controls, "a small story")
        if doctor_probe.is_at_floor(runs.fed, controls) and setup.draw_other is not None:
            on_progress("running another small story")
            other = setup.make_probe(system.card, timeout_s, setup.draw_other())
            story = setup.describe_story(other.scenario)
            scores = await _add_other_story(scores, system, other)
            figures["score on two stories"] = scores.fed.mean
            floor = doctor_probe.find_floor(scores.controls)
            figures[f"score of {floor} on two stories"] = scores.controls[floor].mean
        found += doctor_probe.check_faults(scores.fed, scores.stories)
        found += doctor_probe.check_floor(*scores)
    except SystemFault as fault:
        message = f"it failed on a small story: {fault}"
        found.append(doctor_probe.make_finding("story", message, is_invalid=True))
    return DoctorResult(
        diagnosis=_build_diagnosis(
            system.card, setup, contract=contract, found=found, figures=figures, story=story
        ),
        contract=contract,
    )


async def _run_controls(
    controls: dict[str, MemorySystem], probe: StoryProbe
) -> dict[str, ProbeResult]:
    return {name: await probe.run(each, probe.scenario.episodes) for name, each in controls.items()}


class _Scores(NamedTuple):
    """The answers of a system and of the controls, on one story or on several."""

    fed: ProbeResult
    controls: dict[str, ProbeResult]
    stories: str


async def _add_other_story(scores: _Scores, system: MemorySystem, probe: StoryProbe) -> _Scores:
    """Ask about another story too, so that the draw of one does not decide."""
    story = probe.scenario
    controls = await _run_controls(load_controls(story), probe)
    return _Scores(
        scores.fed.join(await probe.run(system, story.episodes)),
        {name: each.join(controls[name]) for name, each in scores.controls.items()},
        "two small stories",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoryRuns:
    """Three memories of one system: empty, fed the story, and fed it with shuffled days."""

    empty: ProbeResult
    fed: ProbeResult
    moved: ProbeResult
    pace: list[float | None]
    """Median seconds of an answer after each quarter of the days; None without answers."""
    sizes: list[int]

    def check(self, card: SystemCard, controls: dict[str, ProbeResult]) -> Iterator[DoctorFinding]:
        """Find what is wrong with them."""
        yield from doctor_probe.check_empty_memory(self.empty, controls["none"])
        yield from doctor_probe.check_controls(self.fed, controls)
        yield from doctor_probe.check_date_use(
            card, doctor_probe.measure_changes(self.fed, self.moved)
        )
        yield from doctor_probe.check_latency(self.pace)
        yield from doctor_probe.check_growth(self.sizes)

    def list_figures(self) -> dict[str, float]:
        """List the measurements."""
        timed = {"first": self.pace[0], "last": self.pace[-1]}
        return {
            "score": self.fed.mean,
            "score of an empty memory": self.empty.mean,
            "score with shuffled days": self.moved.mean,
            "answers changed by shuffling": doctor_probe.measure_changes(self.fed, self.moved),
            **{
                f"ms an answer, {quarter} quarter": 1000 * seconds
                for quarter, seconds in timed.items()
                if seconds is not None
            },
            "MB on disk": self.sizes[-1] / 1e6,
            "questions": float(len(self.fed.replies)),
        }


def _build_diagnosis(
    card: SystemCard,
    setup: DoctorSetup,
    *,
    contract: ContractReport,
    found: Sequence[DoctorFinding],
    figures: dict[str, float],
    story: str,
) -> Diagnosis:
    diagnosis = Diagnosis(
        health=doctor_probe.derive_health(found),
        system=identify_system(redact_card(card)),
        at=datetime.now(UTC),
        code=setup.code,
        complaints=tuple(found),
        clock=contract.seen.clock,
        asker=contract.seen.asker,
        figures={name: round(value, 4) for name, value in figures.items()},
        story=story,
    )
    return redact_card(diagnosis)


async def _run_growing(
    system: MemorySystem, probe: StoryProbe, files: Path
) -> tuple[ProbeResult, list[float | None], list[int]]:
    """Feed one memory: at each quarter time answers and measure files, at the end ask all."""
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


def _shuffle_days(days: Sequence[Episode]) -> tuple[Episode, ...]:
    """Shuffle the texts between days: a system that uses dates answers differently."""
    order = shuffle(list(range(len(days))), seed=42)
    return tuple(
        day.replace(text=days[other].text, turns=days[other].turns)
        for day, other in zip(days, order, strict=True)
    )


CONTROLS = ("none", "random", "oracle")


def build_doctor_setup(
    scenario: Scenario,
    code: str,
    seed: str = "",
    draw_other: Callable[[], Scenario] | None = None,
) -> DoctorSetup:
    """Build the setup of built-in controls, the extractive reader and the offline judge.

    `code` is the version of the harness; the story was drawn from `seed`, if one is given, and
    `draw_other` draws another one.
    """
    from recall_bench.judging.offline.offline_judge import OfflineJudge
    from recall_bench.systems.readers import ExtractiveReader

    return DoctorSetup(
        scenario=scenario,
        controls=load_controls(scenario),
        draw_other=draw_other,
        reader=ExtractiveReader(),
        judge=OfflineJudge({}),
        code=code,
        seed=seed,
    )


def load_controls(scenario: Scenario) -> dict[str, MemorySystem]:
    """Load the controls of a story."""
    return {name: _load_control(name, scenario) for name in CONTROLS}


def _load_control(name: str, scenario: Scenario) -> MemorySystem:
    system = cast("MemorySystem", user_code.load_plugin("systems", name)({}))
    share_evidence(system, scenario)
    return system
