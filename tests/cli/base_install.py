"""Runs every command where only the dependencies of a base install can be imported.

    python -m tests.cli.base_install FOLDER

It prints the commands that end in anything but a result or a sentence, with their tracebacks.
"""

import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from types import ModuleType
from typing import TextIO

import click

from recall_bench.cli.main import cli, read_commands
from recall_bench.core.distribution import DISTRIBUTION
from recall_bench.core.errors import BenchError

ARGUMENTS = """
run -p harbour-office -r 5d -a bm25 -o a
run -p harbour-office -r 5d -a none -o n
run -p harbour-office -r 5d -a http://127.0.0.1:9
run -p harbour-office -r 5d -a grpc://127.0.0.1:9
run -p harbour-office -r 5d -a openai:http://127.0.0.1:9
run -p harbour-office -r 5d -a a2a:http://127.0.0.1:9
run -p harbour-office -r 5d -a chroma
run -p harbour-office -r 5d -a mem0
run -p harbour-office -r 5d -a bm25 --executor ray
run -p harbour-office -r 5d -a bm25 --judge openai:m
run -p harbour-office -r 5d -a bm25 --judge local:m
report a
compare n a
gate a --baseline n
eval --dataset locomo -a bm25
doctor none
init first
plan -p harbour-office -r 5d -a bm25
view .
list --systems
check-adapter none
help settings
help completion bash
ablate -p harbour-office -r 1d -a bm25 -o b
bundle a -o a.bundle
canaries update a n
canaries check a
challenge new
challenge run no.json
challenge reveal challenge.json
challenge verify challenge.json a
create-persona
datasets list
datasets show locomo
datasets download nothing
export a --to csv --into csv
export a --to parquet --into parquet
export a --to huggingface --into huggingface
export a --to mlflow
export a --to wandb
export a --to langfuse
export a --to otel --into otel
export a --to latex --into latex
generate days
generate conversations
generate questions
generate tool-calls
generate verify
report heatmap a
import a/result.json --into i
import-history a/result.json
judge a/questions.jsonl
judge-lab agreement --judged a
judge-lab answers a/questions.jsonl
judge-lab audit --only-nothing
judge-lab calibrate --judged a --corpus a
judge-lab correct a
leaderboard build a.bundle -o l
leaderboard replay a
lint -p harbour-office
matrix no.yaml
merge a n --into m
rejudge a -o r
select example e
select generate -o g
select run -o s
serve bm25
serve bm25 --http 127.0.0.1:0
suite erasure -a none -o su --stories 1
suite load -a none -o lo
score --answers a/questions.jsonl -p harbour-office
verify a
plan power -p harbour-office -r 5d
serve endpoint --model openai:m
suite scorecard su
world build --persona er-physician -o w --days 3
world stats harbour-office
"""


def list_base_distributions(name: str = DISTRIBUTION) -> set[str]:
    """The distributions that come with a base install."""
    names = {_normalise(name)}
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return names
    for line in lines:
        if "extra ==" not in line:
            names |= list_base_distributions(re.split(r"[^\w.-]", line)[0])
    return names


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class ExtrasBlocker(MetaPathFinder):
    """Finds no module of a distribution that only an extra installs."""

    def __init__(self) -> None:
        base = list_base_distributions()
        self._modules = {
            module
            for module, names in packages_distributions().items()
            if not base & {_normalise(name) for name in names}
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._modules:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def list_leaves(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that does something, by all its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from list_leaves(command, (*words, name))
        else:
            yield " ".join((*words, name))


def run_command(line: str) -> str | None:
    """The traceback of a command; None if it ends well or with a sentence."""
    try:
        cli(shlex.split(line), standalone_mode=False)
    except (BenchError, click.ClickException, SystemExit):
        return None
    except BaseException:  # noqa: BLE001 - printed for the test
        return traceback.format_exc()
    return None


def main(folder: str) -> None:
    """Run the commands in an empty folder."""
    sys.meta_path.insert(0, ExtrasBlocker())
    os.chdir(folder)
    report = sys.stdout
    with Path("shown").open("w") as shown, redirect_stdout(shown), redirect_stderr(shown):
        _run_lines(report)


def _run_lines(report: TextIO) -> None:
    lines = ARGUMENTS.strip().splitlines()
    leaves = {*list_leaves(cli), *(name for name in read_commands() if " " in name)}
    for leaf in sorted(leaves):
        if not any(f"{line} ".startswith(f"{leaf} ") for line in lines):
            print(f"{leaf}: has no line in tests/cli/base_install.py", file=report)
    for line in lines:
        if (trace := run_command(line)) is not None:
            print(f"{line}\n{trace}", file=report)


if __name__ == "__main__":
    main(sys.argv[1])
