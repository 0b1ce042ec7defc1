"""Dialogues of a written edition say what the logs say, and are fed in their place."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.plan import Ingest
from recall_bench.datasets.persona import load_persona
from recall_bench.generate.written.build import build_written_folder
from recall_bench.generate.written.checks import check_sources
from recall_bench.generate.written.sources import read_written
from tests.generate.written.small_edition import write_small_edition

ARCS = "arcs-9d.yaml"


def write_dialogues(edition: Path) -> Path:
    """The small edition with each log as a dialogue: a question before each session's text."""
    folder = edition / "dialogues"
    folder.mkdir()
    for path in (edition / "days").glob("*.md"):
        text = re.sub(r"\{([a-z0-9.-]+)=[^}]*\}", r"{\1}", path.read_text(encoding="utf-8"))
        _, *parts = re.split(r"^# session: (\S+)\s*$", text, flags=re.MULTILINE)
        turns = [
            f"**User:**\n\n[session: {session}]\n\nWhat do we have on this, and what is next?\n\n"
            f"**Assistant:**\n\n{re.sub('^###.*$', '', log, flags=re.MULTILINE).strip()}\n"
            for session, log in zip(parts[::2], parts[1::2], strict=True)
        ]
        turns.append("**User:**\n\nThank you.\n\n**Assistant:**\n\nYou are welcome.\n")
        (folder / path.name).write_text("\n".join(turns), encoding="utf-8")
    return edition


@pytest.fixture
def edition(tmp_path: Path) -> Path:
    return write_dialogues(write_small_edition(tmp_path))


def test_an_edition_with_dialogues_has_no_finding_and_is_fed_by_turns(
    edition: Path, tmp_path: Path
) -> None:
    sources = read_written(edition)
    assert check_sources(sources) == []
    for seed in (0, 3):
        folder = build_written_folder(sources, tmp_path / str(seed), seed=seed)
        story = load_persona(folder, arcs=ARCS, allow_gaps=True, ingest=Ingest.CONVERSATIONS)
        logs = {each.day: each.text for each in story.episodes}
        dialogues = {each.day: each.text for each in story.retold or ()}
        assert list(dialogues) == list(logs)
        assert {len(each.turns) for each in story.retold or ()} == {4, 6}
        for item in story.items:
            for span in item.truth.evidence:
                sentence = logs[span.day][span.start : span.end]
                stated = [atom for atom in item.truth.atoms if atom in sentence]
                assert [atom for atom in stated if atom not in dialogues[span.day]] == []
        assert "{" not in "".join(dialogues.values())


def test_the_days_of_an_edition_are_the_same_with_and_without_dialogues(
    edition: Path, tmp_path: Path
) -> None:
    without = write_small_edition(tmp_path / "without")
    with_ = build_written_folder(read_written(edition), tmp_path / "a", seed=5)
    plain = build_written_folder(read_written(without), tmp_path / "b", seed=5)
    for path in sorted(plain.rglob("*.*")):
        assert (with_ / path.relative_to(plain)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("day", "change", "message"),
    [
        (1, lambda text: text.replace("{tank}", "plenty"), "tank.1 is told in session principal"),
        (1, lambda text: text.replace("{tank}", "12,000"), "“12,000.” stands outside a slot"),
        (1, lambda text: text.replace("{tank}", "{tank=9}"), "a dialogue defines no value"),
        (1, lambda text: text.replace("Thank", "{@7} Thank"), "the log of the day has no date @7"),
        (
            1,
            lambda text: text.replace("Thank you", "And {yard-ref}? Thank you"),
            "yard-ref.1 is not told in session principal",
        ),
        (2, lambda text: text.replace("session: pay", "session: deck"), "is said in session pay"),
        (2, lambda text: text.replace("session: deck", "session: quay"), "has no session quay"),
        (3, lambda text: text.replace("**Assistant:**", "**User:**", 1), "do not alternate"),
        (3, lambda text: text.replace("[session: deck]", "", 1), "does not begin with [session"),
        (3, lambda text: f"Before.\n\n{text}", "there is text before the first"),
        (3, lambda text: text.split("**User:**\n\nThank")[0], "it has 2 turns"),
        (8, lambda text: text.replace("{crew-limit.3}", "{crew-limit.4}"), "crew-limit.4"),
        (9, lambda text: text.replace("Thank you", "Did we buy a second radar? No"), "radar"),
    ],
)
def test_a_dialogue_that_differs_from_its_log_is_named(
    edition: Path, day: int, change: Callable[[str], str], message: str
) -> None:
    path = edition / "dialogues" / f"{day:04}.md"
    text = path.read_text(encoding="utf-8")
    assert change(text) != text
    path.write_text(change(text), encoding="utf-8")
    found = [str(each) for each in check_sources(read_written(edition))]
    assert any(message in each for each in found), found


def test_a_part_of_an_answer_that_is_no_slot_is_in_the_dialogue_too(edition: Path) -> None:
    path = edition / "dialogues" / "0001.md"
    questions = edition / "questions" / "all.yaml"
    questions.write_text(
        "- {ask: Who said so?, kind: said-by, category: factual-recall, difficulty: easy,\n"
        "   derive: value refit-bid, atoms: [rival], answer: 'the rival.'}\n",
        encoding="utf-8",
    )
    assert check_sources(read_written(edition)) == []
    path.write_text(
        path.read_text(encoding="utf-8").replace("yard's rival", "other yard"), encoding="utf-8"
    )
    (found,) = check_sources(read_written(edition))
    assert found.where == "dialogues/0001.md"
    assert found.message == "“rival”, an answer to “Who said so?”, is not in it"


@pytest.mark.parametrize("other", ["yard's rivals", "arrival"])
def test_a_part_of_a_longer_word_is_no_part_of_an_answer(edition: Path, other: str) -> None:
    path = edition / "dialogues" / "0001.md"
    (edition / "questions" / "all.yaml").write_text(
        "- {ask: Who said so?, kind: said-by, category: factual-recall, difficulty: easy,\n"
        "   derive: value refit-bid, atoms: [rival], answer: 'the rival.'}\n",
        encoding="utf-8",
    )
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("yard's rival", other), encoding="utf-8")

    (found,) = check_sources(read_written(edition))

    assert found.message == "“rival”, an answer to “Who said so?”, is not in it"


@pytest.mark.parametrize("named", ["Britt: ", "Britt Aalto: ", "Britt here. "])
def test_a_speaker_who_is_not_in_the_group_is_named(edition: Path, named: str) -> None:
    path = edition / "dialogues" / "0001.md"
    text = path.read_text(encoding="utf-8")
    mark = "[session: deck]\n\n"

    path.write_text(text.replace(mark, f"{mark}{named}"), encoding="utf-8")
    (found,) = check_sources(read_written(edition))
    assert found.message == "Britt speaks, and does not take part in session deck"
    assert found.where == "dialogues/0001.md, line 5"

    path.write_text(text.replace(mark, f"{mark}{named.replace('Britt', 'Omar')}"), encoding="utf-8")
    assert check_sources(read_written(edition)) == []
    alone = "[session: principal]\n\n"
    path.write_text(text.replace(alone, f"{alone}{named}"), encoding="utf-8")
    assert check_sources(read_written(edition)) == [], "a topic, where one person speaks"


def test_every_day_has_a_dialogue_or_none_has(edition: Path) -> None:
    (edition / "dialogues" / "0008.md").unlink()
    (found,) = check_sources(read_written(edition))
    assert str(found) == "dialogues: there is none for days 8"
