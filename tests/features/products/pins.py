"""What the requirement files of products say."""

from pathlib import Path

ROOT = Path(__file__).parents[3]


def pinned(name: str) -> dict[str, str]:
    """The version of every package in a product's environment."""
    lines = (ROOT / "products" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line.split("#")[0].strip() for line in lines]
    return dict(line.split("==", 1) for line in wanted if line)
