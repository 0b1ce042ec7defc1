"""The workflow in the documents is YAML, and every command in it exists with its flags."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from recall_bench.cli.main import LazyGroup, cli
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.comparison.gate.gate_rules import (
    GateRules,
    format_key,
    merge_rules,
    read_rules,
)
from recall_bench.features.comparison.gate_command import gate_command

EXAMPLES = Path(__file__).parents[4] / "docs/examples"
GUIDE = Path(__file__).parents[4] / "docs/how-to/gate.md"


def workflow() -> dict[str, Any]:
    found = load_yaml(EXAMPLES / "github-workflow.yml")
    assert isinstance(found, dict)
    return found


def steps() -> list[dict[str, Any]]:
    (job,) = workflow()["jobs"].values()
    return list(job["steps"])


def command(name: str) -> click.Command:
    if name == "gate":
        return gate_command
    assert isinstance(cli, LazyGroup)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, name
    return found


def commands(text: str) -> list[list[str]]:
    """The words of every `recall-bench` command in a script."""
    joined = text.replace("\\\n", " ")
    return [
        shlex.split(line) for line in re.findall(r"^\s*(recall-bench .*)$", joined, re.MULTILINE)
    ]


def assert_exists(words: list[str]) -> None:
    name, *rest = words[1:]
    known = {
        flag for option in command(name).params for flag in (*option.opts, *option.secondary_opts)
    }
    assert {word for word in rest if word.startswith("--")} <= known, name


def test_every_command_in_the_workflow_exists_with_these_flags() -> None:
    scripts = [step["run"] for step in steps() if "run" in step]
    found = [words for script in scripts for words in commands(script)]
    arguments = [word for script in scripts for word in re.findall(r"set -- (.*)", script)]

    assert [words[1] for words in found] == ["run", "gate", "gate"]
    for words in found:
        assert_exists(words)
    for line in arguments:
        assert_exists(["recall-bench", "gate", *shlex.split(line)])


def test_actions_are_pinned_by_major_version_and_may_change_nothing() -> None:
    uses = [step["uses"] for step in steps() if "uses" in step]

    assert uses
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in uses)
    assert workflow()["permissions"] == {"contents": "read", "actions": "read"}


def test_the_verdict_receives_whatever_it_is_and_a_baseline_kept_only_if_it_passed() -> None:
    by_name = {step.get("name"): step for step in steps()}
    order = [step.get("name") for step in steps()]

    assert by_name["Tell"]["if"] == by_name["Keep the verdict"]["if"] == "always()"
    assert "always" not in by_name["Keep the baseline"]["if"]
    assert order.index("Gate") < order.index("Keep the baseline")


def test_nothing_from_a_pull_request_is_put_into_a_script() -> None:
    """What an event says is untrusted: scripts get it by the environment alone."""
    assert not any("${{" in step.get("run", "") for step in steps())


def test_the_rules_beside_it_are_rules() -> None:
    given = read_rules(load_yaml(EXAMPLES / "gate.yaml"), "gate.yaml", format_key)

    assert merge_rules(given) == GateRules(
        min_score=30, max_hallucination=10, min_category={"factual-recall": 40}
    )


@pytest.mark.parametrize("language", ["sh"])
def test_every_command_in_the_guide_exists_with_these_flags(language: str) -> None:
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    found = [words for block in blocks for words in commands(block)]

    assert len(found) >= 5
    for words in found:
        assert_exists(words)
