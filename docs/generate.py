"""Writes the reference pages from the code they describe.

python docs/generate.py           write them
python docs/generate.py --check   fail if one is out of date
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby, pairwise
from pathlib import Path
from types import ModuleType

import click
import msgspec
import openapi

from recall_bench.cli.console import GroupedCommand, render_complete_help
from recall_bench.cli.main import cli, list_names, read_commands
from recall_bench.core import errors, event, profile, user_code
from recall_bench.core.settings import describe_settings
from recall_bench.features.datasets.fact_coverage import list_layer_measures
from recall_bench.features.selection.selectors import keyword as hints
from recall_bench.features.selection.selectors import (
    retrieval_selector,
    selector_registry,
    user_selectors,
)
from recall_bench.features.selection.selectors.retrieval_selector import (
    Bm25SelectorOptions,
    HybridSelectorOptions,
    VectorSelectorOptions,
)
from recall_bench.judging.methodologies import (
    AnswerCheck,
    Methodology,
    Ranking,
    list_methodologies,
)
from recall_bench.judging.protocols import registry
from recall_bench.metrics.retrieval import list_measures
from recall_bench.stories.catalogue import DatasetSource, PublicDataset, find_source, list_datasets
from recall_bench.stories.dataset_folder import format_size
from recall_bench.systems.builtin.options import NoOptions

_PROFILE = """A YAML file; every section is optional and flags win over it. `--set KEY=VALUE` sets
a key of `run` on the command line, and `recall-bench help settings` explains all. Relative paths
in it are relative to it. `run` uses `persona`, `env`, `harness`, `run` and, of `models`, `judge`,
`judgeBaseUrl`, `appellateJudge` and `appellateBaseUrl`. `rejudge` takes from the same file what
concerns judging: those four, and of `run` `data`, `parallelism`, `review`, `maxCost`, `heatmapPng`
and what begins with `judge`. [The commands that generate](../how-to/generate.md) take `persona`,
`env`, `generate` and their model: `creation`, `conversation`, or else `generation`.

A judge is written as on the [command line](../how-to/model-judge.md). No key of a model is in a
profile: `env.file` names a file of `NAME=value` lines, which fill in variables that the environment
does not set.
"""
_DATASETS = """As `recall-bench eval --dataset` names them. `recall-bench datasets show NAME` prints
the same with the counts of the data that is here, and [how to get them](../how-to/datasets.md) is
a page of its own. What their ground truth is worth is told in
[an explanation](../explanation/public-datasets.md).
"""
_PROTOCOLS = """How the questions of a dataset are counted, as `recall-bench eval --protocol` says.
`strict` is ours and is used unless another is named; `official` is the authors'; the others are
what other harnesses publish, so that their numbers can be compared. The version names a methodology
for good: it stands in every report and in its path, and changes only when the methodology does.
Numbers of two versions do not compare. Why they differ is told in
[an explanation](../explanation/public-datasets.md).
"""
_MEASURES = """Quoted at 1, 3, 5, 10 and 20 (`snippet_r` and `document_r` at 1, 5 and 10), never
deeper than `--top-k`; below, each at 10. `mrr` and `map` are of the whole ranking. Each is
[explained with an example](../explanation/retrieval-metrics.md).
"""
_ANSWERS = """What is computed from an answer, or put to a model about it. Each has a version, and a
digest that changes with its stated rules.
"""
_SELECTORS = """As `select run --selector` names them, with what `--config KEY=VALUE` can set.
Code of your own is [named so](../how-to/select.md#name-a-selector), and the recall agent, `agent`,
has [a page of its own](../how-to/recall-agent.md). `k1` and `b` are BM25's.
"""
_SELECTORS_IN: dict[ModuleType, dict[str, type[msgspec.Struct]]] = {
    retrieval_selector: {
        "bm25": Bm25SelectorOptions,
        "vector": VectorSelectorOptions,
        "hybrid": HybridSelectorOptions,
    },
    hints: {"keyword": NoOptions},
    selector_registry: {"all": NoOptions, "none": NoOptions},
    user_selectors: {"command:PROGRAM": user_selectors.CommandOptions},
}
PAGES = Path(__file__).parent / "reference"
_NOTE = "*Made by `python docs/generate.py` from the code; do not edit.*\n"


def command_line() -> str:
    """Every command's own help."""
    parts = ["# Command line\n", _NOTE]
    context = click.Context(
        cli, info_name="recall-bench", help_option_names=["-h", "--help"], terminal_width=96
    )
    for name in list_names():
        command = cli.get_command(context, name)
        assert command is not None
        with click.Context(command, parent=context, info_name=name) as ctx:
            parts.append(f"## {name}\n\n```text\n{_render_help(command, ctx)}\n```\n")
            if isinstance(command, click.Group):
                parts += _commands_within(command, ctx)
        for words in read_commands():
            if words.startswith(f"{name} ") and (nested := cli.get_command(context, words)):
                with click.Context(nested, parent=context, info_name=words) as ctx:
                    text = _render_help(nested, ctx)
                    parts.append(f"### {words}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _render_help(command: click.Command, ctx: click.Context) -> str:
    is_grouped = isinstance(command, GroupedCommand)
    return render_complete_help(ctx) if is_grouped else command.get_help(ctx)


def _commands_within(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        with click.Context(command, parent=context, info_name=name) as ctx:
            yield f"### {group.name} {name}\n\n```text\n{_render_help(command, ctx)}\n```\n"


def error_tree() -> str:
    """The errors and exit codes."""
    return f"# Errors and exit codes\n\n{_NOTE}\n```text\n{inspect.getdoc(errors)}\n```\n"


def profile_keys() -> str:
    """Every key of a profile, by section."""
    parts = ["# Profile\n", _NOTE, _PROFILE]
    for section in msgspec.structs.fields(profile.Profile):
        kind = next(t for t in section.type.__args__ if t is not type(None))
        is_run = section.name == "run"
        heads = "| key | type | |\n|---|---|---|" if is_run else "| key | type |\n|---|---|"
        parts.append(f"## {section.encode_name}\n\n{heads}")
        for key in msgspec.structs.fields(kind):
            row = f"| `{key.encode_name}` | {_type_words(key.type)} |"
            parts.append(f"{row} {_setting_words(key.name)} |" if is_run else row)
        parts.append("")
    return "\n".join(parts)


def _setting_words(alias: str) -> str:
    """The help of the setting with this profile key, as `run --help` has it."""
    about = next(each for each in describe_settings().values() if each.alias == alias)
    default = f" [{about.default}]" if about.default else ""
    return f"{about.help.text}{default}."


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
    parts = [
        "# Journal events\n",
        _NOTE,
        (
            "One JSON object a line in `journal.jsonl`. Its last key, `link`, is a checksum: "
            "BLAKE2b of 16 bytes, in hex, over the `link` of the line before (nothing for the "
            "first one) followed by this line without its `link`. Journals of earlier versions "
            "have none.\n"
        ),
        (
            "The text of a passage is written once. In later answers the passage has `text_at` "
            "instead of `text`: `[offset, length]` of the text as a JSON string in the same file, "
            "in bytes, always in an earlier line. `questions.jsonl` has every text in its "
            "place, and so has what the library reads. In Python: "
            "`json.loads(content[offset : offset + length])`, where `content` are the bytes of "
            "the file. Texts of fewer than 32 characters are not referred to, and a text may "
            "be written again after 131,072 others. Journals of earlier versions have all texts in "
            "their places.\n"
        ),
    ]
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
    for name, annotation, said in _members(node):
        yield f"| `{name}` | `{annotation.replace('|', 'or')}` | {said} |"


def _members(node: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """Every field of a class with its type, and what is said under it."""
    assert isinstance(node, ast.ClassDef)
    for member, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            said = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                said = " ".join(str(after.value.value).split())
            yield member.target.id, ast.unparse(member.annotation), said


def built_ins() -> str:
    """What is installed under a name."""
    parts = ["# Built-in systems and judges\n", _NOTE]
    for kind in ("systems", "judges"):
        parts.append(f"## {kind}\n\n| name | |\n|---|---|")
        described = user_code.describe_plugins(kind)
        parts += [f"| `{name}` | {text} |" for name, text in described]
        parts.append("")
    return "\n".join(parts)


def datasets() -> str:
    """Every public dataset: where it is from, and what is to be known about it."""
    parts = ["# Public datasets\n", _NOTE, _DATASETS]
    heads = "| name | | measures | licence | size | sha-256 pinned | embedded default |"
    parts.append(f"{heads}\n|---|---|---|---|--:|---|---|")
    for each in list_datasets():
        source = find_source(each.name)
        parts.append(
            f"| `{each.name}` | {each.title} | {each.about.measures} | {source.licence} "
            f"| {_size_words(source)} | {_pinned_words(source)} "
            f"| {each.about.default.get(each.name, 'not run')} |"
        )
    parts.append("")
    for _, alike in groupby(list_datasets(), lambda each: (each.family, each.about)):
        parts += _dataset_section(tuple(alike))
    return "\n".join(parts)


def _dataset_section(alike: Sequence[PublicDataset]) -> Iterator[str]:
    """What holds for sizes or views of one dataset that are told about in the same words."""
    first, source = alike[0], find_source(alike[0].name)
    yield f"## {', '.join(each.name for each in alike)}\n"
    terms = f". {source.terms}" if source.terms else ""
    dates = "real" if first.has_dates else "none: sessions are dated a day apart, in their order"
    yield "| | |\n|---|---|"
    yield f"| licence | {source.licence}{terms} |"
    yield f"| homepage | {source.homepage} |" if source.homepage else "| homepage | – |"
    yield f"| dates | {dates} |"
    if source.obtain:
        yield f"| to get it | {source.obtain} |"
    links = ", ".join(_protocol_link(each) for each in list_methodologies(first.family))
    yield f"| protocols | {links} |"
    yield from _listed_notes("To know before quoting a number:", first.about.notes)
    yield from _listed_notes("What the loader assumes:", first.about.assumptions)
    yield from _listed_notes("Published figures:", first.about.published)
    yield from _named_notes("Errata, dealt with when it is read:", first.about.errata)
    yield from _named_notes(
        "Corrections by others, laid over only with `--errata NAME`:", first.about.layers
    )
    yield ""


def _listed_notes(title: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield f"\n{title}\n"
        yield from (f"* {each}" for each in sentences)


def _named_notes(title: str, notes: Mapping[str, str]) -> Iterator[str]:
    if notes:
        yield f"\n{title}\n"
        yield from (f"* `{name}`: {text}" for name, text in notes.items())


def _size_words(source: DatasetSource) -> str:
    if not source.is_published:
        return "by hand" if source.obtain else "–"
    return "unknown" if source.bytes is None else format_size(source.bytes)


def _pinned_words(source: DatasetSource) -> str:
    if not source.is_published:
        return "–"
    pinned = sum(file.sha256 is not None for file in source.files)
    if source.listing is not None or not pinned:
        return "no"
    return "yes" if pinned == len(source.files) else f"{pinned} of {len(source.files)} files"


def _protocol_link(methodology: Methodology) -> str:
    return f"[`{methodology.name}`](protocols.md#{methodology.label.replace('/', '')})"


def protocols() -> str:
    """Every way to count: the methodologies, the measures and the answer protocols."""
    parts = ["# Protocols\n", _NOTE, _PROTOCOLS]
    for family, alike in groupby(list_datasets(), lambda each: each.family):
        parts.append(f"## {family}\n\nMeasures {_quoted(each.name for each in alike)}.\n")
        for methodology in list_methodologies(family):
            parts += _methodology_section(methodology)
    parts.append(f"## Measures\n\n{_MEASURES}\n| measure | version | |\n|---|---|---|")
    parts += [
        f"| `{each.name}` | {each.version} | {each.definition} |"
        for each in list_measures(10)
        if each.cutoff == 10 or each.budget == 1000
    ]
    parts += [
        f"| `{each.name}` | {each.version} | {each.definition} |"
        for each in list_layer_measures(10)
        if each.cutoff == 10
    ]
    parts.append(f"\n## Answer protocols\n\n{_ANSWERS}")
    parts += _answer_sections()
    return "\n".join(parts)


def _methodology_section(methodology: Methodology) -> Iterator[str]:
    yield f"### {methodology.label}\n\n{methodology.about}\n"
    yield "| | |\n|---|---|"
    yield f"| version | `{methodology.eval_version}`, digest `{methodology.digest[:12]}` |"
    for ranking in methodology.rankings:
        yield f"| {ranking.level}s | {_ranking_words(ranking)} |"
    if methodology.has_layers:
        yield "| wordings of the answer | `snippet_r`, `document_r` |"
    if methodology.has_evidence_text:
        yield "| texts cited | `evidence text`: the share that stands in what was returned |"
    if methodology.answers:
        yield f"| computed from answers | {_quoted(methodology.answers)} |"
    rules = f" These are `{methodology.asks}`." if methodology.asks else ""
    yield f"| who judges | {_member_words(AnswerCheck)[methodology.judging.name]}{rules} |"
    yield f"| comes first | {_quoted(methodology.headline)} |\n"


def _ranking_words(ranking: Ranking) -> str:
    words = f"{ranking.states}: {_quoted(ranking.families)}"
    if ranking.is_distinct:
        words += f"; a {ranking.level} takes one place, however often it was returned"
    if ranking.empty is not None:
        words += f"; a question without any counts {ranking.empty:g}"
    return words


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _member_words(kind: type[StrEnum]) -> dict[str, str]:
    """What is said under each member of an enumeration."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    said = {}
    for member, after in pairwise(tree.body):
        if isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
            assert isinstance(after, ast.Expr)
            said[member.targets[0].id] = str(ast.literal_eval(after.value))
    return said


def _answer_sections() -> Iterator[str]:
    """A section for each module of answer protocols, with the rules its docstring states."""
    by_module: dict[str, list[str]] = {}
    for card in registry.list_cards():
        by_module.setdefault(registry.find_protocol(card.name).grade.__module__, []).append(
            card.name
        )
    for module, names in by_module.items():
        yield f"### {', '.join(names)}\n"
        yield "| protocol | version | digest | asks a model | | used by |"
        yield "|---|---|---|---|---|---|"
        yield from map(_answer_row, names)
        yield f"\n{inspect.cleandoc(sys.modules[module].__doc__ or '')}\n"


def _answer_row(name: str) -> str:
    protocol = registry.find_protocol(name)
    card = protocol.card
    said = (inspect.getdoc(protocol.grade) or "").split("\n\n")[0].replace("\n", " ")
    families = dict.fromkeys(each.family for each in list_datasets())
    known = [each for family in families for each in list_methodologies(family)]
    users = _quoted(each.label for each in known if name in (*each.answers, each.asks)) or "–"
    asks = "yes" if card.asks_model else "no"
    return f"| `{name}` | {card.version} | `{card.digest[:12]}` | {asks} | {said} | {users} |"


def selectors() -> str:
    """Every selector that comes with the package, and its settings."""
    parts = ["# Selectors\n", _NOTE, _SELECTORS]
    named = {name for kinds in _SELECTORS_IN.values() for name in kinds}
    assert named >= {*selector_registry.NAMES} - {selector_registry.AGENT}, (
        "a selector is missing here"
    )
    for module, kinds in _SELECTORS_IN.items():
        parts.append(f"## {', '.join(kinds)}\n\n{inspect.getdoc(module)}\n")
        parts += _settings_table(kinds)
    return "\n".join(parts)


def _settings_table(kinds: dict[str, type[msgspec.Struct]]) -> Iterator[str]:
    """A row for each setting; what is said of it once holds for all that have it."""
    tree = ast.parse("\n".join(map(inspect.getsource, kinds.values())))
    said: dict[str, str] = {}
    for name, _, words in (each for node in tree.body for each in _members(node)):
        said[name] = said.get(name) or words
    if said:
        yield f"| setting | {' | '.join(kinds)} | |\n|---|{'--:|' * len(kinds)}---|"
    for name, words in said.items():
        defaults = (str(getattr(kind(), name, "–")) for kind in kinds.values())
        yield f"| `{name}` | {' | '.join(defaults)} | {words} |"
    yield from [""] if said else []


def pages() -> dict[Path, str]:
    """Each reference page and what it should say."""
    return {
        PAGES / "openapi.json": openapi.render_document(),
        PAGES / "command-line.md": command_line(),
        PAGES / "errors.md": error_tree(),
        PAGES / "profile.md": profile_keys(),
        PAGES / "events.md": events(),
        PAGES / "built-ins.md": built_ins(),
        PAGES / "datasets.md": datasets(),
        PAGES / "protocols.md": protocols(),
        PAGES / "selectors.md": selectors(),
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
