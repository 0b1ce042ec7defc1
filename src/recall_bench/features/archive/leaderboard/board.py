"""The figures of a leaderboard: suites, entries, and groups of systems that do not differ.

A suite is one measurement that several systems share: the same stories, checkpoints and judge.
Runs on fresh seeds of the same stories are one suite, because a seed keeps the questions and
changes their answers; runs on the stories as released are another.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from shlex import join
from statistics import fmean

from recall_bench.core.grouping import group_by
from recall_bench.core.memory import ReaderCard
from recall_bench.core.plan import DrawnStory, Lifecycle, Plan
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.counted_marks import POINTS
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import TrialTable, read_trials
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
_EXTRACTIVE = "extractive"
"""The reader of systems that do not answer, unless another is named."""
CONTROLS = frozenset({"none", "random", "gold-passages", "oracle"})
"""Built-in systems that know nothing, guess, or have the evidence; they are in no group."""


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


class EntryCheck(Record, frozen=True, kw_only=True):
    """One part of the run behind an entry, and whether it could be derived again."""

    part: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRun:
    """A run that was verified, as the board takes it in."""

    source: str
    """The name of the bundle or run folder."""
    folder: RunFolder
    table: TrialTable
    judged: Mapping[str, TrialTable]
    """The same by each judge of the run, by its name; the first gives the score."""
    submission: BoardSubmission
    checks: tuple[EntryCheck, ...]
    badges: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        """What was run."""
        return self.folder.plan


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
    checks: tuple[EntryCheck, ...]
    command: str
    """The command that repeats it."""
    seed: str | None
    """The seed of freshly drawn stories; None for released ones, or while it is secret."""
    submission: BoardSubmission


class RankGroup(Record, frozen=True, kw_only=True):
    """Systems that do not differ significantly from the best among them."""

    number: int
    systems: tuple[str, ...]


class JudgeGroups(Record, frozen=True, kw_only=True):
    """The groups by another judge that judged every ranked system."""

    judge: str
    groups: tuple[RankGroup, ...]


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
    groups: tuple[RankGroup, ...]
    comparisons: int
    """How many pairs were tested; their p-values are adjusted together."""
    judge_groups: tuple[JudgeGroups, ...]
    """The groups by each other judge; empty if there is none that judged all systems."""

    def describe_judges(self) -> str | None:
        """Whether the groups depend on the judge, in a sentence; None without other judges."""
        if not self.judge_groups:
            return None
        usual = _list_members(self.groups)
        unlike = [
            judge_group
            for judge_group in self.judge_groups
            if _list_members(judge_group.groups) != usual
        ]
        if not unlike:
            return f"All {len(self.judge_groups) + 1} judges give the same groups."
        return " ".join(
            f"By {each.judge} the groups are "
            + "; ".join(f"{group.number}. {', '.join(group.systems)}" for group in each.groups)
            + "."
            for each in unlike
        )


def _list_members(groups: Iterable[RankGroup]) -> list[frozenset[str]]:
    """The systems of each group; within one, their order says nothing."""
    return [frozenset(group.systems) for group in groups]


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
    checks: tuple[EntryCheck, ...],
    badges: tuple[str, ...],
) -> BoardRun:
    """Read the trials of a verified run."""
    views = zip(folder.plan.judge_names, open_judge_views(folder), strict=True)
    judged = {name: read_trials(view) for name, view in views}
    return BoardRun(
        source=source,
        folder=folder,
        table=judged[folder.plan.judge_names[0]],
        judged=judged,
        submission=submission,
        checks=checks,
        badges=badges,
    )


def build_board(runs: Sequence[BoardRun], title: str = "Recall Bench leaderboard") -> Board:
    """Build the board of verified runs."""
    grouped = group_by(runs, lambda run: _identify_suite(run.plan))
    suites = [_build_suite(found) for found in grouped.values()]
    suites.sort(
        key=lambda each: (
            not each.is_fresh,
            each.is_model_judged,
            -len(each.entries),
            each.title,
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
    by_system = group_by(latest_first, name_system)
    newest = {name: found[0] for name, found in by_system.items()}
    entries = {name: _build_entry(run) for name, run in newest.items()}
    order = sorted(entries, key=lambda name: -_get_score(entries[name]))
    ranked = [name for name in order if CONTROL not in entries[name].badges]
    p_values = _compare_all({name: newest[name].table for name in ranked}, ranked)
    plan = runs[0].plan
    return BoardSuite(
        title=_describe_suite(plan),
        data=_describe_data(plan),
        is_fresh=is_fresh(plan),
        is_released=plan.world is None,
        is_model_judged=bool(plan.judge.rubrics),
        settings={
            **list_settings(plan),
            "checkpoints": ", ".join(checkpoint.label for checkpoint in plan.checkpoints),
        },
        entries=tuple(entries[name] for name in order),
        earlier=tuple(_build_entry(run) for found in by_system.values() for run in found[1:]),
        groups=tuple(group_systems(ranked, p_values)),
        comparisons=len(p_values),
        judge_groups=tuple(_group_by_judge({name: newest[name] for name in ranked})),
    )


def _group_by_judge(runs: Mapping[str, BoardRun]) -> Iterator[JudgeGroups]:
    """The groups by each judge, but the first, that judged every one of these runs."""
    first = next(iter(runs.values()), None)
    if len(runs) < 2 or first is None:
        return
    for judge in list(first.judged)[1:]:
        tables = {name: run.judged[judge] for name, run in runs.items() if judge in run.judged}
        if len(tables) == len(runs) and all(table.points for table in tables.values()):
            means = {name: fmean(table.points.values()) for name, table in tables.items()}
            order = sorted(means, key=lambda name: -means[name])
            yield JudgeGroups(
                judge=judge, groups=tuple(group_systems(order, _compare_all(tables, order)))
            )


def name_system(run: BoardRun) -> str:
    """The name that an entry is shown under."""
    return run.submission.name or run.plan.system.name


def _get_score(entry: Entry) -> float:
    return -1.0 if entry.score is None else entry.score.value


def _compare_all(
    tables: Mapping[str, TrialTable], order: Sequence[str]
) -> dict[tuple[str, str], float]:
    """The adjusted p-value of each pair, question by question; seeds keep the questions."""
    found = {}
    for one, two in combinations(order, 2):
        first, second = tables[one], tables[two]
        result = compare(first.points, second.points, limits=POINTS, templates=first.templates)
        if result is not None:
            found[one, two] = result.p_value
    return adjust_p_values(found)


def group_systems(
    order: Sequence[str], p_values: Mapping[tuple[str, str], float]
) -> list[RankGroup]:
    """Group systems, best first: one that does not differ from the best of a group joins it."""
    groups: list[list[str]] = []
    for name in order:
        best = groups[-1][0] if groups else None
        is_alike = best is not None and p_values.get((best, name), 1.0) > ALPHA
        if is_alike:
            groups[-1].append(name)
        else:
            groups.append([name])
    return [
        RankGroup(number=number, systems=tuple(names))
        for number, names in enumerate(groups, start=1)
    ]


def _build_entry(run: BoardRun) -> Entry:
    folder, plan = run.folder, run.plan
    means, summary = RunEstimates.get(folder), summarise(folder)
    ranges = means.estimate_category_ranges()
    categories = means.estimate_by(lambda item: item.truth.category)
    return Entry(
        system=name_system(run),
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
            CategoryScore(name=name, score=found.points, bounds=ranges.get(name))
            for name, found in categories.items()
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
    if (story := _find_story(plan)) is not None:
        words += ["--arcs", story.arcs, "--edition", str(story.edition)]
    if plan.world is not None:
        words += ["--world-seed", plan.world.seed or "challenge.json"]
    words += ["--ranges", ",".join(checkpoint.label for checkpoint in plan.checkpoints)]
    usual = Settings()
    given = {
        "--sample": (plan.sample, usual.sample),
        "--repeats": (plan.repeats, usual.repeats),
        "--copies": (plan.copies, usual.copies),
        "--seed": (plan.seed, usual.seed),
        "--top-k": (plan.top_k, usual.top_k),
        "--max-context-tokens": (plan.max_context_tokens, usual.max_context_tokens),
        "--judge": (_name_part(plan.judge), usual.judge) if not plan.other_judges else (None, None),
        "--judges": (_name_judges(plan), None),
        "--appellate-judge": (_name_part(plan.appellate), usual.appellate_judge),
        "--review": (plan.review.value, usual.review.value),
        "--judge-memory-window": (plan.judge_memory_window, usual.judge_memory_window),
        "--reader": (_name_part(plan.reader), None if plan.system.answers else _EXTRACTIVE),
        "--timeout": (round(1000 * plan.answer_timeout_s), usual.timeout_ms),
        "--ingest-timeout": (round(1000 * plan.feed_timeout_s), usual.ingest_timeout_ms),
        "--judge-timeout": (round(1000 * plan.judge_timeout_s), usual.judge_timeout_ms),
        "--calendar": (plan.calendar.value, usual.calendar.value),
        "--ingest": (plan.ingest.value, usual.ingest.value),
    }
    for flag, (value, default) in given.items():
        if value is not None and value != default:
            words += [flag, str(value)]
    if plan.lifecycle is Lifecycle.GROWING:
        words += ["--lifecycle", plan.lifecycle.value]
    if plan.sample is not None and plan.sampling is not usual.sampling:
        words += ["--sampling", plan.sampling.value]
    if plan.dry_run:
        words.append("--first-checkpoint")
    if plan.groups_enabled:
        words.append("--groups-enabled")
    return join(words)


def _name_judges(plan: Plan) -> str | None:
    """What to give to `--judges`; None for a single judge."""
    if not plan.other_judges:
        return None
    cards = (plan.judge, *plan.other_judges)
    return ",".join(
        f"{_name_part(card)}{'' if card.reading is None else f'@{card.reading}'}" for card in cards
    )


def _name_part(card: JudgeCard | ReaderCard | None) -> str | None:
    """What to name a judge or reader by in a command."""
    return None if card is None else card.model or card.name


def _find_story(plan: Plan) -> DrawnStory | None:
    """The shipped story of a plan; None for others, and if its personas have different ones."""
    if plan.world is not None:
        found = {(story.arcs, story.edition) for story in plan.world.stories}
    else:
        found = {
            (story.arcs, story.edition)
            for card in plan.scenarios
            if card.id in load_catalogue()
            for story in load_catalogue()[card.id].stories
            if (story.days, story.questions) == (card.episodes, card.items)
        }
    if len(found) != 1:
        return None
    ((arcs, edition),) = found
    return DrawnStory(persona=plan.scenarios[0].id, arcs=arcs, edition=edition)


def _describe_suite(plan: Plan) -> str:
    parts = [_describe_data(plan)]
    if plan.world is not None:
        parts.append("fresh seeds" if plan.world.is_fresh else f"seed {plan.world.seed}")
    elif plan.dataset is None:
        parts.append(AS_RELEASED)
    if plan.judge.rubrics:
        parts.append(f"judged by {(plan.judge.model or plan.judge.name).partition(';')[0]}")
    return ", ".join(parts)


def is_fresh(plan: Plan) -> bool:
    """Whether a run is of stories that could not be prepared for."""
    return plan.world is not None and plan.world.is_fresh


def _describe_data(plan: Plan) -> str:
    if plan.dataset is not None:
        return f"{plan.dataset.name}, {plan.dataset.protocol}"
    names = " + ".join(card.id for card in plan.scenarios)
    return f"{names}, {max(card.last_day for card in plan.scenarios)} days"
