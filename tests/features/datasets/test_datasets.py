"""`datasets` says what there is, fetches it, and describes it, in words and as JSON."""

import io
import json
import sys
from pathlib import Path

import pytest

from recall_bench.features.datasets import download
from recall_bench.features.datasets.datasets_command import open_watch
from recall_bench.stories.catalogue import DatasetSource, SourceFile
from tests.commands import Invoke
from tests.conftest import shared_data
from tests.features.datasets.download.server import Served, Server
from tests.fixtures.datasets_download import BODY, Publish, cache, pinned, publish, server

__all__ = ["cache", "publish", "server"]

DEAD = "http://127.0.0.1:1"


@pytest.fixture
def talks(server: Server, publish: Publish) -> Server:
    """Three datasets: one that can be had, one of unpinned files, one without a download."""
    server.files["/talks.json"] = Served(BODY)
    server.files["/wild.json"] = Served(b"wild")
    publish(
        talks=DatasetSource(
            licence="CC BY-NC 4.0",
            terms="Not for commercial use.",
            homepage="https://talks.example",
            places=(server.url,),
            files=(pinned("talks.json", BODY),),
        ),
        wild=DatasetSource(
            licence="MIT", places=(server.url,), files=(SourceFile(name="wild.json"),)
        ),
        own=DatasetSource(licence="your own"),
    )
    return server


def test_the_list_says_what_is_here(talks: Server, invoke: Invoke, cache: Path) -> None:
    assert invoke("datasets", "download", "talks").code == 0

    shown = invoke("datasets", "list")

    lines = [line.split() for line in shown.out.splitlines()]
    assert lines[1] == (
        "talks complete 102.4 kB 102.4 kB yes CC BY-NC 4.0 The talks not run".split()
    )
    assert lines[2] == "wild absent - unknown --unpinned MIT The wild not run".split()
    assert lines[3] == "own your own - - no your own The own not run".split()
    assert shown.out.endswith(f"Downloads are in {cache}.\n")


def test_the_list_is_there_for_programs(talks: Server, invoke: Invoke) -> None:
    listed = json.loads(invoke("datasets", "list", "--json").out)

    assert [entry["state"] for entry in listed] == ["absent", "absent", None]
    assert listed[0]["files"][0]["bytes"] == len(BODY)


def test_a_download_tells_what_it_does_and_prints_no_answer(
    talks: Server, invoke: Invoke, cache: Path
) -> None:
    shown = invoke("datasets", "download", "talks")

    assert (shown.code, shown.out) == (0, "")
    assert shown.err.splitlines() == [
        f"talks.json: 102.4 kB from {talks.url.removeprefix('http://')}",
        "talks.json: 102.4 kB, as pinned",
        f"talks: complete in {cache}/talks/talks.json",
    ]


def test_a_failed_download_is_one_sentence_and_an_exit_code(talks: Server, invoke: Invoke) -> None:
    talks.files.clear()

    shown = invoke("datasets", "download", "talks")

    assert shown.code == 9
    assert shown.err.splitlines()[-1].startswith("error: talks.json of talks could not be")


def test_all_fails_if_anything_does_and_fetches_the_rest(talks: Server, invoke: Invoke) -> None:
    shown = invoke("datasets", "download", "all")

    assert shown.code == 2
    assert "talks: complete" in shown.err
    assert shown.err.splitlines()[-1].startswith("error: wild: no sha-256")
    assert invoke("datasets", "download", "all", "--unpinned").code == 0


def test_a_mirror_and_a_file_of_ones_own_are_taken(
    talks: Server, invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_bytes(b"wild")
    talks.files = {"/copy/talks/talks.json": Served(BODY)}

    mirrored = invoke("datasets", "download", "talks", "--mirror", f"{talks.url}/copy")
    own = invoke("datasets", "download", "wild", "--from", "mine", "--unpinned")

    assert (mirrored.code, own.code) == (0, 0)


def test_an_interrupted_download_says_that_it_goes_on(
    talks: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "fetch_file", interrupt)

    shown = invoke("datasets", "download", "talks")

    assert shown.code == 130
    assert shown.err.endswith("error: interrupted; run the same command again to continue\n")


def test_names_are_required(invoke: Invoke) -> None:
    assert invoke("datasets", "download").code == 2


def test_a_card_tells_what_is_known_and_how_to_get_the_rest(talks: Server, invoke: Invoke) -> None:
    out = invoke("datasets", "show", "talks").out

    for words in (
        "CC BY-NC 4.0. Not for commercial use.",
        "https://talks.example",
        "talks.json, 102.4 kB, absent",
        "* A note.",
        "typos: Three words are misspelt.",
        "audit: Somebody found two errors.",
        "`recall-bench datasets download talks` fetches it",
    ):
        assert words in " ".join(out.split()), words


def test_a_card_counts_what_it_is_given(talks: Server, invoke: Invoke) -> None:
    Path("mine.json").write_bytes(BODY)
    Path("variant.json").write_bytes(b"{}")

    out = invoke("datasets", "show", "talks", "--data", "mine.json").out
    variant = invoke("datasets", "show", "talks", "--data", "variant.json").out
    unknown = invoke("datasets", "show", "own", "--data", "mine.json").out

    assert "mine.json (as published) holds:" in out
    assert "1 scenarios, 2 sessions, 4 turns, 4 questions" in out
    assert "sessions from 2024-01-01 to 2024-01-02" in out
    assert out.rstrip().splitlines()[-3].split() == ["facts", "2"]
    assert "(NOT the published bytes)" in variant
    assert "(your own)" in unknown


def test_a_card_is_there_for_programs(talks: Server, invoke: Invoke) -> None:
    Path("mine.json").write_bytes(BODY)

    card = json.loads(invoke("datasets", "show", "talks", "--data", "mine.json", "--json").out)

    assert card["entry"]["name"] == "talks"
    assert card["counts"]["questions"] == 4


def test_the_card_of_locomo_counts_the_real_file(invoke: Invoke) -> None:
    path = shared_data("locomo/locomo10.json")

    card = json.loads(invoke("datasets", "show", "locomo", "--data", path, "--json").out)

    counts = card["counts"]
    assert card["is_published"] is True
    assert (counts["scenarios"], counts["sessions"]) == (10, 272)
    assert (counts["turns"], counts["questions"]) == (5_882, 1_986)
    assert (counts["turn_evidence"], counts["no_evidence"]) == (1_982, 4)
    assert counts["abstaining"] == 446
    assert counts["categories"]["temporal"] == 321


def test_locomo_is_taken_from_the_real_folder_and_located(
    invoke: Invoke, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shared_data("locomo/locomo10.json").parent
    monkeypatch.setenv("https_proxy", DEAD)

    assert invoke("datasets", "download", "locomo", "--from", folder).code == 0

    card = json.loads(invoke("datasets", "show", "locomo", "--json").out)
    assert card["data"] == str(cache / "locomo/locomo10.json")
    assert [file["state"] for file in card["entry"]["files"]] == ["complete", "complete"]


def test_a_log_is_reported_every_tenth_of_a_large_file(capsys: pytest.CaptureFixture[str]) -> None:
    with open_watch() as watch:
        for done in range(0, 100_000_001, 1_000_000):
            watch.update("large.json", done, 100_000_000)
        watch.update("small.json", 5, 10)

    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"large.json: {tenth} %" for tenth in range(10, 101, 10)]


def test_a_terminal_shows_every_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")

    with open_watch() as watch:
        watch.update("talks.json", 0, 2_000_000)
        watch.update("talks.json", 1_000_000, 2_000_000)
        watch.note("talks.json: [half] of it")

    assert "\rtalks.json: 50 %" in terminal.getvalue()
    assert "talks.json: [half] of it" in terminal.getvalue()
