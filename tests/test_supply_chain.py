"""What we install is pinned by its hash, and what we ship depends on free licences alone."""

import re
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = (ROOT / ".ci" / "dev.lock", ROOT / ".ci" / "small-model.lock")
PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)

FREE = (
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MPL-2.0", "PSF-2.0",
    "Zlib",
)  # fmt: skip
WORDS = {
    "Apache Software License": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Apache 2.0": "Apache-2.0",
}
"""Classifiers of packages that name no expression."""


def read_pins(path: Path) -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in PIN.findall(path.read_text())}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_of_a_lock_has_hashes(lock: Path) -> None:
    entries = re.split(r"(?m)^(?=\w)", lock.read_text())[1:]

    assert len(entries) == len(read_pins(lock)) > 0
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_a_lock_names_no_place_to_install_from() -> None:
    for lock in LOCKS:
        assert not re.search(r"://|^-", lock.read_text(), re.MULTILINE)


def test_the_lock_has_the_versions_that_everything_was_tested_with() -> None:
    locked = read_pins(LOCKS[0]) | read_pins(LOCKS[1])
    wanted = read_pins(ROOT / "constraints.txt")

    assert {name: locked.get(name) for name in wanted} == wanted, "run `make lock`"


def test_compiled_packages_are_locked_for_several_platforms() -> None:
    """A release with wheels for other machines has more than one file of each Python version."""
    text = LOCKS[0].read_text()
    for name in ("numpy", "scipy", "msgspec", "grpcio", "pyyaml"):
        [entry] = re.findall(rf"(?m)^{name}==[^\n]*\n(?:    .*\n?)+", text)
        assert entry.count("--hash=") > 5, name


def test_ci_installs_by_hash() -> None:
    recipe = (ROOT / "Makefile").read_text()

    assert "install --require-hashes" in recipe
    assert "$(HASHED) --requirement $(LOCK)" in recipe


def test_an_audit_that_learned_nothing_of_a_package_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "dev.lock").touch()
    program = tmp_path / "build" / "audit" / "bin" / "pip-audit"
    program.parent.mkdir(parents=True)
    # As the real one behaves where nothing is known of a package.
    program.write_text('#!/bin/sh\ncase "$*" in *--strict*) exit 1 ;; esac\n')
    program.chmod(0o755)

    done = subprocess.run(
        ["make", "audit"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert "a weakness is named above, or nothing is known of a dependency" in done.stderr


def list_base_packages(name: str, known: set[str]) -> Iterator[str]:
    """A package and all that it needs without extras."""
    if canonicalize_name(name) in known:
        return
    known.add(canonicalize_name(name))
    yield name
    for text in metadata.requires(name) or []:
        needed = Requirement(text)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield from list_base_packages(needed.name, known)


def read_licences(name: str) -> list[str]:
    """The identifiers of a package's licences, of which one that is not free would be named."""
    found = metadata.metadata(name)
    said, text = (
        next(iter(found.get_all(key) or ()), "") for key in ("License-Expression", "License")
    )
    if not said and len(text) < 40:
        said = text
    elif not said and text.startswith("MIT License"):
        said = "MIT"
    if said:
        named = [name.strip(" ()") for name in re.split(r",|\bAND\b|\bOR\b", said)]
        return [WORDS.get(name, name) for name in named]
    classifiers = (each for each in found.get_all("Classifier") or [] if "License ::" in each)
    named = [each.rpartition(" :: ")[2] for each in classifiers]
    return [WORDS.get(each, each) for each in named]


def test_what_we_ship_needs_only_free_licences() -> None:
    names = list(list_base_packages("agent-recall-bench", set()))
    assert len(names) > 20

    for name in names:
        licences = read_licences(name)
        assert licences, f"{name} names no licence"
        assert set(licences) <= {*FREE, "BSD"}, f"{name}: {licences}"
