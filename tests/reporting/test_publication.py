"""What a report writes stays in its folder, and what draws it is ours."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
from recall_bench.reporting.publication import publish_report
from tests.reporting.conftest import Story, plan_of, question, trial

GOOD = Verdict.of(3, 2, 1)


def run_of(folder: Path, *personas: str) -> Path:
    scenarios: dict[str, Sequence[Item]] = {name: (question("cat"),) for name in personas}
    story = Story(folder, scenarios, plan_of(scenarios))
    for name in personas:
        for label in ("2d", "4d"):
            story.both(trial("cat", label, scenario=name), GOOD)
    story.end()
    return story.save()


@pytest.mark.parametrize("hostile", ["x/../../../escaped\0\x1b[31m", "long" * 100])
def test_a_persona_may_be_called_anything(tmp_path: Path, hostile: str) -> None:
    run = run_of(tmp_path / "run", "ada", hostile)
    before = set(tmp_path.rglob("*"))

    done = publish_report(run, into=tmp_path / "out", pictures=True)

    assert all(path.is_file() for path in done.files)
    written = {path for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert written == set(done.files)
    pictures = tmp_path / "out" / "pictures"
    assert {path.parent for path in done.files} == {tmp_path / "out", pictures}
    assert len(list(pictures.glob("heatmap-2-*.png"))) == 1


def test_what_lies_in_the_current_folder_draws_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path / "run", "ada")
    (tmp_path / "msgspec.py").write_text("open('executed', 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)

    publish_report(run, into=tmp_path / "out", pictures=True)

    assert not (tmp_path / "executed").exists()
