"""What people install is whole: the wheel, the source distribution, the image."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zlib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from tests.charting import copy_vega_script
from tests.dockerfile import ScratchBuild, list_context, read_dockerfile

ROOT = Path(__file__).parents[1]
COMPILED = "recall_bench/systems/grpc/services.binpb"
MADE = ("__pycache__", ".pyc", ".binpb")
"""What a checkout has besides its sources."""

PIP = """\
#!/bin/sh
# The pip of an image whose dependencies are there already. Python compiles what it imports.
case "$1" in
  wheel) exec {python} -m pip "$@" --no-build-isolation --no-index ;;
  install) exec {python} -m pip --python {target} "$@" --no-deps --no-index --no-compile ;;
esac
exit 2
"""
COMMANDS = """
import sys
import recall_bench
from recall_bench.cli.main import main
from recall_bench.systems.grpc.grpc_messages import load_messages

for words in (
    "run -p bakery-de -r 7d -o run --no-heatmap-png",
    "gate run --min-score 0",
    "view . --export pages",
):
    sys.argv = ["recall-bench", *words.split()]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 0, (words, ended.code)
load_messages()
print(recall_bench.__file__)
"""
"""In one process: to import everything takes longer than each of them."""


def list_sources(folder: Path) -> set[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in found if not any(each in name for each in MADE)}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment without packages; the dependencies of this one can be imported."""
    pytest.importorskip("hatchling")
    place = tmp_path / "environment"
    command = [sys.executable, "-m", "venv", "--without-pip", str(place)]
    subprocess.run(command, check=True)
    [packages] = place.glob("lib/python*/site-packages")
    packages.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return place


@pytest.fixture
def programs(tmp_path: Path, environment: Path) -> dict[str, str]:
    """The variables of commands for which pip and useradd are harmless."""
    folder = tmp_path / "bin"
    folder.mkdir()
    python = environment / "bin" / "python"
    scripts = {
        "pip": PIP.format(python=sys.executable, target=python),
        "useradd": '#!/bin/sh\necho "$@" > {}\n'.format(tmp_path / "useradd.txt"),
        "install": '#!/bin/sh\necho "$@" > {}\n'.format(tmp_path / "install.txt"),
    }
    for name, text in scripts.items():
        folder.joinpath(name).write_text(text)
        folder.joinpath(name).chmod(0o755)
    path = f"{folder}:{environment / 'bin'}:{os.defpath}"
    return {"PATH": path, "HOME": str(tmp_path), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.mark.slow
def test_the_image_installs_a_whole_wheel_that_runs(
    tmp_path: Path, environment: Path, programs: dict[str, str]
) -> None:
    """The steps of the Dockerfile, one by one, then the command as its user would give it."""
    stages = read_dockerfile(ROOT / "Dockerfile")
    context = tmp_path / "context"
    for name in list_context(ROOT):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, context / name)

    ScratchBuild(context, tmp_path / "roots", programs).build(stages)

    [wheel] = (tmp_path / "roots" / "build" / "wheels").glob("*.whl")
    packed = set(ZipFile(wheel).namelist())
    sources = {f"recall_bench/{name}" for name in list_sources(ROOT / "src" / "recall_bench")}
    assert sources - packed == set(), "in the checkout, not in the wheel"
    assert {name for name in packed - sources if ".dist-info/" not in name} == {COMPILED}
    [points] = [name for name in packed if name.endswith("entry_points.txt")]
    assert "recall_bench.testing.pytest_plugin" in ZipFile(wheel).read(points).decode()

    def call(program: str, *words: str) -> str:
        done = subprocess.run(
            [str(environment / "bin" / program), *words],
            cwd=work,
            env={**programs, "RECALL_BENCH_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    work = tmp_path / "work"
    work.mkdir()
    # The script of the page is no part of the wheel.
    copy_vega_script(tmp_path / "cache")
    call("recall-bench", "init")
    shown = call("python", "-c", COMMANDS)
    assert (work / "run" / "report" / "report.html").stat().st_size > 500_000
    assert "Result " in shown
    assert list((work / "pages").rglob("*.html"))
    assert Path(shown.splitlines()[-1]).is_relative_to(environment)


def test_the_image_names_no_user() -> None:
    *_, last = read_dockerfile(ROOT / "Dockerfile")

    assert last.base.endswith("-slim")
    assert json.loads(last.find("ENTRYPOINT")[0]) == ["recall-bench"]
    assert last.find("USER") == ["bench"]
    names = [step.name for step in last.steps]
    assert names.index("USER") > max(n for n, name in enumerate(names) if name == "RUN")
    assert any("useradd" in words and "bench" in words for words in last.find("RUN"))


def test_the_build_gets_the_sources_and_nothing_else() -> None:
    found = {path.as_posix() for path in list_context(ROOT)}

    assert {name for name in found if not name.startswith("src/")} == {
        *("pyproject.toml", "hatch_build.py", "constraints.txt", "README.md", "LICENSE")
    }
    assert {f"src/{name}" for name in list_sources(ROOT / "src")} == {
        name for name in found if name.startswith("src/")
    }


def test_the_source_distribution_holds_what_a_build_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist = pytest.importorskip("hatchling.builders.sdist")
    compress = zlib.compressobj
    monkeypatch.setattr(zlib, "compressobj", lambda level, *rest: compress(0, *rest))
    [path] = sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}

    wanted = {f"src/{name}" for name in list_sources(ROOT / "src")}
    wanted |= {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "Makefile"}
    assert wanted - packed == set()
    assert f"src/{COMPILED}" not in packed


def test_the_workflow_tests_and_builds_by_targets_that_exist() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    makefile = (ROOT / "Makefile").read_text()
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    targets = [words.split()[1] for words in commands if words.startswith("make ")]

    assert targets == ["test", "package"]
    assert all(f"\n{target}:" in makefile for target in targets)
    assert "-m build " in makefile
    assert "recall-bench run" in makefile.partition("\npackage:")[2].partition("\n\n")[0]
