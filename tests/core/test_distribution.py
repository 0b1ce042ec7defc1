"""The package is installed under a name of its own; another project has the obvious one."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.distribution import (
    DISTRIBUTION,
    FOREIGN,
    find_conflicting_package,
    format_install,
    get_version,
)

ROOT = Path(__file__).parents[2]
TEXTS = ("README.md", "CONTRIBUTING.md", "Makefile", "docs/**/*", "src/**/*.py", "examples/**/*")
INSTALLS = re.compile(rf"(?:pip|uv|uvx|pipx)\s+(?:install|run)?[^\n]*(?<![\w-]){FOREIGN}(?![\w-])")


def read_project() -> dict[str, object]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(project, dict)
    return project


def test_the_installed_version_is_that_of_the_project() -> None:
    project = read_project()
    assert project["name"] == DISTRIBUTION
    assert project["dynamic"] == ["version"]
    assert recall_bench.__version__ == get_version()


def test_no_text_tells_people_to_install_the_other_project() -> None:
    files = [path for each in TEXTS for path in ROOT.glob(each) if path.is_file()]
    wrong = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in files
        if path.suffix not in (".png", ".svg", ".gz")
        for found in INSTALLS.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert len(files) > 100
    assert wrong == []


@pytest.mark.parametrize("command", ["pip install recall-bench", "uvx recall-bench run"])
def test_the_search_finds_such_a_text(command: str) -> None:
    assert INSTALLS.search(command)
    assert not INSTALLS.search(format_install("http"))
    assert not INSTALLS.search(f"pip install '{DISTRIBUTION}[http] @ git+…'")


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (None, "'agent-recall-bench[ray]'"),
        (
            {"url": "https://h.org/r", "vcs_info": {"vcs": "git", "commit_id": "a1b2"}},
            "'agent-recall-bench[ray] @ git+https://h.org/r@a1b2'",
        ),
        (
            {"url": "file:///a/one.whl", "archive_info": {}},
            "'agent-recall-bench[ray] @ file:///a/one.whl'",
        ),
        ({"url": "file:///a%20b/c", "dir_info": {"editable": True}}, "-e '/a b/c[ray]'"),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: dict[str, object] | None,
    words: str,
) -> None:
    metadata = tmp_path / "agent_recall_bench-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: agent-recall-bench\n")
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path))

    assert format_install("ray") == f"pip install {words}"


def test_the_other_project_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "recall_bench-0.2.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: recall-bench\nVersion: 0.2.1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    warning = find_conflicting_package()
    assert warning is not None
    assert "recall-bench 0.2.1 is installed beside agent-recall-bench" in warning


def test_there_is_no_warning_if_it_is_not_installed() -> None:
    assert find_conflicting_package() is None
