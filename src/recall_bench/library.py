"""The Python twin of the command line: every command as a function."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.folders import refuse_other_files
from recall_bench.core.plain_text import suggest
from recall_bench.core.plan import Calendar, parse_range
from recall_bench.core.profile import read_settings as read_settings  # noqa: PLC0414
from recall_bench.core.runtime import run_in_thread
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.core.user_code import require_libraries
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import RunResult, execute, execute_async, write_views
from recall_bench.engine.job import Job, Observer
from recall_bench.engine.rejudge_assembly import assemble_rejudge
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.output_paths import RESULT_FILES
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary, summarise
from recall_bench.stories.shipped import load_catalogue
from recall_bench.stories.story_folders import find_story, load_story

if TYPE_CHECKING:
    import pandas
    import polars

    from recall_bench.core.verdict import Verdict
    from recall_bench.engine.forecast import Forecast
    from recall_bench.features.archive.import_run import ImportResult
    from recall_bench.features.archive.merge import MergedRun
    from recall_bench.features.comparison.gate.gate_checks import GateReport
    from recall_bench.features.comparison.matrix_run import MatrixResult
    from recall_bench.features.datasets.evaluation import EvalResult
    from recall_bench.features.judges.rejudge_report import VerdictChanges
    from recall_bench.reporting.publication import PublishedReport
    from recall_bench.reporting.run_comparison import ComparisonReport
    from recall_bench.reporting.suites.figures import BehaviourReport
    from recall_bench.reporting.suites.suite_comparison import SuiteComparison


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finished(RunResult):
    """How a run ended; a notebook shows its headline and its heatmap."""

    def __repr__(self) -> str:
        from recall_bench.reporting.run_text import format_result

        try:
            words = format_result(self.folder, self.summary)
        except (BenchError, OSError):
            # The folder is gone: what was computed before is all that there is.
            return RunResult.__repr__(self)
        return f"<{type(self).__name__} {words} · {str(self.folder.path)!r}>"

    def _repr_html_(self) -> str:
        from recall_bench.reporting.heatmap.heatmap_data import build_run_heatmap
        from recall_bench.reporting.heatmap.heatmap_table import render_heatmap_table

        try:
            return render_heatmap_table(build_run_heatmap(self.folder, self.summary))
        except (BenchError, OSError):
            return escape(RunResult.__repr__(self))

    def to_pandas(self) -> "pandas.DataFrame":
        """Every trial as a row of a pandas data frame: question, answer, marks, time."""
        require_libraries("to_pandas", "pandas", "pandas")
        import pandas

        from recall_bench.reporting.trial_records import COLUMNS, list_trial_records

        kinds = {str: "string", int: "Int64", bool: "boolean", float: "Float64"}
        frame = pandas.DataFrame(list_trial_records(self.folder), columns=list(COLUMNS))
        return frame.astype({name: kinds[kind] for name, kind in COLUMNS.items()})

    def to_polars(self) -> "polars.DataFrame":
        """Every trial as a row of a polars data frame: question, answer, marks, time."""
        require_libraries("to_polars", "polars", "polars")
        import polars

        from recall_bench.reporting.trial_records import COLUMNS, list_trial_records

        records = list(list_trial_records(self.folder))
        return polars.DataFrame(records, schema=COLUMNS)


def _present(result: RunResult) -> Finished:
    return Finished(**{each.name: getattr(result, each.name) for each in fields(RunResult)})


def _make_path(value: str | PathLike[str], name: str) -> Path:
    """The path; UsageError if the value is none."""
    if not isinstance(value, str | PathLike) or not str(value):
        raise UsageError(f"{name}: expected a path, got {value!r}")
    return Path(value)


def read_result(path: str | Path) -> Finished:
    """The result of a run folder, finished or not, as `run` returned it."""
    folder = open_run(path)
    return Finished(folder=folder, summary=summarise(folder), warnings=())


def load_persona(
    folder: str | Path,
    *,
    arcs: str | None = None,
    calendar: Calendar = Calendar.METADATA,
    edition: int | None = None,
) -> Scenario:
    """As `load_story`, of a persona in a folder of its own, or of a shipped persona by name."""
    place = _make_path(folder, "folder")
    if place.is_dir():
        story = find_story(place, arcs)
        return story.load(Settings(calendar=calendar))
    shipped = tuple(load_catalogue())
    if str(folder) not in shipped:
        hint = suggest(str(folder), shipped, f"shipped personas: {', '.join(shipped)}")
        raise UsageError(f"{folder}: is neither a folder nor a shipped persona; {hint}")
    return load_story(str(folder), arcs, edition=edition, calendar=calendar)


def questions_in_range(scenario: Scenario, label: str | int) -> tuple[Item, ...]:
    """The questions whose answers hold at a checkpoint such as `90d`."""
    days = parse_range(label).days
    return tuple(item for item in scenario.items if item.is_open(days))


def run(
    settings: Settings | None = None,
    observe: Observer | None = None,
    **given: Any,  # noqa: ANN401 - the fields of Settings
) -> Finished:
    """Run a benchmark and write its files.

    Give `Settings`, or their fields by name: `run(adapter="bm25", ranges="30d")`. The adapter
    may also be your class or object. In a notebook, or wherever an event loop is running, the run
    has a thread of its own, which calls `observe`; this one waits. `arun` lets the loop go on.
    """
    return _present(execute(_assemble_job(settings, given), observe))


async def arun(
    settings: Settings | None = None,
    observe: Observer | None = None,
    **given: Any,  # noqa: ANN401 - the fields of Settings
) -> Finished:
    """The same as `run`, awaited: other tasks of the running event loop go on meanwhile.

    The run has a thread and a loop of its own, which also call `observe` and the adapter.
    Cancelling the task stops the run in good order; the same call continues it.
    """

    async def assemble_and_execute() -> RunResult:
        return await execute_async(_assemble_job(settings, given), observe)

    return _present(await run_in_thread(assemble_and_execute))


def _assemble_job(settings: Settings | None, given: dict[str, Any]) -> Job:
    wanted = _require_settings(settings)
    adapter = given.get("adapter", wanted.adapter)
    if isinstance(adapter, str):
        return assemble(apply_overrides(wanted, given))
    from recall_bench.systems.python.system import build_python_system

    system = build_python_system(adapter, given.get("config", wanted.config))
    return assemble(apply_overrides(wanted, given | {"adapter": system.card.name}), system)


def _require_settings(settings: Settings | None) -> Settings:
    if not isinstance(settings, Settings | None):
        raise UsageError(f"{settings!r} is not Settings; give settings by name: adapter='bm25'")
    return settings or Settings()


def evaluate(
    dataset: str,
    observe: Observer | None = None,
    **given: Any,  # noqa: ANN401 - the fields of Request and of Settings
) -> "EvalResult":
    """Measure a system on a public dataset, and write the report.

    Give the fields of `Request` and of `Settings` by name: `evaluate("locomo", adapter="bm25",
    skip_qa=True)`. The adapter may also be your class or object.
    """
    from recall_bench.features.datasets.eval_assembly import assemble_evaluation
    from recall_bench.features.datasets.evaluation import evaluate as carried_out
    from recall_bench.judging.eval_dataset import EvalMode, EvalRequest, open_dataset

    names = {each.name for each in fields(EvalRequest)} - {"dataset", "settings"}
    wanted = {name: given.pop(name) for name in list(given) if name in names}
    for name in ("answers_from", "reports"):
        if isinstance(wanted.get(name), str):
            wanted[name] = Path(wanted[name])
    for name in ("categories", "errata"):
        if isinstance(wanted.get(name), str):
            wanted[name] = (wanted[name],)
    if wanted.get("mode", EvalMode.RAW) not in list(EvalMode):
        raise UsageError(
            f"mode: {wanted['mode']!r} is not valid; choose one of {', '.join(EvalMode)}"
        )
    if "mode" in wanted:
        wanted["mode"] = EvalMode(wanted["mode"])
    adapter = given.get("adapter", "")
    system = None
    if not isinstance(adapter, str):
        from recall_bench.systems.python.system import build_python_system

        system = build_python_system(adapter, given.get("config", {}))
        given["adapter"] = system.card.name
    settings = apply_overrides(Settings(heatmap_png=False), given)
    request = EvalRequest(dataset=dataset, settings=settings, **wanted)
    return carried_out(assemble_evaluation(request, open_dataset(request), system), observe)


def rejudge(
    run_folder: str | Path,
    judge: str = "offline",
    observe: Observer | None = None,
    *,
    labels: str | Path | None = None,
    **given: Any,  # noqa: ANN401 - the fields of Settings that concern judging
) -> Finished:
    """Grade the answers of a run folder again, into a new one; the system is not asked.

    Give the judge settings by name: `rejudge("runs/a", judge="openai:gpt-5-mini", into="runs/b")`.
    `data` is the folder of the personas, unless they are shipped. Labels of people in `labels`, a
    file or a run folder, win over the judge.
    """
    place = _make_path(run_folder, "run_folder")
    people = None if labels is None else _make_path(labels, "labels")
    job = assemble_rejudge(place, {**given, "judge": judge}, labels=people)
    return _present(execute(job, observe))


def judge(  # noqa: PLR0917 - what a judge is told of an answer, as documented
    question: str,
    reference: str,
    answer: str,
    evidence: Sequence[str] = (),
    superseded: Sequence[str] = (),
    expects: str = "answer",
    *,
    judge: str = "offline",
) -> "Verdict":
    """Judge one answer without a run.

    `evidence` is the whole history, in order of time; `superseded` are values that no longer hold;
    `expects` is `answer`, `correct`, `abstain` or `withhold`. Raises JudgeFault if there is no
    verdict.
    """
    from recall_bench.judging.answer_rows import judge_answer

    return judge_answer(
        judge,
        question=question,
        reference=reference,
        answer=answer,
        evidence=evidence,
        stale=superseded,
        expects=expects,
    )


def export_run(run_folder: str | Path, to: str | Path | None = None) -> tuple[Path, ...]:
    """Write a run's result files again from its journal; their paths."""
    folder = open_run(run_folder)
    target = Path(to or run_folder)
    if not (target / JOURNAL).exists():
        refuse_other_files(target, RESULT_FILES)
    paths = {
        "result": target / "result.json",
        "progress": target / "progress.jsonl",
        "questions": target / "questions.jsonl",
        "failures": target / "failures.jsonl",
    }
    export_files(folder, **paths)
    return tuple(paths.values())


def export(
    *runs: str | Path,
    to: str,
    into: str | Path | None = None,
    url: str | None = None,
    project: str | None = None,
    score: str | None = None,
) -> tuple[Path, ...]:
    """Write runs in a format of other tools: `export("runs/a", "runs/b", to="parquet")`.

    The formats are those of the command; the paths of the files are returned, none if they were
    sent to `url`. `score` names a figure of a dataset's protocol.
    """
    from recall_bench.features.archive.exports.export_formats import (
        ExportFormat,
        ExportTarget,
        export_runs,
    )
    from recall_bench.features.archive.exports.trackers import PROJECT

    if to not in list(ExportFormat):
        hint = suggest(to, list(ExportFormat), f"there are {', '.join(ExportFormat)}")
        raise UsageError(f"to: no format is called {to!r}; {hint}")
    if to == ExportFormat.FILES:
        return tuple(path for run in runs for path in export_run(run, into))
    folders = [open_run(run) for run in runs]
    if not folders:
        raise UsageError("name at least one run to export")
    place = folders[0].path / "export" if into is None else _make_path(into, "into")
    target = ExportTarget(place, url, project or PROJECT)
    return export_runs(folders, ExportFormat(to), target, score=score)


def draw_heatmap(source: str | Path, output: str | Path) -> None:
    """The heatmap of a run folder, a result.json or a progress.jsonl, as .png or .svg."""
    from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
    from recall_bench.reporting.heatmap.heatmap_picture import draw_picture

    draw_picture(load_heatmap(Path(source)), Path(output))


def text_report(folder: RunFolder, summary: Summary | None = None) -> str:
    """What `run` prints: facts, scores by checkpoint, and the heatmap as text."""
    from recall_bench.reporting.run_text import render_run

    return render_run(folder, summary or summarise(folder))


def heatmap_json(summary: Summary) -> str:
    """The heatmap as categories, ranges, scores and counts."""
    from recall_bench.engine.runs.summary import heatmap_grid

    return json.dumps(heatmap_grid(summary))


def result_json(folder: RunFolder) -> Iterator[str]:
    """The content of result.json in pieces, because it may be large."""
    with TemporaryFolder("result") as scratch:
        path = Path(scratch, "result.json")
        export_files(folder, result=path)
        with path.open(encoding="utf-8") as file:
            while piece := file.read(1 << 20):
                yield piece


def verdict_changes(before: RunFolder, after: RunFolder) -> "VerdictChanges":
    """The differences between two runs with the same answers and other judges, by category."""
    from recall_bench.features.judges.rejudge_report import compare_verdicts

    return compare_verdicts(before, after)


def report(
    run_folder: str | Path,
    *,
    into: str | Path | None = None,
    beside: Sequence[str | Path] = (),
    canaries: str | Path | None = None,
    data: str | Path | None = None,
    pictures: bool = False,
    score: str | None = None,
) -> "PublishedReport":
    """Write the page and the figures of a run; all figures, and the files, are returned.

    `beside` are runs to compare with, `canaries` is a file of canaries, and `data` is the folder of
    the personas, unless they are shipped. `score` names a figure of a dataset's protocol to go by.
    """
    from recall_bench.reporting.publication import publish_report

    return publish_report(
        RunFolder.open(Path(run_folder)),
        into=None if into is None else Path(into),
        beside=[Path(each) for each in beside],
        canaries=None if canaries is None else Path(canaries),
        data=None if data is None else Path(data),
        pictures=pictures,
        score=score,
    )


def compare(
    baseline: str | Path,
    *others: str | Path,
    intersect: bool = False,
    score: str | None = None,
    judge: str | None = None,
) -> "ComparisonReport":
    """Compare the other runs with the first: differences, intervals, p-values.

    UsageError if they are not comparable, unless `intersect` allows common trials only. `score`
    names a figure of a dataset's protocol to compare by, `judge` one of several judges of the runs.
    """
    from recall_bench.engine.runs.judge_sensitivity import find_judge_view
    from recall_bench.reporting.run_comparison import compare_runs

    folders = [find_judge_view(open_run(path), judge) for path in (baseline, *others)]
    return compare_runs(folders, intersect=intersect, score=score)


def compare_suites(
    baseline: str | Path, *others: str | Path, intersect: bool = False
) -> "SuiteComparison":
    """Compare runs of one behaviour suite with the first, figure by figure, paired by fact.

    UsageError if they are not comparable; `intersect` allows runs that are not finished.
    """
    from recall_bench.reporting.suites.suite_comparison import compare_suites as compare_figures

    return compare_figures([open_run(path) for path in (baseline, *others)], intersect=intersect)


def gate(
    run_folder: str | Path,
    baseline: str | Path | None = None,
    **rules: Any,  # noqa: ANN401 - the fields of Rules
) -> "GateReport":
    """Pass or fail a run: `gate("runs/now", "runs/main", margin=2, max_leaks=0)`.

    The rules are those of the command, by name.
    """
    from recall_bench.features.comparison.gate.gate_rules import merge_rules
    from recall_bench.features.comparison.gate.run_gate import check_run

    wanted = merge_rules(rules)
    against = None if baseline is None else open_run(baseline)
    return check_run(open_run(run_folder), against, wanted)


def import_run(
    *sources: str | Path, into: str | Path | None = None, as_graded: bool = False
) -> "ImportResult":
    """Make a run folder of the public harness's files; says what was repaired in them."""
    from recall_bench.features.archive.import_run import import_run

    return import_run(
        tuple(Path(source) for source in sources),
        None if into is None else Path(into),
        as_graded=as_graded,
    )


def estimate(
    settings: Settings | None = None,
    *,
    earlier: Sequence[str | Path] = (),
    **given: Any,  # noqa: ANN401 - the fields of Settings
) -> "Forecast":
    """What a run would do and cost; nothing is ingested, asked or written.

    `earlier` are run folders to take measured times and prices from.
    """
    from recall_bench.engine.forecast import dry_plan
    from recall_bench.engine.forecast import estimate_run as estimated

    with dry_plan(apply_overrides(_require_settings(settings), given)) as job:
        return estimated(job, earlier=[Path(each) for each in earlier])


def run_matrix(
    file: str | Path,
    *,
    only: Sequence[str] = (),
    **flags: Any,  # noqa: ANN401 - the flags of the command, as settings
) -> "MatrixResult":
    """Run every cell of a matrix file, and report on all of them."""
    from time import monotonic

    from recall_bench.features.comparison.matrix_progress import MatrixBoard
    from recall_bench.features.comparison.matrix_run import open_matrix, run_matrix

    found, cells = open_matrix(Path(file), flags)
    return run_matrix(
        found,
        cells,
        only=only,
        watcher=lambda wanted, _: MatrixBoard([cell.label for cell in wanted], monotonic),
    )


def run_suite(
    suite: str,
    observe: Observer | None = None,
    *,
    stories: int | None = None,
    only: Sequence[str] = (),
    patience_s: float = 5.0,
    load_s: float = 5.0,
    is_owned: bool = False,
    **given: Any,  # noqa: ANN401 - the fields of Settings
) -> "BehaviourReport":
    """Run a behaviour suite and return its figures: `run_suite("erasure", adapter="bm25")`.

    The adapter may also be your class or object. `stories` is the number of each kind, `only` names
    kinds, and `is_owned` says that a server elsewhere is yours to put under load. The same call
    continues a run that was interrupted.
    """
    from recall_bench.features.suites.behaviour_assembly import BehaviourRequest, assemble_behaviour
    from recall_bench.reporting.suites.suite_report import (
        build_behaviour_report,
        write_behaviour_report,
    )
    from recall_bench.systems.python.system import build_python_system

    adapter, own = given.get("adapter", Settings().adapter), None
    if not isinstance(adapter, str):
        own = build_python_system(adapter, given.get("config", {}))
        given |= {"adapter": own.card.name}
    request = BehaviourRequest(
        suite=suite,
        settings=apply_overrides(Settings(), given),
        stories=stories,
        only=tuple(only),
        patience_s=patience_s,
        load_s=load_s,
        is_owned=is_owned,
    )
    done = execute(assemble_behaviour(request, own), observe)
    if done.stopped_by is not None:
        raise done.stopped_by
    report = build_behaviour_report(done.folder)
    write_behaviour_report(report, done.folder.path)
    return report


def merge(*folders: str | Path, into: str | Path) -> "MergedRun":
    """Merge the shards of one run into a new folder, and write the run's files there."""
    from recall_bench.features.archive.merge import merge_runs

    done = merge_runs([Path(each) for each in folders], Path(into))
    write_views(Settings(into=Path(into)), done.finished.folder, done.finished.summary)
    return done


def wait_for_batches(say: Callable[[str], None] = lambda _: None) -> bool:
    """Send the batches that calls of this process wait for, and wait until they have ended.

    True if there were any: then the same call as before goes on. `say` receives sentences.
    """
    from recall_bench.features.models.batch_delivery import deliver_batches

    return deliver_batches(say, say)


def open_run(path: str | Path) -> RunFolder:
    """Open a run folder, finished or not."""
    return RunFolder.open(_make_path(path, "path"))
