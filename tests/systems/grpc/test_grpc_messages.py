"""The messages are those that the `.proto` files declare; the first are the public ones."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.grpc import grpc_messages as module
from recall_bench.systems.grpc.grpc_messages import (
    SERVICE_V1,
    SERVICE_V2,
    load_messages,
    load_methods,
    read_descriptors,
)
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from recall_bench.testing import check_system
from tests.systems.asking import answered

FOLDER = Path(str(files("recall_bench.systems.grpc")))

PUBLIC = {
    "SetupRequest": [],
    "SetupResponse": [],
    "DayMetadata": ["int32 day_number", "string date", "string persona_id", "string* active_arcs"],
    "IngestDayRequest": ["int32 day_number", "string content", "DayMetadata metadata"],
    "IngestDayResponse": [],
    "FinalizeIngestionRequest": [],
    "FinalizeIngestionResponse": [],
    "QueryRequest": ["string question"],
    "QueryResponse": ["string answer"],
    "TeardownRequest": [],
    "TeardownResponse": [],
    "HealthcheckRequest": [],
    "HealthcheckResponse": ["string name", "bool ready"],
}
"""The public protocol as its specification writes it; fields are numbered from 1 as they stand."""

DOCUMENTED = [
    *("round-trip", "order", "empty-memory", "isolation", "reset", "readiness", "finalize"),
    *("asking", "concurrency", "unicode", "large-day"),
]
"""The clauses of the contract that hold for any server, however simply it looks for its answers."""

TYPES = {5: "int32", 8: "bool", 9: "string"}

SERVER = """
import asyncio, grpc
import memory_bench_pb2 as pb, memory_bench_pb2_grpc as stubs

class Diary(stubs.MemoryBenchServiceServicer):
    async def Setup(self, request, context):
        self.days = []
        return pb.SetupResponse()
    async def IngestDay(self, request, context):
        self.days.append(request)
        return pb.IngestDayResponse()
    async def FinalizeIngestion(self, request, context):
        return pb.FinalizeIngestionResponse()
    async def Query(self, request, context):
        day = self.days[-1]
        said = [request.question, str(day.day_number), day.content, day.metadata.date]
        said += [str(day.metadata.day_number), day.metadata.persona_id, *day.metadata.active_arcs]
        return pb.QueryResponse(answer="|".join(said))
    async def Teardown(self, request, context):
        return pb.TeardownResponse()
    async def Healthcheck(self, request, context):
        return pb.HealthcheckResponse(name="generated", ready=True)

async def main():
    server = grpc.aio.server()
    stubs.add_MemoryBenchServiceServicer_to_server(Diary(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()

asyncio.run(main())
"""


def compile_into(folder: Path, *outputs: str) -> None:
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools to compile the .proto files")
    sources = sorted(path.name for path in FOLDER.glob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{FOLDER}", *outputs, *sources]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)


def test_what_was_compiled_is_what_the_files_say(tmp_path: Path) -> None:
    """A failure means that a `.proto` file was edited since: run pip install --editable ."""
    compile_into(tmp_path, "--descriptor_set_out=described")

    assert read_descriptors() == (tmp_path / "described").read_bytes()


def test_a_tree_that_was_never_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DESCRIPTOR_FILE", "not-there.binpb")

    with pytest.raises(UsageError, match=r"is missing.*run pip install --editable \."):
        read_descriptors()


def spelled(field: Any) -> str:
    kind = field.message_type.name if field.message_type else TYPES[field.type]
    return f"{kind}{'*' if field.is_repeated else ''} {field.name}"


def test_the_first_version_is_the_public_protocol() -> None:
    described = {name: kind.DESCRIPTOR.fields for name, kind in load_messages().items()}

    assert {
        name: [spelled(each) for each in fields] for name, fields in described.items()
    } == PUBLIC
    for fields in described.values():
        assert [field.number for field in fields] == list(range(1, len(fields) + 1))
    for name, method in load_methods().items():
        assert method.path == f"/recall.bench.MemoryBenchService/{name}"
        assert method.request is load_messages()[f"{name}Request"]
        assert method.response is load_messages()[f"{name}Response"]
    assert list(load_methods()) == [
        *("Setup", "IngestDay", "FinalizeIngestion", "Query", "Teardown", "Healthcheck")
    ]


def test_both_versions_are_served_side_by_side() -> None:
    assert {method.path for method in load_methods(SERVICE_V1).values()}.isdisjoint(
        method.path for method in load_methods(SERVICE_V2).values()
    )


def test_the_messages_keep_out_of_the_pool_that_stubs_share() -> None:
    from google.protobuf import descriptor_pool

    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("recall.bench.QueryRequest")
    assert load_messages()["QueryRequest"].DESCRIPTOR.full_name == "recall.bench.QueryRequest"


@asynccontextmanager
async def running(folder: Path, program: str) -> AsyncIterator[int]:
    """The port of a server of generated stubs in a process of its own."""
    compile_into(folder, "--python_out=.", "--grpc_python_out=.")
    (folder / "server.py").write_text(program)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "server.py", "127.0.0.1:0"), cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield int((await process.stdout.readline()).split()[-1])
    finally:
        process.kill()
        await process.communicate()


AT = datetime(2026, 1, 2)
DAY = Episode(id="2", day=2, at=AT, text="Fig 🐈", arcs=("cat", "rain"))


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_server_of_generated_stubs_in_another_process_understands_us(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, SERVER) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        memory = await system.open("ada")
        await memory.ingest(DAY)
        await memory.settle()
        question = Question(id="1", text="Who?", asked_at=AT, scenario="ada")
        answer = await answered(memory, question)
        await memory.close()

    assert answer.text == "Who?|2|Fig 🐈|2026-01-02|2|ada|cat|rain"
    assert system.card.name == "generated"


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_server_in_the_documents_keeps_the_contract(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/grpc-server.md").read_text(encoding="utf-8")
    program = page.split("```py\n")[1].split("```")[0]

    async with running(tmp_path, program) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        report = await check_system(system, only=DOCUMENTED)
        await system.close()

    assert report.failures == ()
    assert report.seen.streams
    assert system.card.config == {"protocol": SERVICE_V2}
