"""Find secrets and canaries of isolated sessions in open ones before they are revealed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.generate.verification.day_parser import ParsedDay
from recall_bench.generate.verification.findings import VerificationCode, VerificationFinding
from recall_bench.generate.verification.question_claims import QuestionClaims
from recall_bench.generate.verification.statements import About, SlotStatement, StatementLookup
from recall_bench.generate.verification.value_readers import Key, build_money_reader


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
