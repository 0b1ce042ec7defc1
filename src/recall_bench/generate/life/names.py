"""What a placeholder of a life edition may name, and how many texts a template can give."""

from collections.abc import Collection, Mapping
from functools import cache

from recall_bench.generate.life.sources import (
    EntityKind,
    LifeAttribute,
    LifeProcess,
    LifeSources,
    LifeValue,
)
from recall_bench.generate.world.sources import Variants
from recall_bench.generate.world.templates import (
    Alternatives,
    Node,
    Placeholder,
    TextTemplate,
    parse_template,
)

PERSON_FORMS = frozenset(
    {"first", "full", "short"}
    | {form for word in ("they", "them", "their", "theirs") for form in (word, word.capitalize())}
)
CAUSE = "cause-thread"


@cache
def get_life_template(source: str) -> TextTemplate:
    """The parsed template, cached."""
    return parse_template(source)


def count_texts(source: str) -> int:
    """How many different texts a template can give, its values aside."""
    return _count_nodes(get_life_template(source).nodes)


def _count_nodes(nodes: tuple[Node, ...]) -> int:
    total = 1
    for node in nodes:
        if isinstance(node, Alternatives):
            total *= sum(_count_nodes(piece) for piece in node.pieces)
    return total


class NameScope:
    """The names that one text may use: plain ones, people, and entities with attributes."""

    def __init__(
        self,
        plain: Collection[str] = (),
        people: Collection[str] = (),
        entities: Mapping[str, EntityKind] | None = None,
        words: Collection[str] = (),
    ) -> None:
        self._plain = frozenset(plain)
        self._people = frozenset(people)
        self._entities = entities or {}
        self._words = words

    def find_fault(self, placeholder: Placeholder) -> str | None:
        """Why the placeholder cannot be filled; None if it can."""
        name, form = placeholder.name, placeholder.form
        shown = f"{{{name}.{form}}}" if form else f"{{{name}}}"
        if name.startswith("@"):
            return None if name[1:] in self._words else f"{shown}: talk.yaml has no list {name[1:]}"
        if name in self._entities:
            return self._find_entity_fault(name, form, shown)
        if name in self._people:
            known = not form or form in PERSON_FORMS
            return None if known else f"{shown}: a person has no {form}"
        if name not in self._plain:
            known_names = sorted({*self._plain, *self._people, *self._entities})
            return f"{shown} names nothing here; there is {', '.join(known_names)}"
        return f"{shown}: {name} is not a person" if form else None

    def _find_entity_fault(self, name: str, form: str, shown: str) -> str | None:
        kind = self._entities[name]
        if not form or (kind.people is not None and form in PERSON_FORMS):
            return None
        attribute, _, rest = form.partition(".")
        if attribute not in kind.attributes:
            known = ", ".join(kind.attributes)
            return f"{shown}: a {kind.called} has no {attribute}; it has {known}"
        if not rest or rest == "old":
            return None
        is_person = kind.attributes[attribute].value.kind == "person"
        return None if is_person and rest in PERSON_FORMS else f"{shown}: {rest} is unknown"


def make_state_scope(sources: LifeSources, kind: EntityKind, attribute: LifeAttribute) -> NameScope:
    """What the telling of a state may name."""
    people = [name for name, each in kind.attributes.items() if each.value.kind == "person"]
    plain = [name for name in kind.attributes if name not in people]
    is_person = attribute.value.kind == "person"
    if attribute.why:
        plain.append("why")
    if attribute.who:
        people.append("who")
    (people if is_person else plain).extend(["value", "old"])
    return NameScope(plain, people, {"it": kind}, sources.talk.words)


def make_intro_scope(sources: LifeSources, kind: EntityKind) -> NameScope:
    """What the first mention of an entity may name."""
    people = [name for name, each in kind.attributes.items() if each.value.kind == "person"]
    plain = [name for name in kind.attributes if name not in people]
    return NameScope(plain, people, {"it": kind}, sources.talk.words)


def make_step_scope(sources: LifeSources, process: LifeProcess) -> NameScope:
    """What the text of a step may name."""
    kinds = sources.entities.kinds
    people = [*process.people, *(name for name, each in process.facts.items() if is_person(each))]
    plain = [CAUSE, *(name for name, each in process.facts.items() if not is_person(each))]
    entities = {role: kinds[kind] for role, kind in process.on.items() if kind in kinds}
    return NameScope(plain, people, entities, sources.talk.words)


def make_question_scope(
    sources: LifeSources, process: LifeProcess, extra: Collection[str]
) -> NameScope:
    """What a question about a thread, or its answer, may name."""
    kinds = sources.entities.kinds
    people = [*process.people, *(name for name, each in process.facts.items() if is_person(each))]
    plain = [*extra, *(name for name, each in process.facts.items() if not is_person(each))]
    entities = {role: kinds[kind] for role, kind in process.on.items() if kind in kinds}
    return NameScope(plain, people, entities)


def is_person(value: LifeValue) -> bool:
    """Whether the value is a person of the cast."""
    return value.kind == "person"


def flatten(variants: Variants) -> list[str]:
    """One wording or several, as a list."""
    return [variants] if isinstance(variants, str) else list(variants)


def list_placeholders(source: str) -> tuple[Placeholder, ...]:
    """Every placeholder of a template."""
    return get_life_template(source).placeholders


@cache
def list_names(source: str) -> frozenset[str]:
    """What a template names, in whatever form."""
    return frozenset(each.name for each in list_placeholders(source))


def holds(source: str, name: str) -> bool:
    """Whether a template names this, in whatever form."""
    return name in list_names(source)
