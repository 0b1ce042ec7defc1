"""The controls of an evaluation: systems of known worth, asked the same questions.

The expectation of a blind draw and the best possible order are computed. The other controls are
runs in folders below that of the evaluation.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from recall_bench.engine.experiment import Experiment, ExperimentCell, require_result
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import move_outputs
from recall_bench.features.datasets.eval_assembly import (
    CONTROLS,
    AssembledEval,
    assemble_evaluation,
)
from recall_bench.features.datasets.eval_report import (
    BM25_CONTROL,
    NONE_CONTROL,
    ORACLE_CONTROL,
    ControlRun,
)
from recall_bench.judging.eval_dataset import EvalMode

_COSTS = "its answers would have to be paid for"


def run_controls(assembled: AssembledEval, on_control: Callable[[str], None]) -> list[ControlRun]:
    """Run the controls in turn, up to one that is stopped, which is then the last.

    `on_control` is called with the name of each before it is run.
    """
    job = assembled.job
    with_answers = assembled.with_answers and _is_free(job)
    reasons = {} if with_answers else dict.fromkeys((NONE_CONTROL, ORACLE_CONTROL), _COSTS)
    if assembled.opened.methodology.reads_store:
        reasons[ORACLE_CONTROL] = "it does not list what it stored"
    elif not is_evidence_known(assembled):
        reasons[ORACLE_CONTROL] = "the dataset does not say where its answers stand"

    def assemble_control(name: str) -> Job:
        on_control(name)
        return _assemble_control(assembled, name, with_answers=with_answers)

    names = [
        name
        for name in (BM25_CONTROL, NONE_CONTROL, ORACLE_CONTROL)
        if name != job.plan.system.name
    ]
    cells = [
        ExperimentCell(
            label=name,
            folder=job.folder / CONTROLS / name,
            assemble=partial(assemble_control, name),
        )
        for name in names
        if name not in reasons
    ]
    outcomes = {outcome.cell.label: outcome for outcome in Experiment(cells=cells).run()}
    controls: list[ControlRun] = []
    for name in names:
        if name in outcomes:
            result = require_result(outcomes[name])
            controls.append(ControlRun(name, result, with_answers))
            if result.stopped_by is not None:
                break
        elif assembled.with_answers or reasons[name] != _COSTS:
            controls.append(ControlRun(name, None, reason=reasons[name]))
    return controls


def _is_free(job: Job) -> bool:
    """Whether reading and judging cost nothing, so that the controls can be judged too."""
    judges = list(job.components.judges.list_all())
    # Recorded answers may have been read by a reader that is not configured any more.
    is_read_free = job.plan.reader is None or job.plan.reader.model is None
    return is_read_free and all(judge.card.computes for judge in judges)


def is_evidence_known(assembled: AssembledEval) -> bool:
    """Whether any question cites evidence."""
    questions = assembled.opened.questions.values()
    return any(item.truth.evidence for declared in questions for item in declared.items)


def _assemble_control(assembled: AssembledEval, name: str, *, with_answers: bool) -> Job:
    """Assemble the same evaluation of a control, in a folder below this one's."""
    before, plan = assembled.request, assembled.job.plan
    settings = replace(
        move_outputs(before.settings, assembled.job.folder / CONTROLS / name),
        adapter=name,
        agent_model=None,
        factory=None,
        config={},
        endpoint=False,
        system_model=None,
        system_embedder=None,
        system_reranker=None,
        lifecycle=None,
        skip_catchup_ingest=False,
        reader=before.settings.reader if with_answers else None,
        appellate_judge=before.settings.appellate_judge if with_answers else None,
        # For recorded answers the plan, not the settings, says how they were asked.
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
