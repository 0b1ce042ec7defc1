"""Run the built-in systems and the installed products, and build their leaderboard.

    python benchmarks/leaderboard.py SITE [--personas NAME ...] [--ranges full] [--products FOLDER]

Each system is run on one fresh seed and on the released stories; each run is bundled, repeated in
part, and verified, and the site is made of the bundles alone. The products are those that need no
key; one that is not installed is skipped with a line. A product runs in its own environment below
FOLDER (`make product NAME=…`) or in this one. A run that exists already is not repeated.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec

from recall_bench.stories.seeds import WorldSeed, parse_world_seed
from systems import PRODUCTS, ROOT, find_target

BUILT_IN = (
    *("hybrid", "bm25", "vector", "full-context", "recency"),
    *("none", "random", "placebo", "gold-passages", "oracle"),
)


def run(*words: str) -> bool:
    """Run a command; whether it succeeded."""
    command = [sys.executable, "-m", "recall_bench", *words]
    return subprocess.run(command, check=False).returncode == 0


def explain_absence(target: str) -> str | None:
    """Why a system cannot be run here; None if it can."""
    words = ("plan", "--adapter", target, "--personas", "harbour-office")
    command = [sys.executable, "-m", "recall_bench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.strip().splitlines() or ["it cannot be started"]
    return None if done.returncode == 0 else lines[-1].removeprefix("error: ")


def choose_seed(work: Path) -> str:
    """The seed of the runs that are there, or a new one, so that a repeated command goes on."""
    file = work / "seed"
    if not file.is_file():
        work.mkdir(parents=True, exist_ok=True)
        file.write_text(WorldSeed.draw().hex)
    return parse_world_seed(file.read_text()).hex


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--personas", nargs="+", default=["executive-assistant", "er-physician"])
    parser.add_argument("--ranges", default="full")
    parser.add_argument("--systems", nargs="+", default=(*BUILT_IN, *PRODUCTS))
    parser.add_argument("--products", type=Path, default=ROOT / ".products")
    parser.add_argument("--fresh-only", action="store_true", help="not the released stories")
    given = parser.parse_args()
    questions = ["--ranges", given.ranges]
    for name in given.personas:
        questions += ["--personas", name]
    work = given.site.with_name(f"{given.site.name}-submissions")
    seeds = {"fresh": ["--world-seed", choose_seed(work)], "released": []}
    if given.fresh_only:
        del seeds["released"]
    for system in given.systems:
        target = find_target(system, given.products)
        if (reason := explain_absence(target)) is not None:
            print(f"skipped {system}: {reason}", file=sys.stderr)
            continue
        for kind, words in seeds.items():
            submit(system, target, work / f"{system}-{kind}", [*questions, *words])
    run("leaderboard", "build", str(work), "--into", str(given.site))


def submit(system: str, target: str, folder: Path, words: list[str]) -> None:
    """Run a system, and make a submission of the run."""
    bundle = folder / f"{system}.bundle"
    if bundle.is_file():
        return
    run_folder = folder.with_name(f".{folder.name}")
    quiet = ["--quiet", "--no-page", "--no-heatmap-png"]
    if not run("run", "--adapter", target, *words, "--into", str(run_folder), *quiet):
        print(f"left out {system}: its run failed", file=sys.stderr)
        return
    folder.mkdir(parents=True, exist_ok=True)
    stated = {"name": system, "adapter": system}
    if (ROOT / "products" / f"{system}.txt").is_file():
        stated["install"] = f"make product NAME={system}"
    (folder / "submission.yaml").write_bytes(msgspec.yaml.encode(stated))
    if run("bundle", str(run_folder), "--into", str(bundle)):
        run("leaderboard", "replay", str(bundle), "--adapter", target)


if __name__ == "__main__":
    main()
