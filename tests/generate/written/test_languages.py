"""Written editions in German, Spanish, Japanese and Arabic."""

from pathlib import Path

import pytest

from recall_bench.core.scenario import Expects
from recall_bench.datasets.persona import load_persona
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.written.build import build_written_folder
from recall_bench.generate.written.checks import check_sources
from recall_bench.generate.written.sources import read_written
from tests.generate.written.language_editions import TEXTS, write_edition

ARCS = "arcs-9d.yaml"

pytestmark = pytest.mark.parametrize("code", TEXTS)


def test_answers_are_derived_again_in_every_language_and_seed(code: str, tmp_path: Path) -> None:
    sources = read_written(write_edition(tmp_path, code))
    assert check_sources(sources) == []
    for seed in range(9):
        folder = build_written_folder(sources, tmp_path / str(seed), seed=seed)
        report = verify_world(folder, ARCS)
        assert report.is_verified, (seed, report.findings)
        assert report.questions == 11


def test_values_have_the_form_of_the_language(code: str, tmp_path: Path) -> None:
    folder = build_written_folder(read_written(write_edition(tmp_path, code)), tmp_path / "built")
    items = load_persona(folder, arcs=ARCS).items
    asked = {item.text: item.truth for item in items}
    day, gap = {
        "de": ("3. Oktober 2025", "599,50 €"),
        "es": ("3 de octubre de 2025", "599,50 €"),
        "ja": ("2025年10月3日", "96,000円"),
        "ar": ("3 أكتوبر 2025", "2,400 درهم"),
    }[code]
    texts = TEXTS[code]
    assert asked[texts["when"]].atoms == (day,)
    assert asked[texts["gap"]].atoms == (gap,)
    assert asked[f"{texts['ice']}?"].expects is Expects.ABSTAIN
    assert asked["When is the visit?"].atoms == ("3 October 2025",)
    assert asked["How many sacks are there?"].atoms == ("25",)
    cost = {"de": "€13,900.50", "es": "€13,900.50", "ja": "¥2,224,000", "ar": "AED 55,600"}[code]
    assert asked["What does the oven cost now?"].atoms == (cost,)


def test_another_seed_draws_names_and_figures_in_the_same_script(code: str, tmp_path: Path) -> None:
    sources = read_written(write_edition(tmp_path, code))
    texts = TEXTS[code]
    for seed in (1, 2, 3):
        folder = build_written_folder(sources, tmp_path / str(seed), seed=seed)
        days = "".join(
            path.read_text("utf-8") for path in sorted((folder / "memories-9d").glob("*.md"))
        )
        for word in texts["person"].split():
            assert word not in days
        assert texts["price1"] not in days
        if code == "ar":
            assert any(digit in days for digit in "٠١٢٣٤٥٦٧٨٩")


def test_a_wrong_answer_is_found(code: str, tmp_path: Path) -> None:
    folder = build_written_folder(read_written(write_edition(tmp_path, code)), tmp_path / "built")
    file = folder / "qa-9d" / "questions.yaml"
    right = file.read_text("utf-8")
    for value, other in (("price2", "price1"), ("sacks", "price1"), ("waste", "pay")):
        wrong = right.replace(TEXTS[code][value], TEXTS[code][other])
        assert wrong != right
        file.write_text(wrong, "utf-8")
        assert not verify_world(folder, ARCS).is_verified, value


def test_figures_and_months_stand_in_slots(code: str, tmp_path: Path) -> None:
    folder = write_edition(tmp_path, code)
    month = {"de": "Im Mai", "es": "en mayo", "ja": "五月に", "ar": "في مايو"}[code]
    digit = {"de": "12", "es": "12", "ja": "１２", "ar": "١٢"}[code]
    path = folder / "days" / "0001.md"
    path.write_text(path.read_text("utf-8") + f"\n{month} {digit} +\n", "utf-8")
    found = [each.message for each in check_sources(read_written(folder))]
    assert sum("stands outside a slot" in each for each in found) == 2
