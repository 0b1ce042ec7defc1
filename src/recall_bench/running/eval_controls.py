"""Floors and ceilings: systems whose worth is known, put to the same questions in the same run.

A blind draw needs no run: its expectation is computed. What the best order would find needs none
either. The others are run beside the system and kept in its folder, so that they too go on where
they were stopped.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from recall_bench.datasets.eval_dataset import EvalMode
from recall_bench.reporting.eval_report import KEYWORDS, ORACLE, SILENCE, ControlRun
from recall_bench.running.eval_assembly import CONTROLS, AssembledEval, assemble_evaluation
from recall_bench.running.execution import execute
from recall_bench.running.job import Job
from recall_bench.runs.output_paths import move_outputs


def run_controls(assembled: AssembledEval, told: Callable[[str], None]) -> Iterator[ControlRun]:
    """Each control in turn, up to one that is stopped; `told` hears of it before it is run."""
    job = assembled.job
    with_answers = assembled.with_answers and _is_free(job)
    for name in (KEYWORDS, SILENCE, ORACLE):
        if name == job.plan.system.name:
            continue
        if name == ORACLE and not is_evidence_known(assembled):
            yield ControlRun(name, None, reason="the dataset does not say where its answers stand")
            continue
        if name != KEYWORDS and not with_answers:
            if assembled.with_answers:
                yield ControlRun(name, None, reason="its answers would have to be paid for")
            continue
        told(name)
        finished = execute(_assemble_control(assembled, name, with_answers=with_answers).job)
        yield ControlRun(name, finished, with_answers)
        if finished.stopped_by is not None:
            return


def _is_free(job: Job) -> bool:
    """Whether reading and judging cost nothing, so that it may be done for the controls too."""
    judges = [
        each
        for each in (job.components.judges.judge, job.components.judges.appellate)
        if each is not None
    ]
    # Answers on record may have been read by somebody who is not here any more.
    is_read_free = job.plan.reader is None or job.plan.reader.model is None
    return is_read_free and all(each.card.computes for each in judges)


def is_evidence_known(assembled: AssembledEval) -> bool:
    """Whether any question says where its answer stands."""
    asked = assembled.opened.questions.values()
    return any(item.truth.evidence for declared in asked for item in declared.items)


def _assemble_control(assembled: AssembledEval, name: str, *, with_answers: bool) -> AssembledEval:
    """The same evaluation of another system, in a folder below this one's."""
    before, plan = assembled.request, assembled.job.plan
    settings = replace(
        move_outputs(before.settings, assembled.job.folder / CONTROLS / name),
        adapter=name,
        factory=None,
        config={},
        endpoint=False,
        system_model=None,
        system_embedder=None,
        lifecycle=None,
        skip_catchup_ingest=False,
        reader=before.settings.reader if with_answers else None,
        appellate_judge=before.settings.appellate_judge if with_answers else None,
        # Of answers on record the plan knows how they were asked for, and the settings do not.
        top_k=plan.top_k,
        max_context_tokens=plan.max_context_tokens,
        repeats=plan.repeats,
        seed=plan.seed,
    )
    request = replace(
        before,
        settings=settings,
        mode=EvalMode.RAW,
        answers_from=None,
        rebuild=False,
        skip_qa=not with_answers,
    )
    return assemble_evaluation(request, assembled.opened)
