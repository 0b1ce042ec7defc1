"""Whether a run passes: checks of its status, of its values, and against a baseline."""

from collections.abc import Iterator, Mapping

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import order_categories
from recall_bench.engine.runs.judge_sensitivity import find_judge_view, open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import estimate_row_range
from recall_bench.engine.runs.summary import STUB, summarise
from recall_bench.engine.runs.trials import TrialTable, identify_answers
from recall_bench.features.comparison.gate.figure_gate import check_suite_run
from recall_bench.features.comparison.gate.gate_checks import (
    CATEGORY_RULE,
    HALLUCINATION_RULE,
    MARGIN_RULE,
    OVERALL,
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    check_limit,
    check_status,
    check_values,
    decide_verdict,
    describe_verdict,
    estimate_scores,
    list_scores,
    make_undecided_check,
    map_categories,
)
from recall_bench.features.comparison.gate.gate_loss import GateLoss, measure_loss, measure_losses
from recall_bench.features.comparison.gate.gate_rules import FULL_SCORE, GateRules, require_baseline
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, forget_intervals
from recall_bench.metrics.power import POWER
from recall_bench.reporting.formats import (
    format_card,
    format_delta,
    format_interval,
    format_number,
    format_p,
)
from recall_bench.reporting.groups import describe_judge, name_histories
from recall_bench.reporting.headlines import describe_doubt
from recall_bench.reporting.run_pairs import (
    TrialPairs,
    explain_other_measure,
    find_differences,
    list_differences,
    pair_trials,
)
from recall_bench.reporting.trial_scores import (
    explain_missing_scores,
    read_figure,
    read_scored_trials,
)


class BaselineComparison:
    """The losses of a run on the trials that both runs owe."""

    def __init__(
        self, baseline: TrialTable, run: TrialTable, pairs: TrialPairs, rules: GateRules
    ) -> None:
        self._tables = baseline, run
        self._pairs = pairs
        self._rules = rules
        ours, theirs = (pairs.select_marks(list_scores(table)) for table in self._tables)
        margin = rules.tolerated_loss
        self._overall = measure_loss(
            ours,
            theirs,
            margin=margin,
            notice=rules.get_detectable_loss(margin),
            is_to_be_ruled_out=rules.prove,
            templates=pairs.templates,
        )
        margin = rules.tolerated_category_loss
        category = map_categories(baseline)
        found = measure_losses(
            ours,
            theirs,
            category.__getitem__,
            margin=margin,
            notice=rules.get_detectable_loss(margin),
            templates=pairs.templates,
        )
        self._categories = {name: found[name] for name in order_categories(found)}

    def check_all(self) -> Iterator[GateCheck]:
        """One check overall, one a category, one of ungrounded answers if there is a limit."""
        if self._overall is None:
            yield make_undecided_check(MARGIN_RULE, OVERALL, "no trial has a mark in both runs")
            return
        if self._rules.prove:
            yield self._check_proof(self._overall)
        else:
            yield _check_loss(MARGIN_RULE, OVERALL, self._overall)
        for name, found in self._categories.items():
            yield _check_loss(CATEGORY_RULE, name, found)
        if self._rules.hallucination_margin is not None:
            yield self._check_hallucination(self._rules.hallucination_margin)

    def describe_strength(self) -> str | None:
        """Which overall loss would have been detected, in words."""
        found = self._overall
        if found is None:
            return None
        questions = f"{found.difference.questions:,} questions"
        if found.power is None:
            return f"unknown: none of {questions} differs from another"
        if self._rules.prove:
            return f"{_describe_provable(found, found.power)}, by {questions}"
        wanted = self._rules.get_detectable_loss(found.margin)
        power = _describe_power(found.power, found.even_power)
        words = f"a loss of {wanted:g} points of 100 would be noticed {power}"
        if found.noticed is None:
            return f"{words}; {questions} show no loss, however large, four times in five"
        other = f"one of {format_number(found.noticed, 1)} in whole questions four times in five"
        return f"{words}; {other}, by {questions}"

    def list_warnings(self) -> Iterator[str]:
        """What weakens the verdict."""
        found = self._overall
        if found is not None and (power := _find_low_power(found)) is not None:
            wanted = self._rules.get_detectable_loss(found.margin)
            what = f"a loss of {wanted:g} points that takes whole questions would be noticed"
            if self._rules.prove:
                what = "a run that lost nothing would pass"
            yield (
                f"too few questions to rely on: {what} only {_format_power(power)}; ask more "
                "(`recall-bench plan power` says how many)"
            )
        weak = sum(_find_low_power(each) is not None for each in self._categories.values())
        if weak:
            wanted = self._rules.get_detectable_loss(self._rules.tolerated_category_loss)
            yield (
                f"in {weak} of {len(self._categories)} categories a loss of {wanted:g} points "
                "that takes whole questions would be noticed less than four times in five"
            )
        for each in self._pairs.dropped:
            yield (
                f"left out: {each.first:,} trials of the baseline and {each.second:,} of the run, "
                f"{each.reason}"
            )
        if found is not None and found.difference.missing:
            yield f"{found.difference.missing:,} trials have a mark in only one of the two runs"

    def _check_proof(self, found: GateLoss) -> GateCheck:
        """Passes only if a loss of more than the margin is ruled out."""
        check = _check_loss(MARGIN_RULE, OVERALL, found)
        if self._pairs.is_identical(*self._tables):
            return check.replace(said="every trial has the same result, so nothing was lost")
        words = "no more than" if found.is_ruled_out else "it is not proven that no more than"
        p_value = 1.0 if found.less_p is None else found.less_p
        return check.replace(
            outcome=CheckOutcome.PASSED if found.is_ruled_out else CheckOutcome.FAILED,
            said=f"{_format_difference(found.difference)}: {words} {found.margin:g} were lost, "
            f"{format_p(p_value, sign=True)} with one more question lost whole",
            p_value=p_value,
        )

    def _check_hallucination(self, margin: float) -> GateCheck:
        """A rise of invented or leaked answers is a loss of grounded ones."""
        sound = [
            self._pairs.select_marks(
                {
                    trial: FULL_SCORE * (1 - made_up)
                    for trial, made_up in table.hallucinations.items()
                }
            )
            for table in self._tables
        ]
        found = measure_loss(
            *sound,
            margin=margin,
            notice=self._rules.get_detectable_loss(margin),
            templates=self._pairs.templates,
        )
        if found is None:
            return make_undecided_check(
                HALLUCINATION_RULE, OVERALL, "no answer was judged in both runs"
            )
        check = _check_loss(HALLUCINATION_RULE, OVERALL, found)
        low, high = found.difference.low, found.difference.high
        rise = found.difference.replace(
            value=-found.difference.value,
            low=None if high is None else -high,
            high=None if low is None else -low,
        )
        word = "more than" if found.is_significant else "not significantly more than"
        return check.replace(
            value=rise.value,
            limit=margin,
            is_least=False,
            low=rise.low,
            high=rise.high,
            said=f"answers invented or leaked changed by {_format_difference(rise)}: {word} the "
            f"{margin:g} allowed, {format_p(found.more_p, sign=True)}",
        )


def _check_loss(rule: str, of: str, found: GateLoss) -> GateCheck:
    p_value = found.more_p if found.more_adjusted is None else found.more_adjusted
    word = "more than" if found.is_significant else "not significantly more than"
    adjusted = "" if found.more_adjusted is None else " adjusted for several categories"
    return GateCheck(
        rule=rule,
        of=of,
        outcome=CheckOutcome.FAILED if found.is_significant else CheckOutcome.PASSED,
        said=f"{_format_difference(found.difference)}: {word} the {found.margin:g} tolerated, "
        f"{format_p(p_value, sign=True)}{adjusted}",
        value=found.difference.value,
        limit=-found.margin,
        low=found.difference.low,
        high=found.difference.high,
        questions=found.difference.questions,
        p_value=p_value,
        noticed=found.noticed,
        power=found.power,
        even_power=found.even_power,
    )


def _format_difference(estimate: Estimate) -> str:
    ends = format_interval(estimate, 1)
    return f"{format_delta(estimate.value, 1)} points of 100" + (f" (95 % {ends})" if ends else "")


def _find_low_power(found: GateLoss) -> float | None:
    """The power to find a loss where none was found and the power was low; else None."""
    is_low = not found.is_significant and found.power is not None and found.power < POWER
    return found.power if is_low else None


def _describe_provable(found: GateLoss, power: float) -> str:
    words = (
        f"if nothing was lost, that it is no more than {found.margin:g} points of 100 would be "
        f"shown {_format_power(power)}"
    )
    if found.provable is None:
        return words
    return f"{words}, and no more than {format_number(found.provable, 1)} four times in five"


def _describe_power(power: float, even_power: float | None) -> str:
    """The power for both ways in which a loss may be spread."""
    least = _format_power(power)
    if even_power is None:
        return f"{least} if it takes whole questions"
    most = _format_power(even_power)
    if least == most:
        return f"{least}, however it is spread"
    return f"{least} if it takes whole questions, {most} if it takes a little of each"


def _format_power(power: float) -> str:
    return (
        f"{format_number(100 * power, 0)} times in 100" if power < 0.995 else "practically always"
    )


EVERY_JUDGE = "every"
"""The name that stands for all judges of a run."""


def check_run(run: RunFolder, baseline: RunFolder | None, rules: GateRules) -> GateReport:
    """Check a run, against a baseline if there is one.

    A run that is not valid, or not comparable with its baseline, does not pass. UsageError if there
    is no rule, or nothing to check. Of several judges the first decides, or the one that the rules
    name; by `every` all of them have to pass the run.
    """
    # Derive everything again, also what this process has cached.
    forget_intervals()
    if run.plan.behaviour is not None:
        return check_suite_run(run, baseline, rules)
    if rules.judge not in (None, EVERY_JUDGE):
        find_judge_view(run, rules.judge)
    if not run.plan.other_judges:
        return _check_by_judge(run, baseline, rules)
    found = {
        name: _check_by_judge(view, _find_same_judge(view, baseline), rules)
        for name, view in zip(run.plan.judge_names, open_judge_views(run), strict=True)
    }
    verdicts = {name: each.verdict for name, each in found.items()}
    if rules.judge == EVERY_JUDGE:
        return _combine_judges(found).replace(judges=verdicts)
    chosen = rules.judge or run.plan.judge_names[0]
    report = found[chosen].replace(judges=verdicts)
    others = [name for name, each in verdicts.items() if each is not report.verdict]
    if not others:
        return report
    said = ", ".join(f"{name}: {verdicts[name].value}" for name in others)
    warning = f"the verdict depends on the judge; this is by {chosen}, and by others it is {said}"
    return report.replace(warnings=(*report.warnings, warning))


def _find_same_judge(view: RunFolder, baseline: RunFolder | None) -> RunFolder | None:
    """The baseline by the judge of the view; by its first one if that judge did not judge it."""
    if baseline is None:
        return None
    views = open_judge_views(baseline)
    return next((each for each in views if each.plan.judge == view.plan.judge), baseline)


def _combine_judges(found: Mapping[str, GateReport]) -> GateReport:
    """One report with the checks of all judges."""
    first = next(iter(found.values()))
    checks = tuple(
        check.replace(judge=name) for name, each in found.items() for check in each.checks
    )
    warnings = dict.fromkeys(
        f"{name}: {warning}" for name, each in found.items() for warning in each.warnings
    )
    return first.replace(
        verdict=decide_verdict(checks),
        sentence=describe_verdict(checks),
        checks=checks,
        warnings=tuple(warnings),
    )


def _check_by_judge(run: RunFolder, baseline: RunFolder | None, rules: GateRules) -> GateReport:
    """Check a run by the judge that it was opened for."""
    if rules.has_figure_rules and run.plan.dataset is None:
        raise UsageError(
            f"--max-figure, --min-figure: {run.path} is not a run of a behaviour suite and has no "
            "such figures"
        )
    if baseline is None:
        require_baseline(rules)
    elif run.path.resolve() == baseline.path.resolve():
        raise UsageError(f"{run.path}: is its own baseline, which would always pass; name another")
    ours = _GateSide(run, "run", rules.score)
    theirs = None if baseline is None else _GateSide(baseline, "baseline", rules.score)
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
        unit=name_histories(run.plan),
    )


class _GateSide:
    """One of the two runs."""

    def __init__(self, folder: RunFolder, role: str, score: str | None) -> None:
        self._role = role
        self.folder = folder
        summary = summarise(folder)
        self.table: TrialTable = read_scored_trials(folder, score)
        if folder.plan.dataset is not None and (why := explain_missing_scores(self.table)):
            raise UsageError(f"{folder.path}: {why} to go by")
        self.subject = GateRun(
            folder=str(folder.path),
            system=format_card(folder.plan.system),
            judge=describe_judge(folder.plan),
            started=folder.started,
            status=summary.validity.status,
            reason=summary.validity.reason,
            health=None if folder.diagnosis is None else folder.diagnosis.health,
            score=estimate_scores(
                list_scores(self.table),
                self.table.templates,
                missing=summary.overall.missing if self.table.scale is None else self.table.missing,
            ),
            scale=self.table.scale,
            bounds=estimate_row_range(self.table.rows, self.table.templates),
        )

    @property
    def is_sound(self) -> bool:
        """Whether its scores may be used."""
        return self.check_status().outcome is CheckOutcome.PASSED

    def check_status(self) -> GateCheck:
        """An invalid run fails; an unfinished one is undecided."""
        subject = self.subject
        if self.folder.plan.judge.name == STUB:
            return make_undecided_check(
                self._role, "valid", "the stub judge graded nothing; judge it first"
            )
        return check_status(self._role, subject.status, subject.reason, blames=self._role == "run")

    def check_values(self, rules: GateRules) -> Iterator[GateCheck]:
        """The checks of its values; undecided if the run is not sound."""
        figures = self._check_figures(rules)
        for each in (*check_values(rules, self.table, self.subject.score), *figures):
            if self.is_sound:
                yield each
            else:
                yield each.replace(
                    outcome=CheckOutcome.UNDECIDED, said=f"the {self._role} does not hold"
                )

    def _check_figures(self, rules: GateRules) -> Iterator[GateCheck]:
        """The checks of figures of the dataset's protocol."""
        for rule, limits in (("max-figure", rules.max_figure), ("min-figure", rules.min_figure)):
            for name, limit in limits.items():
                table = read_figure(self.folder, name, f"--{rule}")
                marks = list_scores(table)
                score = estimate_scores(marks, table.templates, missing=table.missing)
                why = "no question of it has a score"
                yield check_limit(rules, rule, limit, score, of=name, label=name, why=why)

    def list_warnings(self) -> Iterator[str]:
        """What to know before trusting its scores."""
        subject = self.subject
        if subject.health is not None and subject.health is not SystemHealth.VALID:
            yield f"doctor says that the {self._role} is {subject.health.value}"
        if (doubt := describe_doubt(subject.bounds)) is not None:
            yield f"the {self._role} {doubt}"
        if subject.score is not None and subject.score.questions < FEW_QUESTIONS:
            yield (
                f"the {self._role} has {subject.score.questions} questions; intervals over fewer "
                f"than {FEW_QUESTIONS} are unreliable"
            )


def _check_baseline(baseline: _GateSide, run: _GateSide) -> Iterator[GateCheck]:
    yield baseline.check_status()
    plans = baseline.folder.plan, run.folder.plan
    found = find_differences(*plans)
    if why := explain_other_measure(*plans):
        yield make_undecided_check("alike", "baseline", f"{why}; run both alike")
    elif found:
        why = f"baseline and run differ in {list_differences(found)}; run both alike"
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
    yield make_undecided_check(MARGIN_RULE, OVERALL, why, limit=-rules.tolerated_loss)
    yield make_undecided_check(CATEGORY_RULE, "all", why, limit=-rules.tolerated_category_loss)
    if rules.hallucination_margin is not None:
        limit = rules.hallucination_margin
        yield make_undecided_check(HALLUCINATION_RULE, OVERALL, why, limit=limit, is_least=False)
