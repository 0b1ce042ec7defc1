"""Writes the reference pages from the code they describe.

python docs/generate.py           write them
python docs/generate.py --check   fail if one is out of date
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import click
import msgspec

from recall_bench import errors, plugins, profile
from recall_bench.cli.main import COMMANDS, cli
from recall_bench.core import event
from recall_bench.systems.http import openapi

_PROFILE = """A YAML file; every section is optional and flags win over it. Relative paths in it are
relative to it. `run` uses `persona`, `env`, `harness`, `run` and, of `models`, `judge`,
`judgeBaseUrl`, `appellateJudge` and `appellateBaseUrl`. `rejudge` takes from the same file what
concerns judging: those four, and of `run` `data`, `parallelism`, `review`, `maxCost`, `heatmapPng`
and what begins with `judge`. The other models and `generate` belong to the generating commands of
the public format and are read by none of ours yet.

A judge is written as on the [command line](../how-to/model-judge.md). No key of a model is in a
profile: `env.file` names a file of `NAME=value` lines, which fill in variables that the environment
does not set.
"""
PAGES = Path(__file__).parent / "reference"
_NOTE = "*Made by `python docs/generate.py` from the code; do not edit.*\n"


def command_line() -> str:
    """Every command's own help."""
    parts = ["# Command line\n", _NOTE]
    context = click.Context(
        cli, info_name="recall-bench", help_option_names=["-h", "--help"], terminal_width=96
    )
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        with click.Context(command, parent=context, info_name=name) as ctx:
            parts.append(f"## {name}\n\n```text\n{command.get_help(ctx)}\n```\n")
            if isinstance(command, click.Group):
                parts += _commands_within(command, ctx)
    return "\n".join(parts)


def _commands_within(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        with click.Context(command, parent=context, info_name=name) as ctx:
            yield f"### {group.name} {name}\n\n```text\n{command.get_help(ctx)}\n```\n"


def error_tree() -> str:
    """The errors and exit codes."""
    return f"# Errors and exit codes\n\n{_NOTE}\n```text\n{inspect.getdoc(errors)}\n```\n"


def profile_keys() -> str:
    """Every key of a profile, by section."""
    parts = ["# Profile\n", _NOTE, _PROFILE]
    for section in msgspec.structs.fields(profile.Profile):
        kind = next(t for t in section.type.__args__ if t is not type(None))
        parts.append(f"## {section.encode_name}\n\n| key | type |\n|---|---|")
        parts += [
            f"| `{key.encode_name}` | {_type_words(key.type)} |"
            for key in msgspec.structs.fields(kind)
        ]
        parts.append("")
    return "\n".join(parts)


def _type_words(kind: object) -> str:
    members = [t for t in getattr(kind, "__args__", (kind,)) if t is not type(None)]
    return " or ".join(_one_type(member) for member in members)


def _one_type(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return " or ".join(f"`{word}`" for word in kind)
    words = {
        "str": "text",
        "int": "whole number",
        "bool": "true or false",
        "float": "number",
        "dict": "mapping",
    }
    name = getattr(kind, "__name__", str(kind))
    return words.get(name, name.lower())


def events() -> str:
    """Every event of the journal, with its fields and what they mean."""
    parts = ["# Journal events\n", _NOTE, "One JSON object a line in `journal.jsonl`.\n"]
    tree = ast.parse(inspect.getsource(event))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and (tag := _tag(node)):
            parts.append(f"## {tag}\n\n{ast.get_docstring(node)}\n")
            parts.append("| field | type | |\n|---|---|---|")
            parts.append("| `at` | time, UTC | |")
            parts += _fields(node)
            parts.append("")
    return "\n".join(parts)


def _tag(node: ast.ClassDef) -> str | None:
    for keyword in node.keywords:
        if keyword.arg == "tag" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for member, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            said = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                said = str(after.value.value)
            kind = ast.unparse(member.annotation).replace("|", "or")
            yield f"| `{member.target.id}` | `{kind}` | {said} |"


def built_ins() -> str:
    """What is installed under a name."""
    parts = ["# Built-in systems and judges\n", _NOTE]
    for kind in plugins.KINDS:
        parts.append(f"## {kind}\n\n| name | |\n|---|---|")
        for entry in plugins.installed(kind):
            said = (inspect.getdoc(entry.load()) or "").split("\n\n")[0].replace("\n", " ")
            parts.append(f"| `{entry.name}` | {said} |")
        parts.append("")
    return "\n".join(parts)


def pages() -> dict[Path, str]:
    """Each reference page and what it should say."""
    return {
        PAGES / "openapi.json": openapi.text(),
        PAGES / "command-line.md": command_line(),
        PAGES / "errors.md": error_tree(),
        PAGES / "profile.md": profile_keys(),
        PAGES / "events.md": events(),
        PAGES / "built-ins.md": built_ins(),
    }


def main() -> None:
    """Write or check."""
    stale = [path for path, text in pages().items() if not _says(path, text)]
    if "--check" in sys.argv:
        if stale:
            names = ", ".join(path.name for path in stale)
            sys.exit(f"out of date: {names}; run python docs/generate.py")
        return
    for path in stale:
        path.write_text(pages()[path], encoding="utf-8")


def _says(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    main()
