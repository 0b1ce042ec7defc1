"""Verify a built world: re-derive every reference from the text alone, and find leaks."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from recall_bench.core.errors import BenchError, Malformed
from recall_bench.core.scenario import compute_story_date
from recall_bench.core.yaml12 import Document, read_document
from recall_bench.datasets.persona_files import (
    STATEMENTS_FILE,
    Layout,
    find_runs,
    list_days,
    name_day_file,
)
from recall_bench.datasets.persona_story import read_story
from recall_bench.datasets.yaml_fields import describe_value, is_whole, raise_problems
from recall_bench.generate.verification.day_parser import ParsedDay, parse_day
from recall_bench.generate.verification.findings import (
    VerificationCode,
    VerificationFinding,
    VerificationReport,
)
from recall_bench.generate.verification.lexicon import (
    WorldGrammar,
    WorldLexicon,
    audit_lexicon,
    read_lexicon,
)
from recall_bench.generate.verification.life_questions import check_life
from recall_bench.generate.verification.question_claims import QuestionClaims, read_claims
from recall_bench.generate.verification.question_verification import verify_question
from recall_bench.generate.verification.statements import (
    About,
    SlotStatement,
    StatementLookup,
    read_table,
)
from recall_bench.generate.verification.value_readers import Key, NameIndex, build_money_reader
from recall_bench.generate.verification.written_verifier import verify_written


@dataclass(frozen=True, slots=True)
class _IsolatedSecret:
    """A value first stated in an isolated session, and the day it is stated in an open one."""

    about: About
    key: Key
    surface: str
    revealed: float

    def describe(self, lookup: StatementLookup) -> str:
        return f"“{self.surface}”, {lookup.name_part(*self.about)}, stated in an isolated session"


def find_leaks(
    lookup: StatementLookup, days: Sequence[ParsedDay], all_claims: Iterable[QuestionClaims]
) -> Iterator[VerificationFinding]:
    """Every secret or canary where it must not be."""
    secrets = list(_find_secrets(lookup))
    yield from _find_in_threads(lookup, secrets)
    yield from _find_anywhere(lookup, days, secrets)
    yield from _check_canaries(lookup, days, all_claims)


def _find_secrets(lookup: StatementLookup) -> Iterator[_IsolatedSecret]:
    for about, statements in lookup.table.stated.items():
        first: dict[Key, SlotStatement] = {}
        revealed: dict[Key, int] = {}
        for statement in statements:
            if statement.is_stale:
                continue
            first.setdefault(statement.value.key, statement)
            if not lookup.lexicon.is_isolated(statement.session):
                revealed.setdefault(statement.value.key, statement.day)
        for key, statement in first.items():
            if lookup.lexicon.is_isolated(statement.session):
                surface = statement.value.surface
                yield _IsolatedSecret(about, key, surface, revealed.get(key, float("inf")))


def _find_in_threads(
    lookup: StatementLookup, secrets: Iterable[_IsolatedSecret]
) -> Iterator[VerificationFinding]:
    """Secrets in sentences about their own thread, in an open session, without a cue."""
    for secret in secrets:
        if not _is_telling(lookup, secret):
            continue
        for sentence in lookup.find_loose_mentions(*secret.about, secret.key):
            is_open = not lookup.lexicon.is_isolated(sentence.session)
            if is_open and sentence.day < secret.revealed:
                yield VerificationFinding(
                    VerificationCode.LEAK,
                    f"day {sentence.day}",
                    f"{secret.describe(lookup)}, occurs in an open one; {sentence.place}",
                )


def _is_telling(lookup: StatementLookup, secret: _IsolatedSecret) -> bool:
    """Whether the value alone reveals the secret; a name, a time or a count does not."""
    grammar = lookup.get_slot(*secret.about)
    if grammar.slot.kind == "choice":
        return len(secret.surface.split()) > 1
    return grammar.slot.kind == "date" or grammar.reader.is_telling


def _find_anywhere(
    lookup: StatementLookup, days: Sequence[ParsedDay], secrets: Iterable[_IsolatedSecret]
) -> Iterator[VerificationFinding]:
    """Secret codes, and amounts of the only thread of a process, in any open block."""
    codes: dict[str, _IsolatedSecret] = {}
    sums: dict[Key, _IsolatedSecret] = {}
    for secret in secrets:
        thread = lookup.get_thread(secret.about[0])
        kind = lookup.get_slot(*secret.about).slot.kind
        if kind == "code" and lookup.get_slot(*secret.about).reader.is_telling:
            codes[secret.surface] = secret
        elif kind == "money" and len(lookup.lexicon.list_threads(thread.process)) == 1:
            sums[secret.key] = secret
    if not codes and not sums:
        return
    reader = build_money_reader()
    for day in days:
        for session, start, text in _iterate_open_texts(lookup, day):
            found = [(v.key, v.start) for v in reader.find(text, lookup.get_date(day.day))]
            places = [(sums[key], place) for key, place in found if key in sums]
            places += [(secret, text.find(code)) for code, secret in codes.items() if code in text]
            for secret, place in places:
                is_known = (day.day, start + place) in lookup.table.explained
                if day.day < secret.revealed and not is_known:
                    around = text[max(0, place - 40) : place + 40].strip()
                    yield VerificationFinding(
                        VerificationCode.LEAK,
                        f"day {day.day}",
                        f"{secret.describe(lookup)}, occurs in the open session {session}: "
                        f"“…{around}…”",
                    )


def _iterate_open_texts(lookup: StatementLookup, day: ParsedDay) -> Iterator[tuple[str, int, str]]:
    for block in day.blocks:
        if not lookup.lexicon.is_isolated(block.session):
            start = min(block.heading[0], block.start)
            yield block.session, start, day.text[start : block.end]


def _check_canaries(
    lookup: StatementLookup, days: Sequence[ParsedDay], all_claims: Iterable[QuestionClaims]
) -> Iterator[VerificationFinding]:
    owners: dict[str, QuestionClaims] = {}
    for claims in all_claims:
        for canary in claims.canaries:
            owners.setdefault(canary, claims)
    kept: dict[str, int] = {}
    for day in days:
        for canary in [canary for canary in owners if canary in day.text]:
            for block in day.blocks:
                start = min(block.heading[0], block.start)
                if canary not in day.text[start : block.end]:
                    continue
                if lookup.lexicon.is_isolated(block.session):
                    kept.setdefault(canary, day.day)
                else:
                    yield VerificationFinding(
                        VerificationCode.LEAK,
                        f"day {day.day}",
                        f"the canary {canary} occurs in the open session {block.session}",
                    )
    for canary, claims in owners.items():
        if kept.get(canary, float("inf")) > claims.answerable_from:
            yield VerificationFinding(
                VerificationCode.CANARY,
                claims.where,
                f"the canary {canary} is in no isolated session up to day {claims.answerable_from}",
            )


_LENGTH = re.compile(r"arcs-(\d+)d\.ya?ml")


def find_missing_days(
    layout: Layout, epoch: date, present: Collection[int]
) -> Iterator[VerificationFinding]:
    """Days without a file that are neither away nor off, and a story with another epoch."""
    story = read_story(layout.folder, layout.arcs)
    if story.epoch != epoch:
        yield VerificationFinding(
            VerificationCode.EPOCH,
            layout.name(layout.arcs_file),
            f"the story begins on {story.epoch} but the lexicon has it begin on {epoch}",
        )
    arcs = read_document(layout.arcs_file, name=layout.name(layout.arcs_file))
    persona = read_document(layout.persona_file, name=layout.name(layout.persona_file))
    away, off = _read_away(arcs), _read_days_off(persona)
    missing = [
        day
        for day in range(1, find_last_day(layout, present) + 1)
        if day not in present
        and day not in away
        and compute_story_date(epoch, day).weekday() not in off
    ]
    for first, last in find_runs(missing):
        span = (
            name_day_file(first)
            if first == last
            else f"{name_day_file(first)} to {name_day_file(last)}"
        )
        yield VerificationFinding(
            VerificationCode.DAY,
            layout.name(layout.memories),
            f"{span} missing, and not away or off; restore the files",
        )


def find_last_day(layout: Layout, present: Collection[int]) -> int:
    """The last day of the story: the number in its name, else the last file."""
    length = _LENGTH.fullmatch(layout.arcs)
    return max([int(length[1]) if length else 0, *present])


def _read_away(arcs: Document) -> set[int]:
    """The days listed under `away`."""
    stretches = _get_key(arcs, "away")
    if not isinstance(stretches, list):
        raise Malformed(
            arcs.describe_place("away"),
            f"away is {describe_value(stretches)}; write a list of spans",
        )
    days: set[int] = set()
    for index, stretch in enumerate(stretches):
        match stretch:
            case [int(first), int(last)] if is_whole(first) and is_whole(last):
                days.update(range(first, last + 1))
            case _:
                raise Malformed(
                    arcs.describe_place("away", index),
                    "away holds no pair of days; write [first, last]",
                )
    return days


def _read_days_off(persona: Document) -> set[int]:
    """The weekdays without a log; Monday is 0."""
    week = _get_key(persona, "week")
    if week == []:
        return set()
    if not isinstance(week, list) or len(week) != 7:
        raise Malformed(
            persona.describe_place("week"),
            f"week is {describe_value(week)}; name seven days, Monday first",
        )
    return {weekday for weekday, density in enumerate(week) if density == "off"}


def _get_key(document: Document, key: str) -> object:
    content = document.content
    found = content.get(key) if isinstance(content, dict) else None
    return [] if found is None else found


def verify_world(folder: Path, arcs: str) -> VerificationReport:
    """Verify the story of this arcs file; UsageError if it was not built by the simulator."""
    layout = Layout(folder, arcs)
    raise_problems(list(layout.find_missing()))
    if layout.questions_file.with_name(STATEMENTS_FILE).is_file():
        return verify_written(folder, arcs, check_life)
    path = layout.questions_file.with_name("lexicon.json")
    lexicon = read_lexicon(path, layout.name(path))
    all_claims = read_claims(
        read_document(layout.questions_file, name=layout.name(layout.questions_file))
    )
    findings = list(audit_lexicon(lexicon, layout.name(path)))
    days = tuple(_read_days(layout, findings))
    present = [day.day for day in days]
    findings += find_missing_days(layout, lexicon.epoch, present)
    findings += _find_unknown_sessions(lexicon, days)
    lookup = read_statements(lexicon, days)
    last = find_last_day(layout, present)
    rederived = 0
    for claims in all_claims:
        is_rederived, found = verify_question(lookup, claims, last)
        rederived += is_rederived
        findings += found
    findings += find_leaks(lookup, days, all_claims)
    return VerificationReport(
        questions=len(all_claims), rederived=rederived, findings=tuple(findings)
    )


def read_statements(lexicon: WorldLexicon, days: Iterable[ParsedDay]) -> StatementLookup:
    """What the days state."""
    grammar = WorldGrammar(lexicon)
    names = NameIndex({thread.name: key for key, thread in lexicon.threads.items()})
    return StatementLookup(lexicon, grammar, read_table(days, lexicon, grammar, names), names)


def _read_days(layout: Layout, findings: list[VerificationFinding]) -> Iterator[ParsedDay]:
    """The readable day files; the others become findings."""
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
    """Sessions that are not in the lexicon."""
    first: dict[str, int] = {}
    for day in days:
        for block in day.blocks:
            first.setdefault(block.session, day.day)
    for session, since in first.items():
        if session not in lexicon.sessions:
            yield VerificationFinding(
                VerificationCode.LEXICON,
                f"day {since}",
                f"the session {session} is not in the lexicon, so nothing says if it is isolated",
            )
