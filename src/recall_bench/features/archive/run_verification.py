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
from recall_bench.core.errors import BenchError, UsageError
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
from recall_bench.engine.runs.journal import JOURNAL, read_lines
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
    # No cache is trusted, nor what this process has read from one.
    forget_intervals()
    checks = [
        _check_journal(folder),
        _check_trials(folder),
        _check_data(finder),
        *_check_verdicts(folder, finder),
        _check_files(folder),
        RunCheck(
            part=CheckPart.SYSTEM,
            state=CheckState.UNVERIFIED,
            detail="that the answers are those of the system that the plan names, and its times, "
            "cannot be derived from a journal: run it again",
        ),
    ]
    return RunVerification(run=str(folder.path), plan=folder.plan.digest, checks=tuple(checks))


def _check_journal(folder: RunFolder) -> RunCheck:
    count = sum(1 for _ in read_lines(folder.path / JOURNAL))
    if folder.is_chained:
        state, detail = CheckState.VERIFIED, f"{count:,} lines, each linked to the one before"
    else:
        state = CheckState.UNVERIFIED
        detail = f"{count:,} lines without checksums, as earlier versions wrote them"
    return RunCheck(part=CheckPart.JOURNAL, state=state, detail=detail)


def _check_trials(folder: RunFolder) -> RunCheck:
    """Opening the folder has held every event against the plan; this counts."""
    scenarios = folder.states.scenarios.values()
    owed = sum(each.owed_count for each in scenarios)
    still_open = sum(each.count_states(TrialState.OPEN, TrialState.ANSWERED) for each in scenarios)
    planned = f"{owed:,} trials follow from the plan"
    if not folder.is_finished or folder.unstarted:
        return RunCheck(
            part=CheckPart.TRIALS,
            state=CheckState.UNVERIFIED,
            detail=f"{planned}, {still_open:,} of them have no outcome yet: the run is unfinished",
        )
    return RunCheck(
        part=CheckPart.TRIALS,
        state=CheckState.DIFFERS if still_open else CheckState.VERIFIED,
        detail=f"{planned}, {still_open:,} of them have no outcome although the run has ended"
        if still_open
        else f"{planned}, and each has its outcome",
    )


def _check_data(finder: StoryFinder) -> RunCheck:
    plan = finder.plan
    if plan.imported is not None or plan.dataset is not None:
        return RunCheck(
            part=CheckPart.DATA,
            state=CheckState.UNVERIFIED,
            detail="the days of an imported run or a public dataset are not held against the plan",
        )
    try:
        found = finder.stories
    except UsageError as error:
        return RunCheck(part=CheckPart.DATA, state=CheckState.UNVERIFIED, detail=str(error))
    except BenchError as error:
        return RunCheck(part=CheckPart.DATA, state=CheckState.DIFFERS, detail=str(error))
    return RunCheck(
        part=CheckPart.DATA,
        state=CheckState.VERIFIED,
        detail=f"days and questions of {', '.join(found)} have the digests of the plan",
    )


def _check_verdicts(folder: RunFolder, finder: StoryFinder) -> Iterator[RunCheck]:
    if folder.plan.judge.rubrics and not folder.plan.unjudged:
        yield _check_replies(folder)
        return
    if reason := _explain_unjudged(folder.plan):
        yield RunCheck(part=CheckPart.VERDICTS, state=CheckState.UNVERIFIED, detail=reason)
        return
    with TemporaryFolder("verify") as scratch:
        again = Path(scratch, "run")
        judge = folder.plan.judge.name
        given = {"data": finder.data, "into": again, "heatmap_png": False, "judge": judge}
        try:
            job = assemble_rejudge(folder.path, given, stories=finder.stories)
            execute(job)
        except BenchError as error:
            yield RunCheck(part=CheckPart.VERDICTS, state=CheckState.UNVERIFIED, detail=str(error))
            return
        yield from _compare_verdicts(folder, RunFolder.open(again))


def _check_replies(folder: RunFolder) -> RunCheck:
    """The marks of a model, held against its replies in the journal; it is not asked again."""
    differing: list[Trial] = []
    followed = without = 0
    for scenario in folder.scenarios:
        for result in folder.results(scenario):
            judged = result.outcome
            if not isinstance(judged, Judged) or judged.judge == PEOPLE:
                continue
            verdicts = [each for each in (judged.verdict, judged.primary) if each is not None]
            if not all(map(_follows_from_reply, verdicts)):
                differing.append(result.trial)
            elif all(each.reply is not None for each in verdicts):
                followed += 1
            else:
                without += 1
    count = followed + without + len(differing)
    if differing:
        state = CheckState.DIFFERS
        detail = f"{len(differing):,} of {count:,} are not what the stored reply says: "
        detail += _list_examples(differing)
    else:
        state = CheckState.UNVERIFIED if without else CheckState.VERIFIED
        detail = f"{followed:,} follow from the stored reply of the model, which is not asked again"
        detail += f"; {without:,} have none" if without else ""
    return RunCheck(part=CheckPart.VERDICTS, state=state, detail=detail)


def _follows_from_reply(verdict: Verdict) -> bool:
    """Whether marks and reason are those of the reply; True without one."""
    if verdict.reply is None:
        return True
    read = parse_verdict(Reply(text=verdict.reply, usage=Usage()))
    return isinstance(read, Verdict) and (read.marks, read.reason) == (
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
    for scenario in folder.scenarios:
        pairs = zip(folder.results(scenario), again.results(scenario), strict=True)
        for before, after in pairs:
            if isinstance(before.outcome, NotJudged) and isinstance(after.outcome, Judged):
                # The offline judge never fails: the verdict was removed.
                differing.append(before.trial)
            if not isinstance(before.outcome, Judged):
                continue
            count += 1
            verdict = after.outcome.verdict if isinstance(after.outcome, Judged) else None
            if verdict is None or _describe(before.outcome.verdict) != _describe(verdict):
                differing.append(before.trial)
    if differing:
        detail = f"{len(differing):,} of {count:,} are others when judged again: "
        detail += _list_examples(differing)
    else:
        detail = f"{count:,} are the same when judged again, marks, leaks and findings alike"
    yield RunCheck(
        part=CheckPart.VERDICTS,
        state=CheckState.DIFFERS if differing else CheckState.VERIFIED,
        detail=detail,
    )
    yield from _compare_bounds(folder, again)


def _describe(verdict: Verdict) -> object:
    return verdict.marks, verdict.findings, verdict.score


def _compare_bounds(folder: RunFolder, again: RunFolder) -> Iterator[RunCheck]:
    pairs = [
        (before, after)
        for name in folder.scenarios
        if (before := folder.states.scenarios[name].bounds) is not None
        and (after := again.states.scenarios[name].bounds) is not None
    ]
    if not pairs:
        yield RunCheck(
            part=CheckPart.FLOOR, state=CheckState.UNVERIFIED, detail="the journal has no floors"
        )
        return
    yield _compare_bound(
        CheckPart.FLOOR, "what silence scores", all(one.floor == two.floor for one, two in pairs)
    )
    # Another reader, or another version of it, has another ceiling.
    read = [
        (before.ceiling, after.ceiling)
        for before, after in pairs
        if before.ceiling is not None and before.reader == after.reader
    ]
    if read:
        is_same = all(one == two for one, two in read)
        yield _compare_bound(CheckPart.CEILING, "what the evidence itself scores", is_same)


def _compare_bound(part: CheckPart, what: str, is_same: bool) -> RunCheck:
    if is_same:
        detail = f"{what} is the same when computed again"
        return RunCheck(part=part, state=CheckState.VERIFIED, detail=detail)
    detail = f"{what} is not what the journal says"
    return RunCheck(part=part, state=CheckState.DIFFERS, detail=detail)


def _check_files(folder: RunFolder) -> RunCheck:
    """Every result file in the folder, written again from the journal."""
    names = {"result": RESULT, "progress": PROGRESS, "questions": QUESTIONS, "failures": FAILURES}
    present = {key: name for key, name in names.items() if (folder.path / name).is_file()}
    if not present:
        return RunCheck(part=CheckPart.FILES, state=CheckState.UNVERIFIED, detail="there are none")
    with TemporaryFolder("verify") as scratch:
        export_files(folder, **{key: Path(scratch, name) for key, name in present.items()})
        differing = [
            name
            for name in present.values()
            if not filecmp.cmp(folder.path / name, Path(scratch, name), shallow=False)
        ]
    if differing:
        return RunCheck(
            part=CheckPart.FILES,
            state=CheckState.DIFFERS,
            detail=f"{', '.join(differing)}: not what the journal says; "
            "recall-bench export writes them again",
        )
    return RunCheck(
        part=CheckPart.FILES,
        state=CheckState.VERIFIED,
        detail=f"{', '.join(present.values())} follow from the journal, to the byte",
    )


def render_verification(found: RunVerification, *, has_heading: bool = False) -> str:
    """Render the checks as text, one a line, below the name of the run if wanted."""
    lines = format_heading(clean_text(found.run)) if has_heading else []
    lines += [
        line
        for check in found.checks
        for line in format_fact(check.part, f"{check.state}: {check.detail}")
    ]
    return "\n".join(lines)
