"""Questions, trials and their texts as packed blocks, which a page reads when it needs them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from recall_bench.core.plan import Trial
from recall_bench.core.verdict import FULL_MARKS, SCALES
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.reporting.analyses.attribution import LEAF_MEANINGS, LEAF_TITLES, FailureLeaf
from recall_bench.reporting.formats import format_card
from recall_bench.reporting.pages.markup import PageBlock, encode_block, split_chunks
from recall_bench.reporting.pages.page_data import (
    LEAF_ORDER,
    NO_PLACE,
    PageQuestions,
    PersonaDetails,
    SourceText,
    build_trial_columns,
    collect_details,
)

PLACES_BLOCK = "places"


class TextPlaces(msgspec.Struct):
    """Which block each text is in, and where."""

    answers: list[int] = []
    """The answer of each trial."""
    answer_blocks: list[int] = []
    """The first answer of each block."""
    answer_count: int = 0
    text_blocks: list[list[int]] = []
    """For each persona, the first text of each block."""
    detail_blocks: int = 0
    block_of: list[int] = []
    """The block of the details of each question."""


@dataclass(slots=True)
class TrialBlocks:
    """The questions and trials of a run as blocks of data, persona by persona."""

    folder: RunFolder
    table: TrialTable
    questions: PageQuestions
    stories: Mapping[str, Mapping[int, str]]
    places: TextPlaces = field(default_factory=TextPlaces)
    """Empty until the texts are written."""

    def write_texts(self) -> Iterator[PageBlock]:
        """All texts; their positions are known after the last block."""
        self.places = TextPlaces(
            answers=[NO_PLACE] * len(self.table.rows),
            block_of=[NO_PLACE] * len(self.questions.items),
        )
        rows = {row.trial: number for number, row in enumerate(self.table.rows)}
        for place, persona in enumerate(self.questions.personas):
            yield from self._write_persona(place, persona, rows)

    def build_index(
        self, name: str, page: Mapping[str, object], leaves: Mapping[Trial, FailureLeaf]
    ) -> tuple[PageBlock, ...]:
        """The first blocks, with the positions of all others; the one of the page has this name."""
        index, questions, trials = self._build_first(page, leaves)
        places = self._list_places()
        return (
            encode_block(name, {**index, **places["page"]}),
            encode_block("questions", {**questions, **places["questions"]}),
            encode_block("trials", {**trials, **places["trials"]}),
        )

    def build_first(
        self, name: str, page: Mapping[str, object], leaves: Mapping[Trial, FailureLeaf]
    ) -> tuple[PageBlock, ...]:
        """The first blocks without the positions of texts, which need not be read for them."""
        index, questions, trials = self._build_first(page, leaves)
        return (
            encode_block(name, index),
            encode_block("questions", questions),
            encode_block("trials", trials),
        )

    def build_places(self) -> PageBlock:
        """The positions of all texts, once they are written."""
        return encode_block(PLACES_BLOCK, self._list_places())

    def _build_first(
        self, page: Mapping[str, object], leaves: Mapping[Trial, FailureLeaf]
    ) -> tuple[dict[str, object], ...]:
        return (
            {**page, **self._describe_trials(), "hasDays": any(self.stories.values())},
            self.questions.build_columns(),
            build_trial_columns(self.table, self.questions, leaves, self.folder.states),
        )

    def _list_places(self) -> dict[str, dict[str, object]]:
        """What belongs to the index, the questions and the trials."""
        return {
            "page": {
                "answers": self.places.answer_count,
                "answerBlocks": self.places.answer_blocks,
                "textBlocks": self.places.text_blocks,
            },
            "questions": {"block": self.places.block_of},
            "trials": {"answer": self.places.answers},
        }

    def _describe_trials(self) -> dict[str, object]:
        plan = self.table.plan
        return {
            "system": format_card(plan.system),
            "best": FULL_MARKS,
            "scales": SCALES,
            "repeats": plan.repeats,
            "personas": self.questions.personas,
            "categories": self.questions.categories,
            "checkpoints": [[checkpoint.label, checkpoint.days] for checkpoint in plan.checkpoints],
            "leaves": [[leaf.value, LEAF_TITLES[leaf], LEAF_MEANINGS[leaf]] for leaf in LEAF_ORDER],
        }

    def _write_persona(
        self, place: int, persona: str, rows: Mapping[Trial, int]
    ) -> Iterator[PageBlock]:
        places = {
            item: number
            for (scenario, item), number in self.questions.places.items()
            if scenario == persona
        }
        story = self.stories.get(persona, {})
        details = collect_details(self.folder, persona, story, places=places, rows=rows)
        for number, answer in details.answer_of.items():
            self.places.answers[number] = self.places.answer_count + answer
        yield from self._write_answers(details.answers)
        yield from self._write_texts(place, details.texts)
        yield from self._write_details(details)

    def _write_answers(self, answers: list[str]) -> Iterator[PageBlock]:
        for part in split_chunks([len(answer) for answer in answers]):
            yield encode_block(f"answers-{len(self.places.answer_blocks)}", answers[part])
            self.places.answer_blocks.append(self.places.answer_count + part.start)
        self.places.answer_count += len(answers)

    def _write_texts(self, place: int, texts: list[SourceText]) -> Iterator[PageBlock]:
        starts: list[int] = []
        self.places.text_blocks.append(starts)
        for part in split_chunks([len(text.text) for text in texts]):
            columns = {
                "text": [text.text for text in texts[part]],
                "day": [text.day for text in texts[part]],
                "source": [text.source for text in texts[part]],
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
                self.places.block_of[place] = self.places.detail_blocks
            entry = b"{%s}" % b",".join(entries[place] for place in places[part])
            yield PageBlock(f"details-{self.places.detail_blocks}", entry)
            self.places.detail_blocks += 1
