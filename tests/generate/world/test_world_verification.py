"""What is played can be proved from its text alone, and whoever tampers with the text is caught."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from recall_bench.generate.verification.findings import VerificationCode
from recall_bench.generate.verification.verifier import verify_world
from tests.generate.world.built_bakery import Build, read_questions
from tests.thoroughness import choose_cases

STORY = "arcs-60d.yaml"


# Other tests build the first and the last of them too.
@pytest.mark.parametrize(("seed", "days"), choose_cases([(0, 200), (2, 120), (1, 60)], 2))
def test_every_answer_is_derived_again(built: Build, seed: int, days: int) -> None:
    report = verify_world(built(seed=seed, days=days), f"arcs-{days}d.yaml")

    assert report.findings == ()
    assert report.rederived == report.questions > 0.7 * days


class Tampered:
    """A copy of a built world whose text can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = read_questions(folder)

    def path(self, day: int) -> Path:
        return self.folder / "memories-60d" / f"day-{day:04}.md"

    def sentence(self, span: dict[str, Any]) -> str:
        return self.path(span["day"]).read_text(encoding="utf-8")[span["start"] : span["end"]]

    def retell(self, day: int, old: str, new: str) -> None:
        text = self.path(day).read_text(encoding="utf-8")
        assert old in text
        self.path(day).write_text(text.replace(old, new), encoding="utf-8")

    def add(self, day: int, session: str, thread: str, sentence: str) -> None:
        """Tell one thing more on this day, or the next that is told."""
        path = next(path for later in range(day, 61) if (path := self.path(later)).exists())
        text = path.read_text(encoding="utf-8")
        path.write_text(
            f"{text}\n# session: {session}\n\n### {thread}\n{sentence}\n", encoding="utf-8"
        )

    def found(self) -> set[VerificationCode]:
        return {finding.code for finding in verify_world(self.folder, STORY).findings}

    def first(self, op: str, **wanted: object) -> dict[str, Any]:
        return next(
            q
            for q in self.asked
            if q["derive"]["op"] == op
            and all(q.get(key, q["derive"].get(key)) == value for key, value in wanted.items())
        )


@pytest.fixture
def world(built: Build, tmp_path: Path) -> Tampered:
    copytree(built(), tmp_path / "bakery")
    return Tampered(tmp_path / "bakery")


def test_a_wrong_value_is_caught(world: Tampered) -> None:
    asked = world.first("value", slot="loaves", category="factual-recall")
    (span,) = asked["evidence"]
    told = world.sentence(span)
    world.retell(span["day"], told, told.replace(asked["atoms"][0], "1,000 loaves"))

    assert {VerificationCode.REFERENCE, VerificationCode.ATOMS} <= world.found()


def test_a_leaked_secret_is_caught(world: Tampered) -> None:
    asked = world.first("denied", why="secret")
    (span,) = asked["evidence"]
    name = world.sentence(span)
    world.add(span["day"] + 1, "crew", _thread(world, asked), f"{_thread(world, asked)}: {name}")

    assert VerificationCode.LEAK in world.found()


def test_an_early_correction_is_caught(world: Tampered) -> None:
    asked = world.first(
        "value", slot="price", category="contradiction-resolution", stale=["$18,400"]
    )
    world.add(5, "crew", "Deck Two", f"The price for Deck Two is {asked['atoms'][0]} by now.")

    assert VerificationCode.TOO_EARLY in world.found()


def test_a_second_answer_is_caught(world: Tampered) -> None:
    asked = world.first("value", slot="loaves", category="factual-recall")
    (span,) = asked["evidence"]
    name = _thread(world, asked)
    world.add(span["day"] + 2, "crew", name, f"In truth {name} comes to 4 loaves.")

    assert world.found() & {VerificationCode.SECOND_ANSWER, VerificationCode.REFERENCE}


def test_a_missing_day_is_caught(world: Tampered) -> None:
    asked = world.first("value", slot="loaves", category="factual-recall")
    world.path(asked["relevant_days"][0]).unlink()

    assert VerificationCode.DAY in world.found()


def _thread(world: Tampered, asked: dict[str, Any]) -> str:
    import json

    lexicon = json.loads((world.folder / "qa-60d" / "lexicon.json").read_text(encoding="utf-8"))
    return str(lexicon["threads"][asked["derive"]["thread"]]["name"])
