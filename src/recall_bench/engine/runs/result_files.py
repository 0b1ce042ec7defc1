"""Write the four public files of a run: result, progress, questions and failures.

They are views: written completely from the journal, in the order of the schedule, in one pass over
its answers, and never held in memory. Apart from times, two runs with the same outcomes give the
same bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import UsageError
from recall_bench.core.event import TrialResult
from recall_bench.core.trial_states import TrialState
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.leak_counts import read_boundary
from recall_bench.engine.runs.result_records import (
    Fields,
    build_boundary,
    build_category_score,
    build_checkpoint,
    build_closing,
    build_difficulty_scores,
    build_disclosures,
    build_feed_failure,
    build_header,
    build_metadata,
    build_range_result,
    list_cells,
    list_ranges,
)
from recall_bench.engine.runs.result_rows import (
    TrialRows,
    WrittenLogRow,
    convert_to_ms,
    encode_compact,
    encode_row,
    make_log_question,
    make_result_question,
    write_document,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import PersonaSummary, Summary, summarise

SHORT = 12
"""The hexadecimal digits of a digest that distinguish runs."""

_Encoded = dict[str, msgspec.Raw]


def export_files(
    folder: RunFolder,
    *,
    result: Path | None = None,
    progress: Path | None = None,
    questions: Path | None = None,
    failures: Path | None = None,
) -> None:
    """Write the named files, all or none; UsageError names the one that cannot be written."""
    wanted = [path for path in (result, progress, questions, failures) if path is not None]
    taken = {(folder.path / JOURNAL).resolve()}
    for path in wanted:
        if path.resolve() in taken:
            raise UsageError(f"{path}: holds something else of this run; name another file")
        taken.add(path.resolve())
    with ExitStack() as stack:
        files = {path: stack.enter_context(AtomicFile(path)) for path in wanted}
        _ResultWriter(
            folder,
            result=None if result is None else files[result],
            progress=None if progress is None else files[progress],
            questions=None if questions is None else files[questions],
            failures=None if failures is None else files[failures],
        ).write()
        for file in files.values():
            file.flush()
        for file in files.values():
            file.commit()


class _ResultWriter:
    def __init__(
        self,
        folder: RunFolder,
        *,
        result: AtomicFile | None,
        progress: AtomicFile | None,
        questions: AtomicFile | None,
        failures: AtomicFile | None,
    ) -> None:
        self._folder = folder
        self._summary: Summary = summarise(folder)
        self._result = result
        self._progress = progress
        self._questions = questions
        self._failures = failures
        self._plan = folder.plan.digest[:SHORT]
        self._encoded: tuple[str, _Encoded, _Encoded] | None = None

    def write(self) -> None:
        if self._progress is not None:
            for record in self._build_records():
                self._progress.write(encode_compact(record) + b"\n")
        if self._result is not None:
            write_document(self._build_document(), self._result.write)
            self._result.write(b"\n")
        elif self._questions is not None or self._failures is not None:
            for persona in self._summary.personas:
                for number in range(len(persona.checkpoints)):
                    for _ in self._build_question_results(persona.id, number):
                        pass
        if self._failures is not None:
            for persona in self._summary.personas:
                self._write_feed_failures(self._failures, persona)

    def _write_feed_failures(self, file: AtomicFile, persona: PersonaSummary) -> None:
        """Write why questions could not be asked; they have no line of their own."""
        parts = {part.checkpoint.label: part for part in persona.checkpoints}
        for failure in persona.feed_failures:
            line: Fields = {
                "timestamp": failure.at,
                "plan": self._plan,
                **build_feed_failure(failure),
                "unasked": parts[failure.checkpoint].overall.open,
            }
            file.write(encode_compact(line) + b"\n")

    def _build_records(self) -> Iterator[Fields]:
        folder, summary = self._folder, self._summary
        yield build_header(folder)
        for persona in summary.personas:
            for number, part in enumerate(persona.checkpoints, start=1):
                if part.is_done:
                    last = folder.get_last_time(persona.id, number - 1)
                    yield build_checkpoint(persona, number, summary.categories, at=last)
        if folder.is_finished:
            yield build_closing(folder, summary)

    def _build_document(self) -> Fields:
        # Lazy: a progress file is written repeatedly, and needs no numpy.
        from recall_bench.engine.runs.estimates import RunEstimates, build_estimates

        folder, summary = self._folder, self._summary
        means = RunEstimates.get(folder)
        return {
            "timestamp": folder.started,
            "adapterName": folder.plan.system.name,
            "ranges": (encode_row(span) for span in list_ranges(folder.plan)),
            "personas": (
                self._build_persona(persona) | build_estimates(means, persona.id)
                for persona in summary.personas
            ),
            "heatmap": list_cells(summary.checkpoints, summary.categories),
            "metadata": build_metadata(folder, summary),
            **build_disclosures(summary.disclosures),
            **build_boundary(summary.boundary),
            **build_estimates(means),
            **_build_judges(folder),
        }

    def _build_persona(self, persona: PersonaSummary) -> Fields:
        clocks = [part.clock for part in persona.checkpoints]
        return {
            "personaId": persona.id,
            "adapterName": self._folder.plan.system.name,
            "rangeResults": (
                self._build_range_result(persona, number)
                for number in range(len(persona.checkpoints))
            ),
            "heatmap": list_cells(persona.checkpoints, self._summary.categories),
            "totalIngestionMs": convert_to_ms(sum(c.feeding_s for c in clocks)),
            "totalQueryMs": convert_to_ms(sum(c.query_s for c in clocks)),
            "uniqueQAPairCount": persona.questions,
            "totalEvalsRun": persona.overall.counted,
            "totalEvalsOwed": persona.overall.owed,
            **build_disclosures(persona.disclosures),
            **build_boundary(persona.boundary),
        }

    def _build_range_result(self, persona: PersonaSummary, number: int) -> Fields:
        part = persona.checkpoints[number]
        points = self._collect_points(persona.id, number)
        return {
            **build_range_result(part),
            "categoryScores": (
                encode_row(build_category_score(name, part.get_tally(name), points.get(name, [])))
                for name in self._summary.categories
            ),
            "difficultyScores": encode_row(build_difficulty_scores(part)),
            "questionResults": self._build_question_results(persona.id, number),
        }

    def _collect_points(self, scenario: str, number: int) -> dict[str, list[int]]:
        states = self._folder.states.scenarios[scenario]
        points: dict[str, list[int]] = {}
        for repeat, item in states.list_owed_trials(number):
            status = states.get_status(number, repeat, item)
            if status.state in (TrialState.JUDGED, TrialState.NOT_ANSWERED):
                category = states.items[item].truth.category
                points.setdefault(category, []).append(status.composite)
        return points

    def _build_question_results(self, scenario: str, number: int) -> Iterator[msgspec.Raw]:
        full, short = self._encode_questions(scenario)
        has_log = self._questions is not None or self._failures is not None
        make_log_row = self._prepare_log_rows(scenario) if has_log else None
        for result in self._folder.read_checkpoint_results(scenario, number):
            rows, item = TrialRows(result), result.item.id
            if make_log_row is not None:
                self._write_log(rows, make_log_row(rows, result, short[item]))
            if self._result is not None:
                yield encode_row(rows.make_result_row(full[item]))

    def _prepare_log_rows(
        self, scenario: str
    ) -> Callable[[TrialRows, TrialResult, msgspec.Raw], WrittenLogRow | None]:
        """Return what makes the rows of a scenario, with what they share computed once."""
        plan, states = self._folder.plan, self._folder.states.scenarios[scenario]
        boundary = read_boundary(self._folder, scenario)
        has_window, judges = plan.judge_memory_window > 0, plan.judge_names[1:]

        def make_log_row(
            rows: TrialRows, result: TrialResult, question: msgspec.Raw
        ) -> WrittenLogRow | None:
            return rows.make_log_row(
                question,
                plan=self._plan,
                sees_memory=has_window and bool(result.item.truth.evidence),
                bounds=states.bounds,
                leaked=boundary.check_leak(states.find_slot(result.trial)),
                other_judges=judges,
            )

        return make_log_row

    def _encode_questions(self, scenario: str) -> tuple[_Encoded, _Encoded]:
        """Encode the scenario's questions for both files once; they recur at every checkpoint."""
        if self._encoded is None or self._encoded[0] != scenario:
            items = self._folder.states.scenarios[scenario].items
            full = {item.id: encode_row(make_result_question(item)) for item in items}
            short = {item.id: encode_row(make_log_question(item)) for item in items}
            self._encoded = scenario, full, short
        return self._encoded[1:]

    def _write_log(self, rows: TrialRows, line: WrittenLogRow | None) -> None:
        if line is not None and self._questions is not None:
            self._questions.write(encode_compact(line) + b"\n")
        if line is not None and self._failures is not None and rows.is_failure:
            self._failures.write(encode_compact(rows.make_failure_row(line)) + b"\n")


def _build_judges(folder: RunFolder) -> Fields:
    if not folder.plan.other_judges:
        return {}
    from recall_bench.engine.runs.judge_sensitivity import build_judges

    return build_judges(folder)
