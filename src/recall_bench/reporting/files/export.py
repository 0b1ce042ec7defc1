"""The four public files of a run: result, progress, questions and failures.

They are views: written whole from the journal, in the order of the schedule, in one pass
over its answers, and never held in memory. Apart from times, two runs with the same outcomes
give the same bytes.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from recall_bench.core.standing import State
from recall_bench.errors import UsageError
from recall_bench.journal import JOURNAL
from recall_bench.replacement import Replacement
from recall_bench.reporting.files.layout import compact, lay_out, row
from recall_bench.reporting.files.records import (
    Fields,
    boundary_counts,
    category_score,
    cells,
    checkpoint_record,
    closing,
    difficulty_scores,
    disclosure_breakdown,
    header,
    metadata,
    range_result,
    ranges,
)
from recall_bench.reporting.files.rows import LogRow, TrialRows, described, logged, milliseconds
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import PersonaSummary, Summary, summarise

SHORT = 12
"""Hexadecimal digits of a digest that are enough to tell runs apart."""

_Encoded = dict[str, msgspec.Raw]


def export(
    folder: RunFolder,
    *,
    result: Path | None = None,
    progress: Path | None = None,
    questions: Path | None = None,
    failures: Path | None = None,
) -> None:
    """Write the files named, all of them or none; UsageError names the one that cannot be."""
    wanted = [path for path in (result, progress, questions, failures) if path is not None]
    taken = {(folder.path / JOURNAL).resolve()}
    for path in wanted:
        if path.resolve() in taken:
            raise UsageError(f"{path}: holds something else of this run; name another file")
        taken.add(path.resolve())
    with ExitStack() as stack:
        files = {path: stack.enter_context(Replacement(path)) for path in wanted}
        _Export(
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


class _Export:
    def __init__(
        self,
        folder: RunFolder,
        *,
        result: Replacement | None,
        progress: Replacement | None,
        questions: Replacement | None,
        failures: Replacement | None,
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
            for record in self._records():
                self._progress.write(compact(record) + b"\n")
        if self._result is not None:
            lay_out(self._document(), self._result.write)
            self._result.write(b"\n")
        elif self._questions is not None or self._failures is not None:
            for persona in self._summary.personas:
                for number in range(len(persona.checkpoints)):
                    for _ in self._question_results(persona.id, number):
                        pass

    def _records(self) -> Iterator[Fields]:
        folder, summary = self._folder, self._summary
        yield header(folder)
        for persona in summary.personas:
            for number, part in enumerate(persona.checkpoints, start=1):
                if part.is_done:
                    heard = folder.heard(persona.id, number - 1)
                    yield checkpoint_record(persona, number, summary.categories, at=heard)
        if folder.finished:
            yield closing(folder, summary)

    def _document(self) -> Fields:
        # Not at the top: a progress file is written again and again, and needs no numpy.
        from recall_bench.reporting.estimates import Estimates
        from recall_bench.reporting.files.intervals import estimates

        folder, summary = self._folder, self._summary
        means = Estimates(folder)
        return {
            "timestamp": folder.started,
            "adapterName": folder.plan.system.name,
            "ranges": (row(span) for span in ranges(folder.plan)),
            "personas": (
                self._persona(persona) | estimates(means, persona.id)
                for persona in summary.personas
            ),
            "heatmap": cells(summary.checkpoints, summary.categories),
            "metadata": metadata(folder, summary),
            **disclosure_breakdown(summary.disclosures),
            **boundary_counts(summary.boundary),
            **estimates(means),
        }

    def _persona(self, persona: PersonaSummary) -> Fields:
        clocks = [part.clock for part in persona.checkpoints]
        return {
            "personaId": persona.id,
            "adapterName": self._folder.plan.system.name,
            "rangeResults": (
                self._range_result(persona, number) for number in range(len(persona.checkpoints))
            ),
            "heatmap": cells(persona.checkpoints, self._summary.categories),
            "totalIngestionMs": milliseconds(sum(c.ingest_s + c.settle_s for c in clocks)),
            "totalQueryMs": milliseconds(sum(c.query_s for c in clocks)),
            "uniqueQAPairCount": persona.questions,
            "totalEvalsRun": persona.overall.counted,
            "totalEvalsOwed": persona.overall.owed,
            **disclosure_breakdown(persona.disclosures),
            **boundary_counts(persona.boundary),
        }

    def _range_result(self, persona: PersonaSummary, number: int) -> Fields:
        part = persona.checkpoints[number]
        points = self._points(persona.id, number)
        return {
            **range_result(part),
            "categoryScores": (
                row(category_score(name, part.category(name), points.get(name, [])))
                for name in self._summary.categories
            ),
            "difficultyScores": row(difficulty_scores(part)),
            "questionResults": self._question_results(persona.id, number),
        }

    def _points(self, scenario: str, number: int) -> dict[str, list[int]]:
        standing = self._folder.standings.scenarios[scenario]
        points: dict[str, list[int]] = {}
        for repeat, item in standing.owed(number):
            stands = standing.standing(number, repeat, item)
            if stands.state in (State.JUDGED, State.NOT_ANSWERED):
                category = standing.items[item].truth.category
                points.setdefault(category, []).append(stands.composite)
        return points

    def _question_results(self, scenario: str, number: int) -> Iterator[msgspec.Raw]:
        full, short = self._questions_of(scenario)
        window = self._folder.plan.judge_memory_window
        for result in self._folder.results_at(scenario, number):
            rows = TrialRows(result)
            if self._questions is not None or self._failures is not None:
                sees_memory = window > 0 and bool(result.item.truth.evidence)
                line = rows.in_questions(
                    short[result.item.id], plan=self._plan, sees_memory=sees_memory
                )
                self._log(rows, line)
            if self._result is not None:
                yield row(rows.in_result(full[result.item.id]))

    def _questions_of(self, scenario: str) -> tuple[_Encoded, _Encoded]:
        """The scenario's questions as both files spell them; they recur at every checkpoint."""
        if self._encoded is None or self._encoded[0] != scenario:
            items = self._folder.standings.scenarios[scenario].items
            full = {item.id: row(described(item)) for item in items}
            short = {item.id: row(logged(item)) for item in items}
            self._encoded = scenario, full, short
        return self._encoded[1:]

    def _log(self, rows: TrialRows, line: LogRow | None) -> None:
        if line is not None and self._questions is not None:
            self._questions.write(compact(line) + b"\n")
        if line is not None and self._failures is not None and rows.is_failure:
            self._failures.write(compact(rows.in_failures(line)) + b"\n")
