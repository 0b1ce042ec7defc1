"""Find mistakes in a file of conventions and tasks."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from recall_bench.features.suites.procedures.outcome_checks import (
    OutcomeForm,
    find_failures,
    list_tests,
    read_outcome,
)
from recall_bench.features.suites.procedures.suite import PersonaHistory
from recall_bench.features.suites.procedures.task_source import (
    HISTORY_DAYS,
    KINDS,
    ConventionTask,
    Rule,
    SampleOutcome,
    TaskFile,
    describe_task,
)

TASKS = 30
LEAST_OF_KIND = 5
LEAST_OF_FORM = 6
LEAST_RULES = 22
LEAST_TELLERS = 8
LEAST_IN_PASSING = 6
LEAST_REVISED_RULES = 4
LEAST_EXCEPTIONS = 4
LONGEST_WITHOUT_KEY = 160
LAST_OLD_DAY = 21
REVISED_DAYS = range(29, 36)
"""Week 5: the days on which a rule may be replaced."""
ASKED_DAYS = range(HISTORY_DAYS + 1, HISTORY_DAYS + 13)

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CALL_TESTS = {"calls_in_order", "called", "not_called", "first_call", "last_call"}


def find_mistakes(source: TaskFile, story: PersonaHistory) -> list[str]:
    """List everything that is wrong with a file, each with the place."""
    found = [
        *_check_ids(source),
        *(f"rule {rule.id}: {each}" for rule in source.rules for each in _check_rule(rule, source)),
        *(
            f"rule {rule.id}: {each}"
            for rule in source.rules
            for each in _check_tellings(rule, story)
        ),
    ]
    if not found:
        for task in source.tasks:
            found += [f"task {task.id}: {each}" for each in _check_task(task, source, story)]
    return found


def list_missing(source: TaskFile) -> list[str]:
    """List what a finished file needs and this one does not have yet."""
    kinds, forms = Counter(t.kind for t in source.tasks), Counter(t.form for t in source.tasks)
    tellings = [telling for rule in source.rules for telling in rule.told]
    revised = [rule for rule in source.rules if rule.replaces is not None]
    exceptions = [rule for rule in source.rules if rule.exception_to is not None]
    counts = [
        ("tasks", len(source.tasks), TASKS),
        *((f"tasks of kind {kind}", kinds[kind], LEAST_OF_KIND) for kind in KINDS),
        *((f"tasks of form {form}", forms[form], LEAST_OF_FORM) for form in OutcomeForm),
        ("rules", len(source.rules), LEAST_RULES),
        ("rules that replace one", len(revised), LEAST_REVISED_RULES),
        ("rules that are exceptions", len(exceptions), LEAST_EXCEPTIONS),
        ("people who tell rules", len({telling.by for telling in tellings}), LEAST_TELLERS),
        ("tellings in passing", sum(telling.in_passing for telling in tellings), LEAST_IN_PASSING),
        ("weeks with a telling", len({(telling.day - 1) // 7 for telling in tellings}), 7),
    ]
    missing = [f"{name}: {count} of {least}" for name, count, least in counts if count < least]
    if len(source.tasks) > TASKS:
        missing.append(f"tasks: {len(source.tasks)}, {len(source.tasks) - TASKS} too many")
    used = {name for task in source.tasks for name in task.needs}
    replaced = {rule.replaces for rule in source.rules}
    idle = [r.id for r in source.rules if r.id not in used and r.id not in replaced]
    limited = {rule.exception_to for rule in source.rules}
    missing += [
        f"rule {rule.id}: a telling of more than {LONGEST_WITHOUT_KEY} characters has no key"
        for rule in source.rules
        if any(each.key is None and len(each.text) > LONGEST_WITHOUT_KEY for each in rule.told)
    ]
    missing += [f"rule {name}: no task needs it" for name in idle if name not in limited]
    return missing


def _check_ids(source: TaskFile) -> Iterator[str]:
    for what, names in (
        ("rule", [rule.id for rule in source.rules]),
        ("task", [task.id for task in source.tasks]),
    ):
        for name, count in Counter(names).items():
            if count > 1:
                yield f"{what} {name}: {count} have this id"
            if _ID.fullmatch(name) is None:
                yield f"{what} {name}: an id is small letters, digits and single hyphens"


def _check_rule(rule: Rule, source: TaskFile) -> Iterator[str]:
    known = {each.id for each in source.rules}
    for field, name in (("replaces", rule.replaces), ("exception_to", rule.exception_to)):
        if name is not None and (name not in known or name == rule.id):
            yield f"{field}: there is no other rule {name}"
    if not rule.told:
        yield "it is stated nowhere"
    if rule.replaces is not None and rule.replaces in known:
        if any(telling.day not in REVISED_DAYS for telling in rule.told[:1]):
            yield f"a rule that replaces another is first stated on days {_span(REVISED_DAYS)}"
        old = source.get_rule(rule.replaces)
        if any(telling.day > LAST_OLD_DAY for telling in old.told):
            yield f"the old rule {old.id} is stated by day {LAST_OLD_DAY}"


def _check_tellings(rule: Rule, story: PersonaHistory) -> Iterator[str]:
    days = {each.day for each in story.episodes}
    sessions = {each.id for each in story.persona.sessions if not each.isolated}
    people = {each.name for each in story.persona.cast}
    for telling in rule.told:
        place = f"stated on day {telling.day}"
        if telling.day not in days:
            yield f"{place}: the story has no log of that day"
        if telling.session not in sessions:
            yield (
                f"{place}: {telling.session} is not an open session; there is "
                f"{', '.join(sorted(sessions))}"
            )
        if telling.by not in people:
            yield f"{place}: {telling.by} is not in the cast"
        if rule.rule.strip() in telling.text:
            yield f"{place}: it repeats the sentence of the rule; tell it in the log's own words"
        if telling.key is not None and telling.key not in telling.text:
            yield f"{place}: the key does not stand in the text as it is written"
        if len(telling.text.split()) < 15:
            yield f"{place}: fewer than 15 words; tell it as a log does, with what led to it"


def _check_task(task: ConventionTask, source: TaskFile, story: PersonaHistory) -> Iterator[str]:
    rules = {rule.id: rule for rule in source.rules}
    if unknown := [name for name in task.needs if name not in rules]:
        yield f"needs: there is no rule {', '.join(unknown)}"
        return
    needed = [rules[name] for name in task.needs]
    replaced = {rule.replaces for rule in source.rules}
    for rule in needed:
        if rule.id in replaced:
            yield f"needs: {rule.id} was replaced; need the new rule"
    yield from _check_kind(task, needed)
    yield from _check_form(task)
    yield from _check_date(task, story)
    yield from _check_checks(task)
    yield from _check_outcomes(task)
    yield from _check_cheap_replies(task)


def _check_kind(task: ConventionTask, needed: list[Rule]) -> Iterator[str]:
    are_in_passing = all(telling.in_passing for rule in needed for telling in rule.told)
    fits = {
        "stated": len(needed) == 1 and not are_in_passing,
        "in-passing": len(needed) == 1 and are_in_passing,
        "revised": any(rule.replaces is not None for rule in needed),
        "exception": any(rule.exception_to is not None for rule in needed),
        "combined": len(needed) >= 2
        and len([rule for rule in needed if rule.exception_to not in task.needs]) >= 2,
    }
    if not fits[task.kind]:
        yield f"kind {task.kind}: the rules that it needs do not make it one (see the brief)"
    is_plain = task.kind in ("stated", "in-passing")
    if is_plain and any(rule.replaces or rule.exception_to for rule in needed):
        yield f"kind {task.kind}: it needs a rule that replaces or limits another"


def _check_form(task: ConventionTask) -> Iterator[str]:
    if (task.form is OutcomeForm.JSON) != bool(task.fields):
        yield "`fields` belong to the form json, and only there"
    if (task.form is OutcomeForm.CALLS) != bool(task.tools):
        yield "`tools` belong to the form calls, and only there"
    if task.form is OutcomeForm.CALLS and len(task.tools) < 3:
        yield "fewer than 3 tools: offer some that are not needed"
    tools = {tool.name for tool in task.tools}
    for check in (*task.checks, *task.old):
        test = list_tests(check)[0]
        if task.form is OutcomeForm.TEXT and (check.at or check.tool or test in _CALL_TESTS):
            yield f"`{test}`: a text has no fields and no calls"
        if task.form is not OutcomeForm.TEXT and check.line is not None:
            yield f"`{test}`: only a text has lines"
        if task.form is OutcomeForm.JSON and (check.tool or test in _CALL_TESTS):
            yield f"`{test}`: JSON has no calls"
        wanted = [check.called, check.first_call, check.last_call]
        wanted += [*(check.calls_in_order or ()), *(check.not_called or ())]
        names = {each.tool for each in wanted if each is not None} | {check.tool or ""}
        if task.form is OutcomeForm.CALLS and (unknown := names - tools - {""}):
            yield f"`{test}`: the task has no tool {', '.join(sorted(unknown))}"
        field = (check.at or "").partition(".")[0]
        if task.form is OutcomeForm.JSON and field and field not in task.fields:
            yield f"`{test}`: the task has no field {field}"


def _check_date(task: ConventionTask, story: PersonaHistory) -> Iterator[str]:
    first, last = (story.scenario.epoch + timedelta(days=each - 1) for each in (57, ASKED_DAYS[-1]))
    try:
        asked = task.asked_on
    except ValueError:
        yield f"asked: {task.asked!r} is not a date"
        return
    if not first <= asked <= last:
        yield f"asked: {asked} is not between {first} and {last}"


def _check_checks(task: ConventionTask) -> Iterator[str]:
    for check in task.checks:
        if check.rule is not None and check.rule not in task.needs:
            yield f"a check names the rule {check.rule}, which the task does not need"
    for name in task.needs:
        if not any(check.rule == name for check in task.checks):
            yield f"no check tests the rule {name}"
    if (task.kind == "revised") != bool(task.old):
        yield "`old` belongs to the kind revised, and only there"


def _check_outcomes(task: ConventionTask) -> Iterator[str]:
    kinds = Counter(each.kind for each in task.outcomes)
    if not kinds["right"]:
        yield "outcomes: none is right"
    if sum(kinds.values()) - kinds["right"] < 2:
        yield "outcomes: fewer than two fail"
    if not kinds["default"]:
        yield "outcomes: none is what a person does by default without the rule"
    if task.kind == "revised" and not kinds["stale"]:
        yield "outcomes: none follows the rule that was replaced (stale)"
    for number, outcome in enumerate(task.outcomes, start=1):
        for each in _check_outcome(task, outcome):
            yield f"outcome {number} ({outcome.kind}): {each}"
    broken = {name for each in task.outcomes for name in each.breaks}
    for name in task.needs:
        if name not in broken:
            yield f"outcomes: none breaks {name}"
    if len(task.needs) > 1:
        alone = {each.breaks[0] for each in task.outcomes if len(each.breaks) == 1}
        for name in task.needs:
            if name not in alone:
                yield f"outcomes: none breaks {name} alone"


def _check_outcome(task: ConventionTask, sample: SampleOutcome) -> Iterator[str]:
    if (sample.kind == "right") == bool(sample.breaks):
        yield "`breaks` names the rules that a wrong outcome breaks"
    outcome = read_outcome(sample.reply, task.form)
    if outcome is None:
        yield f"it cannot be read as {task.form}"
        return
    failed = find_failures(outcome, task.checks, task.form)
    if other := [check for check in failed if check.rule is None]:
        yield f"it fails a check that belongs to no rule: {_show(other[0])}"
    rules = {check.rule for check in failed if check.rule is not None}
    for name in sorted(rules - set(sample.breaks)):
        check = next(each for each in failed if each.rule == name)
        yield f"it fails a check of {name}: {_show(check)}"
    for name in sorted(set(sample.breaks) - rules):
        yield f"it should break {name}, but passes all its checks"
    if task.old:
        is_old = not find_failures(outcome, task.old, task.form)
        if is_old != (sample.kind == "stale"):
            yield f"it {'passes' if is_old else 'fails'} the checks of `old`"


def _check_cheap_replies(task: ConventionTask) -> Iterator[str]:
    """A reply that takes no memory must not pass: the task itself, its material, its words."""
    empty = {OutcomeForm.TEXT: "ok", OutcomeForm.JSON: "{}", OutcomeForm.CALLS: "[]"}
    cheap = {
        "an empty result": empty[task.form],
        "the task itself": describe_task(task),
        "the material": task.input or "",
        "fields without values": "{" + ", ".join(f'"{name}": ""' for name in task.fields) + "}",
    }
    for name, reply in cheap.items():
        outcome = read_outcome(reply, task.form)
        if outcome is not None and not find_failures(outcome, task.checks, task.form):
            yield f"{name} passes all checks"


def _show(check: object) -> str:
    return re.sub(r"\w+=(None|UNSET),? ?", "", repr(check)).replace(", )", ")")


def _span(days: range) -> str:
    return f"{days[0]} to {days[-1]}"
