"""A report as one HTML file that opens from disk and loads nothing."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.plan import Trial
from recall_bench.core.verdict import FULL_MARKS, SCALES
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.analyses.attribution import LEAF_MEANINGS, LEAF_TITLES, FailureLeaf
from recall_bench.reporting.charts.gallery import build_charts
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.pages.document import load_vega_script, render_document
from recall_bench.reporting.pages.markup import (
    Markup,
    PageBlock,
    encode_block,
    join_markup,
    split_chunks,
)
from recall_bench.reporting.pages.page_body import build_configs, render_body, strip_title
from recall_bench.reporting.pages.page_data import (
    LEAF_ORDER,
    NO_PLACE,
    PageQuestions,
    PersonaDetails,
    SourceText,
    build_trial_columns,
    collect_details,
    collect_questions,
    encode_heatmap,
)
from recall_bench.reporting.run_report import RunReport
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.trials import TrialTable


def write_page(
    output: Path,
    report: RunReport,
    *,
    folder: RunFolder,
    table: TrialTable,
    leaves: Mapping[Trial, FailureLeaf],
    stories: Mapping[str, Mapping[int, str]],
) -> None:
    """Write the report as one HTML file, atomically.

    `stories` are the texts of days by persona; without them the page says how to supply them.
    """
    charts = build_charts(report)
    questions = collect_questions(table, report.categories)
    charting = load_vega_script()
    blocks = _PageBlocks(folder, table, questions, stories)
    with ThreadPoolExecutor() as packers:
        # Blocks are compressed in threads while the next are collected.
        rest = [*packers.map(PageBlock.render, blocks.write_texts())]
    rest.append(PageBlock("charting", charting.encode()).render())
    pieces = render_document(
        f"{report.header.system} · Recall Bench",
        render_body(report, charts, has_days=any(stories.values())),
        first=blocks.write_index(_describe_page(report, charts, table, questions), leaves),
        rest=rest,
        charting=charting,
    )
    with AtomicFile(output) as file:
        for piece in pieces:
            file.write(piece.encode())
        file.commit()


@dataclass(slots=True)
class _PageBlocks:
    """The data blocks of the page, persona by persona."""

    folder: RunFolder
    table: TrialTable
    questions: PageQuestions
    stories: Mapping[str, Mapping[int, str]]
    answers: list[int] = field(default_factory=list)
    answer_blocks: list[int] = field(default_factory=list)
    """The first answer of each block."""
    answer_count: int = 0
    text_blocks: list[list[int]] = field(default_factory=list)
    """For each persona, the first text of each block."""
    detail_blocks: int = 0
    block_of: list[int] = field(default_factory=list)
    """The block of the details of each question."""

    def write_texts(self) -> Iterator[PageBlock]:
        """All texts; their positions are known after the last block."""
        self.answers = [NO_PLACE] * len(self.table.rows)
        self.block_of = [NO_PLACE] * len(self.questions.items)
        rows = {row.trial: number for number, row in enumerate(self.table.rows)}
        for place, persona in enumerate(self.questions.personas):
            yield from self._write_persona(place, persona, rows)

    def write_index(self, page: dict[str, object], leaves: Mapping[Trial, FailureLeaf]) -> Markup:
        """The first blocks, with the positions of all others."""
        counted = {
            "answers": self.answer_count,
            "answerBlocks": self.answer_blocks,
            "textBlocks": self.text_blocks,
        }
        trials = build_trial_columns(self.table, self.questions, leaves, self.answers)
        return join_markup(
            encode_block("page", {**page, **counted}).render(),
            encode_block("questions", self.questions.build_columns(self.block_of)).render(),
            encode_block("trials", trials).render(),
        )

    def _write_persona(
        self, place: int, persona: str, rows: Mapping[Trial, int]
    ) -> Iterator[PageBlock]:
        places = {
            item: number
            for (scenario, item), number in self.questions.places.items()
            if scenario == persona
        }
        story = self.stories.get(persona, {})
        found = collect_details(self.folder, persona, story, places=places, rows=rows)
        for number, answer in found.answer_of.items():
            self.answers[number] = self.answer_count + answer
        yield from self._write_answers(found.answers)
        yield from self._write_texts(place, found.texts)
        yield from self._write_details(found)

    def _write_answers(self, answers: list[str]) -> Iterator[PageBlock]:
        for part in split_chunks([len(answer) for answer in answers]):
            yield encode_block(f"answers-{len(self.answer_blocks)}", answers[part])
            self.answer_blocks.append(self.answer_count + part.start)
        self.answer_count += len(answers)

    def _write_texts(self, place: int, texts: list[SourceText]) -> Iterator[PageBlock]:
        starts: list[int] = []
        self.text_blocks.append(starts)
        for part in split_chunks([len(each.text) for each in texts]):
            columns = {
                "text": [each.text for each in texts[part]],
                "day": [each.day for each in texts[part]],
                "source": [each.source for each in texts[part]],
            }
            yield encode_block(f"texts-{place}-{len(starts)}", columns)
            starts.append(part.start)

    def _write_details(self, found: PersonaDetails) -> Iterator[PageBlock]:
        entries = {
            place: b'"%d":%s' % (place, msgspec.json.encode(details))
            for place, details in found.questions.items()
        }
        places = list(entries)
        for part in split_chunks([len(entry) for entry in entries.values()]):
            for place in places[part]:
                self.block_of[place] = self.detail_blocks
            entry = b"{%s}" % b",".join(entries[place] for place in places[part])
            yield PageBlock(f"details-{self.detail_blocks}", entry)
            self.detail_blocks += 1


def _describe_page(
    report: RunReport, charts: tuple[Chart, ...], table: TrialTable, questions: PageQuestions
) -> dict[str, object]:
    """The data of the page without trials."""
    checkpoints = table.plan.checkpoints
    return {
        "system": report.header.system,
        "best": FULL_MARKS,
        "few": FEW_QUESTIONS,
        "scales": SCALES,
        "repeats": table.plan.repeats,
        "personas": questions.personas,
        "categories": questions.categories,
        "checkpoints": [[each.label, each.days] for each in checkpoints],
        "leaves": [[leaf.value, LEAF_TITLES[leaf], LEAF_MEANINGS[leaf]] for leaf in LEAF_ORDER],
        "heatmaps": [encode_heatmap(each) for each in report.heatmaps],
        "charts": {chart.name: strip_title(chart) for chart in charts},
        "configs": build_configs(),
    }
