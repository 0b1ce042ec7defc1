"""The command `judge-lab`: how reliable a judge is, and what that means for scores."""

import contextlib
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from recall_bench.cli.console import MultiValueCommand, format_json, forward_to_stderr
from recall_bench.cli.options import (
    COUNT,
    JUDGE_CALLS,
    PATH,
    CommandT,
    add_json_option,
    select_given,
    setting_options,
)
from recall_bench.core.errors import JudgeFault, UsageError

if TYPE_CHECKING:
    from recall_bench.core.scenario import Scenario
    from recall_bench.core.verdict import Judge


AUDITED = "executive-assistant"
"""The default persona of an audit."""

T = TypeVar("T")


@click.group("judge-lab")
def judge_lab_command() -> None:
    """Measure how reliable a judge is, and correct scores for its errors."""


def _add_judge_options(window: str) -> Callable[[CommandT], CommandT]:
    """The options of calls to a judge; `window` is the default of the memory window."""
    return setting_options(
        *("judge_memory_window", "parallelism", *JUDGE_CALLS),
        judge_memory_window=(
            f"Days before and after the evidence that the judge is shown [{window}]"
        ),
        parallelism="Concurrent verdicts [4]",
        judge_timeout_ms="Time limit for a verdict",
    )


@judge_lab_command.command("agreement")
@click.option(
    "--judged",
    required=True,
    type=PATH,
    help="Labelled verdicts, one JSON object a line; or a run folder with labels.jsonl.",
)
@click.option("--judge", default="offline", show_default=True, help="As for `run`.")
@click.option("--corpus", type=PATH, help="Folder of day files, or of a persona [none].")
@click.option(
    "--keep-repeats", is_flag=True, help="Count identical answers as often as they occur."
)
@_add_judge_options("1 with a corpus")
@click.option("--chart", type=PATH, help="Draw the reliability curves: .png, .svg or .pdf.")
@add_json_option("Print all figures as JSON.")
def agreement_command(
    *,
    judged: Path,
    judge: str,
    corpus: Path | None,
    keep_repeats: bool,
    chart: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> None:
    """Compare a judge's verdicts with labelled ones.

    Figures are about passes: correctness from 2, completeness from 2, grounded from 1. Identical
    answers to one question count once, with their most frequent label; in a tie the middle one, of
    two the lower. Of labels that people gave in `view`, the agreement of every two people is
    printed too.
    """
    from recall_bench.features.judges.judge_agreement import measure_judge
    from recall_bench.features.judges.judge_charts import write_reliability_chart
    from recall_bench.features.judges.judge_tables import render_agreement
    from recall_bench.features.judges.labelled_verdicts import (
        NO_CORPUS,
        load_labels,
        merge_repeats,
        read_corpus,
    )
    from recall_bench.judging.human_labels import LABELS, compare_people, find_human_labels
    from recall_bench.reporting.pictures import check_picture_path

    if chart is not None:
        check_picture_path(chart)
    lab = _JudgeLab(flags)
    grader = lab.resolve_judge(judge)
    if judged.is_dir():
        judged /= LABELS
    records = load_labels(judged)
    answers = records if keep_repeats else merge_repeats(records)
    scenario = NO_CORPUS if corpus is None else read_corpus(corpus)
    window = lab.choose_window(usual=0 if corpus is None else 1)
    agreement = lab.run_judge(
        grader,
        len(answers),
        partial(measure_judge, grader, answers, scenario, memory_window=window),
    )
    agreement = agreement.replace(people=compare_people(find_human_labels(judged)))
    click.echo(format_json(agreement) if as_json else render_agreement(agreement))
    if chart is not None:
        write_reliability_chart(agreement, chart)
        click.echo(f"chart: {chart}", err=True)


@judge_lab_command.command("audit", cls=MultiValueCommand)
@click.option(
    "--judge", "judges", multiple=True, default=("offline",), help="Judges to test [offline]."
)
@setting_options("data")
@click.option("--personas", multiple=True, help=f"Personas of the answers [{AUDITED}].")
@setting_options("arcs")
@click.option(
    "--per-class",
    type=COUNT,
    default=100,
    metavar="N",
    show_default=True,
    help="Limit for the answers per class and persona.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@_add_judge_options("0: none")
@click.option("--chart", type=PATH, help="Draw the pass rates by class: .png, .svg or .pdf.")
@add_json_option("Print JSON: of several judges a list.")
def audit_command(
    *,
    judges: tuple[str, ...],
    data: Path | None,
    personas: tuple[str, ...],
    arcs: str | None,
    per_class: int,
    seed: int,
    chart: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> None:
    """Test judges on answers whose marks are known by construction.

    The answers are written from the facts behind simulated personas: right ones in several
    wordings, vague ones, near misses, superseded values, refusals, leaks, and some that ask for
    full marks.
    """
    from recall_bench.features.judges.audit import audit_judge
    from recall_bench.features.judges.audit_answers import build_audit_set
    from recall_bench.features.judges.judge_tables import render_audit, render_audits
    from recall_bench.reporting.pictures import check_picture_path

    if chart is not None:
        check_picture_path(chart)
    lab = _JudgeLab(flags)
    graders = [lab.resolve_judge(judge) for judge in dict.fromkeys(judges)]
    scenarios = _load_scenarios(data, personas, arcs)
    items = [
        item
        for scenario in scenarios
        for item in build_audit_set(scenario, seed=seed, per_class=per_class)
    ]
    window = lab.choose_window(usual=0)
    reports = [
        lab.run_judge(
            judge,
            len(items),
            partial(audit_judge, judge, scenarios, items, memory_window=window),
        )
        for judge in graders
    ]
    if as_json:
        click.echo(format_json(reports[0] if len(reports) == 1 else reports))
    else:
        click.echo(render_audit(reports[0]) if len(reports) == 1 else render_audits(reports))
    if chart is not None:
        from recall_bench.features.judges.judge_charts import write_audit_chart

        write_audit_chart(reports, chart)
        click.echo(f"chart: {chart}", err=True)


@judge_lab_command.command("answers")
@click.argument("answers", type=PATH)
@click.option("--judge", default="offline", show_default=True, help="As for `run`.")
@setting_options(
    *("parallelism", *JUDGE_CALLS),
    parallelism="Concurrent verdicts [4]",
    judge_timeout_ms="Time limit for a verdict",
)
@add_json_option("Print all figures as JSON.")
def answers_command(
    *,
    answers: Path,
    judge: str,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> None:
    """Test a judge on ANSWERS that readers marked, by writer, category and kind.

    ANSWERS is a file of JSON lines, plain or .xz. A line has question, reference, answer and gold
    (correctness, completeness, grounded), and may have evidence, stale, expects, category, kind
    and writer. The judge sees the row alone: its evidence is the history.
    """
    from recall_bench.features.judges.judge_tables import render_answers
    from recall_bench.features.judges.marked_answers import measure_on_answers, read_marked_answers

    lab = _JudgeLab(flags)
    rows = read_marked_answers(answers)
    grader = lab.resolve_judge(judge)
    report = lab.run_judge(grader, len(rows), partial(measure_on_answers, grader, rows))
    click.echo(format_json(report) if as_json else render_answers(report))


@click.command("judge")
@click.argument("answers", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--judge", default="offline", show_default=True, help="As for `run`.")
@setting_options(
    *("parallelism", *JUDGE_CALLS),
    parallelism="Concurrent verdicts [4]",
    judge_timeout_ms="Time limit for a verdict",
)
def judge_command(
    *,
    answers: Path,
    judge: str,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Judge ANSWERS of your own, without a run: JSON lines in, a verdict a line out.

    ANSWERS is a file, plain or .xz, or - for standard input. A line has question, reference and
    answer, and may have evidence (a list of texts, which is the history), stale (superseded values)
    and expects (answer, correct, abstain or withhold). An answer that could not be judged has the
    line {"error": ...}, and the exit code is then 6.
    """
    import msgspec

    from recall_bench.core.verdict import Verdict
    from recall_bench.judging.answer_rows import judge_rows, read_answer_rows

    lab = _JudgeLab(flags)
    rows = read_answer_rows(answers)
    grader = lab.resolve_judge(judge)
    judged = lab.run_judge(grader, len(rows), partial(judge_rows, grader, rows))
    for outcome in judged.outcomes:
        is_verdict = isinstance(outcome, Verdict)
        line = msgspec.json.encode(outcome if is_verdict else {"error": str(outcome)})
        click.echo(line.decode())
    return JudgeFault.exit_code if judged.not_judged else 0


def _load_scenarios(
    data: Path | None, personas: tuple[str, ...], arcs: str | None
) -> "list[Scenario]":
    """The stories of the answers, simulated if necessary."""
    from recall_bench.cli.console import show_build
    from recall_bench.core.settings import Settings
    from recall_bench.stories.story_folders import find_story, resolve_personas

    names = personas or (() if data is not None else (AUDITED,))
    settings = Settings(data=data, personas=names, arcs=arcs)
    folders = resolve_personas(settings, show_build)
    return [find_story(folder, arcs).load(settings) for folder in folders.values()]


@judge_lab_command.command("correct")
@click.argument("run", type=PATH)
@click.option("--agreement", type=PATH, help="What `judge-lab agreement --json` printed.")
@click.option("--audit", type=PATH, help="What `judge-lab audit --json` printed.")
@add_json_option("Print JSON.")
def correct_command(
    run: Path, agreement: Path | None, audit: Path | None, *, as_json: bool
) -> None:
    """Correct the pass rates of RUN for the measured errors of its judge.

    The share of true passes that the judge passes and of true failures that it fails turn the
    measured rate into the true one (Rogan and Gladen 1978). Intervals carry the uncertainty of
    all three. Where an appellate judge reviewed verdicts, those of the first judge are corrected.
    """
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.features.judges.correction import correct_run, load_agreement, load_audit
    from recall_bench.features.judges.judge_tables import render_correction
    from recall_bench.features.judges.label_correction import read_judged_run

    if (agreement is None) == (audit is None):
        raise UsageError("give either --agreement or --audit, the file with the judge's errors")
    judged = read_judged_run(RunFolder.open(run))
    measured = (
        load_audit(audit, judged.judge)
        if audit is not None
        else load_agreement(cast("Path", agreement))
    )
    correction = correct_run(judged, measured)
    click.echo(format_json(correction) if as_json else render_correction(correction))


class _JudgeLab:
    """Resolves and runs a judge with the limits in the flags."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        from recall_bench.core.settings import Settings

        self._flags = flags
        self._settings = Settings(**select_given(dict(flags)))

    def resolve_judge(self, target: str) -> "Judge":
        """The judge of this name."""
        from recall_bench.judging.judges import resolve_judge

        settings = self._settings
        with forward_to_stderr():
            return resolve_judge(target, settings, base_url=settings.judge_base_url)

    def choose_window(self, *, usual: int) -> int:
        """The days before and after the evidence that the judge is shown."""
        window: int | None = self._flags["judge_memory_window"]
        return usual if window is None else window

    def run_judge(self, judge: "Judge", answers: int, ask: Callable[..., Awaitable[T]]) -> T:
        """Run the judge within the limits of the flags, with a progress bar at a terminal."""
        import anyio

        from recall_bench.judging.judge_calls import JUDGE_PARALLELISM, JudgeLimits

        with forward_to_stderr(), _show_progress(judge, answers) as on_progress:
            limits = JudgeLimits(
                parallelism=self._flags["parallelism"] or JUDGE_PARALLELISM,
                timeout_s=self._settings.judge_timeout_s,
                max_cost_usd=self._settings.max_cost_usd,
                on_progress=on_progress,
            )
            return anyio.run(partial(ask, limits=limits))


@contextlib.contextmanager
def _show_progress(judge: "Judge", answers: int) -> Iterator[Callable[[int], None]]:
    """A progress bar at a terminal, unless the judge only computes."""
    if judge.card.computes or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=answers, label=judge.card.name, file=sys.stderr) as bar:
        yield lambda judged: bar.update(judged - bar.pos)
