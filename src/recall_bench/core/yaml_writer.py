"""Write YAML that is the same on every machine: JSON scalars in block style."""

import json

_encode = json.JSONEncoder(ensure_ascii=False).encode


def dump_yaml(content: object) -> str:
    """The document as text; keys without a value are left out."""
    lines: list[str] = []
    _add_lines(lines, content, "", "")
    return "".join(f"{line}\n" for line in lines)


def format_scalar(value: object) -> str:
    """A value on one line, as JSON writes it."""
    return _encode(value)


def _add_lines(lines: list[str], content: object, first: str, rest: str) -> None:
    """Add the lines of a value: `first` stands before the first of them, `rest` before others."""
    if isinstance(content, dict):
        _add_entries(lines, content, first, rest)
    elif isinstance(content, list | tuple):
        for value in content:
            before = len(lines)
            if not isinstance(value, dict | list | tuple) or _is_flat(value):
                lines.append(f"{first}- {_encode(value)}")
            else:
                _add_lines(lines, value, f"{first}- ", f"{rest}  ")
            if len(lines) > before:
                first = rest
    else:
        lines.append(f"{first}{_encode(content)}")


def _add_entries(lines: list[str], content: dict[object, object], first: str, rest: str) -> None:
    within = f"{rest}  "
    for key, value in content.items():
        if value is None:
            continue
        if isinstance(value, dict | list | tuple) and value and not _is_flat(value):
            lines.append(f"{first}{key}:")
            _add_lines(lines, value, within, within)
        else:
            lines.append(f"{first}{key}: {_encode(value)}")
        first = rest


def _is_flat(value: object) -> bool:
    """Whether it is a list of scalars, written on one line."""
    return isinstance(value, list | tuple) and not any(
        isinstance(part, dict | list | tuple) for part in value
    )
