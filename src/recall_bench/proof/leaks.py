"""Secrets and canaries: what isolated sessions hold stands in no open one before it is revealed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.proof.account import Account
from recall_bench.proof.finding import Code, Finding
from recall_bench.proof.inquiry import Inquiry
from recall_bench.proof.passages import Day
from recall_bench.proof.statements import About, Statement
from recall_bench.proof.values import Key, money_reader


@dataclass(frozen=True, slots=True)
class _Secret:
    """A value first told in an isolated session, and the day it is told in an open one."""

    about: About
    key: Key
    surface: str
    revealed: float

    def spelled(self, account: Account) -> str:
        return f"“{self.surface}”, {account.called(*self.about)}, told in an isolated session"


def find_leaks(
    account: Account, days: Sequence[Day], inquiries: Iterable[Inquiry]
) -> Iterator[Finding]:
    """Every secret or canary where it must not be."""
    secrets = list(_secrets(account))
    yield from _in_blocks(account, secrets)
    yield from _anywhere(account, days, secrets)
    yield from _canaries(account, days, inquiries)


def _secrets(account: Account) -> Iterator[_Secret]:
    for about, statements in account.table.stated.items():
        first: dict[Key, Statement] = {}
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
                yield _Secret(about, key, surface, revealed.get(key, float("inf")))


def _in_blocks(account: Account, secrets: Iterable[_Secret]) -> Iterator[Finding]:
    """Sentences about the secret's own thread, in an open session, without its cue."""
    for secret in secrets:
        if not _is_telling(account, secret):
            continue
        for sentence in account.loose(*secret.about, secret.key):
            is_open = not account.lexicon.is_isolated(sentence.session)
            if is_open and sentence.day < secret.revealed:
                yield Finding(
                    Code.LEAK,
                    f"day {sentence.day}",
                    f"{secret.spelled(account)}, stands in an open one; {sentence.place}",
                )


def _is_telling(account: Account, secret: _Secret) -> bool:
    """Whether the value alone gives the secret away; a name, a clock time or a count does not."""
    grammar = account.slot(*secret.about)
    if grammar.slot.kind == "choice":
        return len(secret.surface.split()) > 1
    return grammar.slot.kind == "date" or grammar.reader.is_telling


def _anywhere(
    account: Account, days: Sequence[Day], secrets: Iterable[_Secret]
) -> Iterator[Finding]:
    """Codes, and the sums of threads that are one of a kind, in any open block at all."""
    codes: dict[str, _Secret] = {}
    sums: dict[Key, _Secret] = {}
    for secret in secrets:
        thread = account.thread(secret.about[0])
        kind = account.slot(*secret.about).slot.kind
        if kind == "code" and account.slot(*secret.about).reader.is_telling:
            codes[secret.surface] = secret
        elif kind == "money" and len(account.lexicon.threads_of(thread.process)) == 1:
            sums[secret.key] = secret
    if not codes and not sums:
        return
    reader = money_reader()
    for day in days:
        for session, start, text in _open_texts(account, day):
            found = [(v.key, v.start) for v in reader.find(text, account.date_of(day.day))]
            places = [(sums[key], place) for key, place in found if key in sums]
            places += [(secret, text.find(code)) for code, secret in codes.items() if code in text]
            for secret, place in places:
                is_known = (day.day, start + place) in account.table.explained
                if day.day < secret.revealed and not is_known:
                    around = text[max(0, place - 40) : place + 40].strip()
                    yield Finding(
                        Code.LEAK,
                        f"day {day.day}",
                        f"{secret.spelled(account)}, stands in the open session {session}: "
                        f"“…{around}…”",
                    )


def _open_texts(account: Account, day: Day) -> Iterator[tuple[str, int, str]]:
    for block in day.blocks:
        if not account.lexicon.is_isolated(block.session):
            start = min(block.heading[0], block.start)
            yield block.session, start, day.text[start : block.end]


def _canaries(
    account: Account, days: Sequence[Day], inquiries: Iterable[Inquiry]
) -> Iterator[Finding]:
    owners: dict[str, Inquiry] = {}
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
                    yield Finding(
                        Code.LEAK,
                        f"day {day.day}",
                        f"the canary {canary} stands in the open session {block.session}",
                    )
    for canary, inquiry in owners.items():
        if kept.get(canary, float("inf")) > inquiry.answerable_from:
            yield Finding(
                Code.CANARY,
                inquiry.where,
                f"the canary {canary} is in no isolated session up to day "
                f"{inquiry.answerable_from}",
            )
