"""Secrets and canaries: what isolated sessions hold stands in no open one before it is revealed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.generate.verification.day_parser import ParsedDay
from recall_bench.generate.verification.findings import VerificationCode, VerificationFinding
from recall_bench.generate.verification.question_claims import QuestionClaims
from recall_bench.generate.verification.statements import About, SlotStatement, StatementLookup
from recall_bench.generate.verification.value_readers import Key, build_money_reader


@dataclass(frozen=True, slots=True)
class _IsolatedSecret:
    """A value first told in an isolated session, and the day it is told in an open one."""

    about: About
    key: Key
    surface: str
    revealed: float

    def describe(self, account: StatementLookup) -> str:
        return f"“{self.surface}”, {account.name_part(*self.about)}, told in an isolated session"


def find_leaks(
    account: StatementLookup, days: Sequence[ParsedDay], inquiries: Iterable[QuestionClaims]
) -> Iterator[VerificationFinding]:
    """Every secret or canary where it must not be."""
    secrets = list(_find_secrets(account))
    yield from _find_in_threads(account, secrets)
    yield from _find_anywhere(account, days, secrets)
    yield from _check_canaries(account, days, inquiries)


def _find_secrets(account: StatementLookup) -> Iterator[_IsolatedSecret]:
    for about, statements in account.table.stated.items():
        first: dict[Key, SlotStatement] = {}
        revealed: dict[Key, int] = {}
        for statement in statements:
            if statement.is_stale:
                continue
            first.setdefault(statement.value.key, statement)
            if not account.lexicon.is_isolated(statement.session):
                revealed.setdefault(statement.value.key, statement.day)
        for key, statement in first.items():
            if account.lexicon.is_isolated(statement.session):
                surface = statement.value.surface
                yield _IsolatedSecret(about, key, surface, revealed.get(key, float("inf")))


def _find_in_threads(
    account: StatementLookup, secrets: Iterable[_IsolatedSecret]
) -> Iterator[VerificationFinding]:
    """Sentences about the secret's own thread, in an open session, without its cue."""
    for secret in secrets:
        if not _is_telling(account, secret):
            continue
        for sentence in account.find_loose_mentions(*secret.about, secret.key):
            is_open = not account.lexicon.is_isolated(sentence.session)
            if is_open and sentence.day < secret.revealed:
                yield VerificationFinding(
                    VerificationCode.LEAK,
                    f"day {sentence.day}",
                    f"{secret.describe(account)}, stands in an open one; {sentence.place}",
                )


def _is_telling(account: StatementLookup, secret: _IsolatedSecret) -> bool:
    """Whether the value alone gives the secret away; a name, a clock time or a count does not."""
    grammar = account.get_slot(*secret.about)
    if grammar.slot.kind == "choice":
        return len(secret.surface.split()) > 1
    return grammar.slot.kind == "date" or grammar.reader.is_telling


def _find_anywhere(
    account: StatementLookup, days: Sequence[ParsedDay], secrets: Iterable[_IsolatedSecret]
) -> Iterator[VerificationFinding]:
    """Codes, and the sums of threads that are one of a kind, in any open block at all."""
    codes: dict[str, _IsolatedSecret] = {}
    sums: dict[Key, _IsolatedSecret] = {}
    for secret in secrets:
        thread = account.get_thread(secret.about[0])
        kind = account.get_slot(*secret.about).slot.kind
        if kind == "code" and account.get_slot(*secret.about).reader.is_telling:
            codes[secret.surface] = secret
        elif kind == "money" and len(account.lexicon.list_threads(thread.process)) == 1:
            sums[secret.key] = secret
    if not codes and not sums:
        return
    reader = build_money_reader()
    for day in days:
        for session, start, text in _iterate_open_texts(account, day):
            found = [(v.key, v.start) for v in reader.find(text, account.get_date(day.day))]
            places = [(sums[key], place) for key, place in found if key in sums]
            places += [(secret, text.find(code)) for code, secret in codes.items() if code in text]
            for secret, place in places:
                is_known = (day.day, start + place) in account.table.explained
                if day.day < secret.revealed and not is_known:
                    around = text[max(0, place - 40) : place + 40].strip()
                    yield VerificationFinding(
                        VerificationCode.LEAK,
                        f"day {day.day}",
                        f"{secret.describe(account)}, stands in the open session {session}: "
                        f"“…{around}…”",
                    )


def _iterate_open_texts(account: StatementLookup, day: ParsedDay) -> Iterator[tuple[str, int, str]]:
    for block in day.blocks:
        if not account.lexicon.is_isolated(block.session):
            start = min(block.heading[0], block.start)
            yield block.session, start, day.text[start : block.end]


def _check_canaries(
    account: StatementLookup, days: Sequence[ParsedDay], inquiries: Iterable[QuestionClaims]
) -> Iterator[VerificationFinding]:
    owners: dict[str, QuestionClaims] = {}
    for inquiry in inquiries:
        for canary in inquiry.canaries:
            owners.setdefault(canary, inquiry)
    kept: dict[str, int] = {}
    for day in days:
        for canary in [canary for canary in owners if canary in day.text]:
            for block in day.blocks:
                start = min(block.heading[0], block.start)
                if canary not in day.text[start : block.end]:
                    continue
                if account.lexicon.is_isolated(block.session):
                    kept.setdefault(canary, day.day)
                else:
                    yield VerificationFinding(
                        VerificationCode.LEAK,
                        f"day {day.day}",
                        f"the canary {canary} stands in the open session {block.session}",
                    )
    for canary, inquiry in owners.items():
        if kept.get(canary, float("inf")) > inquiry.answerable_from:
            yield VerificationFinding(
                VerificationCode.CANARY,
                inquiry.where,
                f"the canary {canary} is in no isolated session up to day "
                f"{inquiry.answerable_from}",
            )
