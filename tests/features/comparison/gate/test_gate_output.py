"""Text, JUnit and Markdown say the same, and no name in them can do anything."""

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from recall_bench.core.scenario import CATEGORIES
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.features.comparison.gate.gate_checks import (
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    decide_verdict,
    describe_verdict,
)
from recall_bench.features.comparison.gate.gate_output import (
    render_gate,
    render_junit,
    render_markdown_summary,
)
from recall_bench.features.comparison.gate.gate_rules import GateRules
from tests.loops import loop_over_rows

HOSTILE = (
    "a|b`c` <script>alert(1)</script> </td> ![x](http://evil.example/x.png) [y](javascript:z) "
    "@everyone\n\n# head\r\x1b[31mred\x00\ufffe\u202e\ud800 ]]> -->"
)


ODD = "a` <script>x</script> @me http://evil.example [y](http://evil.example)"
"""One mark that ends code, and what would then be obeyed."""


def subject(name: str) -> GateRun:
    return GateRun(
        folder=f"runs/{name}",
        system=f"{name} 1",
        judge="offline 2",
        started=datetime(2026, 5, 24, 12, 30, tzinfo=UTC),
        status=RunStatus.VALID,
        reason=None,
        health=None,
        score=None,
    )


def gate_of(*checks: GateCheck, name: str = "mine") -> GateReport:
    return GateReport(
        verdict=decide_verdict(checks),
        sentence=describe_verdict(checks),
        run=subject(name),
        baseline=subject("before"),
        rules=GateRules(),
        checks=checks,
        strength="a loss of 5 points of 100 would be noticed 91 times in 100",
        warnings=("in 1 of 2 categories a loss of 5 points would be noticed",),
        seed=42,
    )


KEPT = GateCheck(
    rule="min-score",
    of="overall",
    outcome=CheckOutcome.PASSED,
    said="the score is 61.0 of 100",
    value=61.0,
    limit=60.0,
    low=55.5,
    high=66.25,
    questions=80,
)
LOST = GateCheck(
    rule="category-margin",
    of="synthesis",
    outcome=CheckOutcome.FAILED,
    said="-9.0 points of 100: more than the 2 tolerated, p < 0.001",
    value=-9.0,
    limit=-2.0,
    low=-12.0,
    high=-6.5,
    questions=40,
    p_value=0.0004,
    noticed=4.25,
    power=0.9,
)
LEAKS = GateCheck(
    rule="max-leaks",
    of="overall",
    outcome=CheckOutcome.UNDECIDED,
    said="no answer could have told a secret",
    limit=0.0,
    is_least=False,
)


def test_the_verdict_comes_first_and_every_check_has_a_line() -> None:
    lines = render_gate(gate_of(KEPT, LOST, LEAKS)).splitlines()

    assert lines[3] == "Verdict      FAILED: 1 of 3 checks failed: category-margin (synthesis)"
    rows = [
        " ".join(line.split()) for line in lines if re.match(r"[a-zA-Z]{6,} {2,}\S+ {2,}", line)
    ]
    assert rows[-3:] == [
        "passed min-score overall 61.0 ≥ 60.0 55.5 to 66.3 --",
        "FAILED category-margin synthesis -9.0 ≥ -2.0 -12.0 to -6.5 < 0.001",
        "UNDECIDED max-leaks overall -- ≤ 0 -- --",
    ]
    assert any(line.startswith("FAILED category-margin (synthesis): -9.0 points") for line in lines)
    assert max(map(len, lines)) <= 100


def test_the_longest_category_is_shown_whole() -> None:
    longest = max(CATEGORIES, key=len)
    checks = (LOST.replace(of=longest), LOST.replace(rule="hallucination-margin"))
    insignificant = LOST.replace(outcome=CheckOutcome.PASSED, p_value=0.5, of=longest)
    lines = render_gate(gate_of(*checks, insignificant)).splitlines()

    assert sum(f" {longest} " in line and "≥" in line for line in lines) == 2
    assert max(map(len, lines)) <= 100


def test_failed_is_worse_than_undecided_and_that_than_passed() -> None:
    assert decide_verdict((KEPT, LOST, LEAKS)) is CheckOutcome.FAILED
    assert decide_verdict((KEPT, LEAKS)) is CheckOutcome.UNDECIDED
    assert decide_verdict((KEPT,)) is CheckOutcome.PASSED


REQUIRED = {
    "testsuite": "id package name timestamp hostname tests failures errors time",
    "property": "name value",
    "testcase": "name classname time",
    "failure": "type",
    "error": "type",
}
"""The attributes that the schema of Ant's reports asks for."""


def assert_keeps_to_the_schema(root: ElementTree.Element) -> None:
    assert root.tag == "testsuites"
    for suite in root:
        tags = [child.tag for child in suite]
        cases = tags.count("testcase")
        assert tags == ["properties", *["testcase"] * cases, "system-out", "system-err"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        assert suite.attrib["tests"] == str(cases)
    for element in root.iter():
        assert set(REQUIRED.get(element.tag, "").split()) <= element.attrib.keys()
        if element.tag == "testcase":
            assert [child.tag for child in element] in ([], ["failure"], ["error"])
            name = element.attrib["name"]
            assert name == " ".join(name.split()), "a token has no other spaces"


def test_junit_keeps_to_the_schema_and_counts_what_is_in_it() -> None:
    root = ElementTree.fromstring(render_junit(gate_of(KEPT, LOST, LEAKS)))

    assert_keeps_to_the_schema(root)
    suite = root[0]
    assert [suite.attrib[name] for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    kept, lost, leaks = suite.findall("testcase")
    assert (kept.attrib["name"], len(kept)) == ("min-score overall", 0)
    assert (lost[0].tag, lost[0].attrib["message"]) == ("failure", LOST.said)
    assert (leaks[0].tag, leaks[0].text) == ("error", LEAKS.said)


def hostile() -> GateReport:
    check = LOST.replace(of=HOSTILE, said=f"lost in {HOSTILE}")
    other = LEAKS.replace(of=HOSTILE, said=HOSTILE)
    return gate_of(check, other, name=HOSTILE)


def test_no_name_breaks_the_junit_file() -> None:
    root = ElementTree.fromstring(render_junit(hostile()))

    assert_keeps_to_the_schema(root)
    name = root[0].findall("testcase")[0].attrib["name"]
    assert "<script>alert(1)</script>" in name, "it is shown, and it is text"
    assert all(mark.isprintable() for element in root.iter() for mark in element.get("name", ""))


def test_no_name_steers_a_terminal() -> None:
    text = render_gate(hostile())

    assert all(mark.isprintable() or mark == "\n" for mark in text)
    assert max(map(len, text.splitlines())) <= 100


def rendered(gate: GateReport) -> str:
    """As a renderer with tables, raw HTML and bare links turned on shows it."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable("table")
    return str(renderer.render(render_markdown_summary(gate)))


@loop_over_rows("name", [HOSTILE, ODD, "``", "\\", "a\\|b", "`|`|", "   ", "\\`", "x" * 9000])
def test_no_name_breaks_a_table_or_brings_html_links_or_mentions(name: str) -> None:
    usual, odd = (
        gate_of(LOST, LEAKS),
        gate_of(LOST.replace(of=name, said=name), LEAKS.replace(of=name, said=name), name=name),
    )

    page = rendered(odd)

    tags = [re.findall(r"</?(\w+)", each) for each in (rendered(usual), page)]
    assert [t for t in tags[1] if t != "code"] == [t for t in tags[0] if t != "code"]
    assert set(tags[1]) <= set("h3 h4 p table thead tbody tr th td code ul li strong".split())
    outside = re.sub(r"<code>.*?</code>", "", page, flags=re.DOTALL)
    assert "@" not in outside
    assert "evil" not in outside
    assert len(render_markdown_summary(odd)) < 10_000


LOWER = LOST.replace(outcome=CheckOutcome.PASSED, value=-3.0, p_value=0.2)
"""More was lost than is tolerated, and that may be chance."""


def test_a_loss_that_is_not_significant_is_counted_apart() -> None:
    gate = gate_of(KEPT, LOWER, LOWER)
    words = "1 passed, 2 not significant, 0 failed"

    assert gate.verdict is CheckOutcome.PASSED
    assert gate.sentence == "none of 3 checks failed"
    text = render_gate(gate)
    assert f"Checks       {words}\n" in text
    assert text.count("\nnot significant ") == 2
    page = render_markdown_summary(gate)
    assert f"\n\n{words}.\n" in page
    assert page.count("➖ not significant") == 2
    said = ElementTree.fromstring(render_junit(gate)).findtext("testsuite/system-out") or ""
    assert said.splitlines()[1] == words


def test_a_gate_without_doubt_says_that_all_passed() -> None:
    assert gate_of(KEPT, KEPT).sentence == "all 2 checks passed"
    assert "2 passed, 0 not significant, 0 failed" in render_gate(gate_of(KEPT, KEPT))


def test_markdown_has_the_verdict_the_rules_and_the_categories() -> None:
    page = render_markdown_summary(gate_of(KEPT, LOST, LEAKS))

    assert page.startswith(
        "### Recall Bench gate: failed\n\n1 passed, 0 not significant, 1 failed, 1 undecided.\n"
    )
    row = "| ✅ passed | `min-score` | `overall` | 61.0 | ≥ 60.0 | 55.5 to 66.3 | -- | 80 | -- |"
    assert row in page
    row = (
        "| ❌ failed | `category-margin` | `synthesis` | -9.0 | ≥ -2.0 | -12.0 to -6.5 | &lt; 0.001"
    )
    assert f"{row} | 40 | 4.3 |" in page
    assert "- `category-margin (synthesis)`: `-9.0 points of 100: more than" in page
    assert "](" not in page
    assert "http" not in page


def test_the_same_gate_is_the_same_bytes() -> None:
    gate = gate_of(KEPT, LOST)

    assert render_junit(gate) == render_junit(gate)
    assert render_markdown_summary(gate) == render_markdown_summary(gate)
