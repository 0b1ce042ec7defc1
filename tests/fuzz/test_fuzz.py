"""Changed files, replies or requests for every reader of foreign bytes: no crash, no hang.

These are the first ten cases of each target, fewer where a case takes long, and 25 of each in
`make test-exhaustive`. `make fuzz` runs thousands with the same code; README.md says what is
asserted.
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recall_bench
from recall_bench.stories.catalogue import find_dataset, list_datasets
from tests.fuzz.cases import run_cases
from tests.fuzz.mutator import Format, mutate
from tests.fuzz.registry import list_targets
from tests.fuzz.target import ContentReader, FuzzTarget, Reading, Seed
from tests.thoroughness import choose_number

TARGETS = {target.name: target for target in list_targets()}
CASES = range(choose_number(10, 25))
LONG_CASES = {"sources of a life edition": range(choose_number(4, 25))}
"""Of the targets whose accepted cases take a second."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_refuses_what_it_cannot_read_in_one_sentence(name: str, tmp_path: Path) -> None:
    cases = LONG_CASES.get(name, CASES)

    tally = run_cases(TARGETS[name], tmp_path, cases)

    assert not tally.findings, "\n".join(f"{each}\n{each.trace}" for each in tally.findings[:3])
    assert tally.outcomes.total() == len(cases)
    assert len(TARGETS) == len(list_targets())


def test_every_family_of_datasets_has_a_target() -> None:
    named = [name.split()[1].rstrip(",") for name in TARGETS if name.startswith("dataset ")]

    fuzzed = {find_dataset(name).family for name in named}
    assert {dataset.family for dataset in list_datasets()} == fuzzed


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
REPLIES = [name for name in TARGETS if name.startswith(("reply", "verdict", "server's"))]


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ContentReader]:
    opened = {name: TARGETS[name].open(tmp_path_factory.mktemp("reader")) for name in REPLIES}
    return {name: each for name, each in opened.items() if isinstance(each, ContentReader)}


@settings(max_examples=choose_number(30, 60), derandomize=True)
@given(value=JSON_VALUES, place=st.integers(0, len(REPLIES) - 1))
def test_any_json_is_a_reply_or_no_reply(
    readers: dict[str, ContentReader], value: object, place: int
) -> None:
    name = REPLIES[place]
    with suppress(*TARGETS[name].refusals):
        assert readers[name].parse(json.dumps(value).encode())


def read_letters(content: bytes) -> Reading:
    """A reader with the faults that a fuzzer is to find."""
    text = content.decode()
    if "\0" in text:
        raise PermissionError("no sentence of ours")
    return Reading(text, "the same")


def test_the_fuzzer_notices_crashes_and_changes_that_do_not_show(tmp_path: Path) -> None:
    target = FuzzTarget(
        name="letters",
        open=lambda _: ContentReader([Seed(b"some letters", Format.TEXT)], read_letters),
    )

    tally = run_cases(target, tmp_path, range(200))

    assert {"crash", "unnoticed"} <= set(tally.outcomes)
    assert {each.problem.partition(":")[0] for each in tally.findings} >= {
        "UnicodeDecodeError",
        "PermissionError",
        "other records, and nothing that is recorded shows it",
    }


@pytest.mark.parametrize("kind", Format)
def test_cases_are_the_same_every_time(kind: Format) -> None:
    content = b'{"a": [1, "b"]}'

    one, other = (mutate(content, kind, Random("7")) for _ in range(2))

    assert one == other


OWN_JSON = {
    "core/distribution.py": "written by pip",
    "core/event_redaction.py": "encoded the line before",
    "core/sandbox.py": "written by the process that starts it",
    "features/personas/questions/candidates.py": "encoded the line before",
    "features/personas/questions/model_questions.py": "encoded the line before",
    "stories/shipped.py": "part of the package",
    "judging/encoder/encoder.py": "part of the package",
    "reporting/charts/__main__.py": "written by the process that starts it",
    "reporting/publication.py": "written by a process of ours",
    "features/mcp/mcp_system.py": "a package that npm installed",
    "text/languages.py": "part of the package",
    "systems/python/adapter_process.py": "written by the process that starts it",
    "systems/python/isolated_system.py": "encoded the line before",
    "features/products/cognee.py": "a product in an environment of its own",
    "features/products/llama_index.py": "a product in an environment of its own",
    "systems/endpoint_client.py": "the endpoint of this run",
    "systems/python/system.py": "encoded the line before",
    "features/selection/selectors/isolated_selector.py": "sent by the process that starts it",
}
"""Modules that decode JSON without limits, and why they may."""

HANDLED = {
    "core/untrusted_json.py": "the one place",
    "features/datasets/convomem.py": "within `refuse_deep_nesting`",
    "features/datasets/membench.py": "within `refuse_deep_nesting`",
    "features/datasets/loading.py": "values are JSON or Python",
    "features/selection/memory_file.py": "what cannot be decoded is text",
    "features/personas/creation/persona_reply.py": "repeated keys are refused",
    "features/personas/model_reply.py": "replies of models, which may be anything",
    "features/selection/generation/model_writer.py": "replies of models",
    "judging/verdicts.py": "repeated keys are refused",
    "judging/encoder/encoder.py": "numbers and digests; what is no such file is refused",
    "features/models/batch_delivery.py": "a torn line is fetched again",
    "features/models/batch_formats.py": "a torn line is waited for",
    "features/selection/selectors/agent_prompt.py": "replies of models",
    "systems/transports/http_routes.py": "requests and faults",
    "systems/transports/http_system.py": "replies",
}
"""Modules that decode foreign JSON themselves, and have a fuzz target."""


PLAIN_DECODING = re.compile(r"\bmsgspec\.json\.decode\(|(?<!\.)\bjson\.loads?\b")


def test_untrusted_json_is_decoded_within_limits() -> None:
    root = Path(recall_bench.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if PLAIN_DECODING.search(path.read_text(encoding="utf-8"))
    }

    assert not found - {*OWN_JSON, *HANDLED}
    assert not {*OWN_JSON, *HANDLED} - found
