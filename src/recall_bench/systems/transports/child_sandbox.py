"""What a contestant's processes may open: its own files, and nothing it is measured by."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp

import msgspec

import recall_bench
from recall_bench.core import sandbox
from recall_bench.core.append_log import JOURNAL
from recall_bench.core.errors import UsageError
from recall_bench.core.folders import find_cache_folder
from recall_bench.core.memory import Isolation, IsolationCard
from recall_bench.core.sandbox import LaunchSpec
from recall_bench.core.settings import RUNS, Settings
from recall_bench.systems.transports.child_environment import find_endpoint_ports
from recall_bench.systems.transports.command_program import CommandProgram

PACKAGES = Path(recall_bench.__file__).parent.parent
"""Where we are installed."""

_CLOSED_NAMES = (".env*", "*.secret", "*.bundle")
"""Files beside a contestant that hold keys, seeds of challenges, or questions with answers."""

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from recall_bench.core.sandbox import main; main()"
)


def list_hidden(settings: Settings) -> tuple[Path, ...]:
    """The datasets, run folders, result files and caches of this user that we know of."""
    files = (settings.json_out, settings.question_log, settings.progress_jsonl)
    named = (settings.data, settings.into, settings.resume, *files, settings.failure_log)
    places = (*named, RUNS, find_cache_folder())
    return tuple(place.absolute() for place in places if place is not None)


def list_closed(folder: Path) -> Iterator[Path]:
    """What lies in a contestant's folder and is closed to it."""
    for pattern in _CLOSED_NAMES:
        yield from folder.glob(pattern)
    yield from (journal.parent for journal in folder.glob(f"*/{JOURNAL}"))


def list_opened(settings: Settings) -> tuple[Path, ...]:
    """The files and folders of `--allow-read`; UsageError if one is not there."""
    places = tuple(Path(name).absolute() for name in settings.allow_read)
    for place in places:
        if not place.exists():
            raise UsageError(f"--allow-read: there is no {place}")
    return places


@dataclass(frozen=True, kw_only=True)
class ProgramSandbox:
    """How a program is confined, or that it is not."""

    policy: sandbox.SandboxPolicy | None
    card: IsolationCard

    def wrap_command(self, command: Sequence[str], writable: Iterable[Path]) -> tuple[str, ...]:
        """The command that starts the program; these folders are its own, the first is private."""
        if self.policy is None:
            return tuple(command)
        own = [str(folder.resolve()) for folder in writable]
        spec = LaunchSpec(
            command=tuple(command),
            policy=self.policy.replace(writable=(*own, *self.policy.writable)),
        )
        descriptor, place = mkstemp(dir=own[0], suffix=".json")
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(spec))
        return (sys.executable, "-I", "-c", _BOOT, str(PACKAGES), place)


def build_program_sandbox(
    program: CommandProgram,
    settings: Settings,
    *,
    folders: Iterable[Path] = (),
    hidden: Iterable[Path] = (),
) -> ProgramSandbox:
    """The sandbox of a program, if the settings ask for one; UsageError if there is none here.

    It may read these folders too, and nothing that is hidden.
    """
    opened = list_opened(settings)
    if not settings.sandbox:
        if opened:
            raise UsageError("--allow-read has no effect on a program without --sandbox; add it")
        card = IsolationCard(kind=Isolation.PROCESS, env=settings.env)
        return ProgramSandbox(policy=None, card=card)
    ports = find_endpoint_ports()
    if not sandbox.is_available() or (ports and not sandbox.can_limit_ports()):
        raise UsageError("--sandbox: this kernel cannot confine a program; leave the flag out")
    named = [Path(word) for word in program.command if Path(word).is_absolute()]
    own_files = [path for path in named if path.is_file()]
    own = [file.parent for file in own_files[1:]]
    closed = [path for folder in own for path in list_closed(folder)]
    policy = sandbox.build_policy(
        [*own, *_find_installation(Path(program.command[0]))],
        [*list_hidden(settings), *hidden, *closed],
        needed=[*opened, *folders, PACKAGES, *own_files],
    )
    return ProgramSandbox(
        policy=policy.replace(network=settings.allow_network, ports=ports),
        card=IsolationCard(
            kind=Isolation.SANDBOX,
            network=settings.allow_network,
            env=settings.env,
            reads=tuple(map(str, opened)),
        ),
    )


def _find_installation(program: Path) -> Iterator[Path]:
    """The folders of a program and of what a link to it names; all of `PREFIX` for `PREFIX/bin`."""
    for path in (program, program.resolve()):
        folder = path.parent
        is_prefix = folder.name == "bin" and not Path.home().is_relative_to(folder.parent)
        yield folder.parent if is_prefix else folder
