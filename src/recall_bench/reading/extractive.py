"""A reader without a model: it quotes what was found, or says that there is no record.

Where a question offers choices it names the one that `choosing.py` finds best supported by what it
would otherwise quote.

It reads in the order that the system chose, and whether there is enough to quote it decides from
the question and the passages alone: scores of different systems mean different things.
"""

from collections.abc import Iterable, Sequence

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.question import Question
from recall_bench.core.reader import ReaderCard
from recall_bench.reading import choosing
from recall_bench.systems.builtin.embedding import compute_similarity, embed
from recall_bench.systems.builtin.extractive import NO_RECORD
from recall_bench.systems.builtin.lexical import Vocabulary

EXTRACTIVE_VERSION = "1"

QUOTES = 3
"""As many as the built-in systems quote."""

# Both chosen together by the least balanced error between questions that a history answers and
# questions that belong to another, on half of a real six-month log and five LoCoMo chats, as found
# by four ways of searching: 0.071, and 0.080 on the other halves (benchmarks/calibrate_reader.py).
# Questions that only just miss a history were not among them: their labels are not to be trusted.
WORD_WEIGHT = 0.4
"""The part of the words in the support; the rest is the meaning's."""
NO_RECORD_BELOW = 0.42
"""The support below which there is no record."""


class ExtractiveReader:
    """Answers in the words of the passages. The same for every system, and free."""

    card = ReaderCard(
        name="extractive",
        version=EXTRACTIVE_VERSION,
        config={
            "quotes": QUOTES,
            "word_weight": WORD_WEIGHT,
            "no_record_below": NO_RECORD_BELOW,
            "choosing": choosing.CHOICE_VERSION,
        },
    )

    def __init__(self) -> None:
        self._text_support = TextSupport()

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        """The first passages, word for word and none twice, if they support an answer.

        Of a question with choices, the one that they support most.
        """
        quotes = select_quotes(passages)
        if not quotes or self._measure_support(question.text, quotes) < NO_RECORD_BELOW:
            return Answer(text=NO_RECORD)
        if question.choices:
            chosen = choosing.choose_option(
                question.choices, lambda one: self._measure_support(one, quotes)
            )
            return Answer(text=chosen or NO_RECORD)
        return Answer(text="\n".join(quotes))

    def _measure_support(self, text: str, quotes: Sequence[str]) -> float:
        """How far the quotes support what the text asks or says."""
        words, meaning = self._text_support.measure(text, quotes)
        return WORD_WEIGHT * words + (1 - WORD_WEIGHT) * meaning

    async def close(self) -> None:
        """Nothing is held."""


class TextSupport:
    """How far some texts speak of what a question asks."""

    def __init__(self) -> None:
        self._vocabulary: Vocabulary | None = None

    def measure(self, question: str, texts: Sequence[str]) -> tuple[float, float]:
        """The share of the question's content words that they hold, and how near one comes.

        Both are 0 where there is nothing to compare.
        """
        if not texts:
            return 0.0, 0.0
        # Loaded with the first question: stemmers and vectors take a moment.
        vocabulary = self._vocabulary = self._vocabulary or Vocabulary()
        held = set(vocabulary.count(texts).terms.tolist())
        asked = vocabulary.parse_query(question)
        total = len(asked.known) + asked.strangers
        words = sum(term in held for term in asked.known) / total if total else 0.0
        vectors = embed([question, *texts])
        meaning = float(compute_similarity(vectors[1:], vectors[0]).max())
        return words, max(meaning, 0.0)


def select_quotes(passages: Iterable[Passage]) -> list[str]:
    """The texts to quote: the first few, in the system's order, blank ones and repeats skipped."""
    seen = dict.fromkeys(text for passage in passages if (text := passage.text.strip()))
    return list(seen)[:QUOTES]
