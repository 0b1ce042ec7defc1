"""The proof of a built world: every reference re-derived from the text alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from recall_bench.datasets.days import list_days
from recall_bench.datasets.fields import raise_noted
from recall_bench.datasets.layout import Layout
from recall_bench.errors import BenchError, Malformed
from recall_bench.proof.account import Account
from recall_bench.proof.attendance import find_absences, last_day
from recall_bench.proof.examination import examine
from recall_bench.proof.finding import Code, Finding, Report
from recall_bench.proof.grammar import Grammar
from recall_bench.proof.inquiry import read_inquiries
from recall_bench.proof.leaks import find_leaks
from recall_bench.proof.lexicon import Lexicon, audit_lexicon, read_lexicon
from recall_bench.proof.names import NameIndex
from recall_bench.proof.passages import Day, divide
from recall_bench.proof.statements import read_table
from recall_bench.yaml12 import read_document


def check(folder: Path, arcs: str) -> Report:
    """Prove the story of this arcs file; UsageError if it was not built by the simulator."""
    layout = Layout(folder, arcs)
    raise_noted(list(layout.missing()))
    path = layout.questions_file.with_name("lexicon.json")
    lexicon = read_lexicon(path, layout.name(path))
    inquiries = read_inquiries(
        read_document(layout.questions_file, name=layout.name(layout.questions_file))
    )
    findings = list(audit_lexicon(lexicon, layout.name(path)))
    days = tuple(_days(layout, findings))
    told = [day.day for day in days]
    findings += find_absences(layout, lexicon.epoch, told)
    findings += _unknown_sessions(lexicon, days)
    account = read_account(lexicon, days)
    last = last_day(layout, told)
    rederived = 0
    for inquiry in inquiries:
        is_rederived, found = examine(account, inquiry, last)
        rederived += is_rederived
        findings += found
    findings += find_leaks(account, days, inquiries)
    return Report(questions=len(inquiries), rederived=rederived, findings=tuple(findings))


def read_account(lexicon: Lexicon, days: Iterable[Day]) -> Account:
    """What the days say, read once."""
    grammar = Grammar(lexicon)
    names = NameIndex({thread.name: key for key, thread in lexicon.threads.items()})
    return Account(lexicon, grammar, read_table(days, lexicon, grammar, names), names)


def _days(layout: Layout, findings: list[Finding]) -> Iterator[Day]:
    """The day files that can be read; the others are found wrong."""
    problems: list[BenchError] = []
    for file in list_days(layout, problems, []):
        try:
            yield divide(file.day, file.read())
        except Malformed as problem:
            problems.append(problem)
    findings += [
        Finding(Code.DAY, layout.name(layout.memories), str(problem)) for problem in problems
    ]


def _unknown_sessions(lexicon: Lexicon, days: tuple[Day, ...]) -> Iterator[Finding]:
    """Sessions of which nobody can tell whether they are isolated."""
    first: dict[str, int] = {}
    for day in days:
        for block in day.blocks:
            first.setdefault(block.session, day.day)
    for session, since in first.items():
        if session not in lexicon.rooms:
            yield Finding(
                Code.LEXICON,
                f"day {since}",
                f"the session {session} is not in the lexicon, so nothing says if it is isolated",
            )
