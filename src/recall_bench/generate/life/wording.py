"""Wordings that readers found clumsy or unproved, so that no source brings them back."""

import re
from collections.abc import Iterable, Iterator, Mapping

from recall_bench.core.yaml12 import Key
from recall_bench.generate.life.agreement import find_clash
from recall_bench.generate.life.names import flatten, holds, list_placeholders
from recall_bench.generate.life.sources import (
    EntityKind,
    LifeProcess,
    LifeSources,
    LifeStep,
    LifeValue,
    ThreadQuestionTemplates,
)
from recall_bench.generate.world.sources import Variants
from recall_bench.generate.written.checks import SourceFinding

_NAME = re.compile(r"the \w|\{[\w-]+\}'s \w|[A-Z]\w+'s \w")
_RELATIVE = re.compile(r"\b(?:that|which|who|whom|whose)\b")
_EMPTY = re.compile(r"\b(?:the matter of|the work on|the case of|the difficulty that)\b")
_STUBS = (
    (re.compile(r", in \{it\}"), "does not hang the thread on a comma"),
    (re.compile(r"\bWhen \{it\} began\b"), "says how the thread began by {event}"),
    (re.compile(r"\bin the (?:case|matter) of \{it\}"), "names the thread directly"),
    (re.compile(r"^The [^?.]*\{it\}[^?.]*: \w"), "starts with the question, not with its subject"),
)
_OPEN_COMMA = re.compile(r"[,;:] ?\[(?:\|[^\[\]]*|[^\[\]]*\|(?:\|[^\[\]]*)?)\](?:[.,;:!?]|$)")
"""A comma, brackets with an empty alternative, and the end of the clause."""
_ARTICLE = re.compile(r"(?:the|an?) ")
_ARTICLE_BEFORE = re.compile(r"\b([Tt]he|[Aa]n?) \{([\w-]+)\}")
_NESTED = re.compile(r"\b(?:what|that|which) \{it\} (?!is|was|has|had)\w+")
_PLANNED = re.compile(r"\{(\w[\w-]*)\} (?:will|is to|are to|was asked to|has been asked to)\b")
_DONE = re.compile(r"^(?:Who|Which \w+|Whose \w+) (?!was|were|had|has|is|of|in|at|on)\w+ ")

Findings = Iterator[SourceFinding]


def find_wording_faults(sources: LifeSources) -> Findings:
    """Every name of a thread, clause and question that breaks one of the rules."""
    for process in sources.processes:
        file, index = sources.places[process.id]
        for message, *keys in _check_process(sources, process):
            yield SourceFinding(sources.locate(file, index, *keys), str(message))
    for name, kind in sources.entities.kinds.items():
        for message, *keys in _check_kind(kind):
            yield SourceFinding(sources.locate("entities.yaml", "kinds", name, *keys), str(message))


def _check_process(sources: LifeSources, process: LifeProcess) -> Iterator[tuple[Key, ...]]:
    for number, name in enumerate(process.called):
        for message in _find_name_faults(process, name):
            yield message, "called", number
    for number, clause in enumerate(process.opens):
        for untold in _list_untold(process, clause):
            message = f"opens names {{{untold}}}, which the first step does not always tell"
            yield message, "opens", number
    dates = {name for name, value in process.facts.items() if value.kind == "date"}
    if process.held is not None and process.held not in {
        *dates,
        *(step.id for step in process.steps),
    }:
        yield f"held: {process.held} is neither a step nor a date of the thread", "held"
    for number, asking in enumerate(process.ask):
        for message in _find_asking_faults(process, asking):
            yield message, "ask", number
    values = _list_values(process.facts.items())
    for role, kind in process.on.items():
        values[role] = sources.entities.kinds[kind].names if kind in sources.entities.kinds else []
    for number, step in enumerate(process.steps):
        for text in (*_list_texts(step.text), *flatten(step.heading)):
            for message in find_slips(text, values):
                yield message, "steps", number


def _find_name_faults(process: LifeProcess, name: str) -> Iterator[str]:
    if not _NAME.match(name):
        yield f"“{name}” starts with neither an article nor an owner, so no month fits into it"
    if len(_RELATIVE.findall(name)) > 1:
        yield f"“{name}” has a clause in a clause; shorten it"
    if found := _EMPTY.search(name):
        yield f"“{found[0]}” says nothing; name the thing itself"
    for untold in _list_untold(process, name):
        yield f"“{name}” names {{{untold}}}, which the first step does not always tell"


def _list_untold(process: LifeProcess, text: str) -> Iterator[str]:
    """Facts and roles that a text names though a first step may leave them out."""
    named = {each.name for each in list_placeholders(text)} & {*process.facts, *process.people}
    for name in sorted(named):
        if not process.steps or not _always_tells(process.steps[0], name):
            yield name


def _always_tells(step: LifeStep, name: str) -> bool:
    """Whether some part of a step tells a fact in every variant."""
    return any(all(_tells(text, name) for text in flatten(part)) for part in step.text if part)


def _tells(text: str, name: str) -> bool:
    return any(each.name == name and not each.form for each in list_placeholders(text))


def _find_asking_faults(process: LifeProcess, asking: ThreadQuestionTemplates) -> Iterator[str]:
    for wording in asking.ask:
        yield from find_stub_faults(wording)
        if _NESTED.search(wording):
            yield f"“{wording}”: a question nests the clause of a name in no other one"
    if asking.at is not None:
        step = next((each for each in process.steps if each.id == asking.at), None)
        if asking.fact is None or step is None:
            yield f"at: {asking.at} belongs to a question for a fact and names one of the steps"
        elif not _always_tells(step, asking.fact):
            yield f"at: {asking.at} does not tell {{{asking.fact}}} in every variant of a part"
    elif asking.fact is not None:
        yield from _find_unproved(process, asking)


def find_stub_faults(wording: str) -> Iterator[str]:
    """What is clumsy about one question."""
    for pattern, rule in _STUBS:
        if pattern.search(wording):
            yield f"“{wording}”: a question {rule}"


def find_slips(text: str, values: Mapping[str, list[str]]) -> Iterator[str]:
    """Find a verb that does not agree, a comma with nothing after it, and two articles in a row."""
    if clash := find_clash(text, values):
        yield f"“{clash} …” does not agree; reword the sentence"
    if _OPEN_COMMA.search(text):
        yield f"“{text}” may end in a comma; write the comma into the brackets"
    for article, name in _ARTICLE_BEFORE.findall(text):
        for value in values.get(name, ()):
            if _ARTICLE.match(value):
                yield f"“{article} {value}” has two articles; reword the sentence"
                break


def _find_unproved(process: LifeProcess, asking: ThreadQuestionTemplates) -> Iterator[str]:
    """A plan that is asked as if it had been executed."""
    for step in process.steps:
        texts = [text for text in _list_texts(step.text) if holds(text, asking.fact or "")]
        for text in texts:
            planned = {found[1] for found in _PLANNED.finditer(text)}
            done = [each for each in asking.ask if _DONE.match(each)]
            if asking.fact in planned and done:
                yield f"“{done[0]}” asks what “{text}” only plans; ask for the plan, or give at:"
                return
        if texts:
            return


def _check_kind(kind: EntityKind) -> Iterator[tuple[Key, ...]]:
    for label, attribute in kind.attributes.items():
        values = _list_values((name, each.value) for name, each in kind.attributes.items())
        values["value"] = values["old"] = attribute.value.choice or []
        values["it"] = kind.names
        wordings = [text for _, manner in attribute.tell.list_manners() for text in manner]
        for text in wordings:
            for message in find_slips(text, values):
                yield message, "attributes", label
        for name in attribute.ask.__struct_fields__:
            for text in getattr(attribute.ask, name):
                for message in find_stub_faults(text):
                    yield message, "attributes", label, "ask", name
    for number, join in enumerate(kind.joins):
        for text in join.ask:
            for message in find_stub_faults(text):
                yield message, "joins", number


def _list_values(named: Iterable[tuple[str, LifeValue]]) -> dict[str, list[str]]:
    return {name: list(value.choice) for name, value in named if value.choice}


def _list_texts(parts: Iterable[Variants]) -> Iterator[str]:
    for part in parts:
        yield from flatten(part)
