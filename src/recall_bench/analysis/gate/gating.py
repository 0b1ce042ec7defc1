"""Whether a run may pass: what has to hold before any rule, then every rule."""

from collections.abc import Iterator

from recall_bench.analysis.gate.checks import (
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    decide_verdict,
    describe_verdict,
)
from recall_bench.analysis.gate.regression import (
    CATEGORY_RULE,
    HALLUCINATION_RULE,
    MARGIN_RULE,
    BaselineComparison,
)
from recall_bench.analysis.gate.rules import GateRules, require_baseline
from recall_bench.analysis.gate.values import (
    OVERALL,
    check_values,
    estimate_marks,
    list_scores,
    make_undecided_check,
)
from recall_bench.analysis.grounds import explain_missing_marks, identify_answers
from recall_bench.analysis.likeness import find_differences
from recall_bench.analysis.pairing import pair_trials
from recall_bench.analysis.trials import TrialTable, read_trials
from recall_bench.core.diagnosis import SystemHealth
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import SEED
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import STUB, RunStatus, summarise
from recall_bench.statistics.estimate import FEW_QUESTIONS


def check_run(run: RunFolder, baseline: RunFolder | None, rules: GateRules) -> GateReport:
    """The verdict on a run, against a baseline where there is one.

    A run that is not valid, or unlike its baseline, does not pass; UsageError where there is no
    rule, or nothing that a rule could be about.
    """
    if baseline is None:
        require_baseline(rules)
    elif run.path.resolve() == baseline.path.resolve():
        raise UsageError(f"{run.path}: is its own baseline, which would always pass; name another")
    ours = _GateSide(run, "run")
    theirs = None if baseline is None else _GateSide(baseline, "baseline")
    if theirs is not None and identify_answers(ours.folder) == identify_answers(theirs.folder):
        raise UsageError(
            f"{run.path}: holds the same answers as its baseline {theirs.folder.path}, which would "
            "always pass; name another"
        )
    checks = [ours.check_status(), *ours.check_values(rules)]
    strength, warnings = None, [*ours.list_warnings()]
    if theirs is not None:
        found = list(_check_baseline(theirs, ours))
        checks += found
        if ours.is_sound and all(each.outcome is CheckOutcome.PASSED for each in found):
            pairs = pair_trials(theirs.table, ours.table)
            regression = BaselineComparison(theirs.table, ours.table, pairs, rules)
            checks += regression.check_all()
            strength = regression.describe_strength()
            warnings += [*theirs.list_warnings(), *regression.list_warnings()]
        else:
            checks += _list_open_checks(rules)
    return GateReport(
        verdict=decide_verdict(tuple(checks)),
        sentence=describe_verdict(tuple(checks)),
        run=ours.subject,
        baseline=None if theirs is None else theirs.subject,
        rules=rules,
        checks=tuple(checks),
        strength=strength,
        warnings=tuple(warnings),
        seed=SEED,
    )


class _GateSide:
    """One of the two runs."""

    def __init__(self, folder: RunFolder, role: str) -> None:
        self._role = role
        self.folder = folder
        summary = summarise(folder)
        self.table: TrialTable = read_trials(folder)
        if folder.plan.dataset is not None and (why := explain_missing_marks(self.table)):
            raise UsageError(f"{folder.path}: {why} to go by")
        card, judge = folder.plan.system, folder.plan.judge
        self.subject = GateRun(
            folder=str(folder.path),
            system=f"{card.name} {card.version}",
            judge=f"{judge.name} {judge.version}",
            started=folder.started,
            status=summary.validity.status,
            reason=summary.validity.reason,
            health=None if folder.diagnosis is None else folder.diagnosis.health,
            score=estimate_marks(list_scores(self.table), missing=summary.overall.missing),
        )

    @property
    def is_sound(self) -> bool:
        """Whether its scores may be gone by."""
        return self.check_status().outcome is CheckOutcome.PASSED

    def check_status(self) -> GateCheck:
        """A system that failed too often fails; what is not finished is not known."""
        subject = self.subject
        if self.folder.plan.judge.name == STUB:
            return make_undecided_check(
                self._role, "valid", "the stub judge graded nothing; judge it first"
            )
        if subject.status is RunStatus.VALID:
            return GateCheck(
                rule=self._role,
                of="valid",
                outcome=CheckOutcome.PASSED,
                said="finished, and it holds",
            )
        is_ours = self._role == "run" and subject.status is RunStatus.INVALID
        return GateCheck(
            rule=self._role,
            of="valid",
            outcome=CheckOutcome.FAILED if is_ours else CheckOutcome.UNDECIDED,
            said=f"the {self._role} is {subject.status.value} ({subject.reason}); finish or repair "
            "it with its own command",
        )

    def check_values(self, rules: GateRules) -> Iterator[GateCheck]:
        """Of a run that does not hold no value is gone by."""
        for each in check_values(rules, self.table, self.subject.score):
            if self.is_sound:
                yield each
            else:
                yield each.replace(
                    outcome=CheckOutcome.UNDECIDED, said=f"the {self._role} does not hold"
                )

    def list_warnings(self) -> Iterator[str]:
        """What to know about it before it is believed."""
        subject = self.subject
        if subject.health is not None and subject.health is not SystemHealth.VALID:
            yield f"doctor says that the {self._role} is {subject.health.value}"
        if subject.score is not None and subject.score.questions < FEW_QUESTIONS:
            yield (
                f"the {self._role} has {subject.score.questions} questions; intervals over fewer "
                f"than {FEW_QUESTIONS} hold less often than they say"
            )


def _check_baseline(baseline: _GateSide, run: _GateSide) -> Iterator[GateCheck]:
    yield baseline.check_status()
    found = find_differences(baseline.folder.plan, run.folder.plan)
    if found:
        differs = " and ".join(str(each) for each in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        why = f"baseline and run differ in {differs}{more}; run both alike"
        yield make_undecided_check("alike", "baseline", why)
    else:
        yield GateCheck(
            rule="alike",
            of="baseline",
            outcome=CheckOutcome.PASSED,
            said="asked, fed and judged as the baseline was",
        )


def _list_open_checks(rules: GateRules) -> Iterator[GateCheck]:
    why = "there are no two runs that hold and are alike"
    yield make_undecided_check(MARGIN_RULE, OVERALL, why, limit=-rules.tolerated)
    yield make_undecided_check(CATEGORY_RULE, "all", why, limit=-rules.tolerated_in_category)
    if rules.hallucination_margin is not None:
        limit = rules.hallucination_margin
        yield make_undecided_check(HALLUCINATION_RULE, OVERALL, why, limit=limit, is_least=False)
