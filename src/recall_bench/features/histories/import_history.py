"""Makes a persona of a history: reads it, puts it in order, and writes the folder at once.

Everything happens on this machine. Nothing is left of an import that fails or is killed, except a
temporary folder that the next import in the same place removes.
"""

import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, tzinfo
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import name_beside, replace_file, sweep_folder
from recall_bench.core.errors import DISK_FULL, JournalLost, Malformed, UsageError
from recall_bench.core.folders import join_id
from recall_bench.core.plain_text import clean_text, format_fact, format_quantity, join_words
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.features.histories.history_formats import find_format
from recall_bench.features.histories.history_message import Participant, ReadingLog, ReadOptions
from recall_bench.features.histories.history_source import HistorySource
from recall_bench.features.histories.persona_folder import HistoryWriter, MessageSpool
from recall_bench.features.histories.pseudonyms import Pseudonymiser, PseudonymMap

RECORD = "history.json"
"""Beside persona.yaml: what the import read and left out."""
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """What to import, and how."""

    paths: tuple[Path, ...]
    into: Path
    """The data folder, in which the persona's folder is made."""
    name: str = "persona"
    format: str | None = None
    users: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    zone: tzinfo = UTC
    date_order: str | None = None
    is_pseudonymised: bool = False
    seed: str | None = None
    map_file: Path | None = None
    with_domains: bool = False
    any_case: bool = False
    also: tuple[str, ...] = ()
    """More names to replace."""

    @property
    def folder(self) -> Path:
        """The persona's folder; UsageError if the name leads elsewhere."""
        try:
            return join_id(self.into, self.name, "--as")
        except Malformed as error:
            raise UsageError(str(error)) from None

    @property
    def map_path(self) -> Path:
        """The file of pseudonyms: by default beside the data folder, not in it."""
        usual = self.into.resolve()
        return self.map_file or usual.with_name(f"{usual.name}.{self.name}.pseudonyms.json")


class SourceReport(Record, frozen=True, kw_only=True):
    """What one file or folder gave."""

    format: str
    messages: int
    name: str | None = None
    """Its path; None in what is written, where names are replaced."""


class HistoryReport(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What an import did."""

    folder: str
    sources: tuple[SourceReport, ...]
    messages: int
    repeated: int = 0
    """Messages that were found more than once, and are kept once."""
    skipped: dict[str, int] = msgspec.field(default_factory=dict)
    first: date
    last: date
    days: int
    """Days with a message."""
    span: int
    """Days from the first to the last."""
    sessions: tuple[str, ...]
    people: int
    zone: str
    replaced: dict[str, int] = msgspec.field(default_factory=dict)
    """Replacements by kind."""
    left: dict[str, int] = msgspec.field(default_factory=dict)
    """Words that equal a name and were left."""
    candidates: dict[str, int] = msgspec.field(default_factory=dict)
    """Pairs of words that may be names, and are in no list of participants."""
    map_file: str | None = None


def import_history(request: HistoryRequest) -> HistoryReport:
    """Write the persona's folder; UsageError, and nothing written, if that is not possible."""
    _check_request(request)
    folder = request.folder
    sweep_folder(folder.parent)
    beside = name_beside(folder)
    try:
        beside.mkdir(parents=True, mode=0o700)
        return _import_into(beside, request)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise JournalLost(f"{folder}: {JournalLost.FULL_DISK}") from error
        raise UsageError(
            f"{folder}: cannot be written ({error.strerror or error}); choose another --into"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check_request(request: HistoryRequest) -> None:
    folder = request.folder
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} exists and was not changed; give another name with --as")
    if request.since and request.until and request.since > request.until:
        raise UsageError(f"--since {request.since} is after --until {request.until}; swap the two")
    if request.is_pseudonymised:
        place = request.map_path.resolve()
        if place.is_relative_to(request.into.resolve()):
            raise UsageError(
                f"--map: {request.map_path} is in the data folder, and it undoes the pseudonyms; "
                "name a file elsewhere"
            )
    elif request.map_file or request.seed or request.also or request.with_domains:
        raise UsageError("--map, --seed, --name and --domains need --pseudonymise; add it")


def _import_into(beside: Path, request: HistoryRequest) -> HistoryReport:
    options = ReadOptions(users=request.users, zone=request.zone, date_order=request.date_order)
    log = ReadingLog(options)
    spool = MessageSpool(log)
    sources = [_read_source(path, request, spool, log) for path in request.paths]
    spool.finish()
    if not spool.received:
        raise UsageError(_explain_emptiness(request, log))
    names = _make_names(request, log) if request.is_pseudonymised else None
    writer = HistoryWriter(
        folder=beside,
        name=request.name,
        spool=spool,
        people=log.people,
        user=request.users[0] if request.users else None,
        replace=names.replace if names else str,
        replace_label=names.replace_label if names else str,
        rename=names.rename if names else _get_label,
    )
    days, sessions = writer.write_all()
    report = HistoryReport(
        folder=str(request.folder),
        sources=tuple(sources),
        messages=spool.count(),
        repeated=spool.received - spool.count(),
        skipped=dict(sorted(log.skipped.items())),
        first=days[0],
        last=days[-1],
        days=len(days),
        span=(days[-1] - days[0]).days + 1,
        sessions=tuple(sessions),
        people=len({writer.label(key) for key in spool.count_messages_by_speaker()}),
        zone=str(request.zone),
    )
    if names is not None:
        likely = [(name, count) for name, count in names.candidates.most_common(50) if count > 1]
        report = report.replace(
            replaced=dict(sorted(names.counts.items())),
            left=dict(names.left.most_common(50)),
            candidates=dict(likely),
            map_file=str(request.map_path),
        )
    # Write the record and the map, and give the folder its name.
    record = report.replace(folder=request.name, map_file=None, left={}, candidates={})
    if names is not None:
        record = record.replace(
            sources=tuple(source.replace(name=None) for source in report.sources)
        )
        # First the map: a folder without it could not be extended consistently.
        encoded = msgspec.json.format(msgspec.json.encode(names.make_map()), indent=1)
        replace_file(request.map_path, encoded + b"\n", is_private=True)
    encoded = msgspec.json.format(msgspec.json.encode(record), indent=1)
    (beside / RECORD).write_bytes(encoded + b"\n")
    beside.rename(request.folder)
    return report


def _get_label(person: Participant) -> str:
    return person.label


def _read_source(
    path: Path, request: HistoryRequest, spool: MessageSpool, log: ReadingLog
) -> SourceReport:
    with HistorySource(path) as source:
        form = find_format(source, request.format)
        before = spool.received
        for message in form.read(source, log):
            spool.add(message, request.since, request.until)
    return SourceReport(format=form.name, messages=spool.received - before, name=str(path))


def _explain_emptiness(request: HistoryRequest, log: ReadingLog) -> str:
    named = join_words(map(str, request.paths), 3)
    why = join_words(f"{count:,} {reason}" for reason, count in log.skipped.most_common() if count)
    return f"{named}: there is no message to import" + (f" ({why} left out)" if why else "")


def _make_names(request: HistoryRequest, log: ReadingLog) -> Pseudonymiser:
    mapping = _read_map(request)
    names = Pseudonymiser.from_map(
        mapping, any_case=request.any_case, with_domains=request.with_domains
    )
    names.learn_people([*log.people.values(), *_describe_user(request)], request.also)
    return names


def _describe_user(request: HistoryRequest) -> list[Participant]:
    """The user as --user describes it: a name, then addresses and handles."""
    if not request.users:
        return []
    name, *more = request.users
    return [
        Participant(
            "--user",
            "" if "@" in name else name,
            addresses={user for user in request.users if "@" in user.lstrip("@")},
            handles={handle for handle in more if "@" not in handle.lstrip("@")},
        )
    ]


def _read_map(request: HistoryRequest) -> PseudonymMap:
    path = request.map_path
    if not path.exists():
        return PseudonymMap(seed=request.seed or secrets.token_hex(16))
    try:
        mapping = decode_untrusted_json(read_regular_file(path), PseudonymMap)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"--map: {path} is not a map of pseudonyms ({error})") from error
    if request.seed is not None and request.seed != mapping.seed:
        raise UsageError(
            f"--seed: {path} has another seed; leave --seed out, or name another --map"
        )
    return mapping


def render_history_report(report: HistoryReport) -> str:
    """The report as text."""
    facts = [
        ("Read", f"{source.name} ({source.format}): {format_quantity(source.messages, 'message')}")
        for source in report.sources
    ]
    skipped: Counter[str] = Counter(report.skipped)
    reasons = [f"{count:,} {reason}" for reason, count in skipped.most_common() if count]
    if report.repeated:
        reasons.append(f"{report.repeated:,} found twice")
    if reasons:
        facts.append(("Left out", join_words(reasons)))
    span = f"of {report.span:,} from {report.first} to {report.last}, in {report.zone}"
    facts += [
        ("Days", f"{report.days:,} with messages, {span}"),
        ("Sessions", f"{len(report.sessions):,}: {join_words(report.sessions, _SHOWN)}"),
        ("People", f"{report.people:,}"),
        *_list_name_facts(report),
        ("Folder", report.folder),
    ]
    return "\n".join(line for label, words in facts for line in format_fact(label, words))


def _list_name_facts(report: HistoryReport) -> list[tuple[str, str]]:
    if report.map_file is None:
        return [("Names", "as they are; --pseudonymise replaces them")]
    counts = (f"{kind}: {count:,}" for kind, count in report.replaced.items())
    facts = [("Replaced", ", ".join(counts) or "nothing")]
    if report.left:
        words = (f"{clean_text(word)} ({count:,})" for word, count in report.left.items())
        facts.append(
            (
                "Kept",
                f"words that equal a name, in lower case or common: {join_words(words, _SHOWN)}",
            )
        )
    facts.append(("Not found", _describe_unknown(report)))
    facts.append(("Map", f"{report.map_file}; it undoes the pseudonyms, so keep it to yourself"))
    return facts


def _describe_unknown(report: HistoryReport) -> str:
    text = "names of people who take no part are not known"
    if not report.candidates:
        return f"{text}; --name NAME replaces one"
    names = (f"{clean_text(name)} ({count:,})" for name, count in report.candidates.items())
    return f"{text}; these may be some: {join_words(names, _SHOWN)}; --name NAME replaces one"


def parse_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names without blanks around them; UsageError for an empty one."""
    stripped = tuple(" ".join(name.split()) for name in names)
    if not all(stripped):
        raise UsageError("--user and --name need a name; write it in quotes")
    return stripped
