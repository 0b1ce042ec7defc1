"""Command-line agents as models: the prompt on standard input, the answer on standard output.

Each runs in an empty folder, without tools where it can be told so: it is to read a prompt, not
the project around it. What a call costs is between the agent and its subscription.
"""

import os
import shutil
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from recall_bench.errors import UsageError
from recall_bench.models.model import Prompt, Reply
from recall_bench.models.program import ModelProgram, join_prompt
from recall_bench.models.spec import ModelSpec


def open_agent(spec: ModelSpec, environ: Mapping[str, str]) -> "CliAgent":
    """The agent, if its program is on the PATH; UsageError otherwise."""
    program = shutil.which(spec.provider, path=environ.get("PATH", os.defpath))
    if program is None:
        raise UsageError(
            f"{spec.name}: there is no program {spec.provider} on the PATH; install it and sign in"
        )
    return CliAgent(spec, program, environ)


class CliAgent:
    """Starts the program anew for every prompt."""

    def __init__(self, spec: ModelSpec, program: str, environ: Mapping[str, str]) -> None:
        self._spec = spec
        self._path = program
        self._program = ModelProgram(spec.name, environ)

    @property
    def name(self) -> str:
        """The spec's."""
        return self._spec.name

    @property
    def is_priced(self) -> bool:
        """Never: an agent does not say what it costs."""
        return False

    def __repr__(self) -> str:
        return f"CliAgent({self.name})"

    async def close(self) -> None:
        """Nothing is kept between prompts."""

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once; if the caller gives up, the program and all it started are ended."""
        arguments, text = _build_command(self._spec, prompt)
        with TemporaryDirectory(prefix="recall-bench-", ignore_cleanup_errors=True) as folder:
            return await self._program.ask([self._path, *arguments], text, folder=folder)


def _build_command(spec: ModelSpec, prompt: Prompt) -> tuple[list[str], str]:
    """The arguments, and what goes to standard input."""
    model = ["--model", spec.model] if spec.model else []
    match spec.provider:
        case "claude":
            # Its own instructions make it a programmer; `--tools ""` alone leaves MCP servers on.
            alone = ["--tools", "", "--strict-mcp-config", "--no-session-persistence"]
            role = ["--system-prompt", prompt.system]
            return ["--print", "--output-format", "text", *alone, *role, *model], prompt.user
        case "codex":
            alone = ["--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral"]
            return ["exec", *alone, "--color", "never", *model, "-"], join_prompt(prompt)
    alone = ["--no-custom-instructions", "--disable-builtin-mcps", "--no-ask-user"]
    denied = [f"--deny-tool={tool}" for tool in ("shell", "write", "read", "url")]
    return ["--silent", "--no-color", "--no-auto-update", *alone, *denied, *model], join_prompt(
        prompt
    )
