"""What a check of a system found, for people and for programs."""

from enum import StrEnum
from textwrap import wrap

from recall_bench.core.memory import Asker, Clock, SystemCard
from recall_bench.core.record import Record


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not-applicable"


SIGNS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.NOT_APPLICABLE: "–"}


class CheckResult(Record, frozen=True, kw_only=True):
    """One clause of the contract, put to one system."""

    name: str
    outcome: Outcome
    message: str
    """What was seen if it passed; what was expected, what came and what to do if it failed; why
    not if it does not apply."""


class Seen(Record, frozen=True, kw_only=True):
    """What a system was seen to be, whatever its card says. None is what could not be told."""

    clock: Clock | None = None
    asker: Asker | None = None
    questions_at_once: int | None = None
    """How many questions at once it answered as it does one by one."""
    memories_at_once: bool | None = None
    """Whether two memories could be open together."""
    snapshots: bool = False
    """Whether it offers copies."""
    portable: bool = False
    """Whether it offers to pack them for another process."""
    streams: bool | None = None
    """Whether it takes in many episodes without a word between them."""
    answers: bool | None = None
    """False if it never answered and only ever found passages."""
    recall: float | None = None
    """The share of facts, told one a day, that it found again."""


class ContractReport(Record, frozen=True, kw_only=True):
    """Everything that was checked of one system."""

    system: SystemCard
    seed: int
    checks: tuple[CheckResult, ...]
    seen: Seen
    max_shards: int | None = None
    """How many workers it says may have memories open in it at a time; None is any number."""

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The clauses the system breaks."""
        return tuple(check for check in self.checks if check.outcome is Outcome.FAILED)

    @property
    def is_kept(self) -> bool:
        """Whether the system breaks no clause."""
        return not self.failures

    def result(self, name: str) -> CheckResult:
        """The result of the check called so; KeyError if it was not made."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def rendered(self, width: int = 100) -> str:
        """A table of the checks, and what the system was seen to be beside what it declares."""
        names = max((len(check.name) for check in self.checks), default=0)
        lines = [f"{self.system.name} {self.system.version}", ""]
        for check in self.checks:
            lead = f"  {SIGNS[check.outcome]} {check.name:{names}}  "
            lines += wrap(
                check.message, width, initial_indent=lead, subsequent_indent=" " * len(lead)
            )
        lines += ["", f"  {'what it is':26}  {'declared':8}  seen"]
        lines += [
            f"  {name:26}  {declared:8}  {seen}" for name, declared, seen in self._list_claims()
        ]
        return "\n".join(lines)

    def _list_claims(self) -> list[tuple[str, str, str]]:
        """Each thing a card says, as declared and as seen."""
        card, seen = self.system, self.seen
        at_once, together = seen.questions_at_once, seen.memories_at_once
        return [
            ("how it knows the date", card.clock or "unsaid", seen.clock or "?"),
            ("what it makes of who asks", card.asker, seen.asker or "?"),
            ("questions at once", str(card.max_concurrency), str(at_once or "?")),
            ("answers rather than finds", _format_claim(card.answers), _format_claim(seen.answers)),
            ("workers at a time", str(self.max_shards or "any"), ""),
            ("copies", "", _format_claim(seen.snapshots)),
            ("copies that travel", "", _format_claim(seen.portable)),
            ("two memories at once", "", _format_claim(together)),
            ("facts found again", "", "?" if seen.recall is None else f"{seen.recall:.0%}"),
        ]


def _format_claim(claim: bool | None) -> str:
    return "?" if claim is None else "yes" if claim else "no"
