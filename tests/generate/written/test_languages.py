"""Written editions in German, Spanish, Japanese and Arabic."""

from pathlib import Path

import pytest

from recall_bench.core.scenario import Expects
from recall_bench.core.sentences import split_sentences
from recall_bench.datasets.lint.lint_corpus import Severity
from recall_bench.datasets.lint.lint_report import lint_story
from recall_bench.datasets.persona import load_persona
from recall_bench.generate.shipped_personas import SOURCES, load_catalogue, materialise
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.worlds import list_written_personas
from recall_bench.generate.written.build import build_written_folder
from recall_bench.generate.written.checks import check_sources, count_sources
from recall_bench.generate.written.sources import read_written
from recall_bench.systems.builtin.chunks import split_chunks
from tests.generate.written.language_editions import TEXTS, write_edition
from tests.loops import loop_over_rows
from tests.thoroughness import choose_cases, choose_number

ARCS = "arcs-9d.yaml"

each_language = pytest.mark.parametrize("code", TEXTS)


@each_language
def test_answers_are_derived_again_in_every_language_and_seed(code: str, tmp_path: Path) -> None:
    sources = read_written(write_edition(tmp_path, code))
    assert check_sources(sources) == []
    for seed in range(choose_number(3, 9)):
        folder = build_written_folder(sources, tmp_path / str(seed), seed=seed)
        report = verify_world(folder, ARCS)
        assert report.is_verified, (seed, report.findings)
        assert report.questions == 11


@each_language
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


@each_language
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


@each_language
def test_passages_join_sentences_with_a_blank(code: str, tmp_path: Path) -> None:
    folder = build_written_folder(read_written(write_edition(tmp_path, code)), tmp_path / "built")
    chunks = [
        chunk.text
        for episode in load_persona(folder, arcs=ARCS).episodes
        for chunk in split_chunks(episode)
    ]
    assert any(len(split_sentences(chunk)) > 1 for chunk in chunks)
    assert not any(";" in chunk for chunk in chunks)


@each_language
def test_a_wrong_answer_is_found(code: str, tmp_path: Path) -> None:
    folder = build_written_folder(read_written(write_edition(tmp_path, code)), tmp_path / "built")
    file = folder / "qa-9d" / "questions.yaml"
    right = file.read_text("utf-8")
    for value, other in (("price2", "price1"), ("sacks", "price1"), ("waste", "pay")):
        wrong = right.replace(TEXTS[code][value], TEXTS[code][other])
        assert wrong != right
        file.write_text(wrong, "utf-8")
        assert not verify_world(folder, ARCS).is_verified, value


@pytest.mark.parametrize(("named", "is_known"), [("健一が", True), ("健一氏が", False)])
def test_words_without_blanks_are_recognised_by_half_of_their_pairs_of_letters(
    named: str, is_known: bool, tmp_path: Path
) -> None:
    """The evidence has 健一, but neither 一が nor 一氏 and 氏が."""
    folder = build_written_folder(read_written(write_edition(tmp_path, "ja")), tmp_path / "built")
    file = folder / "qa-9d" / "questions.yaml"
    text = file.read_text("utf-8").replace('answer: "小林 健一"', f'answer: "{named}払います。"')
    file.write_text(text.replace('atoms: ["小林 健一"]', f'atoms: ["{named}"]'), "utf-8")

    assert verify_world(folder, ARCS).is_verified is is_known


@each_language
def test_figures_and_months_stand_in_slots(code: str, tmp_path: Path) -> None:
    folder = write_edition(tmp_path, code)
    month = {"de": "Im Mai", "es": "en mayo", "ja": "五月に", "ar": "في مايو"}[code]
    digit = {"de": "12", "es": "12", "ja": "１２", "ar": "١٢"}[code]
    path = folder / "days" / "0001.md"
    path.write_text(path.read_text("utf-8") + f"\n{month} {digit} +\n", "utf-8")
    found = [each.message for each in check_sources(read_written(folder))]
    assert sum("stands outside a slot" in each for each in found) == 2


@loop_over_rows("name", list_written_personas())
def test_the_shipped_story_is_the_same_in_every_language(name: str) -> None:
    sources = read_written(SOURCES / name / "written-60d")
    first = read_written(SOURCES / list_written_personas()[0] / "written-60d")
    assert check_sources(sources) == []
    plans, expected = (
        {
            key: [(state.day, state.session, state.told) for state in fact.states]
            for key, fact in each.story.facts.items()
        }
        for each in (sources, first)
    )
    assert plans == expected
    assert [day.day for day in sources.days] == [day.day for day in first.days]
    assert count_sources(sources).days == 43
    assert sum(question.language == "en" for _, question in sources.questions) == 20
    assert len(sources.questions) >= 126


@pytest.mark.parametrize("name", list_written_personas())
def test_the_shipped_story_is_verified_and_passes_the_lints(name: str, tmp_path: Path) -> None:
    folder = materialise(name, None)
    report = verify_world(folder, "arcs-60d.yaml")
    assert report.findings == ()
    assert report.rederived == report.questions == load_catalogue()[name]["arcs-60d.yaml"].questions
    assert lint_story(folder, arcs="arcs-60d.yaml").count(Severity.ERROR) == 0
    sources = read_written(SOURCES / name / "written-60d")
    for seed in choose_cases((3, 7), 1):
        other = build_written_folder(sources, tmp_path / str(seed), seed=seed)
        assert verify_world(other, "arcs-60d.yaml").is_verified
