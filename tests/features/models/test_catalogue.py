"""The catalogue of providers is the library's own, and is read without the library."""

import ast
import importlib.util
import inspect
import re
import tomllib
from functools import cache
from importlib.metadata import metadata
from pathlib import Path
from typing import get_args

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.models.model_spec import ModelSpec, parse_spec
from recall_bench.features.models.provider_catalogue import BUNDLED, PROVIDERS, UNUSABLE
from recall_bench.features.models.provider_model import open_model
from tests.loops import loop_over

pytest.importorskip("pydantic_ai")

UPSTREAM = {name: facts for name, facts in PROVIDERS.items() if not name.startswith("gateway/")}


@cache
def known_to_the_library() -> dict[str, str]:
    """Every provider the library names, and the module it imports for it."""
    from pydantic_ai.providers import infer_provider_class

    tree = ast.parse(inspect.getsource(infer_provider_class))
    match = next(node for node in ast.walk(tree) if isinstance(node, ast.Match))
    return {
        name: next(n.module for n in case.body if isinstance(n, ast.ImportFrom) and n.module)
        for case in match.cases
        for name in re.findall(r"'([^']+)'", ast.unparse(case.pattern))
    }


def source_of(provider: str) -> str:
    name = known_to_the_library()[provider]
    found = importlib.util.find_spec(f"pydantic_ai.providers.{name}")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


@cache
def list_extras() -> frozenset[str]:
    return frozenset(metadata("pydantic-ai-slim").get_all("Provides-Extra") or [])


def test_it_names_exactly_the_library_s_providers() -> None:
    assert {*UPSTREAM, *UNUSABLE} == set(known_to_the_library())


def test_it_names_exactly_the_gateway_s_upstreams() -> None:
    from pydantic_ai.providers import gateway

    upstreams = {*get_args(gateway.ModelProvider), *get_args(gateway.APIFlavor)}

    assert set(PROVIDERS) - set(UPSTREAM) == {f"gateway/{upstream}" for upstream in upstreams}


@loop_over(sorted(UPSTREAM))
def test_its_parameters_are_the_library_s(provider: str) -> None:
    facts, source = UPSTREAM[provider], source_of(provider)

    for parameter in filter(None, (facts.key_parameter, facts.url_parameter)):
        assert re.search(rf"\b{parameter}: str \| None", source), parameter


@loop_over(sorted(UPSTREAM))
def test_its_extra_is_the_library_s(provider: str) -> None:
    from pydantic_ai.providers import infer_provider_class

    extra = UPSTREAM[provider].extra

    assert extra in list_extras()
    if extra in BUNDLED:
        assert infer_provider_class(provider)
    else:
        assert f"pydantic-ai-slim[{extra}]" in source_of(provider)


@loop_over(sorted(UPSTREAM))
def test_its_variables_are_the_library_s(provider: str) -> None:
    facts, source = UPSTREAM[provider], source_of(provider)

    # The anthropic package reads its address by itself.
    for variable in {*facts.keys, *facts.urls} - {"ANTHROPIC_BASE_URL"}:
        assert re.search(rf"['\"`]{variable}['\"`]", source), variable


@loop_over(sorted(name for name, f in UPSTREAM.items() if f.url_parameter is None))
def test_no_address_is_refused_that_the_library_would_take(provider: str) -> None:
    source = source_of(provider)
    is_left_out_on_purpose = UPSTREAM[provider].key_parameter is None

    assert is_left_out_on_purpose or not re.search(r"\b(base_url|api_base): str \| None", source)


def test_the_bundled_extras_are_those_of_our_own_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    wanted = " ".join(project["project"]["optional-dependencies"]["llm"])

    assert set(re.findall(r"slim\[([\w,]+)\]", wanted)[0].split(",")) == BUNDLED


OURS = sorted(name for name, facts in PROVIDERS.items() if facts.extra in BUNDLED and facts.keys)


def spec_of(provider: str) -> ModelSpec:
    wants_url = PROVIDERS[provider].needs_url or provider.startswith(("gateway/", "snowflake"))
    spec = parse_spec(f"{provider}:maker/m{';https://host.example/v1' * wants_url}", {})
    assert spec is not None
    return spec


@loop_over(OURS)
def test_what_comes_with_our_extra_can_be_opened(provider: str) -> None:
    spec = spec_of(provider)

    assert open_model(spec, {PROVIDERS[provider].keys[0]: "sk-0123456789"}).name == spec.name


@loop_over([name for name in OURS if PROVIDERS[name].needs_key])
def test_a_key_that_is_missing_is_named(provider: str) -> None:
    with pytest.raises(UsageError, match=PROVIDERS[provider].keys[0]):
        open_model(spec_of(provider), {})
