"""A small suite on disk: four memories, and tests whose right sets are plain."""

from pathlib import Path

from recall_bench.features.selection.bench_file import BenchTest, write_bench

MEMORIES = {
    "kiln.md": "# The kiln\n\nThe kiln trips the fuse above 1240 degrees.\n",
    "glaze.md": "# Glaze\n\nThe ash glaze wants three days to dry.\n",
    "market.md": "# Market\n\nThe Saturday market stall costs 40 a day.\n",
    "sister.md": "# Sister\n\nHer sister arrives by train in June.\n",
}

TESTS = {
    "one": (("memory/kiln.md",), "How hot may the kiln get before the fuse trips?"),
    "two": (
        ("memory/glaze.md", "memory/kiln.md"),
        "How long does the ash glaze dry, and how hot may the kiln get?",
    ),
    "quiet": ((), "Good morning!"),
}


def write_suite(folder: Path, tests: dict[str, tuple[tuple[str, ...], str]] | None = None) -> Path:
    """Write `memory` and `tests` below the folder."""
    for name, text in MEMORIES.items():
        path = folder / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, (expected, prompt) in (TESTS if tests is None else tests).items():
        path = folder / "tests" / f"{name}.bench"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write_bench(BenchTest(expected=expected, prompt=prompt)))
    return folder
