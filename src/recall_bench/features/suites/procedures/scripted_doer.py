"""A model that does the tasks by script: as its prompt tells, and by default where it is silent.

It shows what a memory is worth to a model that keeps every rule it gets: `--reader
recall_bench.features.suites.procedures.scripted_doer:do_task`, or the same after `--agent-model`.
It knows the tasks and their solutions, so it measures the suite and the memory, never a model.
"""

import json
import re
from functools import cache

from recall_bench.core.usage import Usage
from recall_bench.features.suites.procedures.task_source import (
    PERSONAS,
    ConventionTask,
    Rule,
    SampleOutcome,
    TaskFile,
    load_tasks,
)
from recall_bench.systems.models.conversation import TEXT_RULES
from recall_bench.systems.models.model import Prompt, Reply

_NOT_WORDS = re.compile(r"[\W_]+")


def do_task(prompt: Prompt) -> Reply:
    """Reply to a task, or work a memory's tools for one; a day is saved whole."""
    text = f"{prompt.system}\n{prompt.user}"
    reply = _use_tools(prompt) if TEXT_RULES in prompt.system else reply_to_task(text)
    return Reply(text=reply, usage=Usage())


def reply_to_task(text: str) -> str:
    """The outcome that keeps the rules in a text, and breaks the others as one does by default."""
    plain = _simplify(text)
    results = _find_task(plain)
    return "I know no such task." if results is None else choose_outcome(*results, plain).reply


def choose_outcome(task: ConventionTask, source: TaskFile, plain: str) -> SampleOutcome:
    """The sample outcome with the rules of a simplified text and no other."""
    needed = [source.get_rule(name) for name in task.needs]
    unknown = {rule.id for rule in needed if not _is_told(rule, plain)}
    old = [source.get_rule(rule.replaces) for rule in needed if rule.replaces is not None]
    if unknown and any(_is_told(rule, plain) for rule in old):
        stale = [outcome for outcome in task.outcomes if outcome.kind == "stale"]
        if stale:
            return stale[0]
    fitting = [outcome for outcome in task.outcomes if set(outcome.breaks) == unknown]
    default = next(outcome for outcome in task.outcomes if outcome.kind == "default")
    # Where one rule is unknown, an outcome that breaks it alone may be a wrong one; all unknown is
    # what the default is for.
    return fitting[0] if fitting and len(unknown) < len(needed) else default


def _use_tools(prompt: Prompt) -> str:
    if _find_task(_simplify(prompt.user)) is None:
        is_saved = '"you"' in prompt.user
        if is_saved:
            return json.dumps({"answer": "done"})
        return json.dumps({"calls": [{"tool": "save", "arguments": {"text": prompt.user}}]})
    if '"result of"' not in prompt.user:
        return json.dumps({"calls": [{"tool": "search", "arguments": {"query": prompt.user}}]})
    return json.dumps({"answer": reply_to_task(prompt.user)})


@cache
def _list_tasks() -> tuple[tuple[str, ConventionTask, TaskFile], ...]:
    sources = [load_tasks(persona) for persona in PERSONAS]
    return tuple((_simplify(task.text), task, item) for item in sources for task in item.tasks)


def _find_task(plain: str) -> tuple[ConventionTask, TaskFile] | None:
    return next(((task, source) for text, task, source in _list_tasks() if text in plain), None)


def _is_told(rule: Rule, plain: str) -> bool:
    wordings = (rule.rule, *(telling.key or telling.text for telling in rule.told))
    return any(_simplify(wording) in plain for wording in wordings)


def _simplify(text: str) -> str:
    """The words alone: quoting and escaping do not matter."""
    return _NOT_WORDS.sub(" ", text.replace("\\n", " ").replace("\\u", " ")).casefold().strip()
