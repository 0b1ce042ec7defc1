"""A plan's digest names what was run; what a run has nothing of leaves no trace in it."""

import msgspec

from recall_bench.core.event import Declared, decode_event, encode_event
from recall_bench.core.plan import FileCard, ImportCard, Plan
from recall_bench.core.scenario import Scenario
from tests.core.test_trial_states import NOW

CARD = ImportCard(
    written_by="public harness", files=(FileCard(name="result.json", sha256="0" * 64, bytes=1),)
)


def test_a_run_that_was_not_imported_has_the_digest_it_always_had(plan: Plan) -> None:
    assert b"imported" not in msgspec.json.encode(plan)
    assert plan.replace(imported=CARD).digest != plan.digest


def test_an_import_is_named_by_its_files() -> None:
    assert str(CARD) == "result.json of public harness"


def test_asked_questions_are_declared_only_if_the_plan_does_not_determine_them(
    scenario: Scenario,
) -> None:
    usual = Declared(at=NOW, scenario="ada", items=scenario.items)
    imported = Declared(at=NOW, scenario="ada", items=scenario.items, asked={"2d": ("old-name",)})

    assert b"asked" not in encode_event(usual)
    assert decode_event(encode_event(imported)) == imported
