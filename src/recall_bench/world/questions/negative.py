"""What never happened, and its twin that did: a constant "No" is right about half the time."""

from collections.abc import Iterator

from recall_bench.world.ledger import Thread
from recall_bench.world.questions.draft import (
    LedgerQuestion,
    QuestionContext,
    format_sentence,
    is_traceable,
)
from recall_bench.world.values import format_date

NEGATIVE = "negative-recall"


def ask_optional_steps(thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
    """For each optional step of a thread that has ended: whether it came to pass."""
    for step, spec in thread.optional.items():
        happening = thread.happenings.get(step)
        session = happening.told.session if happening else thread.session
        if desk.is_isolated(session) or not is_traceable(thread, step):
            continue
        if happening is None and not thread.is_over:
            continue
        wordings = desk.render_wordings(thread, spec.did)
        query = {"op": "did", "thread": thread.key, "step": step}
        if happening is not None:
            value = format_date(happening.day, desk.stage.dates)
            yield LedgerQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/yes",
                wordings=wordings,
                reference=format_sentence(f"Yes, on {value.text}"),
                evidence=[happening.told],
                known_from=happening.day,
                query=dict(query),
                atoms=["Yes", value.text],
                aliases=["Yes"],
                distractors=["No"],
                about=[thread.name],
            )
        else:
            told = sorted(thread.happenings.values(), key=lambda happening: happening.day)
            yield LedgerQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/no",
                wordings=wordings,
                reference=format_sentence(spec.no),
                evidence=list(dict.fromkeys([told[0].told, told[-1].told])),
                known_from=told[-1].day,
                query=dict(query),
                atoms=["No"],
                distractors=["Yes"],
                about=[thread.name],
            )
