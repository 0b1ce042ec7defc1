"""A gate as JUnit XML, which every CI system draws: one test case for every check.

It keeps to the schema of Ant's reports, the strictest there is: a check that failed is a failure,
one that could not be decided an error.
"""

from xml.etree import ElementTree

from recall_bench.analysis.gate.checks import Check, Gate, Outcome
from recall_bench.analysis.gate.words import plain

_SUITE = "recall-bench gate"
_CLASS = "recall_bench.gate"


def junit_of(gate: Gate) -> bytes:
    """The whole file. The same gate is the same bytes."""
    outcomes = [check.outcome for check in gate.checks]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        id="0",
        package=_CLASS,
        name=_SUITE,
        # When the run began, which is known; a time zone is not allowed here.
        timestamp=f"{gate.run.started:%Y-%m-%dT%H:%M:%S}",
        hostname="localhost",
        tests=str(len(outcomes)),
        failures=str(outcomes.count(Outcome.FAILED)),
        errors=str(outcomes.count(Outcome.UNDECIDED)),
        skipped="0",
        time="0",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in _facts(gate).items():
        ElementTree.SubElement(properties, "property", name=name, value=plain(text))
    for check in gate.checks:
        _case(suite, check)
    said = [f"{gate.verdict.value}: {gate.sentence}", *gate.warnings]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(plain, said))
    ElementTree.SubElement(suite, "system-err").text = ""
    ElementTree.indent(root)
    found: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found + b"\n"


def _facts(gate: Gate) -> dict[str, str]:
    facts = {"verdict": gate.verdict.value, "system": gate.run.system, "run": gate.run.folder}
    if gate.baseline is not None:
        facts |= {"baseline-system": gate.baseline.system, "baseline": gate.baseline.folder}
    if gate.strength is not None:
        facts["strength"] = gate.strength
    return facts


def _case(suite: ElementTree.Element, check: Check) -> None:
    name = " ".join(plain(f"{check.rule} {check.of}").split())
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=_CLASS, time="0")
    kind = {Outcome.FAILED: "failure", Outcome.UNDECIDED: "error"}.get(check.outcome)
    if kind is not None:
        found = ElementTree.SubElement(
            case, kind, message=plain(check.said), type=check.outcome.value
        )
        found.text = plain(check.said)
