"""The conventions and tasks of one persona, as their YAML file has them.

They are data, so that who writes them need not be who wrote the checks.
"""

from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.suites.procedures.outcome_checks import OutcomeCheck, OutcomeForm

HISTORY_DAYS = 56
"""The story days before the tasks: eight weeks."""
PERSONAS = ("backend-eng-saas", "executive-assistant")

TaskKind = Literal["stated", "in-passing", "revised", "exception", "combined"]
KINDS: tuple[TaskKind, ...] = ("stated", "in-passing", "revised", "exception", "combined")
RuleKind = Literal["convention", "preference", "how-to"]
OutcomeKind = Literal["right", "default", "stale", "wrong"]


class _Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the file."""


class RuleWording(_Source, frozen=True, kw_only=True):
    """How a rule is stated, in the log of one day."""

    day: int
    session: str
    """The session of the log under which it stands."""
    by: str
    """Who states the rule."""
    text: str
    """One paragraph or several, in the voice of the log."""
    key: str | None = None
    """The part of the text that states the rule, as it stands there; None for all of it."""
    heading: str | None = None
    """The heading above it; None to put it under the last heading of the session."""
    in_passing: bool = False
    """Whether the rule is said beside something else."""


class Rule(_Source, frozen=True, kw_only=True):
    """A convention, a preference, or how something is done."""

    id: str
    kind: RuleKind
    rule: str
    """The rule in one or two plain sentences, complete: what the ceiling gets."""
    told: tuple[RuleWording, ...]
    """Each tells it whole."""
    replaces: str | None = None
    """The rule that it takes the place of."""
    exception_to: str | None = None
    """The rule that it limits."""


class TaskTool(_Source, frozen=True, kw_only=True):
    """A tool whose calls are the outcome of a task."""

    name: str
    does: str
    arguments: dict[str, str]
    """By name, what it is."""


class SampleOutcome(_Source, frozen=True, kw_only=True):
    """A reply, and what the checks have to say of it."""

    reply: str
    kind: OutcomeKind
    breaks: tuple[str, ...] = ()
    """The ids of the rules that it breaks: exactly their checks fail."""
    why: str = ""


class ConventionTask(_Source, frozen=True, kw_only=True):
    """One task, and how its outcome is checked."""

    id: str
    kind: TaskKind
    needs: tuple[str, ...]
    """The ids of the rules without which it is done wrong."""
    asked: str
    """The date on which it is asked, such as 2025-03-05."""
    form: OutcomeForm
    text: str
    """What the user says."""
    checks: tuple[OutcomeCheck, ...]
    outcomes: tuple[SampleOutcome, ...]
    input: str | None = None
    """Material that belongs to the task: a diff, a mail, a table."""
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """For JSON: by name, what a field holds."""
    tools: tuple[TaskTool, ...] = ()
    """For calls: the tools that can be called."""
    old: tuple[OutcomeCheck, ...] = ()
    """What an outcome passes that follows the rule that was replaced."""

    @property
    def asked_on(self) -> date:
        """The date on which it is asked."""
        return date.fromisoformat(self.asked)


class TaskFile(_Source, frozen=True, kw_only=True):
    """Everything about one persona."""

    persona: str
    rules: tuple[Rule, ...]
    tasks: tuple[ConventionTask, ...]

    def get_rule(self, name: str) -> Rule:
        """Return the rule with this id."""
        return next(rule for rule in self.rules if rule.id == name)


def read_tasks(path: Path) -> TaskFile:
    """Read a file of tasks; DataError that names the place if it is not one."""
    try:
        return msgspec.convert(load_yaml(path), TaskFile)
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {error}") from error


@cache
def load_tasks(persona: str) -> TaskFile:
    """Load the tasks of a persona of the package."""
    return read_tasks(Path(__file__).parent / f"{persona}.yaml")


_FORM_WORDS = {
    OutcomeForm.TEXT: ("Reply with the finished text in one fenced block (```), and nothing else."),
    OutcomeForm.JSON: (
        "Reply with one JSON object in one fenced block (```json), and nothing else. Its fields:"
    ),
    OutcomeForm.CALLS: (
        "Reply with the calls that you make, in order, as a JSON list in one fenced block "
        '(```json), and nothing else. Each is {"tool": NAME, "arguments": {...}}; do not wait for '
        "results. The tools:"
    ),
}
CONVENTION_REQUEST = "Do it the way we do things here."


def describe_task(task: ConventionTask, rules: tuple[Rule, ...] = ()) -> str:
    """The task as it is asked; the ceiling gets the rules with it."""
    parts = [task.text.strip()]
    if task.input is not None:
        parts.append(f"Material:\n\n{task.input.strip()}")
    if rules:
        parts.append("\n".join(("How we do this here:", *(f"- {r.rule.strip()}" for r in rules))))
    parts.append(f"{CONVENTION_REQUEST} {_FORM_WORDS[task.form]}")
    listed = [f"- {name}: {words}" for name, words in task.fields.items()]
    for tool in task.tools:
        listed.append(f"- {tool.name}: {tool.does}")
        listed += [f"  - {name}: {words}" for name, words in tool.arguments.items()]
    return "\n\n".join(parts) + "".join(f"\n{line}" for line in listed)
