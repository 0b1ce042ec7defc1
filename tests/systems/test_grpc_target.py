"""A gRPC system is addressed as `grpc[s]://host[:port]`; anything else is refused at once."""

import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import MemorySystem
from recall_bench.core.settings import Settings
from recall_bench.systems import resolver
from recall_bench.systems.grpc.grpc_messages import require_grpc
from recall_bench.systems.grpc.single_connection import parse_grpc_address
from recall_bench.systems.resolver import resolve_system
from tests.loops import loop_over_rows


@loop_over_rows(
    ("target", "address"),
    [
        ("grpc://h", ("h", 50052)),
        ("grpc://h:1", ("h", 1)),
        ("GRPC://h:65535", ("h", 65535)),
        ("grpc://h:50052/", ("h", 50052)),
        ("grpc://127.0.0.1", ("127.0.0.1", 50052)),
        ("grpc://[::1]", ("::1", 50052)),
        ("grpc://[::1]:7", ("::1", 7)),
        ("grpc://memory.example.org:443", ("memory.example.org", 443)),
        ("grpcs://memory.example.org", ("memory.example.org", 50052)),
    ],
)
def test_an_address_is_a_host_and_perhaps_a_port(target: str, address: tuple[str, int]) -> None:
    found = parse_grpc_address(target)

    assert (found.host, found.port) == address


def test_only_grpcs_is_encrypted_and_it_checks_who_is_there() -> None:
    assert parse_grpc_address("grpc://h").tls is None
    trusting = parse_grpc_address("grpcs://h").tls

    assert trusting is not None
    assert trusting.check_hostname
    assert trusting.verify_mode.name == "CERT_REQUIRED"


def test_settings_that_would_not_reach_the_server_are_refused() -> None:
    with pytest.raises(UsageError, match="settings depth cannot be passed to a server"):
        resolve_system(Settings(adapter="grpc://127.0.0.1:9", config={"depth": 3}))


def test_certificates_for_an_unencrypted_address_are_refused() -> None:
    with pytest.raises(UsageError, match=r"is not encrypted.*write grpcs://"):
        parse_grpc_address("grpc://h", ca=Path("ca.pem"))


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")

    for name in ("empty.pem", "missing.pem"):
        with pytest.raises(UsageError, match=f"{name} holds no certificates to trust"):
            parse_grpc_address("grpcs://h", ca=tmp_path / name)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        pytest.param("grpc://", "names no host", id="no host"),
        pytest.param("grpc://:50052", "names no host", id="a port without a host"),
        pytest.param("http://h", "is not a gRPC address", id="another scheme"),
        pytest.param("h:50052", "is not a gRPC address", id="no scheme"),
        pytest.param("grpc://h:x", "is not an address", id="a port that is no number"),
        pytest.param("grpc://h:0", "port from 1 to 65535", id="port 0"),
        pytest.param("grpc://h:65536", "is not an address", id="a port too high"),
        pytest.param("grpc://::1", "is not an address", id="IPv6 without brackets"),
        pytest.param("grpc://[::1", "is not an address", id="half a bracket"),
        pytest.param("grpc://h/path", "more than a host and a port", id="a path"),
        pytest.param("grpc://me@h", "more than a host and a port", id="a user"),
    ],
)
def test_anything_else_is_refused_with_what_to_write(target: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refusal:
        parse_grpc_address(target)

    assert "write grpc://host:port" in str(refusal.value)


@pytest.mark.parametrize("missing", ["grpc", "google.protobuf"])
def test_missing_libraries_are_named_with_the_remedy(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError, match=r"pip install .*\[grpc\]'"):
        require_grpc("grpc://h")


@pytest.mark.parametrize("fault", [SystemFault("Health failed with INTERNAL"), SystemBusy("later")])
def test_a_system_that_is_not_even_healthy_is_gone(
    fault: SystemFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Settings) -> MemorySystem:
        raise fault

    monkeypatch.setitem(resolver._BY_SCHEME, "grpc", fail)

    with pytest.raises(SystemGone, match="run the same command again") as caught:
        resolve_system(Settings(adapter="grpc://127.0.0.1:9"))

    assert caught.value.exit_code == 4
