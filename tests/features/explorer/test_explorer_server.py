"""Who may read what: host header, token, origin, methods, and names that are no names."""

from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recall_bench.engine.runs.journal import JOURNAL, make_lock
from recall_bench.features.explorer.explorer_server import build_application
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.features.judges.labelled_verdicts import load_labels
from tests.features.explorer.sample_runs import write_runs
from tests.reporting.pages.sample_pages import HOSTILE
from tests.written_runs import PERFECT, ada_story, trial

TOKEN = "secret-token"
HOME = f"/{TOKEN}/"


def list_files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("runs"))


def open_client(root: Path, pages: Path) -> TestClient:
    views = ExplorerViews(RunCatalogue(root))
    application = build_application(views, "runs", token=TOKEN, port=4711, pages=pages)
    return TestClient(application, base_url="http://127.0.0.1:4711")


@pytest.fixture(scope="module")
def client(root: Path, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return open_client(root, tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def ids(root: Path) -> dict[str, str]:
    return {run.name: run.id for run in RunCatalogue(root).scan()}


def test_the_page_is_served_with_a_strict_policy(client: TestClient) -> None:
    page = client.get(HOME)

    assert page.status_code == 200
    policy = unescape(page.text)
    assert "default-src 'none'; script-src 'sha256-" in policy
    assert "connect-src 'self'" in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example:4711", "127.0.0.1", "127.0.0.1:80", ""])
def test_another_host_is_refused(client: TestClient, host: str) -> None:
    """A name that somebody made resolve to this machine brings its own host header."""
    reply = client.get(f"{HOME}data/runs", headers={"Host": host})

    assert reply.status_code == 421
    assert "scripted" not in reply.text


def test_localhost_is_this_machine(client: TestClient) -> None:
    assert client.get(HOME, headers={"Host": "localhost:4711"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/data/runs", "/wrong/data/runs", f"/{TOKEN}x/", "/index.html"]
)
def test_nothing_is_served_without_the_token(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 403


def test_another_page_may_not_ask(client: TestClient) -> None:
    assert client.get(f"{HOME}data/runs", headers={"Origin": "http://a.example"}).status_code == 403
    own = {"Origin": "http://127.0.0.1:4711"}
    assert client.get(f"{HOME}data/runs", headers=own).status_code == 200


OWN = {"Origin": "http://127.0.0.1:4711"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_runs_cannot_be_changed(client: TestClient, ids: dict[str, str], method: str) -> None:
    for path in ("", "data/runs", f"data/{ids['a']}/index", f"run/{ids['a']}/report.html"):
        assert client.request(method, HOME + path).status_code == 403
        assert client.request(method, HOME + path, headers=OWN).status_code == 405


def test_labels_are_the_only_thing_that_is_written(tmp_path: Path) -> None:
    root = write_runs(tmp_path / "runs")
    client = open_client(root, tmp_path)
    run = RunCatalogue(root).scan()[0]
    before = list_files(root)
    address = f"{HOME}labels/{run.id}"
    given = {"trial": "ada/cat@4d#0", "label": "wrong", "by": "ann", "comment": HOSTILE}

    assert client.post(address, json=given).status_code == 403
    evil = {"Origin": "http://evil.example"}
    assert client.post(address, json=given, headers=evil).status_code == 403
    plain = OWN | {"Content-Type": "text/plain"}
    assert client.post(address, content=b"{}", headers=plain).status_code == 415
    for change in ({"label": "splendid"}, {"by": ""}, {"comment": "x" * 5000}, {"path": "../x"}):
        assert client.post(address, json=given | change, headers=OWN).status_code == 400
    assert (
        client.post(address, json=given | {"comment": "x" * 40_000}, headers=OWN).status_code == 413
    )
    for trial_ in ("ada/dog@2d#0", "ada/none@2d#0", "../../x"):
        assert client.post(address, json=given | {"trial": trial_}, headers=OWN).status_code == 404
    assert client.post(f"{HOME}labels/nope", json=given, headers=OWN).status_code == 404
    assert list_files(root) == before

    saved = client.post(address, json=given, headers=OWN)

    assert saved.status_code == 200
    assert saved.json()["labels"] == [given]
    written = {name for name, text in list_files(root).items() if before.get(name) != text}
    assert {name for name in written if not name.endswith(".lock")} == {f"{run.name}/labels.jsonl"}
    (verdict,) = load_labels(run.path / "labels.jsonl")
    assert verdict.answer == "The cat is Plum."
    assert verdict.checkpoint_days == 4


@pytest.mark.parametrize(
    "name",
    [
        "data/../../../etc/passwd",
        "data/%2e%2e/%2e%2e/etc/passwd",
        "data/a/journal.jsonl",
        "data/nope/index",
        "data/compare/nope.nope",
        "run/../../etc/passwd/report.html",
        "run/%2e%2e/report.html",
        "run/nope/report.html",
    ],
)
def test_a_path_is_never_a_file(client: TestClient, name: str) -> None:
    reply = client.get(HOME + name)

    assert reply.status_code in (403, 404)
    assert "root:" not in reply.text


def test_reading_writes_nothing(client: TestClient, root: Path, ids: dict[str, str]) -> None:
    before = list_files(root)

    a, b = ids["a"], ids["nested/b"]
    for name in ("data/runs", f"data/{a}/trials", f"data/compare/{a}.{b}", f"run/{a}/report.html"):
        assert client.get(HOME + name).status_code == 200

    assert list_files(root) == before


def test_the_table_lists_every_run_with_what_differs(root: Path) -> None:
    rows = {row.name: row for row in RunCatalogue(root).list_rows(wait=True)}

    assert list(rows) == ["a", "c", "hostile", "nested/b"]
    assert rows["a"].dataset == "ada"
    assert rows["a"].state == "invalid"
    assert rows["nested/b"].state == "valid"
    # Points 6, 6, 2, 5, 6, 6 of 36.
    assert rows["nested/b"].figures is not None
    score = rows["nested/b"].figures.score
    assert score is not None
    assert score.value == pytest.approx(100 * 31 / 36)
    assert rows["a"].settings == rows["c"].settings == {}


def test_settings_of_one_system_are_shown_where_they_differ(tmp_path: Path) -> None:
    from recall_bench.core.memory import SystemCard

    for name, k in (("one", 3), ("two", 7)):
        card = SystemCard(name="scripted", version="1", config={"k": k, "b": 1})
        ada_story(tmp_path / name, system=card, repeats=k).save()

    rows = {row.name: row for row in RunCatalogue(tmp_path).list_rows(wait=True)}

    assert rows["one"].settings == {"repeats": "3", "k": "3"}
    assert rows["two"].settings == {"repeats": "7", "k": "7"}


def test_a_run_that_goes_on_is_followed(tmp_path: Path) -> None:
    """Only what was written since the last look is read."""
    story = ada_story(tmp_path / "run")
    story.both(trial("cat"), PERFECT)
    path = story.save() / JOURNAL
    catalogue = RunCatalogue(tmp_path)
    with make_lock(path):
        first = catalogue.list_rows()[0]
        story.not_answered(trial("dog"))
        story.save()
        with path.open("ab") as file:
            file.write(b'{"type":"answ')
        second = catalogue.list_rows()[0]
    third = catalogue.list_rows(wait=True)[0]

    assert first.state == second.state == "running"
    assert first.progress is not None
    assert second.progress is not None
    assert (first.progress.done, first.progress.owed, first.progress.errors) == (1, 5, 0)
    assert (second.progress.done, second.progress.owed, second.progress.errors) == (2, 5, 1)
    assert third.state == "unfinished"


def test_only_what_was_appended_is_read(tmp_path: Path) -> None:
    story = ada_story(tmp_path / "run")
    folder = story.open()
    assert folder.read_on() == 0

    story.both(trial("cat"), PERFECT)
    story.save()

    assert folder.read_on() == 2
    assert folder.read_on() == 0
    assert folder.states.scenarios["ada"].done_count == 1


def test_a_journal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / JOURNAL).write_text("nonsense\n")

    row = RunCatalogue(tmp_path).list_rows(wait=True)[0]

    assert row.state == "unreadable"
    assert "line 1" in (row.problem or "")
