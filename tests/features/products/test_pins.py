"""A product that is offered can be installed: by an extra, and in an environment that is pinned."""

import re
import tomllib
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from recall_bench.core import user_code
from tests.features.products.pins import ROOT, pinned
from tests.loops import loop_over_rows

PINNED = sorted(path.stem for path in (ROOT / "products").glob("*.txt"))


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return found


@loop_over_rows("name", PINNED)
def test_every_package_is_pinned_to_one_version(name: str) -> None:
    for line in (ROOT / "products" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line), line


@loop_over_rows("name", PINNED)
def test_the_pins_are_what_the_extra_and_the_base_ask_for(name: str) -> None:
    versions = {canonicalize_name(key): version for key, version in pinned(name).items()}
    extra = [Requirement(each) for each in project()["optional-dependencies"].get(name, ())]
    base = [Requirement(each) for each in project()["dependencies"]]

    assert {canonicalize_name(each.name) for each in extra} <= set(versions)
    for requirement in (*extra, *base):
        version = versions.get(canonicalize_name(requirement.name))
        assert version is None or requirement.specifier.contains(version), requirement


def test_what_a_product_needs_can_be_installed_with_its_extra() -> None:
    extras = project()["optional-dependencies"]

    for entry in user_code.list_plugins("systems"):
        if ".contrib." in entry.value and entry.load().needs:
            assert entry.load().extra in extras, entry.name


def test_every_product_is_in_the_reference_and_in_the_guide() -> None:
    reference = (ROOT / "docs/reference/products.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs/how-to/products.md").read_text(encoding="utf-8")

    for entry in user_code.list_plugins("systems"):
        if ".contrib." in entry.value:
            assert f"| `{entry.name}` |" in reference
            assert f"`{entry.name}`" in guide
