"""Systems that are a child process which holds their memories and speaks in lines of JSON."""

from collections.abc import Mapping

import msgspec

from recall_bench.core.memory import UNDECLARED
from recall_bench.errors import UsageError
from recall_bench.systems.command.carrier import SILENCE_GRACE_S, CommandTransport
from recall_bench.systems.command.program import find_program
from recall_bench.systems.remote.system import RemoteSystem, connect_remote_system


async def start_command_system(
    target: str, config: Mapping[str, object], *, grace_s: float = SILENCE_GRACE_S
) -> RemoteSystem:
    """The system behind `command:PROGRAM ARGS…`.

    The program is started to ask it for its health, ended, and started again for the first
    memory. UsageError if there is no such program, SystemGone if it does not reply.
    """
    program = find_program(target)
    if config:
        raise UsageError(
            f"{program.name} cannot be given the settings {', '.join(config)}; "
            "write them as arguments of the program"
        )
    carrier = CommandTransport(program, grace_s=grace_s)
    spelled: dict[str, object] = {"command": list(program.spelled)}
    system = await connect_remote_system(carrier, where=program.name, config=spelled)
    if system.card.version == UNDECLARED:
        system.card = msgspec.structs.replace(system.card, version=program.version)
    return system
