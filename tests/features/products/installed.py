"""Products that need a model endpoint, run in environments of their own behind one of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recall_bench.core.memory import MemorySystem
from recall_bench.features.models.chat_completions import open_chat
from recall_bench.features.models.model_endpoint import ModelEndpoint
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.systems.transports.child_environment import ENDPOINT_VARIABLE
from recall_bench.systems.transports.command_system import start_command_system
from tests.features.products.pins import ROOT


def python_of(name: str) -> str:
    """The Python of a product's environment; without one the test is skipped."""
    if not (ROOT / ".products" / name / ".ready").exists():
        pytest.skip(f"make product NAME={name}")
    return str(ROOT / ".products" / name / "bin" / "python")


async def served(name: str, *settings: str) -> MemorySystem:
    """The product in a child process, which borrows the endpoint that is named by the variable."""
    words = [python_of(name), "-m", "recall_bench", "serve", name, "--stdio"]
    words += [word for setting in settings for word in ("--config", setting)]
    return await start_command_system(f"command:{' '.join(words)}", {})


@contextmanager
def lent(monkeypatch: pytest.MonkeyPatch, model: str | None = None) -> Iterator[ModelEndpoint]:
    """An endpoint that child processes borrow; chats go on to the model at a base URL."""
    spec = None if model is None else parse_spec(f"openai-chat:any;{model};price=0/0", {})
    chat = None if spec is None else open_chat(spec, {"OPENAI_API_KEY": "unused"})
    # Some wait for the disk after each note; that is not what is tested here.
    if Path("/dev/shm").is_dir():
        monkeypatch.setenv("TMPDIR", "/dev/shm")
    with ModelEndpoint(chat=chat) as endpoint:
        monkeypatch.setenv(ENDPOINT_VARIABLE, endpoint.url)
        yield endpoint
