"""A figure from the cache is the one that would be computed, and nothing depends on having it."""

import stat
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType

import msgspec
import numpy as np
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import Verdict
from recall_bench.metrics import estimate, trend
from recall_bench.metrics.bootstrap import group_trials
from recall_bench.metrics.estimate import KNOWN_GRIDS
from recall_bench.metrics.known_figures import KnownFigures
from recall_bench.metrics.trend import Trend, estimate_grouped_trend
from recall_bench.reporting.gate import run_gate
from recall_bench.reporting.gate.gate_rules import GateRules
from recall_bench.running import run_verification
from recall_bench.running.run_verification import StoryFinder
from recall_bench.runs import figure_cache, sealed_file
from recall_bench.runs.estimates import Heatmap, RunEstimates, build_heatmaps
from recall_bench.runs.figure_cache import forget_figures, write_figures
from recall_bench.runs.run_cache import open_run_folder
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.sealed_file import FIGURES
from tests.written_runs import INVENTED, PERFECT, POOR, ada_story, trial

Figures = tuple[tuple[Heatmap, ...], Trend | None]


def compute(folder: RunFolder) -> Figures:
    """Figures of each kind that is kept, one of them of the run."""
    rng = Random(3)
    names = [str(number % 10) for number in range(40)]
    line = estimate_grouped_trend(
        np.array([rng.randrange(7) for _ in names], np.float64),
        np.arange(40),
        group_trials(names, ["ada"] * 40),
        seed=3,
        limits=(0.0, 6.0),
        at=(2000, 7.5),
        resamples=200,
    )
    return (
        build_heatmaps(folder),
        line,
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a cache of figures, which this process has forgotten."""
    monkeypatch.setattr(sealed_file, "MIN_BYTES", 0)
    story = ada_story(tmp_path / "run")
    for each, verdict in (("cat", PERFECT), ("dog", POOR)):
        story.both(trial(each), verdict)
        story.both(trial(each, "4d"), verdict)
    folder = story.open()
    forget_figures()
    compute(folder)
    write_figures(folder)
    assert (folder.path / FIGURES).exists()
    forget_figures()
    return folder.path


@pytest.fixture
def refuse_resampling(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it to make every resampling fail."""

    def refuse() -> None:
        def fail(*_: object, **__: object) -> None:
            raise AssertionError("resampled")

        monkeypatch.setattr(estimate, "_estimate_ratios", lambda ratios: fail() if ratios else [])
        monkeypatch.setattr(trend, "_draw_lines", fail)

    return refuse


def rewrite(path: Path, **changes: object) -> None:
    """Change the content of a cache, and seal it again."""
    content = sealed_file.read_sealed_file(path, figure_cache._MAGIC)
    assert content is not None
    found = msgspec.msgpack.decode(content) | changes
    sealed_file.write_sealed_file(path, figure_cache._MAGIC, msgspec.msgpack.encode(found))


def write_nested(path: Path) -> None:
    """Write a cache whose figures are a list in a list, and so on, which no reader goes through."""
    depth = 200_000
    figures = {"code": figure_cache._describe_code(), "figures": {}}
    content = msgspec.msgpack.encode(figures)
    assert content.endswith(b"\x80")
    nested = content[:-1] + b"\x81\xa9estimates" + b"\x91" * depth + b"\x90"
    sealed_file.write_sealed_file(path, figure_cache._MAGIC, nested)


def test_figures_are_looked_up_and_the_same_to_the_byte(
    run: Path, refuse_resampling: Callable[[], None]
) -> None:
    expected = msgspec.json.encode(compute(RunFolder.open(run)))
    forget_figures()

    refuse_resampling()
    found = compute(open_run_folder(run))

    assert msgspec.json.encode(found) == expected
    assert b'"days":2000,' in expected


def test_what_must_not_be_believed_computes_them(
    run: Path, refuse_resampling: Callable[[], None]
) -> None:
    refuse_resampling()

    with pytest.raises(AssertionError, match="resampled"):
        compute(RunFolder.open(run))
    open_run_folder(run)
    forget_figures()
    with pytest.raises(AssertionError, match="resampled"):
        compute(RunFolder.open(run))


def test_figures_of_somebody_else_are_computed_again(
    run: Path,
    refuse_resampling: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = sealed_file.read_sealed_file(run / FIGURES, figure_cache._MAGIC)
    assert content is not None
    with monkeypatch.context() as theirs:
        theirs.setenv("RECALL_BENCH_CACHE", str(tmp_path / "theirs"))
        sealed_file.write_sealed_file(run / FIGURES, figure_cache._MAGIC, bytes(content))

    refuse_resampling()

    with pytest.raises(AssertionError, match="resampled"):
        compute(open_run_folder(run))
    sealed_file.write_sealed_file(run / FIGURES, figure_cache._MAGIC, bytes(content))
    compute(open_run_folder(run))


def test_the_key_of_a_user_is_readable_by_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    sealed_file.write_sealed_file(tmp_path / "file", b"magic", b"content")

    [key] = (tmp_path / "cache").iterdir()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    content = sealed_file.read_sealed_file(tmp_path / "file", b"magic")
    assert content is not None
    assert bytes(content) == b"content"
    key.write_bytes(b"")
    with pytest.raises(OSError, match="is not a key"):
        sealed_file.read_sealed_file(tmp_path / "file", b"magic")


@pytest.mark.parametrize(
    ("module", "check"),
    [
        (run_gate, lambda folder: run_gate.check_run(folder, None, GateRules())),
        (
            run_verification,
            lambda folder: run_verification.verify_folder(folder, StoryFinder(folder.plan)),
        ),
    ],
    ids=["gate", "verify"],
)
def test_a_check_forgets_figures_first(
    run: Path,
    module: ModuleType,
    check: Callable[[RunFolder], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def note() -> None:
        raise InterruptedError

    monkeypatch.setattr(module, "forget_figures", note)

    with pytest.raises(InterruptedError):
        check(RunFolder.open(run))


def test_a_name_that_is_too_long_is_reported_as_without_a_cache() -> None:
    with pytest.raises(UsageError):
        open_run_folder(Path("a" * 300))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-3]), id="cut short"),
        pytest.param(lambda path: path.write_bytes(b"something else"), id="foreign"),
        pytest.param(lambda path: rewrite(path, code="other"), id="other code"),
        pytest.param(lambda path: rewrite(path, figures={"estimates": 1}), id="other types"),
        pytest.param(lambda path: rewrite(path, figures=[]), id="other structure"),
        pytest.param(write_nested, id="nested"),
    ],
)
def test_a_cache_that_is_damaged_or_foreign_is_written_anew(
    run: Path, spoil: Callable[[Path], object]
) -> None:
    expected = compute(RunFolder.open(run))
    whole = (run / FIGURES).read_bytes()
    spoil(run / FIGURES)
    forget_figures()

    folder = open_run_folder(run)

    assert compute(folder) == expected
    write_figures(folder)
    assert (run / FIGURES).read_bytes() == whole


def test_the_means_of_a_heatmap_are_looked_up_together(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build_heatmaps(RunFolder.open(run))
    forget_figures()

    def fail(*_: object) -> None:
        raise AssertionError("a figure was looked up by itself")

    monkeypatch.setattr(RunEstimates, "_tally_column", fail)

    assert build_heatmaps(open_run_folder(run)) == expected


@pytest.mark.parametrize("marks", [{"cat": POOR}, {"dog": PERFECT}, {"cat": INVENTED}])
def test_the_heatmap_of_another_run_is_not_taken_for_its_own(
    run: Path, tmp_path: Path, marks: dict[str, Verdict]
) -> None:
    story = ada_story(tmp_path / "other")
    for name, verdict in ({"cat": PERFECT, "dog": POOR} | marks).items():
        story.both(trial(name), verdict)
        story.both(trial(name, "4d"), verdict)
    other = story.open()
    forget_figures()
    expected = build_heatmaps(RunFolder.open(other.path))
    forget_figures()

    own = build_heatmaps(open_run_folder(run))

    assert build_heatmaps(other) == expected
    assert own != expected


def test_nothing_is_written_where_every_figure_was_known(run: Path) -> None:
    folder = open_run_folder(run)
    compute(folder)
    (run / FIGURES).unlink()

    write_figures(folder)

    assert not (run / FIGURES).exists()


def test_a_small_run_has_no_cache(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_file, "MIN_BYTES", 1 << 30)
    (run / FIGURES).unlink()
    folder = open_run_folder(run)
    compute(folder)

    write_figures(folder)

    assert not (run / FIGURES).exists()


def test_a_folder_that_cannot_be_written_to_has_no_cache(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    (run / FIGURES).unlink()
    monkeypatch.setattr(sealed_file, "write_shared_file", refuse)
    folder = open_run_folder(run)
    expected = compute(folder)

    write_figures(folder)

    assert not (run / FIGURES).exists()
    assert compute(folder) == expected


def test_only_a_limited_number_of_figures_is_kept() -> None:
    known = KnownFigures[float](float, max_figures=3)

    known.add({b"a": 1.0, b"b": 2.0})
    known.add({b"c": 3.0, b"d": 4.0})

    assert known.select_known([b"a", b"b", b"c", b"d"]) == {b"c": 3.0, b"d": 4.0}
    known.offer(msgspec.msgpack.encode({b"e": 5.0, b"f": 6.0}))
    known.offer(msgspec.msgpack.encode({b"g": 7.0, b"h": 8.0}))
    assert known.select_known([b"e", b"f", b"g", b"h"]) == {b"g": 7.0, b"h": 8.0}
    known.add({bytes([number]): 0.0 for number in range(4)})
    assert known.select_known([b"\0", b"\3"]) == {}
    for number in range(20):
        known.offer(msgspec.msgpack.encode({b"%d" % number: 1.0}))
        assert known.select_known([b"%d" % number])
        assert len(known._used) <= 4


def test_a_grid_counts_as_many_figures_as_it_holds() -> None:
    known = KnownFigures[tuple[float, ...]](tuple[float, ...], max_figures=5, count=len)
    few, many = (1.0, 2.0), (3.0, 4.0, 5.0)

    known.add({b"few": few})
    known.add({b"many": many})
    assert known.select_known([b"few", b"many"]) == {b"few": few, b"many": many}

    known.add({b"one": (6.0,)})
    assert known.select_known([b"few", b"many", b"one"]) == {b"one": (6.0,)}
    known.offer(msgspec.msgpack.encode({b"too many": 2 * many}))
    assert known.select_known([b"too many"]) == {}


def test_the_figures_of_heatmaps_are_limited_like_others() -> None:
    """A grid has a figure for each category at each checkpoint: thousands in a long run."""
    grid = (None,) * 40_000
    forget_figures()

    KNOWN_GRIDS.add({b"first": grid})
    KNOWN_GRIDS.add({b"second": grid})

    assert KNOWN_GRIDS.select_known([b"first", b"second"]) == {b"second": grid}
    forget_figures()


def test_a_further_report_leaves_the_figures_that_the_cache_has() -> None:
    known = KnownFigures[float](float)
    known.add({b"of the run": 1.0})
    before = known.encode()
    known.add({b"of the report": 2.0})

    assert msgspec.msgpack.decode(known.encode(before)) == {
        b"of the run": 1.0,
        b"of the report": 2.0,
    }


def test_a_cache_holds_what_one_run_used() -> None:
    known = KnownFigures[float](float)
    known.add({b"first run": 1.0})
    known.encode()
    known.add({b"second run": 2.0})

    assert msgspec.msgpack.decode(known.encode()) == {b"second run": 2.0}
    assert known.select_known([b"first run"]) == {b"first run": 1.0}
