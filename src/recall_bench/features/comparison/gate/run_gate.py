"""Whether a run passes: checks of its status, of its values, and against a baseline."""

from collections.abc import Iterator, Mapping

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.scenario import CATEGORIES, order_categories
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.judge_sensitivity import find_judge_view, open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import estimate_row_range
from recall_bench.engine.runs.summary import STUB, RunStatus, summarise
from recall_bench.engine.runs.trials import TrialTable, identify_answers
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
    decide_verdict,
    describe_verdict,
    make_undecided_check,
)
from recall_bench.features.comparison.gate.gate_loss import GateLoss, measure_loss, measure_losses
from recall_bench.features.comparison.gate.gate_rules import FULL_SCORE, GateRules, require_baseline
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.comparison import TrialMarks, split_marks
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, forget_intervals
from recall_bench.metrics.power import POWER
from recall_bench.reporting.formats import (
    format_card,
    format_delta,
    format_interval,
    format_number,
    format_p,
)
from recall_bench.reporting.groups import describe_judge, estimate_marks, name_histories
from recall_bench.reporting.headlines import describe_doubt
from recall_bench.reporting.run_pairs import (
    explain_other_measure,
    find_differences,
    list_differences,
    pair_trials,
)
from recall_bench.reporting.suites.figures import Figure
from recall_bench.reporting.suites.report_text import format_ends, format_figure
from recall_bench.reporting.suites.suite_report import build_behaviour_report
from recall_bench.reporting.trial_scores import (
    explain_missing_scores,
    read_figure,
    read_scored_trials,
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
        return _check_suite_run(run, baseline, rules)
    if rules.judge not in (None, EVERY_JUDGE):
        find_judge_view(run, rules.judge)
    if not run.plan.other_judges:
        return _check_by_judge(run, baseline, rules)
    reports = {
        name: _check_by_judge(view, _find_same_judge(view, baseline), rules)
        for name, view in zip(run.plan.judge_names, open_judge_views(run), strict=True)
    }
    verdicts = {name: report.verdict for name, report in reports.items()}
    if rules.judge == EVERY_JUDGE:
        return _combine_judges(reports).replace(judges=verdicts)
    chosen = rules.judge or run.plan.judge_names[0]
    report = reports[chosen].replace(judges=verdicts)
    others = [
        f"{name}: {verdict.value}"
        for name, verdict in verdicts.items()
        if verdict != report.verdict
    ]
    if not others:
        return report
    warning = (
        f"the verdict depends on the judge; this is by {chosen}, and by others it is "
        f"{', '.join(others)}"
    )
    return report.replace(warnings=(*report.warnings, warning))


def _find_same_judge(view: RunFolder, baseline: RunFolder | None) -> RunFolder | None:
    """The baseline by the judge of the view; by its first one if that judge did not judge it."""
    if baseline is None:
        return None
    views = open_judge_views(baseline)
    return next((other for other in views if other.plan.judge == view.plan.judge), baseline)


def _combine_judges(reports: Mapping[str, GateReport]) -> GateReport:
    """One report with the checks of all judges."""
    checks = tuple(
        check.replace(judge=name) for name, report in reports.items() for check in report.checks
    )
    warnings = dict.fromkeys(
        f"{name}: {warning}" for name, report in reports.items() for warning in report.warnings
    )
    return next(iter(reports.values())).replace(
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
    if theirs is not None and identify_answers(run) == identify_answers(theirs.folder):
        raise UsageError(
            f"{run.path}: holds the same answers as its baseline {theirs.folder.path}, which would "
            "always pass; name another"
        )
    status = ours.check_status()
    checks = [status]
    for check in _check_values(rules, ours):
        is_open = status.outcome is not CheckOutcome.PASSED
        checks.append(_leave_open(check, "the run does not hold") if is_open else check)
    strength, warnings = None, [*ours.list_warnings()]
    if theirs is not None:
        conditions = [theirs.check_status(), _check_alike(theirs.folder, run)]
        checks += conditions
        if all(check.outcome is CheckOutcome.PASSED for check in (status, *conditions)):
            comparison = _BaselineComparison(theirs.table, ours.table, rules)
            checks += comparison.check_all()
            strength = comparison.describe_strength()
            warnings += [*theirs.list_warnings(), *comparison.list_warnings()]
        else:
            checks += _list_open_checks(rules)
    return _build_report(
        tuple(checks), rules, ours.subject, None if theirs is None else theirs.subject
    ).replace(strength=strength, warnings=tuple(warnings), unit=name_histories(run.plan))


def _build_report(
    checks: tuple[GateCheck, ...], rules: GateRules, run: GateRun, baseline: GateRun | None = None
) -> GateReport:
    return GateReport(
        verdict=decide_verdict(checks),
        sentence=describe_verdict(checks),
        run=run,
        baseline=baseline,
        rules=rules,
        checks=checks,
        strength=None,
        warnings=(),
        seed=SEED,
    )


def _describe_run(folder: RunFolder) -> GateRun:
    validity = summarise(folder).validity
    return GateRun(
        folder=str(folder.path),
        system=format_card(folder.plan.system),
        judge=describe_judge(folder.plan),
        started=folder.started,
        status=validity.status,
        reason=validity.reason,
        health=None if folder.diagnosis is None else folder.diagnosis.health,
        score=None,
    )


class _GateSide:
    """One of the two runs."""

    def __init__(self, folder: RunFolder, role: str, score: str | None) -> None:
        self.folder, self._role = folder, role
        self.table = read_scored_trials(folder, score)
        if folder.plan.dataset is not None and (why := explain_missing_scores(self.table)):
            raise UsageError(f"{folder.path}: {why} to go by")
        is_marked = self.table.scale is None
        missing = summarise(folder).overall.missing if is_marked else self.table.missing
        self.subject = _describe_run(folder).replace(
            score=_estimate(_list_scores(self.table), self.table, missing=missing),
            scale=self.table.scale,
            bounds=estimate_row_range(self.table.rows, self.table.templates),
        )

    def check_status(self) -> GateCheck:
        """An invalid run fails; an unfinished one is undecided."""
        if self.folder.plan.judge.name == STUB:
            why = "the stub judge graded nothing; judge it first"
            return make_undecided_check(self._role, "valid", why)
        blames = self._role == "run"
        return check_status(self._role, self.subject.status, self.subject.reason, blames=blames)

    def list_warnings(self) -> Iterator[str]:
        """What to know before trusting its scores."""
        subject = self.subject
        if self.folder.doubt is not None:
            yield self.folder.doubt
        if subject.health is not None and subject.health is not SystemHealth.VALID:
            yield f"doctor says that the {self._role} is {subject.health.value}"
        if (doubt := describe_doubt(subject.bounds)) is not None:
            yield f"the {self._role} {doubt}"
        if subject.score is not None and subject.score.questions < FEW_QUESTIONS:
            yield (
                f"the {self._role} has {subject.score.questions} questions; intervals over fewer "
                f"than {FEW_QUESTIONS} are unreliable"
            )


def _list_scores(table: TrialTable) -> TrialMarks:
    """Points of 100 of every trial that counts."""
    return {trial: FULL_SCORE * points / FULL_MARKS for trial, points in table.points.items()}


def _estimate(marks: TrialMarks, table: TrialTable, *, missing: int = 0) -> Estimate | None:
    limits = (0.0, FULL_SCORE)
    return estimate_marks(marks, limits=limits, templates=table.templates, missing=missing)


def _leave_open(check: GateCheck, why: str) -> GateCheck:
    return check.replace(outcome=CheckOutcome.UNDECIDED, said=why)


def _check_values(rules: GateRules, side: _GateSide) -> Iterator[GateCheck]:
    """The checks that need no baseline, in the order of the rules."""
    table = side.table
    if rules.min_score is not None:
        score = side.subject.score
        yield check_limit(rules, "min-score", rules.min_score, score, label="the score")
    if rules.min_category:
        category = _map_categories(table)
        items = (item for items in table.items.values() for item in items)
        categories = {*CATEGORIES, *(item.truth.category for item in items)}
        marks = split_marks(_list_scores(table), category.__getitem__)
        for name, least in rules.min_category.items():
            if name not in categories:
                hint = suggest_or_list(name, marks, f"the run has {', '.join(sorted(marks))}")
                raise UsageError(f"--min-category: there is no category {name[:60]!r}; {hint}")
            score = _estimate(marks.get(name, {}), table)
            label = f"the score of {name}"
            yield check_limit(rules, "min-category", least, score, of=name, label=label)
    for rule, most, shares, what in (
        ("max-invented", rules.max_invented, table.inventions, "invented"),
        ("max-hallucination", rules.max_hallucination, table.hallucinations, "invented or leaked"),
    ):
        if most is not None:
            rate = _estimate({trial: FULL_SCORE * one for trial, one in shares.items()}, table)
            label = f"of judged answers were {what}"
            yield check_limit(rules, rule, most, rate, label=label, why="no answer was judged")
    if rules.max_leaks is not None:
        yield _check_leaks(rules.max_leaks, table)
    for rule, limits in (("max-figure", rules.max_figure), ("min-figure", rules.min_figure)):
        for name, limit in limits.items():
            figure = read_figure(side.folder, name, f"--{rule}")
            score = _estimate(_list_scores(figure), figure, missing=figure.missing)
            why = "no question of it has a score"
            yield check_limit(rules, rule, limit, score, of=name, label=name, why=why)


def _check_leaks(most: int, table: TrialTable) -> GateCheck:
    guarded, leaked = len(table.leaks), round(sum(table.leaks.values()))
    if not guarded:
        why = "no answer could leak a secret; `run --groups-enabled` asks such questions"
        return make_undecided_check("max-leaks", OVERALL, why, limit=most, is_least=False)
    return GateCheck(
        rule="max-leaks",
        of=OVERALL,
        outcome=CheckOutcome.PASSED if leaked <= most else CheckOutcome.FAILED,
        said=f"{leaked:,} of {guarded:,} guarded answers leaked the secret; at most {most:,} may",
        value=leaked,
        limit=most,
        is_least=False,
        questions=len({(trial.scenario, trial.item) for trial in table.leaks}),
    )


def _map_categories(table: TrialTable) -> dict[object, str]:
    return {row.trial: row.category for row in table.rows}


def _check_alike(baseline: RunFolder, run: RunFolder) -> GateCheck:
    differences = find_differences(baseline.plan, run.plan)
    why = explain_other_measure(baseline.plan, run.plan)
    if why is None and differences:
        why = f"baseline and run differ in {list_differences(differences)}"
    if why is not None:
        return make_undecided_check("alike", "baseline", f"{why}; run both alike")
    words = "asked, fed and judged as the baseline was"
    return GateCheck(rule="alike", of="baseline", outcome=CheckOutcome.PASSED, said=words)


def _list_open_checks(rules: GateRules) -> Iterator[GateCheck]:
    why = "there are no two runs that hold and are alike"
    yield make_undecided_check(MARGIN_RULE, OVERALL, why, limit=-rules.tolerated_loss)
    yield make_undecided_check(CATEGORY_RULE, "all", why, limit=-rules.tolerated_category_loss)
    if (limit := rules.hallucination_margin) is not None:
        yield make_undecided_check(HALLUCINATION_RULE, OVERALL, why, limit=limit, is_least=False)


class _BaselineComparison:
    """The losses of a run on the trials that both runs owe."""

    def __init__(self, baseline: TrialTable, run: TrialTable, rules: GateRules) -> None:
        self._tables = baseline, run
        self._pairs = pairs = pair_trials(baseline, run)
        self._rules = rules
        ours, theirs = (pairs.select_marks(_list_scores(table)) for table in self._tables)
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
        losses = measure_losses(
            ours,
            theirs,
            _map_categories(baseline).__getitem__,
            margin=margin,
            notice=rules.get_detectable_loss(margin),
            templates=pairs.templates,
        )
        self._categories = {name: losses[name] for name in order_categories(losses)}

    def check_all(self) -> Iterator[GateCheck]:
        """One check overall, one a category, one of ungrounded answers if there is a limit."""
        if self._overall is None:
            yield make_undecided_check(MARGIN_RULE, OVERALL, "no trial has a mark in both runs")
            return
        check = _check_loss(MARGIN_RULE, OVERALL, self._overall)
        yield self._check_proof(check, self._overall) if self._rules.prove else check
        for name, loss in self._categories.items():
            yield _check_loss(CATEGORY_RULE, name, loss)
        if self._rules.hallucination_margin is not None:
            yield self._check_hallucination(self._rules.hallucination_margin)

    def _check_proof(self, check: GateCheck, loss: GateLoss) -> GateCheck:
        """Passes only if a loss of more than the margin is ruled out."""
        if self._pairs.is_identical(*self._tables):
            return check.replace(said="every trial has the same result, so nothing was lost")
        words = "no more than" if loss.is_ruled_out else "it is not proven that no more than"
        p_value = 1.0 if loss.less_p is None else loss.less_p
        return check.replace(
            outcome=CheckOutcome.PASSED if loss.is_ruled_out else CheckOutcome.FAILED,
            said=f"{_format_difference(loss.difference)}: {words} {loss.margin:g} were lost, "
            f"{format_p(p_value, sign=True)} with one more question lost whole",
            p_value=p_value,
        )

    def _check_hallucination(self, margin: float) -> GateCheck:
        """A rise of invented or leaked answers is a loss of grounded ones."""
        grounded = [
            self._pairs.select_marks(
                {trial: FULL_SCORE * (1 - share) for trial, share in table.hallucinations.items()}
            )
            for table in self._tables
        ]
        notice = self._rules.get_detectable_loss(margin)
        loss = measure_loss(
            *grounded, margin=margin, notice=notice, templates=self._pairs.templates
        )
        if loss is None:
            why = "no answer was judged in both runs"
            return make_undecided_check(HALLUCINATION_RULE, OVERALL, why)
        low, high = loss.difference.low, loss.difference.high
        rise = loss.difference.replace(
            value=-loss.difference.value,
            low=None if high is None else -high,
            high=None if low is None else -low,
        )
        word = "more than" if loss.is_significant else "not significantly more than"
        return _check_loss(HALLUCINATION_RULE, OVERALL, loss).replace(
            value=rise.value,
            limit=margin,
            is_least=False,
            low=rise.low,
            high=rise.high,
            said=f"answers invented or leaked changed by {_format_difference(rise)}: {word} the "
            f"{margin:g} allowed, {format_p(loss.more_p, sign=True)}",
        )

    def describe_strength(self) -> str | None:
        """Which overall loss would have been detected, in words."""
        loss = self._overall
        if loss is None:
            return None
        questions = f"{loss.difference.questions:,} questions"
        if loss.power is None:
            return f"unknown: none of {questions} differs from another"
        power = _format_power(loss.power)
        if self._rules.prove:
            words = (
                f"if nothing was lost, that it is no more than {loss.margin:g} points of 100 would "
                f"be shown {power}"
            )
            if loss.provable is not None:
                words += f", and no more than {format_number(loss.provable, 1)} four times in five"
            return f"{words}, by {questions}"
        even = power if loss.even_power is None else _format_power(loss.even_power)
        spread = f"{power} if it takes whole questions"
        if loss.even_power is not None:
            is_same = even == power
            spread += f", {even} if it takes a little of each"
            spread = f"{power}, however it is spread" if is_same else spread
        notice = self._rules.get_detectable_loss(loss.margin)
        words = f"a loss of {notice:g} points of 100 would be noticed {spread}"
        if loss.noticed is None:
            return f"{words}; {questions} show no loss, however large, four times in five"
        other = f"one of {format_number(loss.noticed, 1)} in whole questions four times in five"
        return f"{words}; {other}, by {questions}"

    def list_warnings(self) -> Iterator[str]:
        """What weakens the verdict."""
        loss = self._overall
        if loss is not None and loss.power is not None and _is_weak(loss):
            notice = self._rules.get_detectable_loss(loss.margin)
            what = f"a loss of {notice:g} points that takes whole questions would be noticed"
            if self._rules.prove:
                what = "a run that lost nothing would pass"
            yield (
                f"too few questions to rely on: {what} only {_format_power(loss.power)}; ask more "
                "(`recall-bench plan power` says how many)"
            )
        if weak := sum(map(_is_weak, self._categories.values())):
            notice = self._rules.get_detectable_loss(self._rules.tolerated_category_loss)
            yield (
                f"in {weak} of {len(self._categories)} categories a loss of {notice:g} points "
                "that takes whole questions would be noticed less than four times in five"
            )
        for dropped in self._pairs.dropped:
            yield (
                f"left out: {dropped.first:,} trials of the baseline and {dropped.second:,} of the "
                f"run, {dropped.reason}"
            )
        if loss is not None and loss.difference.missing:
            yield f"{loss.difference.missing:,} trials have a mark in only one of the two runs"


def _check_loss(rule: str, of: str, loss: GateLoss) -> GateCheck:
    p_value = loss.more_p if loss.more_adjusted is None else loss.more_adjusted
    word = "more than" if loss.is_significant else "not significantly more than"
    adjusted = "" if loss.more_adjusted is None else " adjusted for several categories"
    return GateCheck(
        rule=rule,
        of=of,
        outcome=CheckOutcome.FAILED if loss.is_significant else CheckOutcome.PASSED,
        said=f"{_format_difference(loss.difference)}: {word} the {loss.margin:g} tolerated, "
        f"{format_p(p_value, sign=True)}{adjusted}",
        value=loss.difference.value,
        limit=-loss.margin,
        low=loss.difference.low,
        high=loss.difference.high,
        questions=loss.difference.questions,
        p_value=p_value,
        noticed=loss.noticed,
        power=loss.power,
        even_power=loss.even_power,
    )


def _format_difference(estimate: Estimate) -> str:
    ends = format_interval(estimate, 1)
    return f"{format_delta(estimate.value, 1)} points of 100" + (f" (95 % {ends})" if ends else "")


def _is_weak(loss: GateLoss) -> bool:
    """Whether no loss was found, and one might have been missed."""
    return not loss.is_significant and loss.power is not None and loss.power < POWER


def _format_power(power: float) -> str:
    if power >= 0.995:
        return "practically always"
    return f"{format_number(100 * power, 0)} times in 100"


_SCALES = {"share": (100.0, " %"), "s": (1000.0, " ms")}
"""Limits of figures are in % and milliseconds, as they are printed."""


def _check_suite_run(run: RunFolder, baseline: RunFolder | None, rules: GateRules) -> GateReport:
    """Check the figures of a run of a suite; UsageError if a rule is not about figures."""
    if baseline is not None:
        raise UsageError("--baseline: a behaviour suite is held to limits; give --max-figure")
    if rules != GateRules(
        max_figure=rules.max_figure, min_figure=rules.min_figure, confident=rules.confident
    ):
        raise UsageError(
            f"{run.path} is a run of a behaviour suite, which has no marks; give --max-figure or "
            "--min-figure"
        )
    if not rules.has_figure_rules:
        raise UsageError("no rule is set; give --max-figure NAME=LIMIT or --min-figure NAME=LIMIT")
    report, subject = build_behaviour_report(run), _describe_run(run)
    checks = [check_status("run", subject.status, subject.reason)]
    for rule, limits in (("max-figure", rules.max_figure), ("min-figure", rules.min_figure)):
        for name, limit in limits.items():
            figure = report.get_figure(name)
            if figure is None:
                names = [figure.name for figure in report.figures]
                hint = suggest_or_list(name, names, f"it has {', '.join(names)}")
                raise UsageError(f"--{rule}: {report.suite} has no figure {name[:60]!r}; {hint}")
            check = _check_figure(rule, figure, limit, rules)
            is_valid = subject.status is RunStatus.VALID
            checks.append(check if is_valid else _leave_open(check, "the run does not hold"))
    return _build_report(tuple(checks), rules, subject)


def _check_figure(rule: str, figure: Figure, limit: float, rules: GateRules) -> GateCheck:
    scale, unit = _SCALES.get(figure.unit, (1.0, ""))
    estimate = figure.estimate if figure.is_offered else None
    if estimate is not None:
        ends = (None if end is None else scale * end for end in (estimate.low, estimate.high))
        low, high = ends
        estimate = estimate.replace(value=scale * estimate.value, low=low, high=high)
    return check_limit(
        rules,
        rule,
        limit,
        estimate,
        of=figure.name,
        label=figure.label,
        why="nothing was measured" if figure.is_offered else "not offered by this system",
        unit=unit,
        said=f"{figure.label}: {format_figure(figure)} {format_ends(figure)}".rstrip(),
    )
