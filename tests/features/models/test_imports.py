"""The libraries that call models are imported by the first call, and by nothing before it."""

import sys

import pytest

from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from tests.imports import imported_by
from tests.loops import loop_over_rows

HEAVY = {"anthropic", "genai_prices", "httpx2", "openai", "pydantic", "pydantic_ai", "xllamacpp"}


HELP = """
from recall_bench.cli.main import main
sys.argv = ["recall-bench", "--help"]
try:
    main()
except SystemExit:
    pass
"""


@loop_over_rows(
    "statement",
    [
        "import recall_bench",
        HELP,
        "from recall_bench.features.models import model_spec; model_spec.parse_spec('groq:m', {})",
        "import recall_bench.features.models.provider_model",
    ],
)
def test_nothing_heavy_is_imported_early(statement: str) -> None:
    assert not imported_by(statement) & HEAVY


def test_reading_a_spec_imports_nothing_but_the_declaration_and_the_standard_library() -> None:
    declared = imported_by("import recall_bench.features.models")
    new = imported_by("from recall_bench.features.models.model_spec import parse_spec") - declared

    assert new <= sys.stdlib_module_names


def test_the_list_names_things_that_would_be_noticed() -> None:
    pytest.importorskip("pydantic_ai")

    spec = parse_spec("openai:m", {})
    assert spec is not None
    open_model(spec, {"OPENAI_API_KEY": "k"})

    assert {"pydantic_ai", "openai", "httpx2"} <= set(sys.modules)
