"""The log of selector versions, `recall-prompts.md`: an entry for each tested version.

It is Markdown for readers. Every entry ends with a comment that holds the outcome of every test, so
that the next version is compared test by test. Other text in the file is left as it is.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.plain_text import escape_markdown
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.features.selection.selection_report import SelectionReport
from recall_bench.features.selection.selection_scores import CLASSES, SelectionOutcome
from recall_bench.metrics.comparison import compute_mcnemar
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.reporting.formats import format_delta, format_number, format_p

HEADING = """\
# Prompt versions

Each version of a selector that was tested, the oldest first. `recall-bench select run --log` adds
to the end of this file and changes nothing above. Leave the comment at the end of each entry: the
next version is compared with it, test by test.
"""
_TITLE = HEADING.partition("\n")[0].encode()
_MARK = "<!-- recall-bench prompt-log/1 "
_ENTRY = re.compile(rf"{re.escape(_MARK)}(.*) -->")
_LETTERS = {outcome.value[0]: outcome for outcome in SelectionOutcome}


class PromptLogEntry(Record, frozen=True, kw_only=True):
    """As much of a tested version as the next one is compared with."""

    at: WallTime
    """The time of its last test."""
    selector: str
    version: str
    eval_version: str
    tests_digest: str
    corpus_digest: str
    outcomes: dict[str, str]
    """One letter per trial of each test: P, O, U, E or S, the first letter of the outcome."""

    def compute_shares(self) -> dict[str, float]:
        """For each test with a class, how often it was PERFECT."""
        trials = {
            test: [_LETTERS[letter] for letter in letters if _LETTERS.get(letter) in CLASSES]
            for test, letters in self.outcomes.items()
        }
        return {
            test: fmean(outcome is SelectionOutcome.PERFECT for outcome in outcomes)
            for test, outcomes in trials.items()
            if outcomes
        }


def refuse_others(path: Path) -> None:
    """UsageError if the file exists and is not a log."""
    content = _read_log(path)
    if content.strip() and _MARK.encode() not in content and not content.startswith(_TITLE):
        raise UsageError(
            f"--log: {path} holds something else than a log of versions; name another file"
        )


def append_entry(path: Path, report: SelectionReport) -> None:
    """Append the entry of a run to the log, unless it is there; create the log if needed."""
    outcomes: dict[str, str] = {}
    for row in report.tests:
        outcomes[row.test] = outcomes.get(row.test, "") + row.outcome.value[0]
    entry = PromptLogEntry(
        at=report.at,
        selector=report.selector.name,
        version=report.selector.version,
        eval_version=report.eval_version,
        tests_digest=report.tests_digest,
        corpus_digest=report.corpus_digest,
        outcomes=outcomes,
    )
    before = _read_log(path) or HEADING.encode()
    entries = list(_parse_entries(before, path))
    if entry in entries:
        return
    # In JSON only strings contain `>`, and only it can end a comment.
    content = msgspec.json.encode(entry).decode().replace(">", "\\u003e")
    lines = [
        f"\n## {entry.at:%Y-%m-%d %H:%M} UTC: {_escape(f'{entry.selector} {entry.version}')}\n",
        *(f"* {fact}" for fact in _list_facts(report)),
        f"* {_describe_difference(entries, entry)}",
        f"\n{_MARK}{content} -->\n",
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            log.write(b"" if path.stat().st_size else before)
            log.write("\n".join(lines).encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error


def _read_log(path: Path) -> bytes:
    try:
        return read_regular_file(path) if path.exists() else b""
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error


def _parse_entries(content: bytes, path: Path) -> Iterator[PromptLogEntry]:
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
        if line.startswith(_MARK):
            match = _ENTRY.match(line)
            try:
                yield decode_untrusted_json(match[1] if match else "", PromptLogEntry)
            except msgspec.DecodeError as error:
                problem = f"holds no whole entry ({error}); restore or remove it"
                raise Malformed(f"{path}, line {number}", problem) from error


def _list_facts(report: SelectionReport) -> Iterator[str]:
    for name, value in sorted(_encode_config(report).items()):
        yield f"{_escape(name)}: {_escape(value)}"
    summary = report.summary
    times = f", each asked {report.repeats} times" if report.repeats > 1 else ""
    yield (
        f"{summary.tests} tests ({report.tests_digest[:12]}) over {report.memories} memories "
        f"({report.corpus_digest[:12]}){times}"
    )
    if (share := summary.perfect_share) is not None:
        interval = (
            ""
            if share.interval is None
            else " ({} to {})".format(
                *(f"{format_number(100 * end, 1)}%" for end in share.interval)
            )
        )
        yield f"**PERFECT {format_number(100 * share.value, 1)}% of {share.of}{interval}**"
    yield (
        f"PERFECT {summary.perfect}, OVERRECALL {summary.overrecall}, UNDERRECALL "
        f"{summary.underrecall}; apart from these ERROR {summary.error}, SKIP {summary.skip}"
    )


def _encode_config(report: SelectionReport) -> Mapping[str, str]:
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in report.selector.config.items()
    }


def _describe_difference(entries: list[PromptLogEntry], entry: PromptLogEntry) -> str:
    """The change since the last version with the same tests; a test counts once, by its share."""
    after = entry.compute_shares()
    for other in reversed(entries):
        before = other.compute_shares()
        tests = sorted(before.keys() & after.keys())
        is_same = (other.tests_digest, other.eval_version) == (
            *(entry.tests_digest, entry.eval_version),
        )
        if not is_same or not tests:
            continue
        rises = [after[test] - before[test] for test in tests]
        better, worse = sum(rise > 0 for rise in rises), sum(rise < 0 for rise in rises)
        estimate = estimate_mean(rises, tests, ["suite"] * len(tests), is_difference=True)
        interval = ""
        if estimate is not None and estimate.interval is not None:
            low, high = estimate.interval
            interval = f" ({format_delta(100 * low, 1)} to {format_delta(100 * high, 1)})"
        moved = "" if other.corpus_digest == entry.corpus_digest else "; the memories changed too"
        left_out = len(before.keys() | after.keys()) - len(tests)
        apart = f"; {left_out} left out" if left_out else ""
        return (
            f"{format_delta(100 * fmean(rises), 1)} points{interval} since "
            f"{other.at:%Y-%m-%d %H:%M} UTC, {_escape(f'{other.selector} {other.version}')}: "
            f"{better} better and {worse} worse of {len(tests)} tests, "
            f"{format_p(compute_mcnemar(better, worse), sign=True)}{apart}{moved}"
        )
    return "no earlier version here has the same tests"


def _escape(text: str) -> str:
    """Text on one line, without control characters and marks."""
    return escape_markdown("".join(c for c in " ".join(text.split()) if c.isprintable()))
