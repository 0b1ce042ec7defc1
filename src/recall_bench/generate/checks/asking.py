"""Every question of a file put to a model, side by side, nothing paid for twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recall_bench.core.usage import Usage
from recall_bench.errors import ModelFault, ModelGone
from recall_bench.generate.checks.file_check import CheckedQuestion
from recall_bench.generate.checks.opinion import ModelOpinion, build_opinion_prompt, parse_opinion
from recall_bench.generate.checks.passages import select_passages
from recall_bench.generate.checks.request import VerifyRequest
from recall_bench.generate.checks.staleness import ChangeFinder
from recall_bench.generate.checks.story import parse_entry
from recall_bench.generate.outcome import MissingUnit, PassStop
from recall_bench.generate.rounds import NoUsableReply, ask_until_usable
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus

if TYPE_CHECKING:
    from recall_bench.generate.caller import ModelCaller
    from recall_bench.models.model import Model, Prompt

OnProgress = Callable[[str], None]
"""Hears a sentence now and then."""

_PASS_NAME = "verify-qa"
_USUAL_TOKENS = 200


@dataclass(slots=True)
class ReviewAnswers:
    """What the model said, by the place of the question in its file."""

    opinions: dict[int, ModelOpinion] = field(default_factory=dict)
    missing: list[MissingUnit] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    spent: Usage = field(default_factory=Usage)
    stopped: PassStop | None = None


@dataclass(frozen=True, slots=True)
class _ReviewUnit:
    checked: CheckedQuestion
    asked: LintQuestion
    prompt: "Prompt"


def review_questions(
    request: VerifyRequest,
    corpus: LintCorpus,
    checked: Sequence[CheckedQuestion],
    told: OnProgress,
    model: "Model | None" = None,
) -> ReviewAnswers:
    """Ask about every question that can be read and is not to be removed anyway.

    A model of one's own may take the place of the one the request names; it is not closed.
    """
    from recall_bench.generate.call_log import CallLog, log_path
    from recall_bench.generate.caller import ModelCaller
    from recall_bench.generate.carrying_out import run_pass
    from recall_bench.generate.estimate import describe_estimate
    from recall_bench.generate.lanes import run_units
    from recall_bench.generate.opening import open_model

    asked = model or open_model(request, usual_temperature=0.0)
    answers = ReviewAnswers()
    units = _list_units(corpus, checked)
    with CallLog(log_path(corpus.layout.folder, _PASS_NAME, corpus.layout.suffix)) as log:
        log.begin_round(overwrite=request.overwrite)
        caller = ModelCaller.from_request(request, asked, log)
        owed = [u for u in units if log.find_reply(log.make_key(asked.name, u.prompt, 0)) is None]
        if owed:
            told(describe_estimate(request.model, len(owed), owed[0].prompt, _USUAL_TOKENS))

        async def review_all() -> None:
            await run_units(
                units,
                lambda unit: _review_one(unit, caller, corpus, answers, told),
                at_once=request.parallelism,
            )

        answers.stopped = run_pass(review_all, closing=asked if model is None else None)
        if answers.stopped is None and not answers.missing:
            log.end_round()
        answers.usage, answers.spent = caller.usage, log.spent
    answers.missing.sort(key=lambda each: each.unit)
    return answers


def _list_units(corpus: LintCorpus, checked: Sequence[CheckedQuestion]) -> list[_ReviewUnit]:
    changes = ChangeFinder(corpus)
    units = []
    for each in checked:
        asked = parse_entry(corpus, each.entry) if each.entry is not None else ()
        if isinstance(asked, LintQuestion) and each.repaired is not None:
            days = select_passages(corpus, changes, asked)
            prompt = build_opinion_prompt(asked, each.examined.problems, days)
            units.append(_ReviewUnit(each, asked, prompt))
    return units


async def _review_one(
    unit: _ReviewUnit,
    caller: "ModelCaller",
    corpus: LintCorpus,
    answers: ReviewAnswers,
    told: OnProgress,
) -> None:
    name = f"question {unit.checked.name}"
    last = corpus.days[-1].number
    try:
        answers.opinions[unit.checked.place] = await ask_until_usable(
            caller,
            name,
            unit.prompt,
            lambda text: parse_opinion(text, first=unit.asked.opens, last=last),
        )
    except ModelGone:
        raise
    except (NoUsableReply, ModelFault) as fault:
        answers.missing.append(MissingUnit(unit=name, reason=str(fault)))
        told(f"[{_PASS_NAME}] {name} skipped: {fault}")
        return
    told(f"Asked about {unit.checked.name} ({len(answers.opinions)} so far)")
