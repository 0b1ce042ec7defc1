"""Where there is no server of ours, one sentence says what there is instead and what to do."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc
import pytest

from recall_bench.core.errors import BenchError, SystemGone, UsageError
from recall_bench.core.scenario import Episode, compute_story_date
from recall_bench.features.serving.grpc_server import ServerCertificate
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from tests.conftest import EPOCH
from tests.features.serving.grpc_server import Cabinet, hosting

pytestmark = pytest.mark.anyio

DAY = Episode(id="day-0001", day=1, at=compute_story_date(EPOCH, 1), text="The cat is Fig.")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    return signed(tmp_path_factory.mktemp("tls"), "DNS:localhost,IP:127.0.0.1")


def signed(folder: Path, names: str) -> ServerCertificate:
    """A certificate that vouches for itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    made = ServerCertificate(chain=folder / "cert.pem", key=folder / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=recall-bench test"]
    command += ["-addext", f"subjectAltName={names}"]
    command += ["-keyout", str(made.key), "-out", str(made.chain)]
    subprocess.run(command, check=True, capture_output=True)
    return made


async def refusal(connecting: Awaitable[object]) -> str:
    """The sentence with which a server is refused."""
    with pytest.raises(SystemGone) as gone:
        await connecting
    assert "\n" not in str(gone.value)
    return str(gone.value)


@asynccontextmanager
async def saying(words: bytes) -> AsyncIterator[int]:
    """The port of a listener that says this to whatever it hears, and hangs up."""

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read(1)
            writer.write(words)
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.mark.parametrize("scheme", ["grpc", "grpcs"])
async def test_an_address_without_a_server_is_gone(scheme: str) -> None:
    async with saying(b"") as port:
        pass
    said = await refusal(connect_grpc_system(f"{scheme}://127.0.0.1:{port}", connect_timeout_s=0.2))

    assert f"nothing can be reached at {scheme}://127.0.0.1:{port}" in said
    assert "start the server" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        (b"<!DOCTYPE HTML>\n<html>", "<!DOCTYPE HTML> <html>"),
        (b"220 mail.example.org\r\n", "220 mail.example.org"),
    ],
    ids=["HTTP", "HTML", "mail"],
)
async def test_a_server_of_something_else_is_quoted(words: bytes, says: str) -> None:
    async with saying(words) as port:
        said = await refusal(connect_grpc_system(f"grpc://127.0.0.1:{port}"))

    assert f"127.0.0.1:{port} is not a gRPC server: it sends {says!r}" in said


async def test_a_server_that_disconnects_may_need_tls() -> None:
    async with saying(b"") as port:
        said = await refusal(connect_grpc_system(f"grpc://127.0.0.1:{port}"))

    assert "closes the connection at once" in said
    assert "write grpcs:// if it needs TLS" in said


async def test_plaintext_to_a_tls_server_suggests_grpcs(
    certificate: ServerCertificate,
) -> None:
    async with hosting(Cabinet(), tls=certificate) as port:
        said = await refusal(connect_grpc_system(f"grpc://127.0.0.1:{port}"))

    assert "write grpcs://" in said


async def test_a_tls_alert_is_recognised() -> None:
    async with saying(b"\x15\x03\x01\x00\x02\x02\x46") as port:
        said = await refusal(connect_grpc_system(f"grpc://127.0.0.1:{port}"))

    assert said == f"grpc://127.0.0.1:{port} speaks TLS; write grpcs://"


async def test_tls_to_a_plaintext_server_suggests_grpc() -> None:
    async with hosting(Cabinet()) as port:
        said = await refusal(connect_grpc_system(f"grpcs://127.0.0.1:{port}"))

    assert f"grpcs://127.0.0.1:{port} does not speak TLS" in said
    assert "write grpc:// if it is a plaintext server" in said


async def test_tls_to_an_http_server_is_refused_at_once() -> None:
    async with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        said = await refusal(connect_grpc_system(f"grpcs://127.0.0.1:{port}"))

    assert "does not speak TLS" in said


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_with_its_authority_trusted_everything_works(
    host: str, certificate: ServerCertificate
) -> None:
    cabinet = Cabinet()

    async with hosting(cabinet, tls=certificate) as port:
        system = await connect_grpc_system(f"grpcs://{host}:{port}", ca=certificate.chain)
        card = system.card
        memory = await system.open("ada")
        await memory.ingest(DAY.replace(text="x" * 3_000_000))
        await memory.close()
        await system.close()

    assert card.name == "cabinet"
    assert [len(each.text) for each in cabinet.opened[0].lived] == [3_000_000]


async def test_a_server_restarted_behind_tls_is_noticed(certificate: ServerCertificate) -> None:
    async with hosting(Cabinet(), tls=certificate) as port:
        system = await connect_grpc_system(f"grpcs://127.0.0.1:{port}", ca=certificate.chain)
        memory = await system.open("ada")

    async with hosting(Cabinet(), port=port, tls=certificate):
        with pytest.raises(SystemGone, match="the connection was lost"):
            await memory.ingest(DAY)
        await system.close()


async def test_a_server_with_an_untrusted_certificate_is_refused(
    certificate: ServerCertificate,
) -> None:
    async with hosting(Cabinet(), tls=certificate) as port:
        said = await refusal(connect_grpc_system(f"grpcs://127.0.0.1:{port}"))

    assert "cannot be verified (self" in said
    assert "--grpc-ca" in said


async def test_a_certificate_of_another_authority_is_refused(
    certificate: ServerCertificate, tmp_path: Path
) -> None:
    other = signed(tmp_path, "DNS:localhost,IP:127.0.0.1")

    async with hosting(Cabinet(), tls=certificate) as port:
        said = await refusal(connect_grpc_system(f"grpcs://127.0.0.1:{port}", ca=other.chain))

    assert "cannot be verified" in said


async def test_a_certificate_made_out_to_another_name_is_refused(tmp_path: Path) -> None:
    certificate = signed(tmp_path, "DNS:memory.example.org")

    async with hosting(Cabinet(), tls=certificate) as port:
        said = await refusal(connect_grpc_system(f"grpcs://127.0.0.1:{port}", ca=certificate.chain))

    assert "IP address mismatch" in said
    assert "use a host name in the certificate" in said


async def test_a_grpc_server_without_our_service_is_reported_as_one() -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    with pytest.raises(BenchError) as refused:
        await (await connect_grpc_system(f"grpc://127.0.0.1:{port}")).open("ada")
    await server.stop(None)

    assert isinstance(refused.value, UsageError)
    assert str(refused.value) == (
        f"grpc://127.0.0.1:{port} is a gRPC server, but serves neither "
        "recall.bench.MemoryBenchService nor recall.bench.v2.MemoryBenchService; "
        "check the port"
    )
