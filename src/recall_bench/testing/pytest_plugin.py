"""A plugin for pytest: the contract of a system and the rules of a gate, one test for each.

`pytest --recall-bench my_adapter.py --recall-bench-gate gate.yaml`. Without the option it adds
nothing to a session and imports nothing but pytest. It has no assertions for pytest to rewrite:
PYTEST_DONT_REWRITE.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pytest

if TYPE_CHECKING:
    from recall_bench.core.settings import Settings
    from recall_bench.features.comparison.gate.gate_checks import GateCheck, GateReport
    from recall_bench.features.comparison.gate.gate_rules import GateRules
    from recall_bench.testing import ContractReport

T = TypeVar("T")

_NAME = "recall-bench"
_PROFILE = "recall-bench.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup(_NAME, "what a memory recalls")
    group.addoption(
        "--recall-bench",
        dest="recall_bench",
        metavar="ADAPTER",
        help="Test that this system keeps the contract; as for `recall-bench run --adapter`.",
    )
    group.addoption(
        "--recall-bench-gate",
        dest="recall_bench_gate",
        metavar="FILE",
        help="Run the benchmark, and test each rule of this file; as for `recall-bench gate`.",
    )
    group.addoption(
        "--recall-bench-baseline",
        dest="recall_bench_baseline",
        metavar="RUN",
        help="Run folder that the rules compare with [none].",
    )
    group.addoption(
        "--recall-bench-profile",
        dest="recall_bench_profile",
        metavar="FILE",
        help=f"Settings of the run [{_PROFILE}, if it is here; else harbour-office].",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the session if a system is named."""
    if config.getoption("recall_bench") is not None:
        config.pluginmanager.register(_BenchPlugin(config), f"{_NAME}-tests")
        return
    for name in ("gate", "baseline", "profile"):
        if config.getoption(f"recall_bench_{name}") is not None:
            raise pytest.UsageError(f"--recall-bench-{name} needs --recall-bench ADAPTER")


class _CheckBroken(Exception):
    """A test that failed, with all there is to say about it."""


class _Findings(NamedTuple):
    """What a test found: failures, reasons to skip, or neither."""

    broken: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class _BenchPlugin:
    """Adds the tests, and measures the system once when the first of them is run."""

    def __init__(self, config: pytest.Config) -> None:
        self._measured = _Measurement(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the tests, so that `-k` can choose among them."""
        from recall_bench.core.errors import BenchError

        try:
            has_gate = self._measured.rules is not None
        except BenchError as error:
            raise pytest.UsageError(str(error)) from error
        lists = {"contract": _list_contract_checks}
        if has_gate:
            lists["gate"] = _list_gate_checks
        for name, list_checks in lists.items():
            collector = BenchChecks.from_parent(
                session,
                name=name,
                nodeid=f"{_NAME}::{name}",
                list_checks=list_checks,
                measured=self._measured,
            )
            items += session.genitems(collector)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which checks were chosen: the others need not be made."""
        self._measured.checks = frozenset(
            item.name for item in session.items if isinstance(item, BenchCheck)
        ) & {name for name, _ in _list_contract_checks(self._measured)}


class _Measurement:
    """The system of the session, measured at most once; what goes wrong is said by each test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        baseline = config.getoption("recall_bench_baseline")
        self.baseline: Path | None = None if baseline is None else Path(baseline)
        self.checks: frozenset[str] = frozenset()
        """The checks of the contract that are asked for; all if none is named."""

    @cached_property
    def rules(self) -> "GateRules | None":
        """The rules; None without a file or a baseline."""
        from recall_bench.features.comparison.gate.gate_rules import (
            merge_rules,
            read_rules_file,
            require_baseline,
        )

        file = self._config.getoption("recall_bench_gate")
        if file is None and self.baseline is None:
            return None
        layer = {} if file is None else read_rules_file(Path(file), "--recall-bench-gate")
        rules = merge_rules(layer)
        if self.baseline is None:
            require_baseline(rules)
        return rules

    @cached_property
    def contract(self) -> "ContractReport | str":
        """The report on the contract, or why there is none."""
        from recall_bench.core.runtime import run_to_end
        from recall_bench.features.doctor.contract import check_system, close_after
        from recall_bench.systems.resolver import resolve_system

        def check() -> "ContractReport":
            system = resolve_system(self._settings)
            checking = check_system(system, only=self.checks)
            report: ContractReport = run_to_end(close_after, system, checking)
            return report

        return _attempt(check)

    @cached_property
    def gate(self) -> "GateReport | str":
        """The report of the gate on a run of this session, or why there is none."""
        return _attempt(self._run_and_gate)

    @cached_property
    def _settings(self) -> "Settings":
        from recall_bench.library import read_settings

        profile = self._config.getoption("recall_bench_profile")
        path = (
            Path(profile) if profile is not None else self._config.invocation_params.dir / _PROFILE
        )
        settings: dict[str, Any] = {"adapter": self._config.getoption("recall_bench")}
        if profile is not None or path.is_file():
            return read_settings(path, settings)
        return read_settings(None, {**settings, "personas": "harbour-office"})

    def _run_and_gate(self) -> "GateReport":
        from recall_bench.engine.runs.run_folder import RunFolder
        from recall_bench.features.comparison.gate.run_gate import check_run
        from recall_bench.library import run

        against = None if self.baseline is None else RunFolder.open(self.baseline)
        rules = self.rules
        if rules is None:
            raise AssertionError("no test of a gate is collected without rules")
        # The factory behind the fixture `tmp_path_factory`: items that are no functions have none.
        factory: pytest.TempPathFactory = self._config._tmp_path_factory  # type: ignore[attr-defined]  # noqa: SLF001
        place = factory.mktemp(_NAME) / "run"
        finished = run(self._settings, into=place, heatmap_png=False)
        return check_run(finished.folder, against, rules)


def _attempt(measure: Callable[[], T]) -> T | str:
    from recall_bench.core.errors import BenchError

    try:
        return measure()
    except BenchError as error:
        return f"{type(error).__name__}: {error}"


class BenchCheck(pytest.Item):
    """One check as a test."""

    def __init__(self, *, find: Callable[[], _Findings], **more: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**more)
        self._find = find

    def runtest(self) -> None:
        """Fail with what is broken, or skip with why it does not apply."""
        findings = self._find()
        if findings.broken:
            raise _CheckBroken("\n".join(findings.broken))
        if findings.skipped:
            pytest.skip("; ".join(findings.skipped))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ANN401 - pytest's own
    ) -> Any:  # noqa: ANN401 - pytest's own
        """The finding alone, without our traceback."""
        if isinstance(excinfo.value, _CheckBroken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """The name of the test in headings."""
        return _NAME, None, self.nodeid


class BenchChecks(pytest.Collector):
    """The tests of one kind."""

    def __init__(
        self,
        *,
        list_checks: "Callable[[_Measurement], Iterator[_Check]]",
        measured: _Measurement,
        **more: Any,  # noqa: ANN401 - pytest's own
    ) -> None:
        super().__init__(**more)
        self._list_checks = list_checks
        self._measured = measured

    def collect(self) -> Iterator[pytest.Item]:
        """The tests; nothing is measured yet."""
        for name, find in self._list_checks(self._measured):
            yield BenchCheck.from_parent(self, name=name, find=find)


_Check = tuple[str, Callable[[], _Findings]]
"""The name of a test, and what makes its findings."""


def _list_contract_checks(measured: _Measurement) -> Iterator[_Check]:
    from recall_bench.testing import CHECKS

    for check in CHECKS:
        yield check.name, partial(_find_contract, measured, check.name)


def _find_contract(measured: _Measurement, name: str) -> _Findings:
    from recall_bench.testing import Outcome

    report = measured.contract
    if isinstance(report, str):
        return _Findings(broken=(report,))
    result = report.get_result(name)
    match result.outcome:
        case Outcome.FAILED:
            return _Findings(broken=(result.message,))
        case Outcome.NOT_APPLICABLE:
            return _Findings(skipped=(result.message,))
        case Outcome.PASSED:
            return _Findings()


def _list_gate_checks(measured: _Measurement) -> Iterator[_Check]:
    from recall_bench.features.comparison.gate.gate_rules import list_rules

    if measured.rules is None:
        return
    for rule, of in list_rules(measured.rules, has_baseline=measured.baseline is not None):
        name = rule if of is None else f"{rule} {of}"
        yield name, partial(_find_gate, measured, rule, of)


def _find_gate(measured: _Measurement, rule: str, of: str | None) -> _Findings:
    report = measured.gate
    if isinstance(report, str):
        return _Findings(broken=(report,))
    checks = [check for check in report.checks if check.rule == rule and of in (None, check.of)]
    if not checks:
        return _Findings(skipped=("not measured",))
    return _Findings(broken=tuple(_describe_broken(checks, report.run.folder)))


def _describe_broken(checks: "list[GateCheck]", folder: str) -> Iterator[str]:
    from recall_bench.features.comparison.gate.gate_checks import CheckOutcome

    broken = [check for check in checks if check.outcome is not CheckOutcome.PASSED]
    for failure in broken:
        yield f"{failure.outcome.value}: {failure.of}: {failure.said}"
    if broken:
        yield f"see recall-bench report {folder}"
