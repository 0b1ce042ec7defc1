"""From a question and what was said to it, to what a protocol grades."""

from recall_bench.core.question import Expects, Item
from recall_bench.judging.protocols.choice import parse_options
from recall_bench.judging.protocols.score import Submission


def make_submission(item: Item, answer: str) -> Submission:
    """An answer as every protocol takes it."""
    truth = item.truth
    return Submission(
        answer=answer,
        question=item.text,
        golds=(truth.choice,) if truth.choice else (truth.reference, *truth.aliases),
        category=truth.category,
        is_unanswerable=truth.expects is Expects.ABSTAIN,
        options=parse_options(list(item.choices)) if item.choices else {},
    )
