"""Confines this process on Linux: the files it may open, and whether it has a network.

Landlock limits files, signals, tracing of other processes and the ports of connections; a seccomp
filter limits sockets, and refuses what System V shares. Both need no privileges, hold for every
program that this process starts, and cannot be taken back. Where the kernel lacks either,
`is_available` says so and nothing is confined.

Landlock knows ports and no hosts: what may connect to the port of a model endpoint may connect to
that port of any host.
"""

import ctypes
import errno
import os
import platform
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SOCK_STREAM
from typing import NamedTuple

import msgspec

from recall_bench.core.record import Record


class SandboxPolicy(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a process may use. Everything else is refused."""

    readable: tuple[str, ...]
    """Files, and folders with all they hold, to read and to execute."""
    listed: tuple[str, ...] = ()
    """Folders whose file names may be read, and those of folders in them."""
    writable: tuple[str, ...]
    """Folders in which everything is allowed, and files that may be written."""
    network: bool = False
    ports: tuple[int, ...] = ()
    """The TCP ports that may be connected to without a network, of any host."""


class SandboxError(Exception):
    """A process could not be confined."""


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ABI_FLAG = 1
_PATH_RULE, _PORT_RULE = 1, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHTS_BY_ABI = ((1, (1 << 13) - 1), (2, 1 << 13), (3, _TRUNCATE))
"""The rights of files that each version of Landlock added."""
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_TCP_ABI, _TCP_RIGHTS, _CONNECT_TCP = 4, 3, 2
_SCOPE_ABI, _SCOPES = 6, 3
"""Signals, and sockets of Linux without a path."""

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _GET_SECCOMP, _FILTER_MODE = 38, 22, 21, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The number of each machine in filters."""
_SHARING_CALLS = (
    *("shmget", "shmat", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv"),
    *("mq_open", "add_key", "request_key", "keyctl"),
)
"""Shared memory, semaphores, queues and keys: they outlive a process, and no folder holds them."""
_CALLS = (
    *("socket", "bind", "listen", "sendto", "sendmsg", "sendmmsg", "io_uring_setup"),
    *_SHARING_CALLS,
)
_SYSTEM_CALLS = {
    machine: dict(zip(_CALLS, numbers, strict=True))
    for machine, numbers in (
        (
            "x86_64",
            (
                *(41, 49, 50, 44, 46, 307, 425),
                *(29, 30, 64, 65, 66, 220, 68, 69, 70, 240, 248, 249, 250),
            ),
        ),
        (
            "aarch64",
            (
                *(198, 200, 201, 206, 211, 269, 425),
                *(194, 196, 190, 193, 191, 192, 186, 189, 188, 180, 217, 218, 219),
            ),
        ),
    )
}
_X32_CALLS = 0x40000000

_SYSTEM_ROOTS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix/store"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm"),
    *("/sys/devices/system", "/dev/urandom", "/dev/random", "/dev/zero"),
)
_SYSTEM_DEVICES = ("/dev/null", "/dev/full", "/dev/dri", "/dev/kfd")


def is_available() -> bool:
    """Whether this kernel can confine a process."""
    if not sys.platform.startswith("linux") or platform.machine() not in _SYSTEM_CALLS:
        return False
    return _read_landlock_abi() >= 1 and load_libc().prctl(_GET_SECCOMP, 0, 0, 0, 0) >= 0


def can_limit_ports() -> bool:
    """Whether this kernel can limit a process to connections to some ports."""
    return is_available() and _read_landlock_abi() >= _TCP_ABI


def build_policy(
    folders: Iterable[Path], hidden: Sequence[Path], *, needed: Iterable[Path] = ()
) -> SandboxPolicy:
    """The policy of a Python process that also reads these folders, without what is hidden.

    A folder that contains something hidden may be listed, and one that lies in something hidden is
    left out. The system, the interpreter and what else is needed is readable even there.
    """
    covered = [path.resolve() for path in hidden]
    readable, listed = set[Path](), set[Path]()
    interpreter = {*map(Path, sysconfig.get_paths().values()), Path(sys.prefix)}
    for root in {*interpreter, Path(sys.base_prefix), *map(Path, _SYSTEM_ROOTS), *needed}:
        # `/proc/self` is another folder in the process that applies the policy.
        place = root if str(root).startswith("/proc/") else root.resolve()
        inside = [path for path in covered if not place.is_relative_to(path)]
        _grant_folder(place, inside, readable, listed)
    for folder in folders:
        _grant_folder(folder.resolve(), covered, readable, listed)
    devices = [*map(Path, _SYSTEM_DEVICES), *Path("/dev").glob("nvidia*")]
    return SandboxPolicy(
        readable=tuple(sorted(map(str, readable))),
        listed=tuple(sorted(map(str, listed))),
        writable=tuple(str(path) for path in devices),
    )


def _grant_folder(
    folder: Path, hidden: Sequence[Path], readable: set[Path], listed: set[Path]
) -> None:
    if any(folder.is_relative_to(path) for path in hidden):
        return
    if not any(path.is_relative_to(folder) for path in hidden):
        readable.add(folder)
        return
    listed.add(folder)
    for entry in _list_entries(folder):
        # A link never makes more readable than its target is anyway.
        if not entry.is_symlink():
            _grant_folder(entry, hidden, readable, listed)


def _list_entries(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder.iterdir())
    except OSError:
        return


def confine_process(policy: SandboxPolicy) -> None:
    """Confine this process, and every process it starts, from now on.

    SandboxError if that fails, or if there are other threads: they would stay free.
    """
    if threading.active_count() > 1:
        raise SandboxError("other threads are running already")
    libc = load_libc()
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    _apply_landlock(libc, policy)
    sockets = () if policy.network else _ONLY_TCP_CLIENTS if policy.ports else _NO_SOCKETS
    _limit_calls(libc, (*_NO_SHARING, *sockets))
    _confined.set()


_confined = threading.Event()


def is_confined() -> bool:
    """Whether this process was confined."""
    return _confined.is_set()


class _RulesetHead(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("rights", ctypes.c_uint64), ("port", ctypes.c_uint64))


class _FilterStep(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_FilterStep)))


def load_libc() -> ctypes.CDLL:
    """The C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def _read_landlock_abi() -> int:
    """The version of Landlock; below 1 if there is none."""
    return int(load_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ABI_FLAG))


def _check(result: int, what: str) -> int:
    if result < 0:
        raise SandboxError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _apply_landlock(libc: ctypes.CDLL, policy: SandboxPolicy) -> None:
    abi = _check(_read_landlock_abi(), "Landlock")
    rights = sum(added for since, added in _RIGHTS_BY_ABI if abi >= since)
    limits_tcp = abi >= _TCP_ABI and not policy.network
    head = _RulesetHead(rights, _TCP_RIGHTS * limits_tcp, _SCOPES * (abi >= _SCOPE_ABI))
    size = ctypes.c_size_t(8 if abi < _TCP_ABI else 16 if abi < _SCOPE_ABI else 24)
    rules = _check(libc.syscall(_CREATE_RULESET, ctypes.byref(head), size, 0), "Landlock")
    try:
        reading = _EXECUTE | _READ_FILE | _READ_DIR
        for names, allowed in (
            (policy.readable, reading),
            (policy.listed, _READ_DIR),
            (policy.writable, rights),
        ):
            for name in names:
                _allow_path(libc, rules, name, allowed & rights)
        for port in policy.ports if limits_tcp else ():
            rule = ctypes.byref(_PortRule(_CONNECT_TCP, port))
            _check(libc.syscall(_ADD_RULE, rules, _PORT_RULE, rule, 0), f"port {port}")
        _check(libc.syscall(_RESTRICT_SELF, rules, 0), "Landlock")
    finally:
        os.close(rules)


def _allow_path(libc: ctypes.CDLL, rules: int, name: str, rights: int) -> None:
    try:
        descriptor = os.open(name, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # it is not on this machine, or cannot be read anyway
    try:
        if not Path(name).is_dir():
            rights &= _FILE_RIGHTS
        rule = _PathRule(rights, descriptor)
        _check(libc.syscall(_ADD_RULE, rules, _PATH_RULE, ctypes.byref(rule), 0), name)
    finally:
        os.close(descriptor)


class _FilterRule(NamedTuple):
    """What happens at a system call whose arguments fit."""

    call: str
    action: int
    fits: tuple[tuple[int, int, int], ...] = ()
    """For arguments by their place: the bits that count, and their value. All have to fit."""


_ALL_BITS, _KIND_BITS = 0xFFFFFFFF, 0xF
_FAST_OPEN = 0x20000000
"""A flag that connects a socket by sending."""
_NO_SHARING = tuple(_FilterRule(call, _REFUSE) for call in _SHARING_CALLS)
_NO_SOCKETS = (_FilterRule("socket", _REFUSE), _FilterRule("io_uring_setup", _REFUSE))
_ONLY_TCP_CLIENTS = (
    *(
        _FilterRule(
            "socket",
            _ALLOW,
            ((0, _ALL_BITS, family), (1, _KIND_BITS, SOCK_STREAM), (2, _ALL_BITS, protocol)),
        )
        for family in (AF_INET, AF_INET6)
        for protocol in (0, IPPROTO_TCP)
    ),
    *_NO_SOCKETS,
    _FilterRule("bind", _REFUSE),
    _FilterRule("listen", _REFUSE),
    *(
        _FilterRule(call, _REFUSE, ((place, _FAST_OPEN, _FAST_OPEN),))
        for call, place in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))
    ),
)

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_CALL_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16


def _limit_calls(libc: ctypes.CDLL, rules: Iterable[_FilterRule]) -> None:
    """Apply the first rule that fits a system call; other calls are allowed."""
    calls = _SYSTEM_CALLS[platform.machine()]
    steps = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, _MACHINES[platform.machine()]),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _CALL_AT),
        (_AT_LEAST, 0, 1, _X32_CALLS),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for rule in rules:
        # Each condition takes three steps, and leads behind the rule if it does not hold.
        skipped = 3 * len(rule.fits) + 1
        steps += [(_LOAD, 0, 0, _CALL_AT), (_EQUAL, 0, skipped, calls[rule.call])]
        for place, bits, value in rule.fits:
            skipped -= 3
            steps += [
                (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place),
                (_AND, 0, 0, bits),
                (_EQUAL, 0, skipped, value),
            ]
        steps.append((_RETURN, 0, 0, rule.action))
    steps.append((_RETURN, 0, 0, _ALLOW))
    program = (_FilterStep * len(steps))(*(_FilterStep(*step) for step in steps))
    wrapped = ctypes.byref(_FilterProgram(len(steps), program))
    _check(libc.prctl(_SET_SECCOMP, _FILTER_MODE, wrapped, 0, 0), "seccomp")


CANNOT_RUN = 126


class LaunchSpec(Record, frozen=True, kw_only=True):
    """What the launcher reads from the file on its command line, which it removes."""

    command: tuple[str, ...]
    policy: SandboxPolicy


def main() -> None:
    """Become the program of the spec; exit with 126 if it cannot be executed."""
    place = Path(sys.argv[1])
    spec = msgspec.json.decode(place.read_bytes(), type=LaunchSpec)
    place.unlink()
    confine_process(spec.policy)
    try:
        os.execv(spec.command[0], spec.command)  # noqa: S606 - without a shell
    except OSError as error:
        sys.stderr.write(f"{spec.command[0]} cannot be run: {error.strerror}\n")
        sys.exit(CANNOT_RUN)
