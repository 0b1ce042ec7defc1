"""Verify a run: derive everything in its folder again, and say what could not be.

The journal is read with its checksums, the days and questions are held against the plan, answers
are judged again where the judge needs nothing paid, and every result file is written again and
compared.
"""

import filecmp
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.core.event import Judged, NotJudged
from recall_bench.core.plain_text import clean_text, format_fact, format_heading
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialState
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PEOPLE, Verdict
from recall_bench.engine.experiment import execute
from recall_bench.engine.rejudge_assembly import assemble_rejudge
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.output_paths import FAILURES, PROGRESS, QUESTIONS, RESULT
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.judging.judges import resolve_judges
from recall_bench.judging.rubric.prompt import parse_verdict
from recall_bench.metrics.estimate import forget_intervals
from recall_bench.stories.drawn import BuildProgress
from recall_bench.stories.story_folders import FoundStory, find_stories
from recall_bench.systems.models.model import Reply

_EXAMPLES = 5
"""How many trials with another verdict are named."""


class CheckState(StrEnum):
    """The outcome of one check."""

    VERIFIED = "verified"
    DIFFERS = "differs"
    UNVERIFIED = "not verified"


class CheckPart(StrEnum):
    """The part of a run that a check is about."""

    JOURNAL = "journal"
    TRIALS = "trials"
    DATA = "data"
    VERDICTS = "verdicts"
    FLOOR = "silence"
    """What a system scores that says nothing."""
    CEILING = "evidence"
    """What the reader scores with the evidence itself."""
    FILES = "files"
    SYSTEM = "system"
    BUNDLE = "bundle"
    SIGNATURE = "signature"
    SEED = "seed"


class RunCheck(ComputedRecord, frozen=True, kw_only=True):
    """One part of a run, and whether it could be derived again."""

    part: CheckPart
    state: CheckState
    detail: str

    @classmethod
    def of(cls, part: CheckPart, detail: str, *, is_same: bool | None) -> "RunCheck":
        """A check of a part; None where it could not be derived again."""
        states = {True: CheckState.VERIFIED, False: CheckState.DIFFERS, None: CheckState.UNVERIFIED}
        return cls(part=part, state=states[is_same], detail=detail)


class RunVerification(ComputedRecord, frozen=True, kw_only=True):
    """All checks of a run."""

    run: str
    plan: str
    """The digest of the plan."""
    checks: tuple[RunCheck, ...]

    @property
    def has_differences(self) -> bool:
        """Whether something in the folder is not what follows from its journal and data."""
        return any(check.state is CheckState.DIFFERS for check in self.checks)


@dataclass(frozen=True)
class StoryFinder:
    """Finds the stories of a plan once: reading them takes seconds."""

    plan: Plan
    data: Path | None = None
    """The folder of the personas, unless they are shipped."""
    building: BuildProgress | None = None

    @cached_property
    def stories(self) -> dict[str, FoundStory]:
        """The stories by persona; UsageError or DataError as `find_stories`."""
        return find_stories(self.plan, self.data, self.building)


def verify_folder(folder: RunFolder, finder: StoryFinder) -> RunVerification:
    """Derive everything in a run folder again."""
    journal = _check_journal(folder)
    if journal.state is CheckState.DIFFERS:
        # Nothing can be derived from what cannot be read.
        return RunVerification(run=str(folder.path), plan=folder.plan.digest, checks=(journal,))
    # No cache is trusted, nor what this process has read from one.
    forget_intervals()
    checks = (
        journal,
        _check_trials(folder),
        _check_data(finder),
        *_check_verdicts(folder, finder),
        _check_files(folder),
        RunCheck.of(
            CheckPart.SYSTEM,
            "that the answers are those of the system that the plan names, and its times, "
            "cannot be derived from a journal: run it again",
            is_same=None,
        ),
    )
    return RunVerification(run=str(folder.path), plan=folder.plan.digest, checks=checks)


def _check_journal(folder: RunFolder) -> RunCheck:
    try:
        count = sum(1 for _ in read_events(folder.path / JOURNAL))
    except DataError as error:
        return RunCheck.of(CheckPart.JOURNAL, str(error), is_same=False)
    if folder.is_chained:
        detail = f"{count:,} lines, each linked to the one before"
    else:
        detail = f"{count:,} lines without checksums, as earlier versions wrote them"
    return RunCheck.of(CheckPart.JOURNAL, detail, is_same=True if folder.is_chained else None)


def _check_trials(folder: RunFolder) -> RunCheck:
    """Opening the folder has held every event against the plan; this counts."""
    scenarios = folder.states.scenarios.values()
    owed = sum(states.owed_count for states in scenarios)
    still_open = sum(s.count_states(TrialState.OPEN, TrialState.ANSWERED) for s in scenarios)
    is_finished = folder.is_finished and not folder.unstarted
    detail = f"{owed:,} trials follow from the plan, "
    if not is_finished:
        detail += f"{still_open:,} of them have no outcome yet: the run is unfinished"
    elif still_open:
        detail += f"{still_open:,} of them have no outcome although the run has ended"
    else:
        detail += "and each has its outcome"
    return RunCheck.of(CheckPart.TRIALS, detail, is_same=not still_open if is_finished else None)


def _check_data(finder: StoryFinder) -> RunCheck:
    plan = finder.plan
    is_same: bool | None = None
    if plan.imported is not None or plan.dataset is not None:
        detail = "the days of an imported run or a public dataset are not held against the plan"
    else:
        try:
            personas = ", ".join(finder.stories)
            is_same, detail = True, f"days and questions of {personas} have the digests of the plan"
        except BenchError as error:
            is_same, detail = None if isinstance(error, UsageError) else False, str(error)
    return RunCheck.of(CheckPart.DATA, detail, is_same=is_same)


def _check_verdicts(folder: RunFolder, finder: StoryFinder) -> Iterator[RunCheck]:
    if folder.plan.judge.rubrics and not folder.plan.unjudged:
        yield _check_replies(folder)
        return
    if reason := _explain_unjudged(folder.plan):
        yield RunCheck.of(CheckPart.VERDICTS, reason, is_same=None)
        return
    with TemporaryFolder("verify") as scratch:
        again = Path(scratch, "run")
        judge = folder.plan.judge.name
        stated = {"data": finder.data, "into": again, "heatmap_png": False, "judge": judge}
        try:
            execute(assemble_rejudge(folder.path, stated, stories=finder.stories))
        except BenchError as error:
            yield RunCheck.of(CheckPart.VERDICTS, str(error), is_same=None)
            return
        yield from _compare_verdicts(folder, RunFolder.open(again))


def _check_replies(folder: RunFolder) -> RunCheck:
    """The marks of a model, held against its replies in the journal; it is not asked again."""
    differing: list[Trial] = []
    followed = without = 0
    for result in (result for name in folder.scenarios for result in folder.results(name)):
        judged = result.outcome
        if not isinstance(judged, Judged) or judged.judge == PEOPLE:
            continue
        verdicts = [verdict for verdict in (judged.verdict, judged.primary) if verdict is not None]
        if not all(map(_follows_from_reply, verdicts)):
            differing.append(result.trial)
        elif all(verdict.reply is not None for verdict in verdicts):
            followed += 1
        else:
            without += 1
    count = followed + without + len(differing)
    if differing:
        detail = f"{len(differing):,} of {count:,} are not what the stored reply says: "
        detail += _list_examples(differing)
    else:
        detail = f"{followed:,} follow from the stored reply of the model, which is not asked again"
        detail += f"; {without:,} have none" if without else ""
    is_same = False if differing else None if without else True
    return RunCheck.of(CheckPart.VERDICTS, detail, is_same=is_same)


def _follows_from_reply(verdict: Verdict) -> bool:
    """Whether marks and reason are those of the reply; True without one."""
    if verdict.reply is None:
        return True
    parsed = parse_verdict(Reply(text=verdict.reply, usage=Usage()))
    return isinstance(parsed, Verdict) and (parsed.marks, parsed.reason) == (
        verdict.marks,
        verdict.reason,
    )


def _list_examples(trials: Sequence[Trial]) -> str:
    more = len(trials) - _EXAMPLES
    named = ", ".join(map(str, trials[:_EXAMPLES]))
    return f"{named} and {more:,} more" if more > 0 else named


def _explain_unjudged(plan: Plan) -> str | None:
    """Why the verdicts cannot be derived again; None if they can."""
    judge = resolve_judges(Settings()).judge
    others = plan.judge.name, plan.judge.version
    reasons = {
        "the run has none: its dataset's protocol decides": plan.unjudged,
        "those of an imported run or a public dataset are not judged again here": (
            plan.imported is not None or plan.dataset is not None
        ),
        "people gave some of them": plan.labels is not None,
        "another judge reviewed them, which is not repeated": plan.appellate is not None,
        f"they are by {others[0]}, which is not asked again": others[0] != judge.card.name,
        (
            f"they are by version {others[1]} of the {others[0]} judge, and this is version "
            f"{judge.card.version}: rejudge makes a run that can be verified"
        ): plan.judge != judge.card,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _compare_verdicts(folder: RunFolder, again: RunFolder) -> Iterator[RunCheck]:
    differing: list[Trial] = []
    count = 0
    for name in folder.scenarios:
        for before, after in zip(folder.results(name), again.results(name), strict=True):
            was, now = before.outcome, after.outcome
            count += isinstance(was, Judged)
            if isinstance(was, Judged):
                is_same = isinstance(now, Judged) and _describe(was) == _describe(now)
            else:
                # The offline judge never fails: a verdict was removed.
                is_same = not (isinstance(was, NotJudged) and isinstance(now, Judged))
            if not is_same:
                differing.append(before.trial)
    if differing:
        detail = f"{len(differing):,} of {count:,} are others when judged again: "
        detail += _list_examples(differing)
    else:
        detail = f"{count:,} are the same when judged again, marks, leaks and findings alike"
    yield RunCheck.of(CheckPart.VERDICTS, detail, is_same=not differing)
    yield from _compare_bounds(folder, again)


def _describe(judged: Judged) -> object:
    verdict = judged.verdict
    return verdict.marks, verdict.findings, verdict.score


def _compare_bounds(folder: RunFolder, again: RunFolder) -> Iterator[RunCheck]:
    pairs = [
        (before, after)
        for name in folder.scenarios
        if (before := folder.states.scenarios[name].bounds) is not None
        and (after := again.states.scenarios[name].bounds) is not None
    ]
    if not pairs:
        yield RunCheck.of(CheckPart.FLOOR, "the journal has no floors", is_same=None)
        return
    # Another reader, or another version of it, has another ceiling.
    ceilings = [
        one.ceiling == two.ceiling
        for one, two in pairs
        if one.ceiling is not None and one.reader == two.reader
    ]
    for part, what, sames in (
        (CheckPart.FLOOR, "what silence scores", [one.floor == two.floor for one, two in pairs]),
        (CheckPart.CEILING, "what the evidence itself scores", ceilings),
    ):
        if sames:
            end = "the same when computed again" if all(sames) else "not what the journal says"
            yield RunCheck.of(part, f"{what} is {end}", is_same=all(sames))


def _check_files(folder: RunFolder) -> RunCheck:
    """Every result file in the folder, written again from the journal."""
    names = {"result": RESULT, "progress": PROGRESS, "questions": QUESTIONS, "failures": FAILURES}
    present = {key: name for key, name in names.items() if (folder.path / name).is_file()}
    if not present:
        return RunCheck.of(CheckPart.FILES, "there are none", is_same=None)
    with TemporaryFolder("verify") as scratch:
        export_files(folder, **{key: Path(scratch, name) for key, name in present.items()})
        differing = [
            name
            for name in present.values()
            if not filecmp.cmp(folder.path / name, Path(scratch, name), shallow=False)
        ]
    if differing:
        detail = "not what the journal says; recall-bench export writes them again"
        return RunCheck.of(CheckPart.FILES, f"{', '.join(differing)}: {detail}", is_same=False)
    detail = f"{', '.join(present.values())} follow from the journal, to the byte"
    return RunCheck.of(CheckPart.FILES, detail, is_same=True)


def render_verification(found: RunVerification, *, has_heading: bool = False) -> str:
    """Render the checks as text, one a line, below the name of the run if wanted."""
    lines = format_heading(clean_text(found.run)) if has_heading else []
    lines += [
        line
        for check in found.checks
        for line in format_fact(check.part, f"{check.state}: {check.detail}")
    ]
    return "\n".join(lines)
