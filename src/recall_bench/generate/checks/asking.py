"""Every question of a file put to a model, side by side, nothing paid for twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recall_bench.core.usage import Usage
from recall_bench.errors import ModelFault, ModelGone
from recall_bench.generate.checks.file_check import Checked
from recall_bench.generate.checks.opinion import Opinion, opinion_prompt, read_opinion
from recall_bench.generate.checks.passages import passages
from recall_bench.generate.checks.request import VerifyRequest
from recall_bench.generate.checks.staleness import Changes
from recall_bench.generate.checks.story import read_entry
from recall_bench.generate.outcome import Missing, Stopped
from recall_bench.generate.rounds import Unwritten, accepted
from recall_bench.lint.asked import Asked
from recall_bench.lint.corpus import Corpus

if TYPE_CHECKING:
    from recall_bench.generate.caller import Caller
    from recall_bench.models.model import Model, Prompt

Told = Callable[[str], None]
"""Hears a sentence now and then."""

_WHAT = "verify-qa"
_USUAL_TOKENS = 200


@dataclass(slots=True)
class Answers:
    """What the model said, by the place of the question in its file."""

    opinions: dict[int, Opinion] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    spent: Usage = field(default_factory=Usage)
    stopped: Stopped | None = None


@dataclass(frozen=True, slots=True)
class _Unit:
    checked: Checked
    asked: Asked
    prompt: "Prompt"


def ask_about(
    request: VerifyRequest,
    corpus: Corpus,
    checked: Sequence[Checked],
    told: Told,
    model: "Model | None" = None,
) -> Answers:
    """Ask about every question that can be read and is not to be removed anyway.

    A model of one's own may take the place of the one the request names; it is not closed.
    """
    from recall_bench.generate.call_log import CallLog, log_path
    from recall_bench.generate.caller import Caller
    from recall_bench.generate.carrying_out import carried_out
    from recall_bench.generate.estimate import estimate
    from recall_bench.generate.lanes import side_by_side
    from recall_bench.generate.opening import open_model

    asked = model or open_model(request, usual_temperature=0.0)
    answers = Answers()
    units = _units(corpus, checked)
    with CallLog(log_path(corpus.layout.folder, _WHAT, corpus.layout.suffix)) as log:
        log.begin(overwrite=request.overwrite)
        caller = Caller.of(request, asked, log)
        owed = [u for u in units if log.reply(log.key_of(asked.name, u.prompt, 0)) is None]
        if owed:
            told(estimate(request.model, len(owed), owed[0].prompt, _USUAL_TOKENS))

        async def work() -> None:
            await side_by_side(
                units,
                lambda unit: _one(unit, caller, corpus, answers, told),
                at_once=request.parallelism,
            )

        answers.stopped = carried_out(work, closing=asked if model is None else None)
        if answers.stopped is None and not answers.missing:
            log.end()
        answers.usage, answers.spent = caller.usage, log.spent
    answers.missing.sort(key=lambda each: each.unit)
    return answers


def _units(corpus: Corpus, checked: Sequence[Checked]) -> list[_Unit]:
    changes = Changes(corpus)
    units = []
    for each in checked:
        asked = read_entry(corpus, each.entry) if each.entry is not None else ()
        if isinstance(asked, Asked) and each.mended is not None:
            days = passages(corpus, changes, asked)
            prompt = opinion_prompt(asked, each.examined.problems, days)
            units.append(_Unit(each, asked, prompt))
    return units


async def _one(unit: _Unit, caller: "Caller", corpus: Corpus, answers: Answers, told: Told) -> None:
    name = f"question {unit.checked.name}"
    last = corpus.days[-1].number
    try:
        answers.opinions[unit.checked.place] = await accepted(
            caller,
            name,
            unit.prompt,
            lambda text: read_opinion(text, first=unit.asked.opens, last=last),
        )
    except ModelGone:
        raise
    except (Unwritten, ModelFault) as fault:
        answers.missing.append(Missing(unit=name, reason=str(fault)))
        told(f"[{_WHAT}] {name} skipped: {fault}")
        return
    told(f"Asked about {unit.checked.name} ({len(answers.opinions)} so far)")
