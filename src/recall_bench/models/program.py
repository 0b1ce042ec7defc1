"""Programs as models: started anew for every prompt, which they read from standard input."""

from collections.abc import Mapping, Sequence

from recall_bench.core.usage import Usage
from recall_bench.errors import ModelFault
from recall_bench.models.child import ChildResult, run_child
from recall_bench.models.faults import truncate_start
from recall_bench.models.model import Prompt, Reply
from recall_bench.models.secrets import Redactor, list_environment_secrets

_TAIL = 2000
"""How much of what a program complains is looked at."""


class ModelProgram:
    """Asks a program, under the name of the model that it is."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._environ = dict(environ)
        self._redact = Redactor(list_environment_secrets(environ))
        # Any of these may be the one it used; a short value may also be a word that it means.
        self._redact_reply = Redactor(list_environment_secrets(environ, shortest=16))

    async def ask(self, command: Sequence[str], text: str, *, folder: str) -> Reply:
        """What it writes; ModelFault with its last words if it fails.

        If the caller gives up, the program and all it started are ended. Nobody knows its price.
        """
        ended = await run_child(command, text, folder=folder, environ=self._environ)
        if ended.code != 0:
            raise ModelFault(
                f"{self.name}: ended with code {ended.code}: {self._format_complaint(ended)}"
            )
        return Reply(
            text=self._redact_reply.redact_secrets(ended.out.strip()),
            usage=Usage(calls=1, unpriced=1),
        )

    def _format_complaint(self, ended: ChildResult) -> str:
        said = ended.err.strip() or ended.out.strip()
        return truncate_start(self._redact(said[-_TAIL:])) or "it gave no reason"


def join_prompt(prompt: Prompt) -> str:
    """The prompt as one text."""
    return f"{prompt.system}\n\n{prompt.user}"
