"""What its caches save the reader: one persona of 1,000 days, asked at its default checkpoints.

    python benchmarks/reading_speed.py [PERSONA]

`hybrid` finds the passages; then the extractive reader answers every question twice, in the same
process: as in a run, with caches of the passages and questions it has read, and, as the baseline,
with empty caches for every answer. Times are processor time; the answers must be the same.
"""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from unittest.mock import patch

import anyio

from recall_bench.core.memory import Passage
from recall_bench.core.plan import list_default_ranges, parse_ranges
from recall_bench.core.scenario import Question, Scenario
from recall_bench.stories.story_folders import load_story
from recall_bench.systems.builtin import retrieval
from recall_bench.systems.builtin.retrieval_systems import build_hybrid
from recall_bench.systems.reading import answer_values as values
from recall_bench.systems.reading import passage_sentences, question_analysis, sentence_ranker
from recall_bench.systems.reading.answer_writer import AnswerWriter

QuestionPassages = tuple[Question, tuple[Passage, ...]]

CACHES = (
    passage_sentences._read_passage,  # noqa: SLF001
    passage_sentences.collect_stems,
    question_analysis._analyse_parts,  # noqa: SLF001
    sentence_ranker.list_content_words,
    values.find_amounts,
    values.find_times,
    values.resolve_dates,
    values._find_capitals,  # noqa: SLF001
)


class Recorder(AnswerWriter):
    """Records the questions and passages, and answers nothing."""

    def __init__(self) -> None:
        self.asked: list[QuestionPassages] = []

    def write(self, question: Question, passages: Sequence[Passage]) -> str:
        """Record the question and its passages."""
        self.asked.append((question, tuple(passages)))
        return ""


async def find_passages(scenario: Scenario) -> list[QuestionPassages]:
    """Every question at each checkpoint, with what `hybrid` finds."""
    recorder = Recorder()
    with patch.object(retrieval, "load_writer", return_value=recorder):
        memory = await build_hybrid({}).open(scenario.id)
        fed = 0
        for checkpoint in parse_ranges(list_default_ranges(scenario.last_day), scenario.last_day):
            until = min(checkpoint.days, scenario.last_day)
            for episode in scenario.episodes:
                if fed < episode.day <= until:
                    await memory.ingest(episode)
            await memory.settle()
            fed = until
            for item in scenario.items:
                if item.is_open(until):
                    await memory.answer(item.ask(scenario.id, scenario.compute_date(until)))
    return recorder.asked


def clear_caches() -> None:
    """Empty all caches of the reader."""
    for cache in CACHES:
        cache.cache_clear()


def measure(
    asked: Sequence[QuestionPassages], get_writer: Callable[[], AnswerWriter]
) -> tuple[float, list[str]]:
    """Processor seconds of all answers, and the answers."""
    clear_caches()
    gc.collect()
    started = time.process_time()
    answers = [get_writer().write(question, passages) for question, passages in asked]
    return time.process_time() - started, answers


def build_fresh_writer() -> AnswerWriter:
    """A writer, with all caches empty."""
    clear_caches()
    return AnswerWriter()


def main(persona: str) -> None:
    scenario = load_story(persona, "arcs-1000d.yaml", edition=2)
    asked = anyio.run(find_passages, scenario)
    writer = AnswerWriter()
    writer.write(*asked[0])  # loads vectors and stemmer
    baseline, plain = measure(asked, build_fresh_writer)
    cached, answers = measure(asked, lambda: writer)
    assert answers == plain, "the answers differ"
    questions = len({question.id for question, _ in asked})
    print(f"{persona}: {len(asked):,} answers to {questions:,} questions")
    print(f"empty caches (baseline): {1e3 * baseline / len(asked):.2f} ms an answer")
    print(
        f"as in a run: {1e3 * cached / len(asked):.2f} ms, {cached / baseline:.2f} of the baseline"
    )


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "executive-assistant")
