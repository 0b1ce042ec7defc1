"""The messages we build are those that `memory_bench.proto` declares, byte for byte."""

import asyncio
import subprocess
import sys
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from recall_bench.core.history import Episode
from recall_bench.core.question import Question
from recall_bench.systems.grpc.messages import file_descriptor, messages
from recall_bench.systems.grpc.system import grpc_system

PROTO = Path(str(files("recall_bench.systems.grpc") / "memory_bench.proto"))

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


def compiled(folder: Path, *outputs: str) -> None:
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools to compile the .proto file")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}", *outputs, PROTO.name]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)


def test_the_compiled_file_describes_the_same_messages_and_methods(tmp_path: Path) -> None:
    compiled(tmp_path, "--descriptor_set_out=described")
    described = FileDescriptorSet.FromString((tmp_path / "described").read_bytes()).file[0]
    for message in described.message_type:
        for field in message.field:
            field.ClearField("json_name")

    assert described == file_descriptor()


def test_the_messages_keep_out_of_the_pool_that_stubs_share() -> None:
    from google.protobuf import descriptor_pool

    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("recall.bench.QueryRequest")
    assert messages()["QueryRequest"].DESCRIPTOR.full_name == "recall.bench.QueryRequest"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_server_of_generated_stubs_in_another_process_understands_us(
    tmp_path: Path,
) -> None:
    compiled(tmp_path, "--python_out=.", "--grpc_python_out=.")
    (tmp_path / "server.py").write_text(SERVER)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "server.py", cwd=tmp_path, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        system = grpc_system(f"grpc://127.0.0.1:{port}")
        memory = await system.open("ada")
        at = datetime(2026, 1, 2)
        await memory.ingest(Episode(id="2", day=2, at=at, text="Fig 🐈", arcs=("cat", "rain")))
        await memory.settle()
        answer = await memory.answer(Question(id="1", text="Who?", asked_at=at, scenario="ada"))
        await memory.close()
    finally:
        process.kill()
        await process.communicate()

    assert answer.text == "Who?|2|Fig 🐈|2026-01-02|2|ada|cat|rain"
    assert system.card.name == "generated"
