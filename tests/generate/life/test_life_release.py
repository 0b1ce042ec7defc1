"""A shipped life edition is built when it is released or asked for, and not before."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.datasets.lint.lint_corpus import LintFinding, Severity
from recall_bench.datasets.lint.lint_report import LintReport
from recall_bench.generate import worlds
from recall_bench.generate.life import sufficiency
from recall_bench.generate.life.build import write_life
from recall_bench.generate.shipped_personas import ShippedCorpus
from recall_bench.generate.verification.findings import VerificationReport
from tests.commands import Invoke
from tests.generate.life.played_library import play_library

SOURCES = Path(__file__).parent / "tool-library"
ARCS = "arcs-200d.yaml"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that ships the tool library, as a first edition only."""
    shutil.copytree(SOURCES, tmp_path / "tool-library")
    (tmp_path / "tool-library" / "routine.yaml").touch()
    monkeypatch.setattr(worlds, "SOURCES", tmp_path)
    monkeypatch.setattr(worlds, "load_catalogue", lambda: make_catalogue(edition=1))
    return tmp_path / "tool-library" / "life-200d"


def make_catalogue(edition: int) -> dict[str, dict[str, ShippedCorpus]]:
    corpus = ShippedCorpus(digest="0" * 64, days=138, questions=237, edition=edition)
    return {"tool-library": {ARCS: corpus}}


def test_an_edition_that_is_not_released_is_found_only_by_its_number(shipped: Path) -> None:
    assert worlds.find_life_story("tool-library", ARCS) is None
    assert worlds.find_life_story("tool-library", ARCS, 2) == shipped


def test_a_released_edition_is_the_newest(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "load_catalogue", lambda: make_catalogue(edition=2))

    assert worlds.find_life_story("tool-library", ARCS) == shipped


@pytest.fixture
def complete(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A package whose life edition is complete; what a release writes is kept."""
    written: dict[str, Any] = {}

    def build(persona: str, out: Path, **asked: Any) -> Path:
        # Another seed stands for the first edition.
        write_life(play_library(0 if asked["edition"] == 2 else 1), out / persona)
        return out / persona

    monkeypatch.setattr(worlds, "build_world", build)
    monkeypatch.setattr(sufficiency, "find_shortages", lambda _: [])
    monkeypatch.setattr(worlds, "load_earlier_editions", dict)

    def keep(newest: Any, earlier: Any) -> None:
        written.update(new=newest, old=earlier)

    monkeypatch.setattr(worlds, "write_catalogue", keep)
    return written


def test_a_release_keeps_the_edition_that_it_replaces(
    complete: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds, "_require_sound", lambda _: None)

    worlds.record_release(["tool-library"])

    newest, earlier = (complete[age]["tool-library"][ARCS] for age in ("new", "old"))
    assert (newest.edition, earlier.edition) == (2, 1)
    assert newest.digest != earlier.digest


def test_an_edition_with_a_remark_is_not_released(
    complete: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def remark(_: worlds.World) -> worlds.WorldReport:
        finding = LintFinding(
            code="answer-known-early", severity=Severity.WARNING, message="early", file="day 3"
        )
        lint = LintReport(
            persona="x", arcs=ARCS, days=1, questions=1, figures=(), findings=(finding,)
        )
        proof = VerificationReport(questions=1, rederived=1, findings=())
        return worlds.WorldReport(persona="x", arcs=ARCS, proof=proof, lint=lint)

    monkeypatch.setattr(worlds, "verify_and_lint", remark)

    with pytest.raises(DataError, match=r"tool-library arcs-200d\.yaml is not released"):
        worlds.record_release(["tool-library"])
    assert complete == {}


def test_only_shipped_personas_are_released(shipped: Path) -> None:
    with pytest.raises(UsageError, match="nobody is not a shipped persona; there is tool-library"):
        worlds.record_release(["nobody"])


def test_the_command_builds_a_folder_and_checks_it(tmp_path: Path, invoke: Invoke) -> None:
    built = invoke(
        "world", "build", "--persona", str(SOURCES / "life-200d"), "--into", str(tmp_path)
    )
    checked = invoke("world", "check", str(tmp_path / "tool-library"))

    assert (built.code, checked.code) == (0, 0), built.err + checked.out
    assert "answers re-derived, 0 findings" in checked.out


def test_knobs_of_the_first_edition_are_refused(tmp_path: Path, invoke: Invoke) -> None:
    built = invoke(
        "world", "build", "--persona", str(SOURCES / "life-200d"), "--into", str(tmp_path),
        "--density", "2",
    )  # fmt: skip

    assert built.code == 2
    assert "--density: a life edition has no such knob" in built.err
