"""Checks of the sources of a life edition: every violation with its file and line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.yaml12 import Key
from recall_bench.generate.life.names import (
    CAUSE,
    NameScope,
    flatten,
    holds,
    list_placeholders,
    make_intro_scope,
    make_question_scope,
    make_state_scope,
    make_step_scope,
)
from recall_bench.generate.life.sources import (
    ASKING_FORMS,
    COMPARABLE,
    MANNERS,
    EntityKind,
    LifeAttribute,
    LifeProcess,
    LifeSources,
    LifeStep,
    LifeValue,
    ThreadQuestionTemplates,
)
from recall_bench.generate.life.wording import find_wording_faults
from recall_bench.generate.world.fact_values import BOUNDED, find_bounds_fault
from recall_bench.generate.written.checks import SourceFinding
from recall_bench.generate.written.slots import parse_state
from recall_bench.generate.written.sources import KINDS

_BRACE = re.compile(r"\{[^{}]*\}|[{}]")
_MONTH_DAY = re.compile(r"(\d\d)-(\d\d)")
_BRACKETS = re.compile(r"[\[\]]")
_MOST_STATES = 9

Findings = Iterator[SourceFinding]


def find_faults(sources: LifeSources) -> list[SourceFinding]:
    """Everything that would keep the edition from being played."""
    checker = FaultChecker(sources)
    return [
        *checker.check_story(),
        *checker.check_entities(),
        *checker.check_processes(),
        *checker.check_talk(),
        *find_wording_faults(sources),
    ]


class FaultChecker:
    """Looks for names that mean nothing, groups without people, and values of no kind."""

    def __init__(self, sources: LifeSources) -> None:
        self._sources = sources
        self._sessions = {session.id for session in sources.persona.sessions}
        self._processes = {process.id: process for process in sources.processes}

    def _find(self, file: str, message: str, *keys: Key) -> SourceFinding:
        return SourceFinding(self._sources.locate(file, *keys), message)

    def check_story(self) -> Findings:
        """The calendar."""
        story = self._sources.story
        try:
            epoch = date.fromisoformat(story.epoch)
        except ValueError:
            epoch = None
        if epoch is None or epoch.weekday():
            message = f"the epoch {story.epoch!r} is not the date of a Monday"
            yield self._find("story.yaml", message, "epoch")
        for index, holiday in enumerate(story.holidays):
            if not _MONTH_DAY.fullmatch(holiday):
                message = f"the holiday {holiday!r} is not a month and day; write 12-25"
                yield self._find("story.yaml", message, "holidays", index)
        for index, (first, last) in enumerate(story.absences):
            if not 1 <= first <= last <= story.days:
                message = f"the absence from day {first} to {last} is not within the story"
                yield self._find("story.yaml", message, "absences", index)

    def check_entities(self) -> Findings:
        """Kinds, their attributes, and the questions about them."""
        entities = self._sources.entities
        for name, kind in entities.kinds.items():
            place: tuple[Key, ...] = ("kinds", name)
            if parse_state(name) is None:
                yield self._find("entities.yaml", f"{name}: write lower-case words and -", *place)
            yield from self._check_names(kind, place)
            scope = make_intro_scope(self._sources, kind)
            yield from self._check_texts("entities.yaml", kind.intro, scope, (*place, "intro"))
            yield from self._check_texts("entities.yaml", kind.heading, scope, (*place, "heading"))
            for label, attribute in kind.attributes.items():
                yield from self._check_attribute(
                    kind, label, attribute, (*place, "attributes", label)
                )
            yield from self._check_joins(kind, place)
        for section in ("unknown", "never"):
            for index, matter in enumerate(getattr(entities, section)):
                if matter.kind is not None and matter.kind not in entities.kinds:
                    yield self._find(
                        "entities.yaml", f"there is no kind {matter.kind}", section, index
                    )
                scope = NameScope(["it"] if matter.kind else [])
                yield from self._check_texts(
                    "entities.yaml", flatten(matter.ask), scope, (section, index, "ask")
                )
                if not "".join(matter.words).strip() or _BRACE.search("".join(matter.words)):
                    message = "words names what no sentence holds: one plain word or more"
                    yield self._find("entities.yaml", message, section, index, "words")

    def _check_names(self, kind: EntityKind, place: Sequence[Key]) -> Findings:
        if kind.people is not None:
            yield from self._check_groups(flatten(kind.people), "entities.yaml", place)
            known = len(self._sources.cast.list_group(*flatten(kind.people)))
        else:
            known = len(set(kind.names))
        if known < kind.count:
            message = f"{known} names for {kind.count} entities; add names or lower count"
            yield self._find("entities.yaml", message, *place)

    def _check_groups(self, groups: Iterable[str], file: str, place: Sequence[Key]) -> Findings:
        for group in groups:
            if not self._sources.cast.is_group(group):
                message = f"no person of the cast is in the group {group}; add it to one"
                yield self._find(file, message, *place)

    def _check_session(self, session: str | None, file: str, place: Sequence[Key]) -> Findings:
        if session is not None and session not in self._sessions:
            known = ", ".join(sorted(self._sessions))
            message = f"the persona has no session {session}; it has {known}"
            yield self._find(file, message, *place)

    def _check_attribute(
        self, kind: EntityKind, label: str, attribute: LifeAttribute, place: tuple[Key, ...]
    ) -> Findings:
        file = "entities.yaml"
        yield from self._check_value(attribute.value, file, (*place, "value"))
        yield from self._check_session(attribute.session, file, (*place, "session"))
        yield from self._check_groups(flatten(attribute.who or []), file, (*place, "who"))
        low, high = attribute.revisions
        if not 0 <= low <= high < _MOST_STATES:
            yield self._find(file, "revisions go from 0 to 8", *place, "revisions")
        if attribute.secret and attribute.session not in self._sources.isolated:
            message = f"{label} is secret, but {attribute.session} is not an isolated session"
            yield self._find(file, message, *place, "secret")
        if not attribute.tell.set:
            yield self._find(file, f"{label} has no wording for its first state", *place, "tell")
        if high and not (attribute.tell.announced or attribute.tell.passing):
            yield self._find(file, f"{label} changes, but no wording tells it", *place, "tell")
        if bool(attribute.tell.misreported) != bool(attribute.tell.corrected):
            message = "misreported and corrected need each other; give both or none"
            yield self._find(file, message, *place, "tell")
        scope = make_state_scope(self._sources, kind, attribute)
        yield from self._check_texts(file, attribute.heading, scope, (*place, "heading"))
        for manner, wordings in attribute.tell.list_manners():
            where = (*place, "tell", manner)
            yield from self._check_texts(file, wordings, scope, where)
            for index, wording in enumerate(wordings):
                if not holds(wording, "value"):
                    yield self._find(file, "the wording does not tell {value}", *where, index)
                if manner == "set" and holds(wording, "old"):
                    yield self._find(file, "a first state has no {old}", *where, index)
        yield from self._check_asking(kind, attribute, place)

    def _check_asking(
        self, kind: EntityKind, attribute: LifeAttribute, place: tuple[Key, ...]
    ) -> Findings:
        file, ask = "entities.yaml", attribute.ask
        allowed = {
            "now": ["it"],
            "then": ["it", "date", "event"],
            "history": ["it"],
            "first": ["it"],
            "why": ["it", "value"],
            "who": ["it", "value"],
            "times": ["it"],
            "compare": ["a", "b"],
            "lower": ["a", "b"],
            "secret": ["it"],
        }
        for name, names in allowed.items():
            wordings = getattr(ask, name)
            where = (*place, "ask", name)
            entities = {"it": kind} if "it" in names else {}
            yield from self._check_texts(file, wordings, NameScope(names, (), entities), where)
            for index, wording in enumerate(wordings):
                if name in ("compare", "lower") and not (
                    holds(wording, "a") and holds(wording, "b")
                ):
                    yield self._find(file, "name both {a} and {b}", *where, index)
                elif name == "then" and not (holds(wording, "date") or holds(wording, "event")):
                    yield self._find(file, "name a {date} or an {event}", *where, index)
                elif name not in ("compare", "lower") and not holds(wording, "it"):
                    yield self._find(file, "the question does not name {it}", *where, index)
        if (ask.compare or ask.lower) and attribute.value.kind not in COMPARABLE:
            yield self._find(file, "these values cannot be compared", *place, "ask", "compare")
        if attribute.answer is not None and not holds(attribute.answer, "value"):
            yield self._find(file, "the answer does not hold {value}", *place, "answer")

    def _check_joins(self, kind: EntityKind, place: tuple[Key, ...]) -> Findings:
        file = "entities.yaml"
        for index, join in enumerate(kind.joins):
            at: EntityKind | None = kind
            for step in join.path:
                if at is None or step not in at.attributes:
                    message = f"the path {' → '.join(join.path)} leads nowhere at {step}"
                    yield self._find(file, message, *place, "joins", index)
                    break
                at = self._sources.entities.kinds.get(at.attributes[step].value.entity or "")
            if len(join.path) < 2:
                yield self._find(file, "a path has two or three steps", *place, "joins", index)
            where = (*place, "joins", index, "ask")
            yield from self._check_texts(file, join.ask, NameScope(["it"]), where)
        for index, each in enumerate(kind.lists):
            if each.attribute not in kind.attributes:
                message = f"a {kind.called} has no {each.attribute}"
                yield self._find(file, message, *place, "lists", index)
            where = (*place, "lists", index, "ask")
            yield from self._check_texts(file, each.ask, NameScope(["value"]), where)

    def _check_value(self, value: LifeValue, file: str, place: tuple[Key, ...]) -> Findings:
        kinds = value.find_kinds()
        if len(kinds) != 1:
            message = f"a value has exactly one kind, not {' and '.join(kinds) or 'none'}"
            yield self._find(file, message, *place)
        for kind in BOUNDED:
            bounds = getattr(value, kind)
            if bounds is not None and (fault := find_bounds_fault(kind, bounds)) is not None:
                yield self._find(file, f"{kind} {fault}", *place, kind)
        yield from self._check_groups(value.list_groups(), file, place)
        if value.entity is not None and value.entity not in self._sources.entities.kinds:
            yield self._find(file, f"there is no kind {value.entity}", *place)
        for index, phrase in enumerate(value.choice or ()):
            if re.search(r"[{}|=\[\]]", phrase):
                yield self._find(
                    file, "a phrase holds no placeholder and no [a|b]", *place, "choice", index
                )
        if re.search(r"\d", value.unit):
            message = (
                f"the unit {value.unit} holds a digit, so the number cannot be read; reword it"
            )
            yield self._find(file, message, *place, "unit")
        if len(set(value.choice or ())) < len(value.choice or ()):
            yield self._find(file, "a phrase is listed twice", *place, "choice")

    def _check_texts(
        self, file: str, texts: Iterable[str], scope: NameScope, place: tuple[Key, ...]
    ) -> Findings:
        for index, text in enumerate(texts):
            where = (*place, index)
            for message in find_text_faults(text, scope):
                yield self._find(file, message, *where)

    def check_processes(self) -> Findings:
        """Threads: roles, steps and questions."""
        for process in self._sources.processes:
            file, index = self._sources.places[process.id]
            yield from self._check_process(process, file, (index,))

    def _check_process(self, process: LifeProcess, file: str, place: tuple[Key, ...]) -> Findings:
        yield from self._check_roles(process, file, place)
        scope = make_step_scope(self._sources, process)
        called = make_question_scope(self._sources, process, [])
        yield from self._check_texts(file, process.called, called, (*place, "called"))
        if not process.called:
            yield self._find(file, "called is empty", *place, "called")
        steps: list[str] = []
        for number, step in enumerate(process.steps):
            where = (*place, "steps", number)
            yield from self._check_step(process, step, scope, file, where)
            for before in (*step.if_, *step.unless):
                if before not in steps:
                    yield self._find(file, f"no earlier step is called {before}", *where)
            if step.id in steps:
                yield self._find(file, f"two steps are called {step.id}", *where)
            steps.append(step.id)
        if not steps or process.steps[0].chance < 1:
            yield self._find(file, "the first step always happens: leave its chance out", *place)
        for number, asking in enumerate(process.ask):
            yield from self._check_thread_asking(process, asking, file, (*place, "ask", number))

    def _check_roles(self, process: LifeProcess, file: str, place: tuple[Key, ...]) -> Findings:
        kinds = self._sources.entities.kinds
        yield from self._check_session(process.session, file, (*place, "session"))
        if parse_state(process.id) is None:
            yield self._find(file, f"{process.id}: write lower-case words and -", *place, "id")
        for role, kind in process.on.items():
            if kind not in kinds:
                message = f"{role} is of the kind {kind}, which entities.yaml does not have"
                yield self._find(file, message, *place, "on", role)
        for role, group in process.people.items():
            yield from self._check_groups(flatten(group), file, (*place, "people", role))
        for name, value in process.facts.items():
            yield from self._check_value(value, file, (*place, "facts", name))
        names = [*process.on, *process.people, *process.facts]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield self._find(file, f"{name} stands for two things; rename one", *place)

    def _check_step(
        self,
        process: LifeProcess,
        step: LifeStep,
        scope: NameScope,
        file: str,
        place: tuple[Key, ...],
    ) -> Findings:
        yield from self._check_session(step.session, file, (*place, "session"))
        yield from self._check_texts(file, flatten(step.heading), scope, (*place, "heading"))
        texts: list[str] = []
        for number, part in enumerate(step.text):
            texts += flatten(part)
            yield from self._check_texts(file, flatten(part), scope, (*place, "text", number))
            for index, text in enumerate(flatten(part)):
                if CAUSE in re.sub(r"\[[^\[\]]*\]", "", text) or CAUSE not in text:
                    continue
                message = f"write {{{CAUSE}}} outside [a|b], in a variant of its own"
                yield self._find(file, message, *place, "text", number, index)
        for target, manner in step.sets.items():
            role, _, attribute = target.partition(".")
            kind = self._sources.entities.kinds.get(process.on.get(role, ""))
            if kind is None or attribute not in kind.attributes:
                message = f"sets {target}, which no entity of the thread has"
                yield self._find(file, message, *place, "sets")
            elif manner not in MANNERS[1:]:
                yield self._find(file, f"{manner} is not one of {', '.join(MANNERS[1:])}", *place)
            elif not any(
                all(_tells(text, role, attribute) for text in flatten(part)) for part in step.text
            ):
                message = (
                    f"sets {target}, but no part of the text tells {{{target}}} in every variant"
                )
                yield self._find(file, message, *place, "text")
        for other in step.brings:
            brought = self._processes.get(other)
            if brought is None:
                yield self._find(file, f"brings {other}, which is not a process", *place, "brings")
                continue
            for role, wanted in brought.on.items():
                if wanted not in process.on.values():
                    message = f"brings {other}, whose {role} is a {wanted}, which is not here"
                    yield self._find(file, message, *place, "brings")

    def _check_thread_asking(
        self,
        process: LifeProcess,
        asking: ThreadQuestionTemplates,
        file: str,
        place: tuple[Key, ...],
    ) -> Findings:
        forms = asking.find_forms()
        if len(forms) != 1:
            message = f"a question has exactly one of {', '.join(ASKING_FORMS)}"
            yield self._find(file, message, *place)
            return
        (form,) = forms
        target = getattr(asking, form)
        steps = {step.id for step in process.steps}
        names = {*process.facts, *process.people, *process.on}
        amounts = {name for name, value in process.facts.items() if value.kind in COMPARABLE}
        known = {"fact": names, "sum": amounts, "most": amounts, "least": amounts}.get(form, steps)
        for name in flatten(list(target) if isinstance(target, tuple) else target):
            if name not in known:
                message = f"{form}: {name} is not one of {', '.join(sorted(known)) or 'nothing'}"
                yield self._find(file, message, *place)
        if form == "did":
            if _is_certain(process, asking.did):
                yield self._find(file, f"{asking.did} always happens: give it a chance", *place)
            if not (asking.yes or "").startswith("Yes") or not (asking.no or "").startswith("No"):
                yield self._find(file, "give yes: “Yes, …” and no: “No, …”", *place)
        if form in ("sum", "most", "least") and asking.per is None:
            yield self._find(file, "say per: year, quarter or a role", *place)
        if asking.per is not None and asking.per not in ("year", "quarter", *process.on):
            yield self._find(
                file, f"per: {asking.per} is not one of year, quarter or a role", *place
            )
        if asking.kind is not None and asking.kind not in KINDS:
            yield self._find(file, f"kind: {asking.kind} is not one of {', '.join(KINDS)}", *place)
        if asking.category is not None and asking.category not in CATEGORIES:
            message = f"category: {asking.category} is not one of {', '.join(CATEGORIES)}"
            yield self._find(file, message, *place)
        extra = {"order": ["a", "b", "c"], "count": ["period"], "sum": ["period"]}.get(form, [])
        extra = [*extra, *(["period"] if form in ("most", "least") else []), "it"]
        scope = make_question_scope(self._sources, process, extra)
        yield from self._check_texts(file, asking.ask, scope, (*place, "ask"))
        replies = [each for each in (asking.answer, asking.yes, asking.no) if each is not None]
        scope = make_question_scope(self._sources, process, [*extra, "value"])
        yield from self._check_texts(file, replies, scope, place)

    def check_talk(self) -> Findings:
        """Small talk: no facts, no figures."""
        talk = self._sources.talk
        scope = NameScope(words=talk.words)
        for section in ("datelines", "talk", "quiet"):
            if not getattr(talk, section):
                yield self._find("talk.yaml", f"there is no topic in {section}", section)
            for index, topic in enumerate(getattr(talk, section)):
                place: tuple[Key, ...] = (section, index)
                yield from self._check_session(topic.session, "talk.yaml", (*place, "session"))
                for part in (topic.heading, *topic.text):
                    for text in flatten(part):
                        for message in find_text_faults(text, scope, is_talk=True):
                            yield self._find("talk.yaml", message, *place)
        for name, entries in talk.words.items():
            for index, entry in enumerate(entries):
                if re.search(r"\d", entry):
                    message = f"“{entry}” holds a digit; spell it"
                    yield self._find("talk.yaml", message, "words", name, index)


def _is_certain(process: LifeProcess, wanted: str | None) -> bool:
    """Whether every thread has the step: nothing leaves it out or ends the thread before it."""
    for step in process.steps:
        if step.id == wanted:
            return step.chance == 1 and not (step.if_ or step.unless)
        if step.ends:
            return False
    return False


def _tells(text: str, role: str, attribute: str) -> bool:
    """Whether a text gives the value of an attribute of a role."""
    return any(
        each.name == role and each.form in (attribute, f"{attribute}.full")
        for each in list_placeholders(text)
    )


def find_text_faults(text: str, scope: NameScope, *, is_talk: bool = False) -> Iterator[str]:
    """What is wrong with one template."""
    if text.count("[") != text.count("]"):
        yield f"the brackets of “{_shorten(text)}” do not balance"
    known = {f"{{{p.name}{'.' if p.form else ''}{p.form}}}" for p in list_placeholders(text)}
    for found in _BRACE.finditer(text):
        if found[0] not in known:
            yield f"{found[0]} is not a placeholder"
    for placeholder in list_placeholders(text):
        fault = scope.find_fault(placeholder)
        if fault:
            yield fault
    if is_talk and re.search(r"\d", text):
        yield f"“{_shorten(text)}” holds a digit; spell it"


def _shorten(text: str) -> str:
    plain = _BRACKETS.sub("", text)
    return plain if len(plain) <= 60 else plain[:57] + "…"
