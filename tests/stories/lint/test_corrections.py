"""Before a correction the wrong value is in the text alone, after it the right one."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import correction, found, write

SOUND = {2: "The sill carries 2.4 m.", 10: "The sill carries 2.1 m, not 2.4 m."}
CODES = ("correction-early", "correction-lingering", "correction-unheard")


@pytest.mark.parametrize("code", CODES)
def test_a_sound_correction_is_not_remarked_on(tmp_path: Path, code: str) -> None:
    assert found(write(tmp_path, SOUND, arcs=[correction()]), code) == ()


@pytest.mark.parametrize("code", CODES)
def test_a_correction_after_the_last_day_is_still_to_come(tmp_path: Path, code: str) -> None:
    days = {2: "The sill carries 2.4 m."}

    assert found(write(tmp_path, days, arcs=[correction()]), code) == ()


def test_a_corrected_value_must_not_be_known_before(tmp_path: Path) -> None:
    days = {**SOUND, 4: "Measured the sill: 2.1 m."}

    (finding,) = found(write(tmp_path, days, arcs=[correction()]), "correction-early")

    assert finding.file == "lock/arcs-20d.yaml"
    assert finding.line is not None
    assert "2.1 m" in finding.message
    assert "day 4" in finding.message


def test_the_same_value_of_something_else_may_be(tmp_path: Path) -> None:
    days = {**SOUND, 4: "Hob's pole is 2.1 m long."}

    assert found(write(tmp_path, days, arcs=[correction()]), "correction-early") == ()


def test_a_wrong_value_that_goes_on_being_stated_is_found(tmp_path: Path) -> None:
    days = {**SOUND, 12: "Told a skipper that the sill carries 2.4 m."}

    (finding,) = found(write(tmp_path, days, arcs=[correction()]), "correction-lingering")

    assert "day 12" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "The sill carries 2.1 m instead of 2.4 m.",
        "Superseded for the sill: 2.4 m.",
        "The sill no longer carries 2.4 m.",
        "Old figures for the sill:\n- 2.4 m",
    ],
)
def test_naming_it_as_superseded_is_fine(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path, {**SOUND, 12: text}, arcs=[correction()])

    assert found(folder, "correction-lingering") == ()


def test_both_values_have_to_be_received(tmp_path: Path) -> None:
    folder = write(tmp_path, {2: "Rain.", 10: "Sun."}, arcs=[correction()])

    messages = [finding.message for finding in found(folder, "correction-unheard")]

    assert len(messages) == 2
    assert "2.1 m" in messages[0]
    assert "2.4 m" in messages[1]


def test_beliefs_without_values_are_left_alone(tmp_path: Path) -> None:
    arc = correction(wrongBelief="The gate leaks", correctedBelief="The gate is tight")

    assert all(
        found(write(tmp_path / code, {2: "Rain."}, arcs=[arc]), code) == () for code in CODES
    )
