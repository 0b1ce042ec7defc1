"""Figures of a suite's report that must be there."""

from recall_bench.reporting.suites.figures import BehaviourReport


def get_value(report: BehaviourReport, name: str) -> float:
    """The value of a figure that must be there."""
    figure = report.get_figure(name)
    assert figure is not None
    assert figure.estimate is not None, (name, figure.note)
    return figure.estimate.value
