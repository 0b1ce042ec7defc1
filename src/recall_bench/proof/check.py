"""The proof of a built world: every reference re-derived from the text alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from recall_bench.datasets.days import list_days
from recall_bench.datasets.fields import raise_problems
from recall_bench.datasets.layout import Layout
from recall_bench.errors import BenchError, Malformed
from recall_bench.proof.account import StatementLookup
from recall_bench.proof.attendance import find_last_day, find_missing_days
from recall_bench.proof.examination import verify_question
from recall_bench.proof.finding import VerificationCode, VerificationFinding, VerificationReport
from recall_bench.proof.grammar import WorldGrammar
from recall_bench.proof.inquiry import read_claims
from recall_bench.proof.leaks import find_leaks
from recall_bench.proof.lexicon import WorldLexicon, audit_lexicon, read_lexicon
from recall_bench.proof.names import NameIndex
from recall_bench.proof.passages import ParsedDay, parse_day
from recall_bench.proof.statements import read_table
from recall_bench.yaml12 import read_document


def verify_world(folder: Path, arcs: str) -> VerificationReport:
    """Prove the story of this arcs file; UsageError if it was not built by the simulator."""
    layout = Layout(folder, arcs)
    raise_problems(list(layout.find_missing()))
    path = layout.questions_file.with_name("lexicon.json")
    lexicon = read_lexicon(path, layout.name(path))
    inquiries = read_claims(
        read_document(layout.questions_file, name=layout.name(layout.questions_file))
    )
    findings = list(audit_lexicon(lexicon, layout.name(path)))
    days = tuple(_read_days(layout, findings))
    told = [day.day for day in days]
    findings += find_missing_days(layout, lexicon.epoch, told)
    findings += _find_unknown_sessions(lexicon, days)
    account = read_statements(lexicon, days)
    last = find_last_day(layout, told)
    rederived = 0
    for inquiry in inquiries:
        is_rederived, found = verify_question(account, inquiry, last)
        rederived += is_rederived
        findings += found
    findings += find_leaks(account, days, inquiries)
    return VerificationReport(
        questions=len(inquiries), rederived=rederived, findings=tuple(findings)
    )


def read_statements(lexicon: WorldLexicon, days: Iterable[ParsedDay]) -> StatementLookup:
    """What the days say, read once."""
    grammar = WorldGrammar(lexicon)
    names = NameIndex({thread.name: key for key, thread in lexicon.threads.items()})
    return StatementLookup(lexicon, grammar, read_table(days, lexicon, grammar, names), names)


def _read_days(layout: Layout, findings: list[VerificationFinding]) -> Iterator[ParsedDay]:
    """The day files that can be read; the others are found wrong."""
    problems: list[BenchError] = []
    for file in list_days(layout, problems, []):
        try:
            yield parse_day(file.day, file.read())
        except Malformed as problem:
            problems.append(problem)
    findings += [
        VerificationFinding(VerificationCode.DAY, layout.name(layout.memories), str(problem))
        for problem in problems
    ]


def _find_unknown_sessions(
    lexicon: WorldLexicon, days: tuple[ParsedDay, ...]
) -> Iterator[VerificationFinding]:
    """Sessions of which nobody can tell whether they are isolated."""
    first: dict[str, int] = {}
    for day in days:
        for block in day.blocks:
            first.setdefault(block.session, day.day)
    for session, since in first.items():
        if session not in lexicon.rooms:
            yield VerificationFinding(
                VerificationCode.LEXICON,
                f"day {since}",
                f"the session {session} is not in the lexicon, so nothing says if it is isolated",
            )
