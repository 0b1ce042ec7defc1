"""Write docs/design/size.md: the lines of the package by room, at a commit and now.

`python tools/size.py COMMIT` counts every Python line at COMMIT, by the rooms' names of that time.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/recall_bench/"
KERNEL = ("core", "text", "stories", "metrics", "systems", "judging", "engine", "reporting", "cli")


def call_git(*words: str) -> str:
    """What git prints."""
    command = ["git", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def name_room(path: str) -> str:
    """The package or the feature that a file belongs to."""
    parts = path.removeprefix(PACKAGE).split("/")
    if len(parts) == 1:
        return "(top)"
    return "/".join(parts[:2]) if parts[0] == "features" else parts[0]


def count_before(commit: str) -> Counter[str]:
    """The lines of each room at a commit."""
    listed = call_git("ls-tree", "-r", "--name-only", commit, PACKAGE).splitlines()
    paths = [path for path in listed if path.endswith(".py")]
    lines: Counter[str] = Counter()
    for path in paths:
        lines[name_room(path)] += call_git("show", f"{commit}:{path}").count("\n")
    return lines


def count_now() -> Counter[str]:
    """The lines of each room in this checkout."""
    lines: Counter[str] = Counter()
    for path in (ROOT / PACKAGE).rglob("*.py"):
        lines[name_room(str(path.relative_to(ROOT)))] += path.read_text("utf-8").count("\n")
    return lines


def render_rows(lines: Counter[str]) -> str:
    """The rooms as rows of a table, the largest first."""
    return "\n".join(f"| `{room}` | {count:,} |" for room, count in lines.most_common())


def main() -> None:
    """Write the page."""
    before, now = count_before(sys.argv[1]), count_now()
    kernel = sum(now[room] for room in KERNEL)
    features = sum(count for room, count in now.items() if room.startswith("features/"))
    page = ROOT / "docs" / "design" / "size.md"
    head, _, tail = page.read_text("utf-8").partition("<!-- made by tools/size.py -->")
    table = f"""<!-- made by tools/size.py -->

Python lines of the package, everything counted: **{sum(before.values()):,}** before,
**{sum(now.values()):,}** now, of which {kernel:,} are the kernel's and {features:,} the features'.

| before | lines |
|---|--:|
{render_rows(before)}

| now | lines |
|---|--:|
{render_rows(now)}

<!-- end -->"""
    rest = tail.partition("<!-- end -->")[2]
    page.write_text(f"{head}{table}{rest}", "utf-8")


if __name__ == "__main__":
    main()
