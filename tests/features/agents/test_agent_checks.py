"""The contract, the doctor, the summary and the pages of agents."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.sandbox import is_available
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.features.agents.talk_settings import (
    ChatSettings,
    PeerSettings,
    ProgramSettings,
    TalkSettings,
)
from recall_bench.features.doctor import doctor
from recall_bench.reporting.run_brief import render_brief
from recall_bench.reporting.run_facts import list_system_facts
from recall_bench.testing import CHECKS
from tests.commands import Invoke
from tests.faulty.agent_server import AgentServer
from tests.features.agents.targets import WAYS, Journal, name_agent, run_garden

PAGES = Path(__file__).parents[3] / "docs" / "how-to"


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_takes_notes_keeps_the_contract(
    way: str, agents: AgentServer, invoke: Invoke
) -> None:
    # Each message to a program is a process, so few are sent; the doctor puts all clauses to a2a.
    only = () if way == "openai" else ("--only", "reset")

    shown = invoke("check-adapter", name_agent(way, "notes", agents), *only)

    assert shown.code == 0, shown.out
    assert "✓ reset" in shown.out
    assert "what cannot be guaranteed" in shown.out


def test_an_agent_that_heeds_no_user_is_caught(agents: AgentServer, invoke: Invoke) -> None:
    adapter = name_agent("openai", "notes", agents)

    shown = invoke("check-adapter", adapter, "--config", "user=", "--only", "reset")

    assert shown.code == 1
    assert "✗ reset" in shown.out


def test_an_agent_can_be_examined(
    agents: AgentServer, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the doctor finds with all questions is tested with systems that need no server.
    monkeypatch.setattr(doctor, "QUESTIONS", 2 * doctor.ABSTENTIONS)

    shown = invoke("doctor", name_agent("a2a", "notes", agents), "--seed", 7)

    assert shown.code == 0, shown.err
    shown_figures = dict(re.findall(r"(?m)^  (\S.*?)  +(\S.*)$", shown.out))
    complained = set(re.findall(r"(?m)^  (?:invalid|suspect) +([\w-]+): ", shown.out))
    assert not complained & {check.name for check in CHECKS}
    assert shown_figures["facts found again"] == "100 %"
    assert shown_figures["questions"] == str(2 * doctor.ABSTENTIONS)
    assert shown_figures["score of oracle"] == "100 of 100"
    assert shown_figures["score"].endswith(" of 100")


def test_the_summary_says_what_was_sent_and_what_cannot_be_guaranteed(
    agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    run_garden(garden, tmp_path / "run", name_agent("openai", "notes", agents))

    folder = RunFolder.open(tmp_path / "run")
    facts = dict(list_system_facts(folder))
    metadata = json.loads((tmp_path / "run" / "result.json").read_text())["metadata"]
    assert facts["Messages"] == "12"
    assert facts["Caveats"].startswith("memories are separated by a user id only")
    assert facts["Spent"].startswith("ingest: 6 calls, ")
    assert metadata["system"]["caveats"] == list(folder.plan.system.caveats)
    brief = render_brief(folder, summarise(folder))
    assert all(f"\n{label}" in brief for label in ("Caveats", "Messages", "Spent"))


@pytest.mark.skipif(not is_available(), reason="needs a kernel that can confine a program")
def test_a_program_in_a_sandbox_keeps_its_memory(
    agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    adapter = name_agent("agent", "notes", agents)

    code = run_garden(garden, tmp_path / "run", adapter, sandbox=True, ranges=("2d",))

    journal = Journal(tmp_path / "run")
    assert code == 0
    assert journal.card["isolation"]["kind"] == "sandbox"
    # Each day and each question is a process, which has nothing but the files of the one before.
    assert set(journal.answers.values()) == {
        "I planted leeks in bed number 7.",
        "I planted chard in bed number 14.",
    }
    assert not any("home and its project" in each for each in journal.card["caveats"])


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("agent-openai.md", ChatSettings),
        ("agent-command.md", ProgramSettings),
        ("agent-a2a.md", PeerSettings),
    ],
)
def test_every_setting_is_on_its_page(page: str, kind: type[TalkSettings]) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    shared = (PAGES / "agent-openai.md").read_text(encoding="utf-8")

    names = {field.name for field in msgspec.structs.fields(kind)}
    common = {field.name for field in msgspec.structs.fields(TalkSettings)}
    missing = [name for name in names - common if name not in text]
    assert missing == []
    assert [name for name in common if name not in shared] == []
