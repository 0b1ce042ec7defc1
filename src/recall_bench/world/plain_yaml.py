"""YAML written the same by every version of every library: JSON scalars in block style."""

import json
from collections.abc import Iterator


def dumped(content: object) -> str:
    """The document as text; what has no value is left out."""
    return "".join(f"{line}\n" for line in _lines(content))


def scalar(value: object) -> str:
    """A value on one line, as JSON writes it."""
    return json.dumps(value, ensure_ascii=False)


def _lines(content: object) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _entry(f"{key}:", value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _item(value)
    else:
        yield scalar(content)


def _entry(head: str, value: object) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, dict | list | tuple) and value and not _is_flat(value):
        yield head
        for line in _lines(value):
            yield f"  {line}"
    else:
        yield f"{head} {scalar(value)}"


def _item(value: object) -> Iterator[str]:
    if not isinstance(value, dict | list | tuple) or _is_flat(value):
        yield f"- {scalar(value)}"
        return
    for number, line in enumerate(_lines(value)):
        yield f"- {line}" if number == 0 else f"  {line}"


def _is_flat(value: object) -> bool:
    """Whether it fits on one line: a list of scalars."""
    return isinstance(value, list | tuple) and not any(
        isinstance(part, dict | list | tuple) for part in value
    )
