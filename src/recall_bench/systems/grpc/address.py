"""Where a gRPC server is, and how it is to be spoken to."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from recall_bench.errors import UsageError

DEFAULT_PORT = 50052

_ADDRESS_FORM = "write grpc://host:port, with an IPv6 host in brackets, or grpcs:// for TLS"


@dataclass(frozen=True)
class GrpcAddress:
    """A host and a port, and whom to trust there; plaintext without `tls`."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None

    @property
    def authority(self) -> str:
        """`host:port`, as servers are told whom we called."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{'grpc' if self.tls is None else 'grpcs'}://{self.authority}"


def parse_grpc_address(target: str, ca: Path | None = None) -> GrpcAddress:
    """What a `grpc://` or `grpcs://` target means, or a UsageError that says what is wrong with it.

    `ca` is a file of certificates to trust in place of the machine's own authorities.
    """
    try:
        parts = urlsplit(target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{target!r} is not an address ({error}); {_ADDRESS_FORM}") from error
    if parts.scheme not in ("grpc", "grpcs"):
        raise UsageError(f"{target!r} is not a gRPC address; {_ADDRESS_FORM}")
    if not host:
        raise UsageError(f"{target!r} names no host; {_ADDRESS_FORM}")
    if port == 0 or parts.path.strip("/") or parts.query or parts.fragment or parts.username:
        raise UsageError(
            f"{target!r} is more than a host and a port from 1 to 65535; {_ADDRESS_FORM}"
        )
    if parts.scheme == "grpc" and ca is not None:
        raise UsageError(
            f"{target!r} is not encrypted, so {ca} vouches for nobody; write grpcs://, or leave "
            "the certificates out"
        )
    tls = _build_tls_context(ca) if parts.scheme == "grpcs" else None
    return GrpcAddress(host, DEFAULT_PORT if port is None else port, tls)


def _build_tls_context(ca: Path | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{ca} holds no certificates to trust ({reason})") from error
    context.set_alpn_protocols(["h2"])
    return context
