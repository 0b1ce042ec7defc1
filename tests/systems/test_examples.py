"""The adapters shown in Go and TypeScript build, and pass as systems like any other."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import recall_bench

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PROTO = Path(recall_bench.__file__).parent / "systems" / "grpc" / "memory_bench.proto"
GOCODE = Path("/usr/share/gocode")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def called(*words: object, cwd: Path, **env: str) -> None:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr or done.stdout


@contextmanager
def running(words: list[str], cwd: Path) -> Iterator[None]:
    with subprocess.Popen(words, cwd=cwd, stdout=subprocess.DEVNULL) as server:
        try:
            yield
        finally:
            server.kill()


@contextmanager
def go_server(folder: Path) -> Iterator[str]:
    if not (shutil.which("go") and shutil.which("protoc") and shutil.which("protoc-gen-go-grpc")):
        pytest.skip("needs golang-go, protobuf-compiler and protoc-gen-go-grpc")
    if not (GOCODE / "src/google.golang.org/grpc").is_dir():
        pytest.skip("needs the sources of golang-google-grpc-dev")
    package = folder / "src" / "example.org" / "memory"
    stubs = package / "pb"
    stubs.mkdir(parents=True)
    shutil.copy(EXAMPLES / "go" / "main.go", package)
    build = {
        "GO111MODULE": "off",
        "GOPATH": f"{folder}:{GOCODE}",
        "GOCACHE": str(folder / "cache"),
    }
    called(
        "protoc", f"--proto_path={PROTO.parent}", f"--go_out={stubs}", f"--go-grpc_out={stubs}",
        "--go_opt=paths=source_relative", "--go_opt=import_path=pb",
        "--go-grpc_opt=paths=source_relative",
        f"--go-grpc_opt=M{PROTO.name}=example.org/memory/pb;pb", PROTO.name,
        cwd=folder,
    )  # fmt: skip
    called("go", "build", "-o", folder / "memory", ".", cwd=package, **build)
    address = f"127.0.0.1:{free_port()}"
    with running([str(folder / "memory"), address], folder):
        yield address


@contextmanager
def typescript_server(folder: Path) -> Iterator[str]:
    if not shutil.which("npm"):
        pytest.skip("needs node and npm")
    for name in ("server.ts", "package.json"):
        shutil.copy(EXAMPLES / "typescript" / name, folder)
    quiet = ("--silent", "--no-audit", "--no-fund", "--prefer-offline")
    called("npm", "install", *quiet, cwd=folder)
    types = "--noEmit --strict --module nodenext --target es2022 --skipLibCheck server.ts"
    called(folder / "node_modules" / ".bin" / "tsc", *types.split(), cwd=folder)
    address = f"127.0.0.1:{free_port()}"
    with running(["node", "--import", "tsx", "server.ts", str(PROTO), address], folder):
        yield address


@pytest.mark.parametrize("serve", [go_server, typescript_server])
def test_an_adapter_in_another_language_is_a_system(
    serve: Callable[[Path], AbstractContextManager[str]], tmp_path: Path
) -> None:
    (tmp_path / "build").mkdir()
    with serve(tmp_path / "build") as address:
        done = recall_bench.run(
            adapter=f"grpc://{address}",
            ranges="5d",
            into=tmp_path / "run",
            heatmap_png=False,
        )

    assert done.exit_code == 0
    assert done.summary.plan.system.name in {"go-lines", "ts-lines"}
    assert (done.summary.overall.mean or 0) > 1
