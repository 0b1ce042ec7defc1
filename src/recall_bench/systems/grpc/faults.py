"""What a gRPC server's refusals mean, and what there is where none was found."""

import re
import ssl

from recall_bench.errors import BenchError, SystemBusy, SystemFault, SystemGone, SystemTimeout
from recall_bench.systems.grpc.address import GrpcAddress
from recall_bench.systems.grpc.messages import SERVICE_V2, GrpcMethod
from recall_bench.systems.grpc.status import GrpcStatus
from recall_bench.systems.grpc.wording import RETRY_AFTER

HANDSHAKE_ERRORS = (ssl.SSLError, ConnectionResetError, ConnectionAbortedError)

_SIZE_COMPLAINT = re.compile(r"larger than max|exceeds maximum|too large", re.IGNORECASE)
"""How the gRPC libraries word the refusal of a big message; its status is also that of a quota."""


class MethodNotServed(SystemFault):
    """The server does not know the method."""


def translate_status(said: str, method: GrpcMethod, status: GrpcStatus, size: int) -> BenchError:
    """What a server that is still there means by a status; `size` is that of the request."""
    match status.code:
        case "UNIMPLEMENTED":
            return MethodNotServed(said)
        case "NOT_FOUND" if method.service == SERVICE_V2:
            return SystemGone(f"{said}; the same command starts again from the first day")
        case "DEADLINE_EXCEEDED":
            return SystemTimeout(said)
        case "RESOURCE_EXHAUSTED":
            return _translate_quota_status(said, status, size)
        case _:
            return SystemFault(said)


def _translate_quota_status(said: str, status: GrpcStatus, size: int) -> SystemFault:
    pause = status.trailing.get(RETRY_AFTER)
    if pause is None and _SIZE_COMPLAINT.search(status.details):
        return SystemFault(f"{said} (the request had {size:,} bytes)")
    busy = SystemBusy(said)
    if pause is not None and re.fullmatch(r"\d{1,6}(\.\d+)?", pause):
        busy.retry_after_s = float(pause)
    return busy


def describe_tls_failure(address: GrpcAddress, error: OSError) -> str:
    """Why a TLS connection did not come about, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"{address} does not prove who it is ({error.verify_message}); trust the authority "
            "that signed its certificate with --grpc-ca, and call it by a name it is made out to"
        )
    reason = getattr(error, "reason", None) or error.strerror or str(error) or "it hung up"
    return f"{address} does not speak TLS ({reason}); write grpc:// if it is a plaintext server"


def describe_other_server(address: GrpcAddress, first_words: bytes) -> str | None:
    """What there is instead of a gRPC server, as far as its first words tell."""
    if not first_words:
        hint = ", or write grpcs:// if it wants TLS" if address.tls is None else ""
        return f"{address} hangs up without a word; see that it is a gRPC server{hint}"
    if first_words.startswith(b"\x15\x03"):
        return f"{address} speaks TLS; write grpcs://"
    if first_words[3:4] == b"\x04":
        # The type of the frame every HTTP/2 server begins with.
        return None
    spelled = first_words.decode("latin-1")
    begins = "".join(each if each.isprintable() else " " for each in spelled).strip()
    return f"{address} is not a gRPC server: it says {begins!r}; see that the port is right"
