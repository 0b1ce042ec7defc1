"""The controls of an evaluation: systems of known worth, asked the same questions.

The expectation of a blind draw and the best possible order are computed. The other controls are
runs in folders below that of the evaluation.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from recall_bench.datasets.eval_dataset import EvalMode
from recall_bench.reporting.eval_report import KEYWORDS, ORACLE, SILENCE, ControlRun
from recall_bench.running.eval_assembly import CONTROLS, AssembledEval, assemble_evaluation
from recall_bench.running.experiment import Experiment, ExperimentCell
from recall_bench.running.job import Job
from recall_bench.runs.output_paths import move_outputs


def run_controls(assembled: AssembledEval, on_control: Callable[[str], None]) -> list[ControlRun]:
    """Run the controls in turn, up to one that is stopped."""
    job = assembled.job
    with_answers = assembled.with_answers and _is_free(job)
    skipped: dict[str, ControlRun] = {}
    cells: list[ExperimentCell] = []
    for name in (KEYWORDS, SILENCE, ORACLE):
        if name == job.plan.system.name:
            continue
        if name == ORACLE and not is_evidence_known(assembled):
            reason = "the dataset does not say where its answers stand"
            skipped[name] = ControlRun(name, None, reason=reason)
        elif name != KEYWORDS and not with_answers:
            if assembled.with_answers:
                reason = "its answers would have to be paid for"
                skipped[name] = ControlRun(name, None, reason=reason)
        else:
            build = partial(_assemble_control, assembled, name, with_answers=with_answers)
            cells.append(ExperimentCell(label=name, assemble=build))
    results = dict(Experiment(cells).run(on_cell=on_control))
    runs = {name: ControlRun(name, result, with_answers) for name, result in results.items()}
    return [
        (skipped | runs)[name] for name in (KEYWORDS, SILENCE, ORACLE) if name in skipped | runs
    ]


def _is_free(job: Job) -> bool:
    """Whether reading and judging cost nothing, so that the controls can be judged too."""
    judges = [
        each
        for each in (job.components.judges.judge, job.components.judges.appellate)
        if each is not None
    ]
    # Recorded answers may have been read by a reader that is not configured any more.
    is_read_free = job.plan.reader is None or job.plan.reader.model is None
    return is_read_free and all(each.card.computes for each in judges)


def is_evidence_known(assembled: AssembledEval) -> bool:
    """Whether any question cites evidence."""
    asked = assembled.opened.questions.values()
    return any(item.truth.evidence for declared in asked for item in declared.items)


def _assemble_control(assembled: AssembledEval, name: str, *, with_answers: bool) -> Job:
    """Assemble the same evaluation of a control, in a folder below this one's."""
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
        # For recorded answers the plan, not the settings, knows how they were asked.
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
    return assemble_evaluation(request, assembled.opened).job
