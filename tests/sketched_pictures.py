"""Sketches in the place of the pictures of runs: to draw them takes ten times as long as a run.

The chart is built as ever, and files of the same names are written.
"""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.settings import Settings
from recall_bench.engine import experiment
from recall_bench.engine.runs.output_paths import PICTURES
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary
from recall_bench.reporting.heatmap.heatmap_data import build_run_heatmap
from recall_bench.reporting.heatmap.heatmap_picture import build_heatmap_spec

RUN_MODULES = (experiment,)
"""Those that call `write_views`."""

write_pictures = experiment.write_views


def write_sketches(settings: Settings, folder: RunFolder, summary: Summary) -> None:
    """Every file a run leaves beside its journal, with a text for each picture."""
    write_pictures(replace(settings, heatmap_png=False), folder, summary)
    if settings.heatmap_png:
        spec = build_heatmap_spec(build_run_heatmap(folder, summary))
        for name in PICTURES:
            replace_file(folder.path / name, str(spec["description"]).encode())


def write_sketch(
    spec: object, *paths: Path, title: str, summary: str, config: object = None
) -> None:
    """Write the words of a picture in its place."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{title}\n{summary}", encoding="utf-8")


def sketch_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the picture of a matrix, and do not draw it, while a test lasts."""
    # A feature that was taken out has no pictures.
    with suppress(ModuleNotFoundError):
        from recall_bench.features.comparison import matrix_picture

        monkeypatch.setattr(matrix_picture, "write_picture", write_sketch)


def sketch_pictures() -> None:
    """Let runs in this process draw sketches."""
    for module in RUN_MODULES:
        vars(module)["write_views"] = write_sketches
