"""A report for people, in a hundred columns: each section says what it found, then shows it."""

from collections.abc import Iterable

from recall_bench.analysis.canaries.text import text_of as canary_text
from recall_bench.analysis.report.attribution_text import attribution_lines
from recall_bench.analysis.report.cost_text import cost_lines
from recall_bench.analysis.report.degradation_text import degradation_lines
from recall_bench.analysis.report.figures import SMALL, basis, of_six, share
from recall_bench.analysis.report.hallucination_text import hallucination_lines
from recall_bench.analysis.report.views import Header, Report
from recall_bench.reporting.lines import fact, heading, wrapped
from recall_bench.reporting.summary import Status
from recall_bench.reporting.text import STUB_WARNING
from recall_bench.statistics.estimate import FEW_QUESTIONS

_CANARIES = 8


def text_of(report: Report) -> str:
    """The whole report but for its heatmaps, which `run` prints."""
    lines = [
        *heading(f"Recall Bench · report on {report.header.system}", rule="═"),
        "",
        *_header(report.header),
    ]
    lines += _section("Hallucination", hallucination_lines(report.hallucination))
    lines += _section("Degradation", degradation_lines(report.degradation))
    lines += _section("Failures", attribution_lines(report.attribution))
    lines += _section("Cost", cost_lines(report.costs, report.paretos))
    lines += _section("Canaries", canary_text(report.canaries, most=_CANARIES).split("\n"))
    lines += ["", *_notes(report)]
    return "\n".join(lines)


def _header(header: Header) -> list[str]:
    lines = [STUB_WARNING] if header.is_stub else []
    if header.status is not Status.VALID:
        lines += fact("Status", f"{header.status.value.upper()} ({header.reason})")
    if header.overall is not None:
        lines += fact("Score", f"{of_six(header.overall)} · {basis(header.overall)}")
    lines += fact("Made up", f"{share(header.hallucination)} of judged answers")
    lines += fact("Judge", header.judge)
    for notice in header.notices:
        lines += fact("Notice", notice)
    return lines


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", *heading(title), *lines]


def _notes(report: Report) -> list[str]:
    return wrapped(
        "n: different questions; each is one piece of evidence, however often it was put. In "
        f"brackets: 95 % intervals, by drawing questions again, or personas where there are five "
        f"or more (seed {report.seed}). {SMALL}: fewer than {FEW_QUESTIONS} questions; the "
        "interval holds less often than it says."
    )
