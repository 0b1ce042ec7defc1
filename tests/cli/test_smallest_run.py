"""The smallest real run imports little: what it does not use is imported where it is used."""

import subprocess
import sys
from pathlib import Path

MOST_FILES, MOST_LINES = 120, 25_000
"""Without empty files; fifteen of them are the declarations of features."""

SENDERS = "recall_bench.features.models.batch_senders"
"""Of features nothing else but declarations: a command notes whether a model sends batches."""

COUNT = """
import sys
from pathlib import Path

import recall_bench
from recall_bench.cli.main import main

try:
    main()
except SystemExit as end:
    assert not end.code, end.code
home = Path(recall_bench.__file__).parent
sizes = {
    name: len(Path(module.__file__).read_text(encoding="utf-8").splitlines())
    for name, module in list(sys.modules.items())
    if name.startswith("recall_bench") and module.__file__
}
print("\\nFILES", sum(size > 0 for size in sizes.values()), sum(sizes.values()))
print("NAMES", *sizes)
"""


def test_the_smallest_run_imports_little(tmp_path: Path) -> None:
    words = ["run", "--adapter", "none", "--judge", "stub", "--personas", "executive-assistant"]
    words += ["--into", str(tmp_path / "run"), "--no-page", "--no-heatmap-png"]
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    files, lines = map(int, done.stdout.partition("\nFILES ")[2].splitlines()[0].split())
    names = set(done.stdout.partition("\nNAMES ")[2].split())

    assert files <= MOST_FILES
    assert lines <= MOST_LINES
    parts = {name.split(".")[1] for name in names if name.count(".")}
    assert not {"testing", "library"} & parts
    assert "recall_bench.systems.builtin.retrieval" not in names
    code = [name for name in names if name.startswith("recall_bench.features.")]
    assert {name for name in code if name.count(".") > 2} <= {SENDERS}
    assert "recall_bench.reporting.publication" not in names
