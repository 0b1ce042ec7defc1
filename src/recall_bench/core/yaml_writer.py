"""Write YAML that is the same on every machine: JSON scalars in block style."""

import json
from collections.abc import Iterator


def dump_yaml(content: object) -> str:
    """The document as text; keys without a value are left out."""
    return "".join(f"{line}\n" for line in _render_lines(content))


def format_scalar(value: object) -> str:
    """A value on one line, as JSON writes it."""
    return json.dumps(value, ensure_ascii=False)


def _render_lines(content: object) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _render_entry(f"{key}:", value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _render_item(value)
    else:
        yield format_scalar(content)


def _render_entry(head: str, value: object) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, dict | list | tuple) and value and not _is_flat(value):
        yield head
        for line in _render_lines(value):
            yield f"  {line}"
    else:
        yield f"{head} {format_scalar(value)}"


def _render_item(value: object) -> Iterator[str]:
    if not isinstance(value, dict | list | tuple) or _is_flat(value):
        yield f"- {format_scalar(value)}"
        return
    for number, line in enumerate(_render_lines(value)):
        yield f"- {line}" if number == 0 else f"  {line}"


def _is_flat(value: object) -> bool:
    """Whether it is a list of scalars, written on one line."""
    return isinstance(value, list | tuple) and not any(
        isinstance(part, dict | list | tuple) for part in value
    )
