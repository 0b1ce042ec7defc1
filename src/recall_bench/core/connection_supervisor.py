"""Connections of a confined process to a few addresses, each made for it by its parent.

Landlock limits the ports that a process may connect to, but not the hosts, and a filter of system
calls cannot read an address. So the filter stops every `connect` of the confined process until the
parent has read the address and connected the same socket itself, or refused. The parent uses its
own copy of the address: changing it meanwhile changes nothing.
"""

import ctypes
import errno
import fcntl
import ipaddress
import os
import select
import signal
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from recall_bench.core.sandbox import Peer, SandboxPolicy, confine_process, load_libc

_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_GET_DESCRIPTOR = 438
_LONGEST_ADDRESS = 128
_FIRST_FREE_DESCRIPTOR = 3


def enter_sandbox(policy: SandboxPolicy) -> None:
    """Confine this process, or continue in a confined child whose connections this one makes.

    In the second case this process ends as the child does. SandboxError if it cannot be confined.
    """
    if policy.network or not policy.peers:
        confine_process(policy)
        return
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        with theirs:
            listener = confine_process(policy)
            if listener is not None:
                socket.send_fds(theirs, [b"listener"], [listener])
                os.close(listener)
        return
    theirs.close()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Others are for the child too, and this process alone is known by its number.
    signal.signal(signal.SIGURG, lambda number, _: os.kill(child, number))
    _close_other_descriptors(ours.fileno())
    _, listeners, _, _ = socket.recv_fds(ours, 16, 1)
    with os.fdopen(os.pidfd_open(child), "rb", buffering=0) as end:
        for listener in listeners:
            _ConnectionSupervisor(listener, policy.peers).serve(end.fileno())
        _end_like(child)


def _close_other_descriptors(kept: int) -> None:
    """Close what belongs to the child, which would stay open after its end; not standard error."""
    for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if number >= _FIRST_FREE_DESCRIPTOR and number != kept:
            # The descriptor of the listing itself is closed already.
            with suppress(OSError):
                os.close(number)


def _end_like(child: int) -> NoReturn:
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


class _ConnectionSupervisor:
    """Connects sockets of other processes to the given addresses, and to no others."""

    def __init__(self, listener: int, peers: tuple[Peer, ...]) -> None:
        self._listener = listener
        self._peers = {(ipaddress.ip_address(host), port) for host, port in peers}
        self._libc = load_libc()

    def serve(self, end: int) -> None:
        """Serve until the process behind this descriptor has ended."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(end, select.POLLIN)
        while end not in (ready := dict(poll.poll())):
            if ready.get(self._listener, 0) & select.POLLIN:
                self._take_notice()
            else:
                poll.unregister(self._listener)

    def _take_notice(self) -> None:
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notice)
        except OSError:
            return  # the caller was killed meanwhile
        # A connection that takes long must not delay others.
        threading.Thread(target=self._reply, args=(bytes(notice),), daemon=True).start()

    def _reply(self, notice: bytes) -> None:
        number, thread, _, _, _, _, descriptor, address, length, *_ = _NOTICE.unpack(notice)
        try:
            self._connect(number, thread, descriptor & 0xFFFFFFFF, address, length & 0xFFFFFFFF)
            code = 0
        except OSError as error:
            code = error.errno or errno.EACCES
        with suppress(OSError):  # the caller was killed meanwhile
            fcntl.ioctl(self._listener, _SEND, _RESPONSE.pack(number, 0, -code, 0))

    def _connect(
        self, number: int, thread: int, descriptor: int, address: int, length: int
    ) -> None:
        with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
            name = os.pread(memory.fileno(), min(length, _LONGEST_ADDRESS), address)
        process = os.pidfd_open(_find_process(thread))
        try:
            # The number may belong to another process by now, unless the notice is still open.
            fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", number))
            if _parse_address(name) not in self._peers:
                raise OSError(errno.EACCES, "this address may not be connected to")
            copy = self._check(self._libc.syscall(_GET_DESCRIPTOR, process, descriptor, 0))
        finally:
            os.close(process)
        try:
            self._check(self._libc.connect(copy, name, len(name)))
        finally:
            os.close(copy)

    def _check(self, result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result


def _find_process(thread: int) -> int:
    """The process of a thread."""
    lines = Path(f"/proc/{thread}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("Tgid:")).split()[1])


def _parse_address(
    name: bytes,
) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int] | None:
    """The host and port of a socket address; None if it is of another family, or cut."""
    family = struct.unpack_from("=H", name)[0] if len(name) >= 2 else None
    if family == socket.AF_INET and len(name) >= 8:
        port, host = struct.unpack_from("!H4s", name, 2)
        return ipaddress.IPv4Address(host), port
    if family == socket.AF_INET6 and len(name) >= 24:
        port, _, long_host = struct.unpack_from("!HI16s", name, 2)
        found = ipaddress.IPv6Address(long_host)
        return found.ipv4_mapped or found, port
    return None
