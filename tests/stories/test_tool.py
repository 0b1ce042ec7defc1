"""The authors' tool packs what it unpacked to the byte, and refuses what a run would refuse."""

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

from recall_bench.core.yaml12 import load_yaml
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.stories import shipped
from recall_bench.stories.persona import inspect_persona
from recall_bench.stories.shipped import load_catalogue, locate_pack, unpack_story

Tool = Callable[..., int]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The tool, in a checkout whose catalogue and packs may be changed."""
    copytree(shipped.PACKED, tmp_path / "packed")
    copy(shipped.CATALOGUE, tmp_path / "catalogue.json")
    monkeypatch.setattr(shipped, "PACKED", tmp_path / "packed")
    monkeypatch.setattr(shipped, "CATALOGUE", tmp_path / "catalogue.json")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    load_catalogue.cache_clear()
    main = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "stories.py"))["main"]
    yield lambda *words: main([str(word) for word in words])
    load_catalogue.cache_clear()


def test_a_story_that_nobody_changed_is_packed_as_it_was(tool: Tool) -> None:
    (story,) = load_catalogue()["bakery-de"].stories
    before = locate_pack("bakery-de", story).read_bytes(), shipped.CATALOGUE.read_bytes()

    assert tool("unpack", "bakery-de", "--into", "work") == 0
    assert tool("diff", "work/bakery-de") == 0
    assert tool("pack", "work/bakery-de") == 0

    assert (locate_pack("bakery-de", story).read_bytes(), shipped.CATALOGUE.read_bytes()) == before


def test_a_changed_story_becomes_an_edition_of_its_own(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("unpack", "bakery-de", "--into", "work") == 0
    day = Path("work/bakery-de/memories-60d/day-0001.md")
    day.write_text(day.read_text(encoding="utf-8") + "Ein Satz mehr.\n", encoding="utf-8")

    assert tool("diff", "work/bakery-de") == 1
    assert "+Ein Satz mehr." in capsys.readouterr().out
    assert tool("pack", "work/bakery-de", "--edition", 3) == 0

    assert [story.edition for story in load_catalogue()["bakery-de"].stories] == [3, 2]
    assert unpack_story("bakery-de").joinpath(day.parent.name, day.name).read_bytes() == (
        day.read_bytes()
    )


def test_a_story_with_problems_is_not_packed(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("unpack", "bakery-de", "--into", "work") == 0
    Path("work/bakery-de/qa-60d/questions.yaml").write_text("[]")

    assert tool("pack", "work/bakery-de") != 0
    assert tool("pack", "work/nobody") != 0
    assert tool("unpack", "bakery-de", "--into", "work") == 2

    assert "exists already" in capsys.readouterr().err


def test_errata_change_the_questions_that_they_name(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("unpack", "bakery-de", "--into", "work") == 0
    questions = Path("work/bakery-de/qa-60d/questions.yaml")
    before = load_yaml(questions)
    assert isinstance(before, list)
    name = before[0]["id"]
    errata = {"name": "a", "why": "b", "questions": [name, "bakery-ar-w001"]}
    Path("errata.yaml").write_text(
        dump_yaml([{**errata, "changes": {"answer": "Vier.", "dated": True}}])
    )

    assert tool("mend", "work/bakery-de", "errata.yaml") == 0

    after = load_yaml(questions)
    assert isinstance(after, list)
    assert after[0]["answer"] == "Vier."
    assert all(len(cited.pop("date")) == 10 for cited in after[0]["evidence"])
    assert {**after[0], "answer": before[0]["answer"]} == before[0]
    assert after[1:] == before[1:]
    Path("errata.yaml").write_text(
        dump_yaml([{**errata, "questions": ["bakery-de-none"], "changes": {}}])
    )
    assert tool("mend", "work/bakery-de", "errata.yaml") != 0
    assert "no question bakery-de-none" in capsys.readouterr().err


HALF_YEAR = "arcs-180d.yaml"
LATER = """---
type: daily
---

# session: flt

### Limits

The limit for two signatures is £350,000 from today. Nothing else was said.

# session: deal-room

### Harjula

Harjula wants £12 million. It is not to be told.
"""
STATEMENT = {"told": "announced", "kind": "number", "secret": False, "what": "the limit"}
DRAFTED = """
- id: q-1
  question: Above which sum does a payment need two signatures?
  answer: £350,000.
  category: factual-recall
  difficulty: easy
  answerable_from: 368
  expects: answer
  atoms: ["£350,000"]
  evidence: [{day: 368, session: flt, quote: "two signatures is £350,000", dated: true}]
  kind: single-fact
- id: q-2
  question: What does Harjula want?
  answer: I cannot say.
  category: information-boundary
  difficulty: easy
  answerable_from: 368
  changes_on: 400
  asked_from: flt
  expects: withhold
  withheld: ["£12 million"]
  evidence: [{day: 368, session: deal-room, quote: "Harjula wants £12 million."}]
  kind: secret
- id: q-3
  question: Did the limit fall?
  answer: No, it rose.
  category: negative-recall
  difficulty: easy
  answerable_from: 368
  expects: answer
  evidence: [{day: 368, session: flt, quote: "from today"}]
  kind: never-happened
- id: q-4
  question: What does Harjula's boat cost?
  answer: Nothing on that is in the log.
  category: negative-recall
  difficulty: easy
  answerable_from: 368
  expects: abstain
  kind: unanswerable
"""


@pytest.fixture
def draft() -> Path:
    """A draft that goes on from the half-year with one day."""
    early = unpack_story("executive-assistant", HALF_YEAR)
    folder = Path("draft/executive-assistant")
    copytree(early / "memories-180d", folder / "memories-400d")
    copy(early / "persona.yaml", folder)
    copy(early / HALF_YEAR, folder / "arcs-400d.yaml")
    (folder / "memories-400d/day-0368.md").write_text(LATER, encoding="utf-8")
    (folder / "facts").mkdir()
    (folder / "questions").mkdir()
    statement = {**STATEMENT, "fact": "payment-limit", "state": 4, "value": "£350,000", "day": 368}
    quoted = {**statement, "session": "flt", "quote": "The limit for two signatures is £350,000"}
    (folder / "facts/a.jsonl").write_text(json.dumps(quoted), encoding="utf-8")
    (folder / "questions/a.yaml").write_text(DRAFTED, encoding="utf-8")
    (folder / "half-year.yaml").write_text("stays: [w014]\n", encoding="utf-8")
    return folder


def test_a_draft_becomes_a_persona_folder_in_the_public_format(tool: Tool, draft: Path) -> None:
    assert tool("build", draft, "--into", "work") == 0

    inspection = inspect_persona(Path("work/executive-assistant"), arcs="arcs-400d.yaml")
    assert inspection.problems == []
    entries = load_yaml(Path("work/executive-assistant/qa-400d/questions.yaml"))
    assert isinstance(entries, list)
    told, kept, denied, absent = entries[-4:]
    (cited,) = told["evidence"]
    assert LATER[cited["start"] : cited["end"]] == (
        "The limit for two signatures is £350,000 from today."
    )
    assert (told["id"], cited["date"], "expects" in told) == (
        "executive-assistant-w562",
        "2026-01-08",
        False,
    )
    assert (kept["expected_disclosure"], kept["forbidden_sessions"]) == ("refuse", ["deal-room"])
    assert (kept["irrelevant_after"], kept["changes_on"]) == (399, 400)
    assert denied["expects"] == "correct"
    assert (absent["expects"], absent["relevant_days"], absent["evidence"]) == (
        "abstain",
        [368],
        [],
    )
    last = Path("work/executive-assistant/qa-400d/statements.jsonl").read_text().splitlines()[-1]
    stated = json.loads(last)
    assert LATER[stated["start"] : stated["end"]] == "£350,000"


def test_a_question_of_the_half_year_is_asked_while_its_answer_is_known_to_hold(
    tool: Tool, draft: Path
) -> None:
    assert tool("build", draft, "--into", "work") == 0

    entries = load_yaml(Path("work/executive-assistant/qa-400d/questions.yaml"))
    assert isinstance(entries, list)
    ends = {
        entry["id"].rpartition("-")[2]: (entry.get("irrelevant_after"), entry.get("changes_on"))
        for entry in entries
    }
    assert ends["w186"] == (367, 368)  # The limit for two signatures now.
    assert ends["w014"] == (None, None)  # Somebody read that it stays.
    assert ends["w410"] == (180, None)  # A secret, which nobody looked after.
    assert ends["w198"] == (180, None)  # The present tense.
    assert ends["w007"] == (360, None)  # Last year is another one from January on.
    assert ends["w002"] == (102, 103)  # As the half-year has it.


def test_a_draft_that_quotes_what_is_not_there_is_not_built(
    tool: Tool, draft: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (draft / "memories-400d/day-0001.md").write_text("Nothing.")
    (draft / "questions/a.yaml").write_text(DRAFTED.replace("wants £12", "wants £13"))

    assert tool("build", draft, "--into", "work") != 0

    message = capsys.readouterr().err
    assert "day-0001.md: differs from the half-year" in message
    assert "q-2: day 368 does not say once: Harjula wants £13 million." in message
    assert not Path("work").exists()
