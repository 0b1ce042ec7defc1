"""Programs as models: command-line agents, and commands of the user.

A program is started for every prompt, reads it from standard input, and writes the reply to
standard output. An agent runs in an empty folder and without tools where it can, so that it reads
the prompt and not the project around it. A command of the user runs in the current folder, because
it may need files there. Neither reports a price.
"""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.child_process import TERMINATE_GRACE_S, run_process
from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.core.folders import digest_program
from recall_bench.core.redaction import Redactor, list_environment_secrets
from recall_bench.core.usage import Usage
from recall_bench.features.models.faults import truncate_start
from recall_bench.features.models.model_spec import COMMAND_PREFIX, ModelSpec
from recall_bench.systems.models.model import NO_TUNING, Prompt, Reply, Tuning

_OUTPUT_LIMIT = 4 * 1024 * 1024
"""Output beyond this is read and dropped."""

_TAIL = 2000
"""Characters of the error output that are kept."""


class ProgramModel:
    """A program as a model: it is run once per prompt, and reports no price."""

    is_priced = False

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._environ = dict(environ)
        self._redact = Redactor(list_environment_secrets(environ))
        # A short value may also be an ordinary word of the reply.
        self._redact_reply = Redactor(list_environment_secrets(environ, shortest=16))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    async def close(self) -> None:
        """Nothing to release."""

    async def run(self, command: Sequence[str], text: str, *, folder: str) -> Reply:
        """Return its output; ModelFault with the end of its error output if it fails.

        If the caller is cancelled, the program and everything it started are ended.
        """
        try:
            ended = await run_process(
                command,
                folder=Path(folder),
                environ=self._environ,
                output_limit=_OUTPUT_LIMIT,
                stdin=text.encode(),
                grace_s=TERMINATE_GRACE_S,
            )
        except OSError as error:
            raise ModelFault(f"{command[0]}: cannot be started: {error.strerror}") from None
        out = ended.out[:_OUTPUT_LIMIT].decode(errors="replace").strip()
        if ended.code != 0:
            message = self._redact((ended.stderr.text.strip() or out)[-_TAIL:])
            raise ModelFault(
                f"{self.name}: ended with code {ended.code}: "
                f"{truncate_start(message) or 'it gave no reason'}"
            )
        return Reply(text=self._redact_reply.redact_secrets(out), usage=Usage(calls=1, unpriced=1))


def join_prompt(prompt: Prompt) -> str:
    """Return the prompt as one text."""
    return f"{prompt.system}\n\n{prompt.user}"


def open_agent(spec: ModelSpec, environ: Mapping[str, str]) -> "CliAgent":
    """Return the agent; UsageError if its program is not on the PATH."""
    program = shutil.which(spec.provider, path=environ.get("PATH", os.defpath))
    if program is None:
        raise UsageError(
            f"{spec.name}: there is no program {spec.provider} on the PATH; install it and sign in"
        )
    return CliAgent(spec, program, environ)


class CliAgent(ProgramModel):
    """A command-line agent."""

    def __init__(self, spec: ModelSpec, program: str, environ: Mapping[str, str]) -> None:
        super().__init__(spec.name, environ)
        self._spec = spec
        self._path = program

    async def complete(self, prompt: Prompt) -> Reply:
        """Run the program once; a cancelled caller ends it and everything it started."""
        arguments, text = _build_command(self._spec, prompt)
        with TemporaryFolder() as folder:
            return await self.run([self._path, *arguments], text, folder=folder)


def _build_command(spec: ModelSpec, prompt: Prompt) -> tuple[list[str], str]:
    """Return the arguments and the standard input."""
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


def open_command(
    target: str, tuning: Tuning = NO_TUNING, environ: Mapping[str, str] | None = None
) -> "CommandModel":
    """Return the model of `command:PROGRAM ARGS…`, split like a shell; UsageError if there is none.

    The tuning is appended as `--temperature X` and `--max-tokens N`.
    """
    environ = os.environ if environ is None else environ
    try:
        words = shlex.split(target.removeprefix(COMMAND_PREFIX))
    except ValueError as error:
        raise UsageError(
            f"{COMMAND_PREFIX} what follows cannot be split into words ({error}); quote it as for "
            "a shell"
        ) from None
    if not words:
        raise UsageError(
            f"{COMMAND_PREFIX} names no program; write '{COMMAND_PREFIX}PROGRAM ARGS…'"
        )
    program = Path(_find_program(words[0], environ)).absolute()
    words += _format_flags(tuning)
    return CommandModel(_make_name(words, program, environ), [str(program), *words[1:]], environ)


class CommandModel(ProgramModel):
    """A command of the user; runs in the folder where it was opened."""

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
        super().__init__(name, environ)
        self._command = tuple(command)
        self._folder = str(Path.cwd())

    async def complete(self, prompt: Prompt) -> Reply:
        """Run the program once; a cancelled caller ends it and everything it started."""
        return await self.run(self._command, join_prompt(prompt), folder=self._folder)


def _format_flags(tuning: Tuning) -> list[str]:
    flags = {"--temperature": tuning.temperature, "--max-tokens": tuning.max_tokens}
    return [
        word for flag, value in flags.items() if value is not None for word in (flag, str(value))
    ]


def _find_program(program: str, environ: Mapping[str, str]) -> str:
    """Find the program on the PATH, or else in the current folder."""
    path = environ.get("PATH", os.defpath)
    here = str(Path.cwd() / program)
    if path_found := shutil.which(program, path=path) or shutil.which(here):
        return path_found
    if Path(here).is_file():
        raise UsageError(
            f"{COMMAND_PREFIX} {program} may not be executed; make it executable, or name what "
            f"runs it, as in '{COMMAND_PREFIX}python {program}'"
        )
    raise UsageError(
        f"{COMMAND_PREFIX} there is no program {program!r}, neither here nor on the PATH; check "
        "its name"
    )


def _make_name(words: Sequence[str], program: Path, environ: Mapping[str, str]) -> str:
    """Make the model's name, without secrets that the command line may hold."""
    name = Redactor(list_environment_secrets(environ))(f"{COMMAND_PREFIX}{shlex.join(words)}")
    digest = digest_program(words, program)
    return f"{name};digest={digest}" if digest else name
