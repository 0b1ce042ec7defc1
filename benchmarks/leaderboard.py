"""Run the built-in systems on one fresh seed and on the released stories, and build their leaderboard.

    python benchmarks/leaderboard.py SITE [--personas NAME ...] [--ranges full]

Each run is bundled, repeated in part, and verified; the site is made of the bundles alone.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from recall_bench.generate.world_seeds import WorldSeed

SYSTEMS = ("hybrid", "bm25", "vector", "full-context", "recency", "none", "random", "gold-passages")


def run(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "recall_bench", *words], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--personas", nargs="+", default=["executive-assistant", "er-physician"])
    parser.add_argument("--ranges", default="full")
    parser.add_argument("--systems", nargs="+", default=SYSTEMS)
    given = parser.parse_args()
    personas = [word for name in given.personas for word in ("--personas", name)]
    work = given.site.with_name(f"{given.site.name}-submissions")
    seeds = {"fresh": ["--world-seed", WorldSeed.draw().hex], "released": []}
    for system in given.systems:
        for kind, words in seeds.items():
            folder = work / f"{system}-{kind}"
            into = ["--into", str(folder / "run"), "--quiet", "--no-page", "--no-heatmap-png"]
            run("run", "--adapter", system, *personas, "--ranges", given.ranges, *words, *into)
            bundle = str(folder / f"{system}.bundle")
            run("bundle", str(folder / "run"), "--into", bundle)
            run("leaderboard", "replay", bundle)
    bundles = sorted(str(path) for path in work.glob("*/*.bundle"))
    run("leaderboard", "build", *bundles, "--into", str(given.site))


if __name__ == "__main__":
    main()
