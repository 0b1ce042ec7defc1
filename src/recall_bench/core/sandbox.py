"""Confines this process on Linux: the files it may open, and whether it has a network.

Landlock limits files, signals and tracing of other processes; a seccomp filter limits sockets. Both
need no privileges, hold for every program that this process starts, and cannot be taken back. Where
the kernel lacks either, `is_available` says so and nothing is confined.
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

from recall_bench.core.record import Record

Peer = tuple[str, int]
"""An IP address and a TCP port."""


class SandboxPolicy(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a process may use. Everything else is refused."""

    readable: tuple[str, ...]
    """Files, and folders with all they hold, to read and to execute."""
    listed: tuple[str, ...] = ()
    """Folders whose file names may be read, and those of folders in them."""
    writable: tuple[str, ...]
    """Folders in which everything is allowed, and files that may be written."""
    network: bool = False
    peers: tuple[Peer, ...] = ()
    """What may be connected to without a network; see `connection_supervisor`."""


class SandboxError(Exception):
    """A process could not be confined."""


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ABI_FLAG = 1
_PATH_RULE = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHTS_BY_ABI = ((1, (1 << 13) - 1), (2, 1 << 13), (3, _TRUNCATE))
"""The rights of files that each version of Landlock added."""
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_TCP_ABI, _TCP_RIGHTS = 4, 3
_SCOPE_ABI, _SCOPES = 6, 3
"""Signals, and sockets of Linux without a path."""

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _GET_SECCOMP, _FILTER_MODE = 38, 22, 21, 2
_FILTER_BY_CALL, _GET_NOTICE_SIZES, _NEW_LISTENER = 1, 3, 8
_ALLOW, _REFUSE, _ASK = 0x7FFF0000, 0x00050000 | errno.EACCES, 0x7FC00000
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The number of each machine in filters."""
_CALLS = (
    *("socket", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg"),
    *("seccomp", "io_uring_setup"),
)
_SYSTEM_CALLS = {
    machine: dict(zip(_CALLS, numbers, strict=True))
    for machine, numbers in (
        ("x86_64", (41, 42, 49, 50, 44, 46, 307, 317, 425)),
        ("aarch64", (198, 203, 200, 201, 206, 211, 269, 277, 425)),
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


_TRACING = Path("/proc/sys/kernel/yama/ptrace_scope")


def can_limit_peers() -> bool:
    """Whether this kernel can limit a process to connections to some addresses."""
    if not is_available() or (_TRACING.exists() and int(_TRACING.read_text()) > 1):
        return False
    sizes = (ctypes.c_uint16 * 3)()
    call = _get_call_number("seccomp")
    return bool(load_libc().syscall(call, _GET_NOTICE_SIZES, 0, ctypes.byref(sizes)) == 0)


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


def confine_process(policy: SandboxPolicy) -> int | None:
    """Confine this process, and every process it starts, from now on.

    Returns the descriptor at which a supervisor finds its connections, if the policy has peers.
    SandboxError if that fails, or if there are other threads: they would stay free.
    """
    if threading.active_count() > 1:
        raise SandboxError("other threads are running already")
    libc = load_libc()
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    _limit_files(libc, policy)
    if policy.network:
        return None
    if policy.peers:
        return _supervise_sockets(libc, _ONLY_SUPERVISED_TCP)
    _limit_sockets(libc, _NO_SOCKETS)
    return None


class _RulesetHead(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


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


def _limit_files(libc: ctypes.CDLL, policy: SandboxPolicy) -> None:
    abi = _check(_read_landlock_abi(), "Landlock")
    rights = sum(added for since, added in _RIGHTS_BY_ABI if abi >= since)
    limits_tcp = abi >= _TCP_ABI and not policy.network
    head = _RulesetHead(rights, _TCP_RIGHTS * limits_tcp, _SCOPES * (abi >= _SCOPE_ABI))
    size = ctypes.c_size_t(8 if abi < _TCP_ABI else 16 if abi < _SCOPE_ABI else 24)
    rules = _check(libc.syscall(_CREATE_RULESET, ctypes.byref(head), size, 0), "Landlock")
    try:
        read = _EXECUTE | _READ_FILE | _READ_DIR
        for names, allowed in (
            (policy.readable, read),
            (policy.listed, _READ_DIR),
            (policy.writable, rights),
        ):
            for name in names:
                _allow_path(libc, rules, name, allowed & rights)
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
_NO_SOCKETS = (_FilterRule("socket", _REFUSE), _FilterRule("io_uring_setup", _REFUSE))
_ONLY_SUPERVISED_TCP = (
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
    _FilterRule("connect", _ASK),
    _FilterRule("bind", _REFUSE),
    _FilterRule("listen", _REFUSE),
    *(
        _FilterRule(call, _REFUSE, ((place, _FAST_OPEN, _FAST_OPEN),))
        for call, place in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))
    ),
)

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_CALL_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16


def _limit_sockets(libc: ctypes.CDLL, rules: Iterable[_FilterRule]) -> None:
    """Apply the first rule that fits a system call; other calls are allowed."""
    wrapped = _wrap_filter(_build_filter(rules))
    _check(libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(wrapped), 0, 0), "seccomp")


def _supervise_sockets(libc: ctypes.CDLL, rules: Iterable[_FilterRule]) -> int:
    """The same; returns the descriptor at which calls that wait for a reply are found."""
    wrapped = _wrap_filter(_build_filter(rules))
    call, mode = _get_call_number("seccomp"), _FILTER_BY_CALL
    return _check(libc.syscall(call, mode, _NEW_LISTENER, ctypes.byref(wrapped)), "seccomp")


def _get_call_number(name: str) -> int:
    return _SYSTEM_CALLS[platform.machine()][name]


def _wrap_filter(steps: Sequence[tuple[int, int, int, int]]) -> _FilterProgram:
    program = (_FilterStep * len(steps))(*(_FilterStep(*step) for step in steps))
    return _FilterProgram(len(steps), program)


def _build_filter(rules: Iterable[_FilterRule]) -> list[tuple[int, int, int, int]]:
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
        left = 3 * len(rule.fits) + 1
        steps += [(_LOAD, 0, 0, _CALL_AT), (_EQUAL, 0, left, _get_call_number(rule.call))]
        for place, bits, value in rule.fits:
            left -= 3
            steps += [
                (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place),
                (_AND, 0, 0, bits),
                (_EQUAL, 0, left, value),
            ]
        steps.append((_RETURN, 0, 0, rule.action))
    return [*steps, (_RETURN, 0, 0, _ALLOW)]
