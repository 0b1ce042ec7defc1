"""Every feature can be taken out: the kernel runs, reports and passes its tests without it."""

import subprocess
import sys
from pathlib import Path

import pytest

import recall_bench

ROOT = Path(__file__).parents[2]
FEATURES = sorted(
    path.parent.name
    for path in (Path(recall_bench.__file__).parent / "features").glob("*/__init__.py")
)


def test_the_kernel_does_without_any_of_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.features.removal", str(tmp_path), *FEATURES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    missed = done.stdout.split()

    assert done.returncode == 0, done.stderr
    assert {name: (tmp_path / f"{name}.log").read_text() for name in missed} == {}


@pytest.mark.parametrize("name", FEATURES)
def test_it_lies_in_three_places_and_a_line(name: str) -> None:
    """Its package, its tests, its page, and its entry point."""
    assert (ROOT / "tests" / "features" / name).is_dir()
    assert (ROOT / "docs" / "features" / f"{name}.md").is_file()
    points = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert points.count(f"recall_bench.features.{name}:") == 1
