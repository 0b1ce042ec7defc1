"""A gate as JUnit XML, which every CI system draws: one test case for every check.

It keeps to the schema of Ant's reports, the strictest there is: a check that failed is a failure,
one that could not be decided an error.
"""

from xml.etree import ElementTree

from recall_bench.analysis.gate.checks import CheckOutcome, GateCheck, GateReport
from recall_bench.analysis.gate.words import clip_text

_JUNIT_SUITE = "recall-bench gate"
_JUNIT_CLASS = "recall_bench.gate"


def render_junit(gate: GateReport) -> bytes:
    """The whole file. The same gate is the same bytes."""
    outcomes = [check.outcome for check in gate.checks]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        id="0",
        package=_JUNIT_CLASS,
        name=_JUNIT_SUITE,
        # When the run began, which is known; a time zone is not allowed here.
        timestamp=f"{gate.run.started:%Y-%m-%dT%H:%M:%S}",
        hostname="localhost",
        tests=str(len(outcomes)),
        failures=str(outcomes.count(CheckOutcome.FAILED)),
        errors=str(outcomes.count(CheckOutcome.UNDECIDED)),
        skipped="0",
        time="0",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in _list_properties(gate).items():
        ElementTree.SubElement(properties, "property", name=name, value=clip_text(text))
    for check in gate.checks:
        _add_case(suite, check)
    said = [f"{gate.verdict.value}: {gate.sentence}", *gate.warnings]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(clip_text, said))
    ElementTree.SubElement(suite, "system-err").text = ""
    ElementTree.indent(root)
    found: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found + b"\n"


def _list_properties(gate: GateReport) -> dict[str, str]:
    facts = {"verdict": gate.verdict.value, "system": gate.run.system, "run": gate.run.folder}
    if gate.baseline is not None:
        facts |= {"baseline-system": gate.baseline.system, "baseline": gate.baseline.folder}
    if gate.strength is not None:
        facts["strength"] = gate.strength
    return facts


def _add_case(suite: ElementTree.Element, check: GateCheck) -> None:
    name = " ".join(clip_text(f"{check.rule} {check.of}").split())
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=_JUNIT_CLASS, time="0")
    kind = {CheckOutcome.FAILED: "failure", CheckOutcome.UNDECIDED: "error"}.get(check.outcome)
    if kind is not None:
        found = ElementTree.SubElement(
            case, kind, message=clip_text(check.said), type=check.outcome.value
        )
        found.text = clip_text(check.said)
