"""The GitHub Action: its file is sound, and its scripts do what they say."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from recall_bench.cli.main import cli
from tests.gardener import write_persona
from tests.shell_command import write_command

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")

GH = """\
#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *--paginate*) cat "$KNOWN" ;; *"$REFUSED"*) exit 1 ;; esac
"""


def test_it_is_a_composite_action_with_described_inputs() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for each in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert each["description"]
    assert [name for name, each in ACTION["inputs"].items() if each.get("required")] == ["adapter"]


def test_every_input_is_used_and_every_used_input_is_declared() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"\binputs\.([\w-]+)", text))

    assert used == set(ACTION["inputs"])


def test_every_script_has_a_shell_and_no_expression_inside() -> None:
    """An expression in a script is replaced before the shell reads it: text would be commands."""
    scripts = [step for step in STEPS if "run" in step]

    assert len(scripts) >= 6
    for step in scripts:
        assert step["shell"] == "bash", step
        assert "${{" not in step["run"], step
    assert all("run" in step or re.search(r"@v\d", step["uses"]) for step in STEPS)


def test_every_option_of_our_commands_exists() -> None:
    found = 0
    for step in STEPS:
        for name in set(re.findall(r"\brecall-bench (\w+) ", step.get("run", ""))):
            command = cli.get_command(click.Context(cli), name)
            assert command is not None
            known = {each for option in command.params for each in option.opts}
            said = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", step["run"]))
            assert said <= known, step["name"]
            found += len(said)
    assert found >= 6


@dataclass
class Workflow:
    """Carries out the steps of the action in a folder."""

    folder: Path

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        for name, text in {
            "python": '#!/bin/sh\necho "python $@" >> "$CALLS"\n',
            "gh": GH,
        }.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (self.folder / "temp").mkdir()
        self.known_comments = self.folder / "known.txt"
        self.known_comments.touch()
        self.refused = "nothing"

    def run(self, event: str = "pull_request", **given: str) -> int:
        """Carry out every script whose condition holds; the exit code of the last."""
        inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        inputs |= given
        values = {f"inputs.{name}": value for name, value in inputs.items()}
        values |= {
            "github.event_name": event,
            "github.repository": "someone/memory",
            "github.event.pull_request.number": "7",
            "github.token": "secret",
        }
        code = 0
        for step in STEPS:
            if "run" in step and is_wanted(step.get("if", ""), values, is_failed=code != 0):
                code = self._run_step(step, values) or code
        return code

    def _run_step(self, step: dict[str, Any], values: dict[str, str]) -> int:
        output = self.folder / "output.txt"
        output.write_text("")
        variables = {
            name: EXPRESSION.sub(lambda found: values.get(found[1], ""), text)
            for name, text in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={
                **variables,
                "PATH": f"{self.folder / 'bin'}:{os.defpath}",
                "HOME": str(self.folder),
                "RECALL_BENCH_CACHE": os.environ["RECALL_BENCH_CACHE"],
                "GITHUB_ACTION_PATH": "/action",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
                "RUNNER_TEMP": str(self.folder / "temp"),
                "CALLS": str(self.folder / "calls.txt"),
                "KNOWN": str(self.known_comments),
                "REFUSED": self.refused,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
        assert "command not found" not in done.stderr, done.stderr
        return done.returncode

    @property
    def calls(self) -> str:
        return (self.folder / "calls.txt").read_text()

    @property
    def summary(self) -> str:
        return (self.folder / "summary.md").read_text()


def is_wanted(condition: str, values: dict[str, str], *, is_failed: bool) -> bool:
    """Whether a step is carried out: by its condition, or because nothing has failed."""
    if not condition:
        return not is_failed
    words = condition.replace("always()", "True").replace("&&", "and").replace("||", "or")
    known = re.sub(r"[a-z]+(?:\.[\w-]+)+", lambda found: repr(values.get(found[0], "")), words)
    return bool(eval(known)) and ("always()" in condition or not is_failed)


@pytest.fixture
def workflow(tmp_path: Path) -> Iterator[Workflow]:
    write_persona(tmp_path / "data")
    (tmp_path / "gate.yaml").write_text("minScore: 10\n")
    (tmp_path / "bin").mkdir()
    with write_command(tmp_path / "bin" / "recall-bench"):
        yield Workflow(tmp_path)


@pytest.fixture
def arguments() -> dict[str, str]:
    return {"adapter": "bm25", "arguments": "--data data --ranges 5d --no-heatmap-png"}


@pytest.fixture
def pageless(arguments: dict[str, str]) -> dict[str, str]:
    """The page is a third of the time of a run, and one test looks at it."""
    return arguments | {"arguments": f"{arguments['arguments']} --no-page"}


@pytest.mark.slow
def test_a_run_that_passes_is_kept_and_reported(
    workflow: Workflow, arguments: dict[str, str]
) -> None:
    code = workflow.run(**arguments, rules="gate.yaml")

    assert code == 0
    assert "python -m pip install --quiet /action[http]" in workflow.calls
    assert (workflow.folder / "recall-run/report/report.html").exists()
    assert (workflow.folder / "temp/recall-gate.xml").exists()
    assert "    Result " in workflow.summary
    assert "passed" in workflow.summary
    assert workflow.summary.startswith("<!-- recall-bench -->")
    assert "--method POST repos/someone/memory/issues/7/comments" in workflow.calls
    assert "recall-summary.md" in workflow.calls


@pytest.mark.slow
def test_a_run_that_fails_is_reported_before_the_job_fails(
    workflow: Workflow, pageless: dict[str, str]
) -> None:
    (workflow.folder / "gate.yaml").write_text("minScore: 100\n")
    workflow.known_comments.write_text("42\n43\n")

    code = workflow.run(**{**pageless, "adapter": "none"}, rules="gate.yaml")

    assert code == 11
    assert "failed" in workflow.summary
    assert "--method PATCH repos/someone/memory/issues/comments/42 " in workflow.calls
    assert "POST" not in workflow.calls


@pytest.mark.slow
def test_a_comment_that_is_refused_fails_nothing(
    workflow: Workflow, pageless: dict[str, str]
) -> None:
    workflow.refused = "--method"

    assert workflow.run(**pageless) == 0
    assert "    Result " in workflow.summary


@pytest.mark.slow
def test_a_system_that_is_not_there_fails_the_job(workflow: Workflow) -> None:
    code = workflow.run(event="push", adapter="no_adapter.py", arguments="--data data")

    assert code == 2
    assert "gh" not in workflow.calls


@pytest.mark.slow
def test_an_input_is_text_and_no_command(workflow: Workflow) -> None:
    workflow.run(
        event="push", adapter="x; touch hacked", arguments="$(touch hacked) `touch hacked`"
    )

    assert not (workflow.folder / "hacked").exists()
