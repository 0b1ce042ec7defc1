"""The how-to page leads from two exports to a report in three commands."""

import shlex
from pathlib import Path

import pytest

from tests.commands import Invoke
from tests.features.histories import exports
from tests.features.histories.exports import write_tree, write_zip
from tests.test_docs import ROOT, shell_lines

MODEL = """
import json


def ask(day, session, question, answer, quote):
    return {
        "question": question, "answer": answer, "category": "factual-recall", "difficulty": "easy",
        "evidence": [{"day": day, "session": session, "quote": quote}], "aliases": [], "atoms": [],
        "relevant_days": [day], "requires_synthesis": False, "twin": None,
    }


def model(system: str, user: str) -> str:
    return json.dumps({"questions": [
        ask(1, "principal", "What did the hotel in Lisbon cost a night on 5 March 2024?",
            "140 euros.", "The hotel costs 140 euros a night."),
        ask(2, "principal", "When does the train arrive at Oriente?",
            "At 17:45.", "train arrives at 17:45 at Oriente"),
        ask(3, "mail", "How much did the hotel want on 7 March 2024?",
            "155 euros.", "the hotel now wants 155 euros."),
    ]})
"""
"""A model that knows the two exports."""


@pytest.mark.slow
def test_two_exports_become_questions_and_a_report_in_three_commands(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_zip(Path("chatgpt.zip"), {"conversations.json": exports.CHATGPT})
    write_tree(Path(), {"mail.mbox": exports.MBOX, "scripted.py": MODEL})
    lines = shell_lines(ROOT / "docs/how-to/import-history.md")

    shown = [
        invoke(*shlex.split(line.replace("openai:gpt-5.4", "scripted.py"))[1:]) for line in lines
    ]

    assert len(lines) == 3
    assert [each.code for each in shown] == [0, 0, 0], [each.err for each in shown]
    assert "hands excerpts of 3 days of me to Python code on this machine" in shown[1].err
    assert "3 questions kept, 0 rejected" in shown[1].out
    # In tests `run` leaves the page to `report`.
    assert invoke("report", "me-bm25").code == 0
    assert Path("me-bm25/report/report.html").is_file()
    persona = Path("my-personas/me")
    assert invoke("verify-qa", "--persona", str(persona)).code == 0
    assert invoke("lint", "--data", "my-personas").code == 0
    written = "".join(path.read_text() for path in persona.rglob("*.md"))
    assert "Ana" not in written
    assert "155 euros" in written


def test_without_a_model_the_command_says_how_to_get_questions(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tree(Path(), {"conversations.json": exports.CHATGPT})
    assert invoke("import-history", "conversations.json", "--as", "me").code == 0

    shown = invoke("generate-qa", "--persona", "my-personas/me")

    assert shown.code == 2
    assert "folder:DIR writes the prompts to files and sends nothing" in shown.err
