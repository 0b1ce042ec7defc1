"""What the pages show as output is what the commands on them print today."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from recall_bench.judging.judges import resolve_judge
from tests.commands import Invoke
from tests.sketched_pictures import sketch_matrix
from tests.test_docs import PAGES, ROOT, blocks, shell_lines

CHECKED = ("compare", "gate", "matrix")
"""Pages under `how-to` whose commands take seconds."""
GATE_CODES = (0, 11)


def list_commands(path: Path) -> list[list[str]]:
    """The commands whose output is shown; not those that need hours, or files of the reader."""
    words = [shlex.split(line)[1:] for line in shell_lines(path)]
    return [each for each in words if not {"executive-assistant", "--rules"} & {*each}]


def list_samples(path: Path) -> list[str]:
    """The lines that are shown, without those that differ from machine to machine."""
    shown = [block for block in blocks(path, "text") if not block.startswith("error:")]
    lines = [line for block in shown for line in block.splitlines()]
    return [line for line in lines if line.strip(" …") and not re.search(r"\d ms\b", line)]


def squeeze(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_samples_are_what_the_commands_print(
    invoke: Invoke, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether the doctor ever examined the built-ins on this machine is no part of the samples.
    monkeypatch.setattr("recall_bench.engine.job.load_diagnosis", lambda _: None)
    sketch_matrix(monkeypatch)
    page = ROOT / f"docs/how-to/{name}.md"
    Path("docs/examples").mkdir(parents=True)
    shutil.copy(ROOT / "docs/examples/matrix.yaml", "docs/examples")

    printed = []
    for words in list_commands(page):
        shown = invoke(*words)
        assert shown.code in GATE_CODES, (words, shown.err)
        printed.append(shown.out)
    lines = {squeeze(line) for out in printed for line in out.splitlines()}

    stale = [line for line in list_samples(page) if squeeze(line) not in lines]
    assert stale == [], f"copy them again from the commands in {page.name}"


def test_samples_are_by_the_judge_of_today() -> None:
    version = resolve_judge("offline").card.version
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in PAGES
        if "how-to" in path.parts or "tutorial" in path.parts
        for block in (*blocks(path, "text"), *blocks(path, "json"))
        for line in block.splitlines()
        for said in re.findall(r"\boffline (\d+)\b", line)
        if said != version
    ]

    assert found == []
