"""A command of the user's own as a model: it reads the prompt and writes the reply.

Unlike a command-line agent it runs where the caller is: it may need files that lie there.
"""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.models.model import Prompt, Reply
from recall_bench.models.program import ModelProgram, join_prompt
from recall_bench.models.secrets import Redactor, list_environment_secrets
from recall_bench.models.tuning import NO_TUNING, Tuning

COMMAND_PREFIX = "command:"

_DIGEST_BYTES = 1 << 20


def open_command(
    target: str, tuning: Tuning = NO_TUNING, environ: Mapping[str, str] | None = None
) -> "CommandModel":
    """The model behind `command:PROGRAM ARGS…`, split as a shell does; UsageError if there is none.

    What the tuning asks for is appended as `--temperature X` and `--max-tokens N`.
    """
    environ = os.environ if environ is None else environ
    try:
        words = shlex.split(target.removeprefix(COMMAND_PREFIX))
    except ValueError as error:
        raise UsageError(
            f"{COMMAND_PREFIX} what follows cannot be split into words ({error}); quote it as for a shell"
        ) from None
    if not words:
        raise UsageError(
            f"{COMMAND_PREFIX} names no program; write '{COMMAND_PREFIX}PROGRAM ARGS…'"
        )
    program = Path(_find_program(words[0], environ)).absolute()
    words += _format_flags(tuning)
    return CommandModel(_make_name(words, program, environ), [str(program), *words[1:]], environ)


class CommandModel:
    """Starts the command anew for every prompt, in the folder where it was opened."""

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._command = tuple(command)
        self._folder = str(Path.cwd())
        self._program = ModelProgram(name, environ)

    @property
    def name(self) -> str:
        """Its words, and a digest of the program and the script that they name by their paths."""
        return self._program.name

    @property
    def is_priced(self) -> bool:
        """Never: a command does not say what it costs."""
        return False

    def __repr__(self) -> str:
        return f"CommandModel({self.name})"

    async def close(self) -> None:
        """Nothing is kept between prompts."""

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once; if the caller gives up, the program and all it started are ended."""
        return await self._program.ask(self._command, join_prompt(prompt), folder=self._folder)


def _format_flags(tuning: Tuning) -> list[str]:
    asked = {"--temperature": tuning.temperature, "--max-tokens": tuning.max_tokens}
    return [
        word for flag, value in asked.items() if value is not None for word in (flag, str(value))
    ]


def _find_program(program: str, environ: Mapping[str, str]) -> str:
    """On the PATH, or else in the folder where we are."""
    path = environ.get("PATH", os.defpath)
    here = str(Path.cwd() / program)
    if found := shutil.which(program, path=path) or shutil.which(here):
        return found
    if Path(here).is_file():
        raise UsageError(
            f"{COMMAND_PREFIX} {program} may not be executed; make it executable, or name what runs it, "
            f"as in '{COMMAND_PREFIX}python {program}'"
        )
    raise UsageError(
        f"{COMMAND_PREFIX} there is no program {program!r}, neither here nor on the PATH; check its name"
    )


def _make_name(words: Sequence[str], program: Path, environ: Mapping[str, str]) -> str:
    """Free of secrets, which people do write into command lines."""
    name = Redactor(list_environment_secrets(environ))(f"{COMMAND_PREFIX}{shlex.join(words)}")
    files = _list_own_files(words, program)
    return f"{name};digest={_digest_files(files)}" if files else name


def _list_own_files(words: Sequence[str], program: Path) -> list[Path]:
    """The program, unless it is found on the PATH, and the script that it runs.

    A file behind an option is neither: it may be a log that every call makes longer.
    """
    own = [program] if Path(words[0]).absolute() == program and _is_file(program) else []
    scripts = (
        Path(word)
        for before, word in pairwise(words)
        if not word.startswith("-") and not before.startswith("-") and _is_file(word)
    )
    return own + [script for script in (next(scripts, None),) if script is not None]


def _is_file(word: str | Path) -> bool:
    """Whether it is one that we can read, too: a program need only be executable."""
    try:
        return Path(word).is_file() and os.access(word, os.R_OK)
    except (OSError, ValueError):
        return False


def _digest_files(files: Sequence[Path]) -> str:
    """Of their sizes and beginnings: a script is read whole, the weights of a model are not."""
    digest = sha256()
    for file in files:
        digest.update(b"%d\n" % file.stat().st_size)
        with file.open("rb") as opened:
            digest.update(opened.read(_DIGEST_BYTES))
    return digest.hexdigest()[:12]
