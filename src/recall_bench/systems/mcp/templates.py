"""Arguments of a tool with places to fill in."""

import re
from collections.abc import Iterator, Mapping, Sequence

Value = str | int

_PLACE = re.compile(r"\{([a-z_]+)\}")


def find_places(template: object) -> set[str]:
    """The names of all places in a template."""
    return {name for text in _iterate_texts(template) for name in _PLACE.findall(text)}


def fill_template(template: object, values: Mapping[str, Value]) -> object:
    """The template with every place it has a value for filled in.

    A text that is nothing but one place becomes the value itself: `"{k}"` becomes a number.
    """
    match template:
        case str():
            return _fill_text(template, values)
        case dict():
            return {key: fill_template(part, values) for key, part in template.items()}
        case list():
            return [fill_template(part, values) for part in template]
        case _:
            return template


def fill_arguments(
    template: Mapping[str, object], values: Mapping[str, Value]
) -> dict[str, object]:
    """The same for the arguments of a tool."""
    return {key: fill_template(part, values) for key, part in template.items()}


def fill_for_each(
    template: Mapping[str, object],
    shared: Mapping[str, Value],
    several: Sequence[Mapping[str, Value]],
) -> dict[str, object]:
    """The same with its repeated list, of which `repeated` tells, written out for each."""
    lists = find_repeated_lists(template, set(several[0]))

    def fill_part(part: object) -> object:
        if any(part is each for each in lists) and isinstance(part, list):
            return [fill_template(part[0], {**shared, **each}) for each in several]
        match part:
            case dict():
                return {key: fill_part(inner) for key, inner in part.items()}
            case list():
                return [fill_part(inner) for inner in part]
            case _:
                return fill_template(part, shared)

    return {key: fill_part(part) for key, part in template.items()}


def find_repeated_lists(template: object, names: set[str]) -> list[object]:
    """The outermost lists of one entry that has a place of these names: one entry a note."""
    match template:
        case list() if len(template) == 1 and find_places(template) & names:
            return [template]
        case dict():
            return [
                found for part in template.values() for found in find_repeated_lists(part, names)
            ]
        case list():
            return [found for part in template for found in find_repeated_lists(part, names)]
        case _:
            return []


def _fill_text(text: str, values: Mapping[str, Value]) -> Value:
    whole = _PLACE.fullmatch(text)
    if whole is not None and whole[1] in values:
        return values[whole[1]]
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), text)


def _iterate_texts(template: object) -> Iterator[str]:
    match template:
        case str():
            yield template
        case dict():
            for part in template.values():
                yield from _iterate_texts(part)
        case list():
            for part in template:
                yield from _iterate_texts(part)
