"""The page is one file: whole, the same for the same run, and bound to no address."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.pages import document
from recall_bench.reporting.pages.page import write_page
from tests.reporting.charts.sample_report import empty_report, sampled_report
from tests.reporting.pages.sample_pages import ada_run, page_of


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return ada_run(tmp_path / "run").open()


@pytest.fixture(autouse=True)
def _no_charting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script that draws charts takes seconds to bundle, and is run by no test here."""
    monkeypatch.setattr("recall_bench.reporting.pages.page.load_vega_script", lambda: "draw();")


def test_the_same_run_gives_the_same_bytes(folder: RunFolder, tmp_path: Path) -> None:
    one, other = (page_of(folder, tmp_path / name) for name in ("a.html", "b.html"))

    assert one.read_bytes() == other.read_bytes()


def test_it_names_no_address(folder: RunFolder, tmp_path: Path) -> None:
    text = page_of(folder, tmp_path / "a.html").read_text(encoding="utf-8")

    assert re.findall(r"""\b(?:src|href|action)\s*=\s*["']?[^"'#\s]""", text) == []
    assert re.findall(r"\bhttps?://", text) == []
    assert "@import" not in text
    assert "url(" not in text


def test_the_policy_lets_in_the_scripts_of_the_page_and_no_other(
    folder: RunFolder, tmp_path: Path
) -> None:
    text = page_of(folder, tmp_path / "a.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)

    rules = dict(rule.split(" ", 1) for rule in policy.replace("&#x27;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"{digest(script)} {digest('draw();')}"
    assert rules["style-src-elem"] == digest(style)
    assert "unsafe-eval" not in policy


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_a_run_that_must_not_be_believed_says_so_first(folder: RunFolder, tmp_path: Path) -> None:
    report = sampled_report(3)
    header = report.header.replace(
        is_stub=True, status=RunStatus.INVALID, reason="too many failed", notices=("beware",)
    )
    table, output = read_trials(folder), tmp_path / "a.html"

    write_page(
        output, report.replace(header=header), folder=folder, table=table, leaves={}, stories={}
    )

    text = output.read_text(encoding="utf-8")
    places = [text.index(word) for word in (">STUB<", ">INVALID<", "Too many failed.", "beware")]
    assert places == sorted(places)
    assert places[-1] < text.index('class="headlines"')


def test_a_report_without_figures_is_a_page_all_the_same(folder: RunFolder, tmp_path: Path) -> None:
    table, output = read_trials(folder), tmp_path / "a.html"

    write_page(output, empty_report(), folder=folder, table=table, leaves={}, stories={})

    assert "Nothing was judged." in output.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = page_of(folder, tmp_path / "a.html")
    before = output.read_bytes()

    def broken(_: object, __: object) -> object:
        raise UsageError("no room")

    monkeypatch.setattr("recall_bench.reporting.pages.trial_blocks.encode_block", broken)
    with pytest.raises(UsageError):
        page_of(folder, output)

    assert output.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["a.html"]


def test_every_static_file_is_part_of_the_page() -> None:
    static = Path(str(document.__file__)).parent / "static"
    named = {f"{name}.js" for _, name in document.REPORT_ASSETS.scripts} | {
        f"{name}.css" for _, name in document.REPORT_ASSETS.styles
    }

    assert {each.name for each in static.iterdir()} == named


def test_no_script_of_the_page_writes_markup() -> None:
    static = Path(str(document.__file__)).parent / "static"

    for script in static.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in text, f"{script.name}: {way}"
