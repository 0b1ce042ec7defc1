"""Compiles the gRPC services when the package is built or installed.

The result is a set of descriptors inside the package. It is not under version control: the
`.proto` files beside it are its only source.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src", "recall_bench", "systems", "grpc")
COMPILED = "services.binpb"


class CompileServices(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the descriptors before anything is packed, editable installs included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; that the file is packed, ignored by git as it is, is said in pyproject.toml."""
        compile_services(Path(self.root))


def compile_services(root: Path) -> None:
    """Write the descriptors of every `.proto` file into the package, or fail the build."""
    from grpc_tools import protoc  # type: ignore[import-untyped]

    folder = root / FOLDER
    sources = sorted(path.name for path in folder.glob("*.proto"))
    command = ["protoc", f"-I{folder}", f"--descriptor_set_out={folder / COMPILED}", *sources]
    if protoc.main(command) != 0:
        raise SystemExit(f"protoc could not compile {', '.join(sources)} in {folder}")
