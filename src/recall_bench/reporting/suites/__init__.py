"""Figures, reports and the scorecard of the behaviour suites."""
