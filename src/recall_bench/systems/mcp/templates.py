"""Arguments of a tool with places to fill in."""

import re
from collections.abc import Iterator, Mapping, Sequence

Value = str | int

_PLACE = re.compile(r"\{([a-z_]+)\}")


def places(template: object) -> set[str]:
    """The names of all places in a template."""
    return {name for text in _texts(template) for name in _PLACE.findall(text)}


def filled(template: object, values: Mapping[str, Value]) -> object:
    """The template with every place it has a value for filled in.

    A text that is nothing but one place becomes the value itself: `"{k}"` becomes a number.
    """
    match template:
        case str():
            return _filled_text(template, values)
        case dict():
            return {key: filled(part, values) for key, part in template.items()}
        case list():
            return [filled(part, values) for part in template]
        case _:
            return template


def filled_mapping(
    template: Mapping[str, object], values: Mapping[str, Value]
) -> dict[str, object]:
    """The same for the arguments of a tool."""
    return {key: filled(part, values) for key, part in template.items()}


def filled_for_each(
    template: Mapping[str, object],
    shared: Mapping[str, Value],
    several: Sequence[Mapping[str, Value]],
) -> dict[str, object]:
    """The same with its repeated list, of which `repeated` tells, written out for each."""
    lists = repeated(template, set(several[0]))

    def written(part: object) -> object:
        if any(part is each for each in lists) and isinstance(part, list):
            return [filled(part[0], {**shared, **each}) for each in several]
        match part:
            case dict():
                return {key: written(inner) for key, inner in part.items()}
            case list():
                return [written(inner) for inner in part]
            case _:
                return filled(part, shared)

    return {key: written(part) for key, part in template.items()}


def repeated(template: object, names: set[str]) -> list[object]:
    """The outermost lists of one entry that has a place of these names: one entry a note."""
    match template:
        case list() if len(template) == 1 and places(template) & names:
            return [template]
        case dict():
            return [found for part in template.values() for found in repeated(part, names)]
        case list():
            return [found for part in template for found in repeated(part, names)]
        case _:
            return []


def _filled_text(text: str, values: Mapping[str, Value]) -> Value:
    whole = _PLACE.fullmatch(text)
    if whole is not None and whole[1] in values:
        return values[whole[1]]
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), text)


def _texts(template: object) -> Iterator[str]:
    match template:
        case str():
            yield template
        case dict():
            for part in template.values():
                yield from _texts(part)
        case list():
            for part in template:
                yield from _texts(part)
