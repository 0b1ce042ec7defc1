"""The log of prompt versions, `recall-prompts.md`: the scores of each tested version.

It is Markdown for readers. Every entry ends with a comment that holds the same as JSON, with the
outcome of every test, so that the next version can be compared test by test. Entries are only
appended; other text in the file is left as it is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from statistics import fmean

import msgspec

from recall_bench.core.errors import FolderBusy, Malformed, UsageError
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.tables import escape_markdown
from recall_bench.core.untrusted_file import read_regular_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.metrics.bootstrap import compute_wilson
from recall_bench.metrics.comparison import compute_mcnemar
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.metrics.selection import CLASSES, SelectionOutcome
from recall_bench.reporting.formats import format_delta, format_number, format_p
from recall_bench.reporting.selection_report import SelectionReport, SelectionShare

Trials = Sequence[bool]
"""Whether a test was PERFECT, for each trial with a class."""


class SelectionChange(ComputedRecord, frozen=True, kw_only=True):
    """The difference in the share of PERFECT between two versions on the same tests."""

    tests: int
    """Tests with a class in both."""
    left_out: int
    """Tests that failed or were not asked in one of the two; not counted here."""
    value: float
    interval: tuple[float, float] | None
    """At 95 %; None where a single test says nothing about others."""
    better: int
    """Tests that were PERFECT more often than before."""
    worse: int
    p: float
    """Exact two-sided p-value of the split between better and worse."""


def measure_change(
    before: Mapping[str, Trials], after: Mapping[str, Trials]
) -> SelectionChange | None:
    """The change between two versions, test by test; None if they share no test.

    If every test was asked once, the interval is Newcombe's for paired shares and p is the exact
    McNemar test. With repeats a test counts once, by its share; the interval resamples whole tests,
    and p is the same test on the tests that rose and fell.
    """
    both = sorted(name for name in before.keys() & after.keys() if before[name] and after[name])
    if not both:
        return None
    pairs = [(fmean(before[name]), fmean(after[name])) for name in both]
    rises = [new - old for old, new in pairs]
    better, worse = sum(rise > 0 for rise in rises), sum(rise < 0 for rise in rises)
    if all(len(before[name]) == len(after[name]) == 1 for name in both):
        interval: tuple[float, float] | None = _compute_newcombe(
            sum(old == new == 1 for old, new in pairs), better, worse, len(both)
        )
    else:
        found = estimate_mean(rises, both, ["suite"] * len(both), is_difference=True)
        interval = None if found is None else found.interval
    return SelectionChange(
        tests=len(both),
        left_out=len(before.keys() | after.keys()) - len(both),
        value=fmean(rises),
        interval=interval,
        better=better,
        worse=worse,
        p=compute_mcnemar(better, worse),
    )


def _compute_newcombe(always: int, better: int, worse: int, tests: int) -> tuple[float, float]:
    """The interval of a difference of paired shares (Newcombe 1998, method 10).

    It does not collapse if no test changed, as a bootstrap interval would.
    """
    never = tests - always - better - worse
    new, old = always + better, always + worse
    low_new, high_new = compute_wilson(new, tests)
    low_old, high_old = compute_wilson(old, tests)
    share_new, share_old = new / tests, old / tests
    alike = always * never - better * worse
    # The correction keeps few tests from looking more similar than they are.
    alike_corrected = max(alike - tests / 2, 0) if alike > 0 else alike
    spread = sqrt(new * (tests - new) * old * (tests - old))
    phi = alike_corrected / spread if spread else 0.0
    below = _combine_errors(share_new - low_new, high_old - share_old, phi)
    above = _combine_errors(high_new - share_new, share_old - low_old, phi)
    return max(-1.0, share_new - share_old - below), min(1.0, share_new - share_old + above)


def _combine_errors(one: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


HEADING = """\
# Prompt versions

Each version of a selector that was tested, the oldest first. `recall-bench select run --log` adds
to the end of this file and changes nothing above. Write what you like between the entries, but
leave the comment at the end of each: the next version is compared with it, test by test.
"""

_TITLE = HEADING.partition("\n")[0].encode()
_MARK = "<!-- recall-bench prompt-log/"
_VERSION = "1"
_ENTRY = re.compile(rf"{re.escape(_MARK)}(\d+) (.*) -->")
_LETTERS = {outcome.value[0]: outcome for outcome in SelectionOutcome}
_DIGITS = 12
_LOCK_TIMEOUT_S = 30


class PromptLogChange(Record, frozen=True, kw_only=True):
    """The change since the last entry with the same tests."""

    at: WallTime
    """The time of that entry."""
    label: str
    has_same_memories: bool
    change: SelectionChange


class PromptLogEntry(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One tested version."""

    at: WallTime
    """The time of its last test."""
    selector: str
    version: str
    config: dict[str, object] = msgspec.field(default_factory=dict)
    """Every setting that can change a selection, such as models and prompts of the recall agent."""
    eval_version: str
    tests_digest: str
    corpus_digest: str
    plan_digest: str
    memories: int
    repeats: int = 1
    validity: str
    reason: str | None = None
    tests: int
    """Different tests, skipped ones included."""
    perfect: int
    overrecall: int
    underrecall: int
    error: int
    skip: int
    perfect_share: SelectionShare | None
    """None if no test has a class."""
    outcomes: dict[str, str]
    """One letter per trial of each test: P, O, U, E or S, the first letter of the outcome."""
    since: PromptLogChange | None = None
    """Set when the entry is appended; None if no earlier entry is comparable."""

    @property
    def models(self) -> tuple[str, ...]:
        """Its models, one for each pass."""
        value = self.config.get("models")
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()

    @property
    def prompts(self) -> tuple[tuple[str, str], ...]:
        """Its templates, name and digest, one for each pass."""
        value = self.config.get("prompts")
        given = value if isinstance(value, list | tuple) else ()
        return tuple(
            (str(each["name"]), str(each["sha256"]))
            for each in given
            if isinstance(each, dict) and {"name", "sha256"} <= each.keys()
        )

    @property
    def label(self) -> str:
        """A short name of the version: selector, prompts, models."""
        named = (f"{name}@{digest[:8]}" for name, digest in self.prompts)
        parts = (f"{self.selector} {self.version}", "/".join(named), "/".join(self.models))
        return _clean_line(", ".join(filter(None, parts)))

    def list_trials(self) -> dict[str, tuple[bool, ...]]:
        """For each test, whether it was PERFECT in each trial with a class."""
        return {
            name: tuple(
                _LETTERS[letter] is SelectionOutcome.PERFECT
                for letter in letters
                if _LETTERS[letter] in CLASSES
            )
            for name, letters in self.outcomes.items()
        }


def build_entry(report: SelectionReport) -> PromptLogEntry:
    """The entry of a run, not compared yet."""
    outcomes: dict[str, str] = {}
    for row in report.tests:
        outcomes[row.test] = outcomes.get(row.test, "") + row.outcome.value[0]
    found = report.summary
    return PromptLogEntry(
        at=report.at,
        selector=report.selector.name,
        version=report.selector.version,
        # As it will be read back: a tuple becomes a list.
        config=msgspec.json.decode(msgspec.json.encode(report.selector.config)),
        eval_version=report.eval_version,
        tests_digest=report.tests_digest,
        corpus_digest=report.corpus_digest,
        plan_digest=report.plan_digest,
        memories=report.memories,
        repeats=report.repeats,
        validity=report.validity,
        reason=report.reason,
        tests=found.tests,
        perfect=found.perfect,
        overrecall=found.overrecall,
        underrecall=found.underrecall,
        error=found.error,
        skip=found.skip,
        perfect_share=found.perfect_share,
        outcomes=outcomes,
    )


def append_entry(path: Path, entry: PromptLogEntry) -> PromptLogEntry:
    """Append the entry to the log, creating it if needed; returns the entry as written.

    The file is replaced atomically and its content kept byte for byte. An entry that the log
    already has, because a finished run was reported again, is not added twice.
    """
    from recall_bench.core.atomic_file import replace_file

    with _lock_log(path):
        before = _read_bytes(path) if path.exists() else HEADING.encode()
        entries = _parse_entries(before, path)
        for known in entries:
            if known.replace(since=None) == entry.replace(since=None):
                return known
        added = entry.replace(since=_find_previous(entries, entry))
        gap = b"\n" if before.endswith((b"\n", b"\r")) or not before else b"\n\n"
        replace_file(path, before + gap + _render_entry(added).encode())
    return added


def refuse_others(path: Path) -> None:
    """UsageError if the file exists and is not a log."""
    if not path.exists():
        return
    before = _read_bytes(path)
    if before.strip() and _MARK.encode() not in before and not before.startswith(_TITLE):
        raise UsageError(
            f"--log: {path} holds something else than a log of versions; name another file"
        )


def read_log(path: Path) -> list[PromptLogEntry]:
    """All entries in file order; Malformed, naming the line, if one is damaged."""
    return _parse_entries(_read_bytes(path), path)


def render_log(entries: Sequence[PromptLogEntry]) -> str:
    """The log for a terminal: a few lines for each version."""
    if not entries:
        return "no version has been tested yet"
    lines = []
    for number, entry in enumerate(entries, start=1):
        counts = f"{entry.perfect} perfect, {entry.overrecall} over, {entry.underrecall} under"
        apart = f", {entry.error} error, {entry.skip} skip" if entry.error or entry.skip else ""
        lines.append(f"{number:>3}  {_format_minute(entry.at)}  {entry.label}")
        lines.append(f"     PERFECT {_format_share(entry.perfect_share)}; {counts}{apart}")
        lines.append(f"     {_describe_difference(entry)}")
        if entry.validity != "valid":
            lines.append(f"     {_describe_validity(entry)}")
    return "\n".join(lines)


@contextmanager
def _lock_log(path: Path) -> Iterator[None]:
    """Lock the log: of two processes that read the same log, the second would undo the first."""
    from filelock import FileLock, Timeout

    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=_LOCK_TIMEOUT_S)
        lock.acquire()
    except Timeout as error:
        raise FolderBusy(f"{path}: another process is writing to it; try again later") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error
    try:
        yield
    finally:
        lock.release()


def _read_bytes(path: Path) -> bytes:
    try:
        return read_regular_file(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error


def _parse_entries(content: bytes, path: Path) -> list[PromptLogEntry]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(
            str(path), f"is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    # Not splitlines: JSON may hold characters that it treats as line ends.
    return [
        _parse_entry(line.strip(), f"{path}, line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip().startswith(_MARK)
    ]


def _parse_entry(line: str, where: str) -> PromptLogEntry:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise Malformed(where, "is the comment of an entry, but not whole; restore or remove it")
    if found[1] != _VERSION:
        raise Malformed(
            where, f"has the layout {found[1]}, and this program reads {_VERSION}; update it"
        )
    try:
        entry = decode_untrusted_json(found[2], PromptLogEntry)
    except msgspec.DecodeError as error:
        raise Malformed(where, f"holds no entry ({error}); restore or remove it") from error
    strange = {letter for letters in entry.outcomes.values() for letter in letters} - set(_LETTERS)
    if strange:
        raise Malformed(where, f"has the outcome {min(strange)!r}; they are {', '.join(_LETTERS)}")
    return entry


def _find_previous(
    entries: Sequence[PromptLogEntry], entry: PromptLogEntry
) -> PromptLogChange | None:
    wanted = (entry.tests_digest, entry.eval_version)
    for other in reversed(entries):
        if (other.tests_digest, other.eval_version) != wanted:
            continue
        change = measure_change(other.list_trials(), entry.list_trials())
        if change is not None:
            return PromptLogChange(
                at=other.at,
                label=other.label,
                has_same_memories=other.corpus_digest == entry.corpus_digest,
                change=change,
            )
    return None


def _render_entry(entry: PromptLogEntry) -> str:
    # In JSON only strings contain this character, and only it can end a comment.
    data = msgspec.json.encode(entry).decode().replace(">", "\\u003e")
    lines = [
        f"## {_format_minute(entry.at)}: {escape_markdown(f'{entry.selector} {entry.version}')}",
        "",
    ]
    lines += [f"* {line}" for line in _render_facts(entry)]
    return "\n".join([*lines, "", f"{_MARK}{_VERSION} {data} -->", ""])


def _render_facts(entry: PromptLogEntry) -> Iterator[str]:
    if entry.prompts:
        named = (f"{_format_code(name)} ({digest[:_DIGITS]})" for name, digest in entry.prompts)
        yield f"prompts: {', '.join(named)}"
    if entry.models:
        yield f"models: {', '.join(map(_format_code, entry.models))}"
    shown = {name for name in ("models", "prompts") if getattr(entry, name)}
    others = {key: value for key, value in entry.config.items() if key not in shown}
    if others:
        yield f"settings: {_format_settings(others)}"
    times = f", each asked {entry.repeats} times" if entry.repeats > 1 else ""
    yield (
        f"{entry.tests} tests ({entry.tests_digest[:_DIGITS]}) over "
        f"{entry.memories} memories ({entry.corpus_digest[:_DIGITS]}){times}"
    )
    yield f"**PERFECT {_format_share(entry.perfect_share)}**"
    yield (
        f"PERFECT {entry.perfect}, OVERRECALL {entry.overrecall}, UNDERRECALL "
        f"{entry.underrecall}; apart from these ERROR {entry.error}, SKIP {entry.skip}"
    )
    yield escape_markdown(_describe_difference(entry))
    if entry.validity != "valid":
        yield f"**{escape_markdown(_describe_validity(entry))}**"


def _describe_difference(entry: PromptLogEntry) -> str:
    if entry.since is None:
        return "no earlier version here has the same tests"
    since, change = entry.since, entry.since.change
    sure = ""
    if change.interval is not None:
        low, high = change.interval
        sure = f" ({format_delta(100 * low, 1)} to {format_delta(100 * high, 1)})"
    apart = f"; {change.left_out} left out" if change.left_out else ""
    moved = "" if since.has_same_memories else "; the memories changed too"
    return (
        f"{format_delta(100 * change.value, 1)} points{sure} since {_format_minute(since.at)}, "
        f"{since.label}: {change.better} better and {change.worse} worse of {change.tests} tests, "
        f"{format_p(change.p, sign=True)}{apart}{moved}"
    )


def _describe_validity(entry: PromptLogEntry) -> str:
    return (
        f"these figures are {entry.validity}: {_clean_line(entry.reason or 'no reason was given')}"
    )


def _format_share(share: SelectionShare | None) -> str:
    if share is None:
        return "of nothing: no test has a class"
    text = f"{format_number(100 * share.value, 1)}% of {share.of}"
    if share.interval is None:
        return text
    low, high = share.interval
    return f"{text} ({format_number(100 * low, 1)}% to {format_number(100 * high, 1)}%)"


def _format_minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _format_settings(config: Mapping[str, object]) -> str:
    return ", ".join(
        f"{escape_markdown(key)} "
        f"{_format_code(value if isinstance(value, str) else msgspec.json.encode(value).decode())}"
        for key, value in sorted(config.items())
    )


def _clean_line(text: str) -> str:
    """Text on one line, without control characters."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())


def _format_code(text: str) -> str:
    return f"`{_clean_line(text).replace('`', chr(39))}`"
