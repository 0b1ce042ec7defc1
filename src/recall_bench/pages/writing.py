"""One report, one file."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from recall_bench.analysis.attribution.views import Leaf
from recall_bench.analysis.attribution.words import MEANINGS, TITLES
from recall_bench.analysis.report.views import Report
from recall_bench.analysis.trials import Table
from recall_bench.charts import Chart, charts_of
from recall_bench.core.plan import Trial
from recall_bench.core.verdict import FULL_MARKS, SCALES
from recall_bench.pages.body import body_of
from recall_bench.pages.charting import charting_script
from recall_bench.pages.columns import LEAVES, NONE, Questions, questions_of, trial_columns
from recall_bench.pages.details import PersonaDetails, Text, persona_details
from recall_bench.pages.document import document
from recall_bench.pages.drawings import configurations, drawing
from recall_bench.pages.heatmaps import heatmap_record
from recall_bench.pages.markup import Markup, joined
from recall_bench.pages.packing import Block, block, chunks
from recall_bench.replacement import Replacement
from recall_bench.reporting.folder import RunFolder
from recall_bench.statistics.estimate import FEW_QUESTIONS


def write_page(
    output: Path,
    report: Report,
    *,
    folder: RunFolder,
    table: Table,
    leaves: Mapping[Trial, Leaf],
    stories: Mapping[str, Mapping[int, str]],
) -> None:
    """Write the report as one HTML file, which replaces what was there whole or not at all.

    `stories` are the texts of days by persona; without them the page says how to give them.
    """
    charts = charts_of(report)
    questions = questions_of(table, report.categories)
    charting = charting_script()
    blocks = _Blocks(folder, table, questions, stories)
    with ThreadPoolExecutor() as packers:
        # Texts are gathered here while those gathered before are packed.
        rest = [*packers.map(Block.packed, blocks.written())]
    rest.append(Block("charting", charting.encode()).packed())
    pieces = document(
        f"{report.header.system} · Recall Bench",
        body_of(report, charts, has_days=any(stories.values())),
        first=blocks.first(_page(report, charts, table, questions), leaves),
        rest=rest,
        charting=charting,
    )
    with Replacement(output) as file:
        for piece in pieces:
            file.write(piece.encode())
        file.commit()


@dataclass(slots=True)
class _Blocks:
    """The data of the page, written persona by persona."""

    folder: RunFolder
    table: Table
    questions: Questions
    stories: Mapping[str, Mapping[int, str]]
    answers: list[int] = field(default_factory=list)
    answer_blocks: list[int] = field(default_factory=list)
    """The first answer of each block."""
    answer_count: int = 0
    text_blocks: list[list[int]] = field(default_factory=list)
    """For each persona, the first text of each block."""
    detail_blocks: int = 0
    block_of: list[int] = field(default_factory=list)
    """Where the details of each question are."""

    def written(self) -> Iterator[Block]:
        """All texts, persona by persona; where they are is known when the last is written."""
        self.answers = [NONE] * len(self.table.rows)
        self.block_of = [NONE] * len(self.questions.items)
        rows = {row.trial: number for number, row in enumerate(self.table.rows)}
        for place, persona in enumerate(self.questions.personas):
            yield from self._persona(place, persona, rows)

    def first(self, page: dict[str, object], leaves: Mapping[Trial, Leaf]) -> Markup:
        """What the page starts with, which says where all else is."""
        counted = {
            "answers": self.answer_count,
            "answerBlocks": self.answer_blocks,
            "textBlocks": self.text_blocks,
        }
        trials = trial_columns(self.table, self.questions, leaves, self.answers)
        return joined(
            block("page", {**page, **counted}).packed(),
            block("questions", self.questions.columns(self.block_of)).packed(),
            block("trials", trials).packed(),
        )

    def _persona(self, place: int, persona: str, rows: Mapping[Trial, int]) -> Iterator[Block]:
        places = {
            item: number
            for (scenario, item), number in self.questions.places.items()
            if scenario == persona
        }
        story = self.stories.get(persona, {})
        found = persona_details(self.folder, persona, story, places=places, rows=rows)
        for number, answer in found.answer_of.items():
            self.answers[number] = self.answer_count + answer
        yield from self._answers(found.answers)
        yield from self._texts(place, found.texts)
        yield from self._details(found)

    def _answers(self, answers: list[str]) -> Iterator[Block]:
        for part in chunks([len(answer) for answer in answers]):
            yield block(f"answers-{len(self.answer_blocks)}", answers[part])
            self.answer_blocks.append(self.answer_count + part.start)
        self.answer_count += len(answers)

    def _texts(self, place: int, texts: list[Text]) -> Iterator[Block]:
        starts: list[int] = []
        self.text_blocks.append(starts)
        for part in chunks([len(each.text) for each in texts]):
            told = {
                "text": [each.text for each in texts[part]],
                "day": [each.day for each in texts[part]],
                "source": [each.source for each in texts[part]],
            }
            yield block(f"texts-{place}-{len(starts)}", told)
            starts.append(part.start)

    def _details(self, found: PersonaDetails) -> Iterator[Block]:
        entries = {
            place: b'"%d":%s' % (place, msgspec.json.encode(told))
            for place, told in found.questions.items()
        }
        places = list(entries)
        for part in chunks([len(entry) for entry in entries.values()]):
            for place in places[part]:
                self.block_of[place] = self.detail_blocks
            entry = b"{%s}" % b",".join(entries[place] for place in places[part])
            yield Block(f"details-{self.detail_blocks}", entry)
            self.detail_blocks += 1


def _page(
    report: Report, charts: tuple[Chart, ...], table: Table, questions: Questions
) -> dict[str, object]:
    """All but the trials."""
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
        "leaves": [[leaf.value, TITLES[leaf], MEANINGS[leaf]] for leaf in LEAVES],
        "heatmaps": [heatmap_record(each) for each in report.heatmaps],
        "charts": {chart.name: drawing(chart) for chart in charts},
        "configs": configurations(),
    }
