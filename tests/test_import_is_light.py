"""`--help` answers at once because it imports next to nothing."""

import pytest

from tests.imports import imported_by

HEAVY = {
    "anyio",
    "bm25s",
    "filelock",
    "grpc",
    "msgspec",
    "numpy",
    "ray",
    "scipy",
    "rich",
    "vl_convert",
    "wordllama",
    "yaml",
}


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import recall_bench", set()),
        ("import recall_bench.cli.main", set()),
        ("import recall_bench.cli.run", {"msgspec"}),
        ("import recall_bench.stories.persona_list", {"msgspec", "filelock"}),
        (
            "from recall_bench.stories.persona_list import list_personas; list_personas()",
            {"msgspec", "filelock", "yaml"},
        ),
        ("import tests.faulty.agent_server", {"msgspec"}),
        ("import recall_bench.engine.executor", {"anyio", "filelock", "msgspec"}),
    ],
)
def test_nothing_heavy_is_imported_early(statement: str, allowed: set[str]) -> None:
    assert imported_by(statement) & HEAVY <= allowed


def test_the_list_names_things_that_would_be_noticed() -> None:
    assert "msgspec" in imported_by("import recall_bench.core.record")
