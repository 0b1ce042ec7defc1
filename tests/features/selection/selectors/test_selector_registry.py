"""A target names one selector, or a sentence says what there is."""

import os
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.features.selection.selectors.isolated_selector import IsolatedSelector
from recall_bench.features.selection.selectors.selector import Selector
from recall_bench.features.selection.selectors.selector_registry import NAMES, resolve_selector
from recall_bench.features.selection.selectors.user_selectors import CommandSelector
from tests.features.selection.memories import MEMORIES, names
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio


def resolved(target: str, folder: Path = Path(), **config: object) -> Selector:
    return resolve_selector(target, Settings(config=config, timeout_ms=2000), folder=folder)


@loop_over_rows("name", [name for name in NAMES if name != "agent"])
def test_every_built_in_is_found_by_its_name(name: str) -> None:
    assert resolved(name).card.name == name


async def test_the_baselines_pick_everything_and_nothing() -> None:
    assert await names(resolved("all"), "?") == tuple(each.name for each in MEMORIES)
    assert await names(resolved("none"), "?") == ()


def test_settings_reach_the_selector() -> None:
    assert resolved("hybrid", threshold=0.5).card.config["threshold"] == 0.5


@pytest.mark.parametrize("name", ["all", "none"])
def test_a_baseline_has_no_settings(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name!r} has no setting 'k'"):
        resolved(name, k=3)


def test_a_program_runs_in_the_folder_and_is_given_less_time_than_the_run(tmp_path: Path) -> None:
    selector = resolved("command:cat", tmp_path)

    assert isinstance(selector, CommandSelector)
    assert selector.folder == tmp_path
    assert selector.timeout_s == pytest.approx(1.95)


def test_python_is_found_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def mine(prompt, memories): return []", encoding="utf-8")

    selector = resolved(f"{path}:mine")

    assert isinstance(selector, IsolatedSelector)
    assert selector.card.name == "mine.py:mine"


@loop_over_rows(
    ("target", "said"),
    [
        ("hybird", "did you mean 'hybrid'"),
        ("zzz", "there are agent, all, bm25, hybrid, keyword, none, vector, command:PROGRAM"),
        ("./recall.sh", "a program is written 'command:./recall.sh'"),
        ("python3 pick.py", "a program is written 'command:python3 pick.py'"),
        ("cat", "a program is written 'command:cat'"),
        ("", "there are agent"),
    ],
)
def test_an_unknown_target_is_refused_with_the_known_ones(target: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolved(target)

    assert f"there is no selector {target!r}; " in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("target", [r"tools\pick", r"C:\tools\pick"])
def test_a_path_of_windows_is_a_program_there(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "altsep", "\\")

    with pytest.raises(UsageError) as refused:
        resolved(target)

    assert f"a program is written 'command:{target}'" in str(refused.value)
