"""Whether a run may pass: what has to hold before any rule, then every rule."""

from collections.abc import Iterator

from recall_bench.analysis.gate.checks import Check, Gate, Outcome, Subject, in_words, verdict_on
from recall_bench.analysis.gate.regression import CATEGORY, HALLUCINATION, MARGIN, Regression
from recall_bench.analysis.gate.rules import Rules, refuse_without_baseline
from recall_bench.analysis.gate.values import OVERALL, estimate, scores, unmeasured, value_checks
from recall_bench.analysis.grounds import answers_of, without_marks
from recall_bench.analysis.likeness import unlike
from recall_bench.analysis.pairing import pair
from recall_bench.analysis.trials import Table, read_trials
from recall_bench.core.diagnosis import Health
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import SEED
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import STUB, Status, summarise
from recall_bench.statistics.estimate import FEW_QUESTIONS


def gate_run(run: RunFolder, baseline: RunFolder | None, rules: Rules) -> Gate:
    """The verdict on a run, against a baseline where there is one.

    A run that is not valid, or unlike its baseline, does not pass; UsageError where there is no
    rule, or nothing that a rule could be about.
    """
    if baseline is None:
        refuse_without_baseline(rules)
    elif run.path.resolve() == baseline.path.resolve():
        raise UsageError(f"{run.path}: is its own baseline, which would always pass; name another")
    ours = _Side(run, "run")
    theirs = None if baseline is None else _Side(baseline, "baseline")
    if theirs is not None and answers_of(ours.folder) == answers_of(theirs.folder):
        raise UsageError(
            f"{run.path}: holds the same answers as its baseline {theirs.folder.path}, which would "
            "always pass; name another"
        )
    checks = [ours.check(), *ours.value_checks(rules)]
    strength, warnings = None, [*ours.warnings()]
    if theirs is not None:
        found = list(_before_pairing(theirs, ours))
        checks += found
        if ours.is_sound and all(each.outcome is Outcome.PASSED for each in found):
            pairs = pair(theirs.table, ours.table)
            regression = Regression(theirs.table, ours.table, pairs, rules)
            checks += regression.checks()
            strength = regression.strength()
            warnings += [*theirs.warnings(), *regression.warnings()]
        else:
            checks += _undecided(rules)
    return Gate(
        verdict=verdict_on(tuple(checks)),
        sentence=in_words(tuple(checks)),
        run=ours.subject,
        baseline=None if theirs is None else theirs.subject,
        rules=rules,
        checks=tuple(checks),
        strength=strength,
        warnings=tuple(warnings),
        seed=SEED,
    )


class _Side:
    """One of the two runs."""

    def __init__(self, folder: RunFolder, role: str) -> None:
        self._role = role
        self.folder = folder
        summary = summarise(folder)
        self.table: Table = read_trials(folder)
        if folder.plan.dataset is not None and (why := without_marks(self.table)):
            raise UsageError(f"{folder.path}: {why} to go by")
        card, judge = folder.plan.system, folder.plan.judge
        self.subject = Subject(
            folder=str(folder.path),
            system=f"{card.name} {card.version}",
            judge=f"{judge.name} {judge.version}",
            started=folder.started,
            status=summary.validity.status,
            reason=summary.validity.reason,
            health=None if folder.diagnosis is None else folder.diagnosis.health,
            score=estimate(scores(self.table), missing=summary.overall.missing),
        )

    @property
    def is_sound(self) -> bool:
        """Whether its scores may be gone by."""
        return self.check().outcome is Outcome.PASSED

    def check(self) -> Check:
        """A system that failed too often fails; what is not finished is not known."""
        subject = self.subject
        if self.folder.plan.judge.name == STUB:
            return unmeasured(self._role, "valid", "the stub judge graded nothing; judge it first")
        if subject.status is Status.VALID:
            return Check(
                rule=self._role, of="valid", outcome=Outcome.PASSED, said="finished, and it holds"
            )
        is_ours = self._role == "run" and subject.status is Status.INVALID
        return Check(
            rule=self._role,
            of="valid",
            outcome=Outcome.FAILED if is_ours else Outcome.UNDECIDED,
            said=f"the {self._role} is {subject.status.value} ({subject.reason}); finish or repair "
            "it with its own command",
        )

    def value_checks(self, rules: Rules) -> Iterator[Check]:
        """Of a run that does not hold no value is gone by."""
        for each in value_checks(rules, self.table, self.subject.score):
            if self.is_sound:
                yield each
            else:
                yield each.but(outcome=Outcome.UNDECIDED, said=f"the {self._role} does not hold")

    def warnings(self) -> Iterator[str]:
        """What to know about it before it is believed."""
        subject = self.subject
        if subject.health is not None and subject.health is not Health.VALID:
            yield f"doctor says that the {self._role} is {subject.health.value}"
        if subject.score is not None and subject.score.questions < FEW_QUESTIONS:
            yield (
                f"the {self._role} has {subject.score.questions} questions; intervals over fewer "
                f"than {FEW_QUESTIONS} hold less often than they say"
            )


def _before_pairing(baseline: _Side, run: _Side) -> Iterator[Check]:
    yield baseline.check()
    found = unlike(baseline.folder.plan, run.folder.plan)
    if found:
        differs = " and ".join(str(each) for each in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        why = f"baseline and run differ in {differs}{more}; run both alike"
        yield unmeasured("alike", "baseline", why)
    else:
        yield Check(
            rule="alike",
            of="baseline",
            outcome=Outcome.PASSED,
            said="asked, fed and judged as the baseline was",
        )


def _undecided(rules: Rules) -> Iterator[Check]:
    why = "there are no two runs that hold and are alike"
    yield unmeasured(MARGIN, OVERALL, why, limit=-rules.tolerated)
    yield unmeasured(CATEGORY, "all", why, limit=-rules.tolerated_in_category)
    if rules.hallucination_margin is not None:
        limit = rules.hallucination_margin
        yield unmeasured(HALLUCINATION, OVERALL, why, limit=limit, is_least=False)
