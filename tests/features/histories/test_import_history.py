"""A history becomes a persona folder that every command takes, completely or not at all."""

import json
import re
import signal
import time
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.histories.import_history import HistoryRequest, import_history
from recall_bench.stories.persona_files import Layout, list_days
from recall_bench.stories.persona_story import read_persona, read_story
from tests.commands import Invoke
from tests.features.histories import exports
from tests.features.histories.exports import write_tree, write_zip
from tests.warm_commands import start_command


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    chats = write_zip(tmp_path / "chatgpt.zip", {"conversations.json": exports.CHATGPT})
    write_tree(tmp_path, {"mail.mbox": exports.MBOX})
    return chats, tmp_path / "mail.mbox"


def make_request(paths: tuple[Path, ...], folder: Path, **more: object) -> HistoryRequest:
    return HistoryRequest(paths=paths, into=folder / "data", name="me", **more)  # type: ignore[arg-type]


GOLDEN_DAY = """\
---
type: daily
date: 2024-03-07
---

# session: mail

### Hotel in Lisbon, Thursday 7 March 2024

**Bo Lund** to Ana Ruiz (08:00): Hi Ana,
the hotel now wants 155 euros.

**Ana Ruiz** to Bo Lund (09:30): 155 euros & breakfast is fine.
"""
GOLDEN_PERSONA = """\
id: "me"
name: "Assistant"
role: "assistant who knows this history"
domain: "personal history"
team_size: 2
epoch: "2024-03-05"
profile: "Has read 6 messages from 2024-03-05 to 2024-03-07: principal, mail."
communication_style: "Short and exact."
principal:
  name: "Ana Ruiz"
  role: "the person whose history this is"
cast:
  - name: "ChatGPT"
    role: "assistant"
    kind: "agent"
  - name: "Bo Lund"
    role: "correspondent"
    kind: "human"
sessions:
  - id: "principal"
    kind: "1to1"
    participants: ["Ana Ruiz", "ChatGPT"]
  - id: "mail"
    kind: "group"
    participants: ["Ana Ruiz", "Bo Lund"]
"""


def test_several_exports_become_one_persona(files: tuple[Path, Path], tmp_path: Path) -> None:
    users = ("Ana Ruiz", "ana.ruiz@example.org")

    report = import_history(make_request(files, tmp_path, users=users))

    folder = tmp_path / "data/me"
    assert (folder / "memories-history/day-0003.md").read_text() == GOLDEN_DAY
    assert (folder / "persona.yaml").read_text() == GOLDEN_PERSONA
    assert (report.messages, report.repeated, report.days, report.span) == (6, 1, 3, 3)
    assert sorted(path.name for path in folder.iterdir()) == [
        "arcs-history.yaml",
        "history.json",
        "memories-history",
        "persona.yaml",
    ]
    assert read_persona(folder).principal is not None
    story = read_story(folder, "arcs-history.yaml")
    assert (story.epoch, story.has_gaps) == (date(2024, 3, 5), True)
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["me"]
    assert folder.stat().st_mode & 0o077 == 0


def test_no_message_can_open_a_session_or_a_topic(files: tuple[Path, Path], tmp_path: Path) -> None:
    import_history(make_request(files, tmp_path))

    layout = Layout(tmp_path / "data/me", "arcs-history.yaml")
    texts = [file.read() for file in list_days(layout, [], [])]
    assert re.findall(r"^# session: *(.*)$", "\n".join(texts), re.MULTILINE) == [
        "principal",
        "principal",
        "mail",
    ]
    assert "\\# session: secret" in texts[1]


def test_days_are_those_of_the_time_zone(files: tuple[Path, Path], tmp_path: Path) -> None:
    request = make_request(files, tmp_path, zone=ZoneInfo("Pacific/Auckland"))

    report = import_history(request)

    assert (report.first, report.last) == (date(2024, 3, 6), date(2024, 3, 7))


def test_since_and_until_limit_the_days(files: tuple[Path, Path], tmp_path: Path) -> None:
    day = date(2024, 3, 6)

    report = import_history(make_request(files, tmp_path, since=day, until=day))

    assert (report.first, report.last, report.messages) == (day, day, 2)
    assert report.skipped["outside of --since and --until"] == 5


def test_pseudonyms_replace_everywhere_and_the_map_is_kept_apart(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    request = make_request(files, tmp_path, is_pseudonymised=True, seed="7", users=("Ana Ruiz",))

    report = import_history(request)

    written = "".join(path.read_text() for path in (tmp_path / "data").rglob("*") if path.is_file())
    for original in ("Ana", "Ruiz", "Bo", "Lund", "bo.lund", "mail.mbox", "chatgpt.zip"):
        assert not re.search(rf"\b{re.escape(original)}\b", written), original
    place = tmp_path / "data.me.pseudonyms.json"
    assert report.map_file == str(place)
    assert place.stat().st_mode & 0o777 == 0o600
    names = json.loads(place.read_text())["names"]
    assert f"{names['ana']} {names['ruiz']}" in written


def read_pseudonymised(path: Path, folder: Path) -> str:
    """Everything that an import with pseudonyms writes into the data folder."""
    import_history(make_request((path,), folder, is_pseudonymised=True, seed="7"))
    return "".join(each.read_text() for each in (folder / "data").rglob("*") if each.is_file())


def test_the_name_of_a_chat_is_replaced_though_it_is_a_common_word(tmp_path: Path) -> None:
    place = tmp_path / "WhatsApp Chat with grace.txt"
    write_tree(tmp_path, {place.name: "[25.03.24, 14:02:11] Grace: Will you come?\n"})

    written = read_pseudonymised(place, tmp_path)

    assert "grace" not in written.lower()
    assert "Will you come?" in written


def test_a_person_who_posts_through_an_app_is_no_agent(tmp_path: Path) -> None:
    users = [{"id": "U1", "name": "aruiz", "profile": {"real_name": "Ana Ruiz"}}]
    said = [
        {"type": "message", "user": "U1", "ts": "1709640000.1", "text": "Ana Ruiz here"},
        {"type": "message", "user": "U1", "ts": "1709640001.1", "text": "By app", "bot_id": "B9"},
        {"type": "message", "username": "Ruiz", "ts": "1709640002.1", "text": "x", "bot_id": "B8"},
    ]
    source = tmp_path / "slack"
    write_tree(
        source,
        {
            "users.json": users,
            "channels.json": [{"id": "C1", "name": "general"}],
            "general/2024-03-05.json": said,
        },
    )

    written = read_pseudonymised(source, tmp_path)

    assert "Ana" not in written
    assert written.count('kind: "agent"') == 1


def test_the_other_person_of_a_discord_package_is_replaced(tmp_path: Path) -> None:
    source = tmp_path / "discord"
    write_tree(
        source,
        {
            "account/user.json": {"username": "ana_ruiz92"},
            "messages/c1/channel.json": {
                "id": "1", "type": "DM", "name": "Direct Message with eve.keller#0",
            },
            "messages/c1/messages.json": [
                {"ID": 1, "Timestamp": "2024-03-05 10:00:00", "Contents": "Hi Eve, eve.keller"}
            ],
        },
    )  # fmt: skip

    written = read_pseudonymised(source, tmp_path)

    assert not re.search("eve|keller|ana_ruiz", written, re.IGNORECASE)


def test_the_same_seed_gives_the_same_folder(files: tuple[Path, Path], tmp_path: Path) -> None:
    contents = []
    for place in ("one", "two"):
        folder = tmp_path / place
        import_history(make_request(files, folder, is_pseudonymised=True, seed="7"))
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        contents.append([path.read_bytes() for path in paths])

    assert contents[0] == contents[1]


def test_a_later_import_goes_on_with_the_map(files: tuple[Path, Path], tmp_path: Path) -> None:
    shared = tmp_path / "map.json"
    first = make_request((files[1],), tmp_path / "a", is_pseudonymised=True, map_file=shared)
    second = make_request(files, tmp_path / "b", is_pseudonymised=True, map_file=shared)
    import_history(first)
    before = json.loads(shared.read_text())

    import_history(second)

    after = json.loads(shared.read_text())
    assert after["seed"] == before["seed"]
    assert before["names"].items() <= after["names"].items()


REFUSED = {
    "swap the two": {"since": date(2024, 3, 7), "until": date(2024, 3, 5)},
    "no message to import": {"since": date(2030, 1, 1)},
    "need --pseudonymise": {"seed": "7"},
    "in the data folder": {"is_pseudonymised": True, "map_file": Path("data/me/map.json")},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_done_leaves_nothing(
    files: tuple[Path, Path], tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=words):
        import_history(make_request(files, tmp_path, **REFUSED[words]))  # type: ignore[arg-type]

    assert not (tmp_path / "data").exists() or not any((tmp_path / "data").iterdir())
    assert not (tmp_path / "data.me.pseudonyms.json").exists()


def test_a_folder_that_exists_is_left_as_it_is(files: tuple[Path, Path], tmp_path: Path) -> None:
    import_history(make_request(files, tmp_path))

    with pytest.raises(UsageError, match="exists and was not changed"):
        import_history(make_request(files, tmp_path))


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".hidden"])
def test_the_name_of_a_persona_leads_nowhere_else(
    files: tuple[Path, Path], tmp_path: Path, name: str, invoke: Invoke
) -> None:
    shown = invoke("import-history", str(files[0]), "--as", name, "--into", str(tmp_path / "data"))

    assert shown.code == 2
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("place", [0, 1])
def test_a_broken_file_leaves_nothing_and_exits_with_2(
    files: tuple[Path, Path], tmp_path: Path, invoke: Invoke, place: int
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[{"mapping": {}}, {"mapping": ')
    words = [str(files[1]), str(broken)][:: 1 if place else -1]

    shown = invoke("import-history", *words, "--as", "me", "--into", str(tmp_path / "data"))

    assert shown.code == 2
    assert len(shown.err.strip().splitlines()) == 1
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.slow
def test_a_killed_import_leaves_no_persona_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    chats = [{**exports.CHATGPT[0], "conversation_id": str(number)} for number in range(20_000)]
    write_tree(tmp_path, {"conversations.json": chats})
    process = start_command(
        ["import-history", tmp_path / "conversations.json", "--into", tmp_path / "data"]
    )
    while not list(tmp_path.glob("data/.*.part")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = [path.name for path in (tmp_path / "data").iterdir()]
    assert len(left) == 1
    assert left[0].startswith(".persona.")

    small = write_tree(tmp_path / "small", {"conversations.json": exports.CHATGPT})
    import_history(HistoryRequest(paths=(small,), into=tmp_path / "data"))

    assert [path.name for path in (tmp_path / "data").iterdir()] == ["persona"]


_IMPORT = """
import re, sys
from pathlib import Path
from recall_bench.features.histories.import_history import HistoryRequest, import_history
report = import_history(HistoryRequest(paths=(Path(sys.argv[1]),), into=Path(sys.argv[2])))
# Not ru_maxrss, which counts the process that started this one too.
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(report.messages, int(peak[1]) // 1024)
"""


def test_the_command_says_what_it_read_and_left_out(
    files: tuple[Path, Path], tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*(each.name for each in files), "--as", "me", "--pseudonymise", "--seed", "7"]

    shown = invoke("import-history", *words)

    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == "Read         chatgpt.zip (chatgpt): 4 messages"
    assert any(line.startswith("Left out     ") and "in spam or trash" in line for line in lines)
    assert any(line.startswith("Replaced     names: ") for line in lines)
    assert lines[-1].startswith("next: recall-bench generate questions --persona ")
