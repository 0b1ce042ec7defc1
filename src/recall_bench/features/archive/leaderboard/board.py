"""The figures of a leaderboard: suites, entries, and groups of systems that do not differ.

A suite is one measurement that several systems share: the same stories, checkpoints and judge.
Runs on fresh seeds of the same stories are one suite, because a seed keeps the questions and
changes their answers; runs on the stories as released are another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from shlex import join
from statistics import fmean

from recall_bench.core.memory import ReaderCard
from recall_bench.core.plan import Plan
from recall_bench.core.record import ComputedRecord, Record, group_by
from recall_bench.core.settings import Settings, describe_settings
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.counted_marks import POINTS
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.features.archive.run_verification import RunCheck
from recall_bench.metrics.comparison import adjust_p_values, compare
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.power import ALPHA
from recall_bench.reporting.judge_scores import JudgeMean, list_judge_means
from recall_bench.reporting.run_pairs import list_settings
from recall_bench.stories.shipped import load_catalogue

VERIFIED, FRESH, REPLAYED, SELF_REPORTED = "verified", "fresh seed", "replayed", "self-reported"
ISOLATED, SIGNED, CONTROL = "isolated", "signed", "control"
MODEL_JUDGED = "self-reported verdicts"
BADGES = {
    VERIFIED: "journal, questions, verdicts and figures follow from the bundle",
    MODEL_JUDGED: "a model judged; marks and figures follow from the replies in the bundle, and "
    "that these are the model's is the word of its authors",
    FRESH: "measured on stories drawn from a long random seed",
    ISOLATED: "by its own account, it ran in a sandbox apart from questions and answers",
    SIGNED: "by one of the people whose keys the board was built with",
    REPLAYED: "a random part of the run was repeated here with the same marks",
    CONTROL: "knows nothing, guesses, or is given the evidence: a mark to compare with",
    SELF_REPORTED: "that the answers are those of the system is the word of its authors",
}
"""What each badge says."""
AS_RELEASED = "as released"
CONTROLS = frozenset({"none", "random", "placebo", "gold-passages", "oracle"})
"""Built-in systems that know nothing, guess, or have the evidence; they are in no group."""
_SHARED_SETTINGS = (
    *("sample", "repeats", "copies", "seed", "top_k", "max_context_tokens", "review"),
    *("judge_memory_window", "calendar", "ingest", "groups_enabled"),
)
"""The settings that a plan holds as they were given."""

Groups = tuple[tuple[str, ...], ...]
"""Systems, best group first; those of one group do not differ significantly from its best."""


class BoardSubmission(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the people behind an entry say of it, in `submission.yaml` beside their bundle."""

    name: str = ""
    """The name to show [that of the system's card]."""
    adapter: str = ""
    """What to give to `run --adapter` to repeat the entry [the name of a built-in]."""
    options: tuple[str, ...] = ()
    """Further options of `run` that the system needs, such as its configuration."""
    url: str = ""
    """Where to read about the system."""
    install: str = ""
    """The command that installs it."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRun:
    """A run that was verified, as the board takes it in."""

    source: str
    """The name of the bundle or run folder."""
    folder: RunFolder
    judged: Mapping[str, TrialTable]
    """The trials by each judge of the run, by its name; the first gives the score."""
    submission: BoardSubmission
    checks: tuple[RunCheck, ...]
    badges: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        """What was run."""
        return self.folder.plan

    @property
    def name(self) -> str:
        """The name that its entry is shown under."""
        return self.submission.name or self.plan.system.name


class CategoryScore(Record, frozen=True, kw_only=True):
    """A category of one entry."""

    name: str
    score: Estimate | None
    """Points of 6."""
    bounds: ScoreRange | None


class Entry(ComputedRecord, frozen=True, kw_only=True):
    """One verified run of one system in one suite."""

    system: str
    version: str
    source: str
    ended: datetime
    score: Estimate | None
    """Points of 6."""
    judges: tuple[JudgeMean, ...]
    """The score by each judge, the first one first; empty if there is one."""
    bounds: ScoreRange | None
    invented: Estimate | None
    leaked: Estimate | None
    p50_s: float | None
    p95_s: float | None
    ingest_s: float
    usage: Usage
    """What judging, reading and our model endpoint cost."""
    trials: int
    failed: int
    categories: tuple[CategoryScore, ...]
    badges: tuple[str, ...]
    checks: tuple[RunCheck, ...]
    command: str
    """The command that repeats it."""
    seed: str | None
    """The seed of freshly drawn stories; None for released ones, or while it is secret."""
    submission: BoardSubmission


class BoardSuite(ComputedRecord, frozen=True, kw_only=True):
    """One measurement that several systems share."""

    title: str
    data: str
    """The stories alone."""
    is_fresh: bool
    is_released: bool
    """Whether the stories are those that ship with the package."""
    is_model_judged: bool
    """Whether a model gave the verdicts; they cannot be derived again without asking it."""
    settings: dict[str, str]
    entries: tuple[Entry, ...]
    """The newest of each system, best first."""
    earlier: tuple[Entry, ...]
    """Older entries of the same systems, newest first."""
    groups: Groups
    comparisons: int
    """How many pairs were tested; their p-values are adjusted together."""
    judge_groups: dict[str, Groups]
    """The groups by each other judge that judged every ranked system."""

    def describe_judges(self) -> str | None:
        """Whether the groups depend on the judge, in a sentence; None without other judges."""
        if not self.judge_groups:
            return None
        # Within a group, the order says nothing.
        usual = [frozenset(group) for group in self.groups]
        unlike = {
            judge: groups
            for judge, groups in self.judge_groups.items()
            if [frozenset(group) for group in groups] != usual
        }
        if not unlike:
            return f"All {len(self.judge_groups) + 1} judges give the same groups."
        return " ".join(
            f"By {judge} the groups are {'; '.join(describe_groups(groups))}."
            for judge, groups in unlike.items()
        )


def describe_groups(groups: Groups) -> list[str]:
    """Each group as its number and its systems."""
    return [f"{number}. {', '.join(group)}" for number, group in enumerate(groups, start=1)]


class Board(Record, frozen=True, kw_only=True):
    """A whole leaderboard."""

    title: str
    suites: tuple[BoardSuite, ...]
    """The headline first: the fresh-seed suite with the most systems, and verdicts that were
    derived again before those of a model."""

    def list_systems(self) -> tuple[str, ...]:
        """Every system, in the order of the headline, then of the other suites."""
        names = (entry.system for suite in self.suites for entry in suite.entries)
        return tuple(dict.fromkeys(names))


def read_run(
    folder: RunFolder,
    source: str,
    submission: BoardSubmission,
    checks: tuple[RunCheck, ...],
    badges: tuple[str, ...],
) -> BoardRun:
    """Read the trials of a verified run."""
    views = zip(folder.plan.judge_names, open_judge_views(folder), strict=True)
    return BoardRun(
        source=source,
        folder=folder,
        judged={name: read_trials(view) for name, view in views},
        submission=submission,
        checks=checks,
        badges=badges,
    )


def build_board(runs: Sequence[BoardRun], title: str = "Recall Bench leaderboard") -> Board:
    """Build the board of verified runs."""
    suites = [
        _build_suite(own) for own in group_by(runs, lambda run: _identify_suite(run.plan)).values()
    ]
    suites.sort(
        key=lambda suite: (
            *(not suite.is_fresh, suite.is_model_judged, -len(suite.entries), suite.title),
        )
    )
    return Board(title=title, suites=tuple(suites))


def _identify_suite(plan: Plan) -> tuple[str, ...]:
    """What two runs must share to be in one suite; the reader belongs to the system."""
    settings = {name: words for name, words in list_settings(plan).items() if name != "reader"}
    if is_fresh(plan) and plan.world is not None:
        data = ("fresh", *(repr(story) for story in plan.world.stories))
    else:
        data = ("known", plan.dataset_digest)
    return (*data, *(f"{name}: {words}" for name, words in settings.items()))


def _build_suite(runs: Sequence[BoardRun]) -> BoardSuite:
    latest_first = sorted(runs, key=lambda run: run.folder.ended, reverse=True)
    by_system = group_by(latest_first, lambda run: run.name)
    entries = {name: _build_entry(own[0]) for name, own in by_system.items()}

    def rate(name: str) -> float:
        score = entries[name].score
        return -1.0 if score is None else score.value

    # Equal scores stand by name, whichever run ended last.
    order = sorted(entries, key=lambda name: (-rate(name), name.casefold()))
    ranked = [name for name in order if CONTROL not in entries[name].badges]
    tables = [by_system[name][0].judged for name in ranked]
    p_values = _compare_all(
        {name: next(iter(own.values())) for name, own in zip(ranked, tables, strict=True)}
    )
    judge_groups: dict[str, Groups] = {}
    for judge in list(tables[0])[1:] if len(ranked) > 1 else ():
        if all(judge in own and own[judge].points for own in tables):
            by_judge = {name: own[judge] for name, own in zip(ranked, tables, strict=True)}
            means = {name: fmean(table.points.values()) for name, table in by_judge.items()}
            best_first = sorted(means, key=lambda name: -means[name])
            best_first_tables = {name: by_judge[name] for name in best_first}
            judge_groups[judge] = group_systems(best_first, _compare_all(best_first_tables))
    plan = runs[0].plan
    title = data = _describe_data(plan)
    if plan.world is not None:
        title += ", fresh seeds" if plan.world.is_fresh else f", seed {plan.world.seed}"
    elif plan.dataset is None:
        title += f", {AS_RELEASED}"
    if plan.judge.rubrics:
        title += f", judged by {(plan.judge.model or plan.judge.name).partition(';')[0]}"
    return BoardSuite(
        title=title,
        data=data,
        is_fresh=is_fresh(plan),
        is_released=plan.world is None,
        is_model_judged=bool(plan.judge.rubrics),
        settings={
            **list_settings(plan),
            "checkpoints": ", ".join(checkpoint.label for checkpoint in plan.checkpoints),
        },
        entries=tuple(entries[name] for name in order),
        earlier=tuple(_build_entry(run) for own in by_system.values() for run in own[1:]),
        groups=group_systems(ranked, p_values),
        comparisons=len(p_values),
        judge_groups=judge_groups,
    )


def _compare_all(tables: Mapping[str, TrialTable]) -> dict[tuple[str, str], float]:
    """The adjusted p-value of each pair, question by question; seeds keep the questions."""
    p_values = {}
    for (one, first), (two, second) in combinations(tables.items(), 2):
        result = compare(first.points, second.points, limits=POINTS, templates=first.templates)
        if result is not None:
            p_values[one, two] = result.p_value
    return adjust_p_values(p_values)


def group_systems(order: Sequence[str], p_values: Mapping[tuple[str, str], float]) -> Groups:
    """Group systems, best first: one that does not differ from the best of a group joins it."""
    groups: list[list[str]] = []
    for name in order:
        if groups and p_values.get((groups[-1][0], name), 1.0) > ALPHA:
            groups[-1].append(name)
        else:
            groups.append([name])
    return tuple(map(tuple, groups))


def _build_entry(run: BoardRun) -> Entry:
    folder, plan = run.folder, run.plan
    means, summary = RunEstimates.get(folder), summarise(folder)
    ranges = means.estimate_category_ranges()
    categories = means.estimate_by(lambda item: item.truth.category)
    return Entry(
        system=run.name,
        version=plan.system.version,
        source=run.source,
        ended=folder.ended,
        score=means.estimate_overall(),
        judges=list_judge_means({name: table.points for name, table in run.judged.items()}),
        bounds=means.estimate_range(),
        invented=means.estimate_invented(),
        leaked=means.estimate_leaked(),
        p50_s=folder.service.compute_latency(0.5),
        p95_s=folder.service.compute_latency(0.95),
        ingest_s=sum(part.clock.feeding_s for part in summary.checkpoints),
        usage=folder.usage,
        trials=summary.overall.owed,
        failed=summary.overall.not_answered + summary.overall.not_judged,
        categories=tuple(
            CategoryScore(name=name, score=score.points, bounds=ranges.get(name))
            for name, score in categories.items()
        ),
        badges=run.badges if plan.system.name not in CONTROLS else (*run.badges, CONTROL),
        checks=run.checks,
        command=describe_command(plan, run.submission),
        seed=None if plan.world is None else plan.world.seed,
        submission=run.submission,
    )


def describe_command(plan: Plan, submission: BoardSubmission) -> str:
    """The command that repeats a run, as far as it follows from plan and submission."""
    words = ["recall-bench", "run", "--adapter", submission.adapter or plan.system.name]
    words += submission.options
    for card in plan.scenarios:
        words += ["--personas", card.id]
    if plan.world is not None:
        stories = {(story.arcs, story.edition) for story in plan.world.stories}
    else:
        stories = {
            (story.arcs, story.edition)
            for card in plan.scenarios
            if card.id in load_catalogue()
            for story in load_catalogue()[card.id].stories
            if (story.days, story.questions) == (card.episodes, card.items)
        }
    if len(stories) == 1:
        ((arcs, edition),) = stories
        words += ["--arcs", arcs, "--edition", str(edition)]
    if plan.world is not None:
        words += ["--world-seed", plan.world.seed or "challenge.json"]
    words += ["--ranges", ",".join(checkpoint.label for checkpoint in plan.checkpoints)]
    settings = {name: getattr(plan, name) for name in _SHARED_SETTINGS}
    if plan.other_judges:
        cards = (plan.judge, *plan.other_judges)
        settings["judges"] = ",".join(
            f"{_name_part(card)}{'' if card.reading is None else f'@{card.reading}'}"
            for card in cards
        )
    else:
        settings["judge"] = _name_part(plan.judge)
    settings["appellate_judge"] = _name_part(plan.appellate)
    # Systems that do not answer have the extractive reader, unless another is named.
    reader = _name_part(plan.reader)
    settings["reader"] = None if reader == "extractive" and not plan.system.answers else reader
    settings["timeout_ms"] = round(1000 * plan.answer_timeout_s)
    settings["ingest_timeout_ms"] = round(1000 * plan.feed_timeout_s)
    settings["judge_timeout_ms"] = round(1000 * plan.judge_timeout_s)
    if plan.lifecycle.value == "growing":
        settings["lifecycle"] = plan.lifecycle
    if plan.sample is not None:
        settings["sampling"] = plan.sampling
    settings["dry_run"] = plan.dry_run
    usual, about = Settings(), describe_settings()
    for name, value in settings.items():
        if value is not None and value != getattr(usual, name, None):
            flag = about[name].flag if name in about else name.replace("_", "-")
            words += [f"--{flag}"] if value is True else [f"--{flag}", str(value)]
    return join(words)


def _name_part(card: JudgeCard | ReaderCard | None) -> str | None:
    """What to name a judge or reader by in a command."""
    return None if card is None else card.model or card.name


def is_fresh(plan: Plan) -> bool:
    """Whether a run is of stories that could not be prepared for."""
    return plan.world is not None and plan.world.is_fresh


def _describe_data(plan: Plan) -> str:
    if plan.dataset is not None:
        return f"{plan.dataset.name}, {plan.dataset.protocol}"
    names = " + ".join(card.id for card in plan.scenarios)
    return f"{names}, {max(card.last_day for card in plan.scenarios)} days"
