"""A file is fetched whole and as pinned, or not at all; what has arrived is never lost."""

import io
import ssl
from hashlib import sha256
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from recall_bench.core.errors import DownloadFailed, UsageError
from recall_bench.features.datasets import download
from recall_bench.features.datasets.download import fetch_file
from recall_bench.stories.catalogue import SourceFile
from tests.features.datasets.download.server import Served, Server
from tests.fixtures.datasets_download import BODY, Listener, pinned

FILE = pinned("talks.json", BODY)
UNPINNED = SourceFile(name="talks.json")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "talks.json"


@pytest.fixture
def part(target: Path) -> Path:
    target.parent.mkdir()
    return target.with_name("talks.json.part")


def fetched(file: SourceFile, target: Path, *urls: str) -> bytes:
    assert (
        fetch_file(file, urls, target, Listener(), dataset="talks")
        == sha256(target.read_bytes()).hexdigest()
    )
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    return target.read_bytes()


def test_a_file_arrives_whole_and_leaves_nothing_beside_it(server: Server, target: Path) -> None:
    server.files["/a"] = Served(BODY, etag='"1"')

    assert fetched(FILE, target, f"{server.url}/a") == BODY


def test_the_number_of_bytes_is_reported(server: Server, target: Path, watch: Listener) -> None:
    server.files["/a"] = Served(BODY)

    fetch_file(FILE, [f"{server.url}/a"], target, watch, dataset="talks")

    assert watch.reached[0] == ("talks.json", 0, len(BODY))
    assert ("talks.json", len(BODY), len(BODY)) in watch.reached
    assert watch.reached[-1] == ("checking talks.json", len(BODY), len(BODY))


def test_an_interrupted_file_goes_on_where_it_ended(
    server: Server, target: Path, part: Path
) -> None:
    server.files["/a"] = Served(BODY)
    part.write_bytes(BODY[:70_000])

    assert fetched(FILE, target, f"{server.url}/a") == BODY
    assert [asked.range for asked in server.asked] == ["bytes=70000-"]


def test_a_server_that_ignores_ranges_starts_over(server: Server, target: Path, part: Path) -> None:
    server.files["/a"] = Served(BODY, takes_ranges=False)
    part.write_bytes(BODY[:70_000])

    assert fetched(FILE, target, f"{server.url}/a") == BODY


def test_a_broken_connection_is_taken_up_again(server: Server, target: Path) -> None:
    server.files["/a"] = Served(BODY, cut_after=40_000)

    assert fetched(FILE, target, f"{server.url}/a") == BODY
    assert [asked.range for asked in server.asked] == [None, "bytes=40000-", "bytes=80000-"]


def test_what_arrived_before_the_last_failure_is_kept(server: Server, target: Path) -> None:
    server.files["/a"] = Served(BODY, cut_after=40_000, takes_ranges=False)

    with pytest.raises(DownloadFailed) as failed:
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")

    host = server.url.removeprefix("http://")
    assert str(failed.value) == (
        f"talks.json of talks could not be downloaded: {host} ended after 40,000 of 102,400 bytes. "
        "40.0 kB of it are kept; run the same command again to resume; --from takes a file you "
        "have, --mirror another address"
    )
    assert not target.exists()
    assert target.with_name("talks.json.part").read_bytes() == BODY[:40_000]


def test_a_part_from_one_place_goes_on_at_another(server: Server, target: Path) -> None:
    server.files["/a"] = Served(BODY, cut_after=40_000, takes_ranges=False)
    server.files["/b"] = Served(BODY)

    assert fetched(FILE, target, f"{server.url}/a", f"{server.url}/b") == BODY
    assert server.asked[-1].range == "bytes=40000-"


def test_wrong_bytes_are_refused_and_not_kept(server: Server, target: Path) -> None:
    wrong = BODY[:-1] + b"!"
    server.files["/a"] = Served(wrong)

    with pytest.raises(DownloadFailed, match="sends other bytes than those pinned") as failed:
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")

    assert sha256(wrong).hexdigest()[:12] in str(failed.value)
    assert list(target.parent.iterdir()) == []


def test_every_address_is_tried_and_each_failure_is_reported(
    server: Server, target: Path, watch: Listener
) -> None:
    server.files["/wrong"] = Served(BODY[:-1] + b"!")
    server.files["/right"] = Served(BODY)
    places = ("gone", "wrong", "right")

    fetch_file(FILE, [f"{server.url}/{place}" for place in places], target, watch, dataset="talks")

    assert target.read_bytes() == BODY
    told = "\n".join(watch.lines)
    assert "answers 404 Not Found" in told
    assert "sends other bytes" in told


def test_a_part_that_does_not_fit_is_begun_anew(server: Server, target: Path, part: Path) -> None:
    server.files["/a"] = Served(BODY)
    part.write_bytes(b"something else")

    assert fetched(FILE, target, f"{server.url}/a") == BODY
    assert [asked.range for asked in server.asked] == ["bytes=14-", None]


def test_a_part_that_is_whole_already_is_not_fetched(
    server: Server, target: Path, part: Path
) -> None:
    part.write_bytes(BODY)

    assert fetched(FILE, target, f"{server.url}/a") == BODY
    assert server.asked == []


def test_a_whole_part_of_unknown_length_is_recognised(
    server: Server, target: Path, part: Path
) -> None:
    """The server says that there is nothing beyond what we have."""
    server.files["/a"] = Served(BODY)
    part.write_bytes(BODY)

    assert fetched(FILE.replace(bytes=None), target, f"{server.url}/a") == BODY
    assert [asked.range for asked in server.asked] == ["bytes=102400-"]


def test_a_part_longer_than_the_file_is_begun_anew(
    server: Server, target: Path, part: Path
) -> None:
    server.files["/a"] = Served(BODY)
    part.write_bytes(BODY + b"more")

    assert fetched(FILE.replace(bytes=None), target, f"{server.url}/a") == BODY


def test_a_file_of_the_wrong_length_is_not_even_fetched(server: Server, target: Path) -> None:
    server.files["/a"] = Served(b"<html>", headers={"Content-Type": "text/html"})

    with pytest.raises(DownloadFailed, match="offers 6 bytes of text/html, not the 102,400"):
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")

    assert list(target.parent.iterdir()) == []


def test_a_redirection_is_followed_from_where_it_ended(
    server: Server, target: Path, part: Path
) -> None:
    server.files["/a"] = Served(status=302, headers={"Location": "/b"})
    server.files["/b"] = Served(BODY)
    part.write_bytes(BODY[:5])

    assert fetched(FILE, target, f"{server.url}/a") == BODY
    assert [(asked.target, asked.range) for asked in server.asked] == [
        ("/a", "bytes=5-"),
        ("/b", "bytes=5-"),
    ]


def test_a_redirection_to_this_machine_is_refused(
    server: Server, target: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(BODY)
    server.files["/a"] = Served(status=302, headers={"Location": secret.as_uri()})

    with pytest.raises(DownloadFailed, match="is not allowed"):
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/a", "host/a", "https:///a"])
def test_only_the_web_is_fetched_from(url: str, target: Path) -> None:
    with pytest.raises(UsageError):
        fetch_file(FILE, [url], target, Listener(), dataset="talks")


def test_an_unpinned_part_is_downloaded_again(server: Server, target: Path, part: Path) -> None:
    """Nothing would tell whether its two halves are of one file."""
    server.files["/cut"] = Served(b"old bytes", cut_after=4)
    server.files["/a"] = Served(BODY)

    assert fetched(UNPINNED, target, f"{server.url}/cut", f"{server.url}/a") == BODY
    assert [asked.range for asked in server.asked] == [None, None]


def test_a_part_that_was_not_asked_for_is_not_put_in(
    server: Server, target: Path, part: Path
) -> None:
    server.files["/a"] = Served(BODY, off_by=1)
    part.write_bytes(BODY[:9])

    with pytest.raises(DownloadFailed, match="sends another part of the file"):
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")

    assert part.read_bytes() == BODY[:9]


def test_a_redirection_that_gives_up_encryption_is_refused(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Answer(io.BytesIO):
        url = "http://plain.example/a"

    opener = SimpleNamespace(open=lambda *_, **__: Answer(BODY))
    monkeypatch.setattr(download, "_build_opener", lambda: opener)

    with pytest.raises(DownloadFailed, match=r"leads to plain\.example without encryption"):
        fetch_file(FILE, ["https://safe.example/a"], target, Listener(), dataset="talks")


def test_a_connection_that_keeps_breaking_is_given_up(server: Server, target: Path) -> None:
    server.files["/a"] = Served(BODY, cut_after=100)

    with pytest.raises(DownloadFailed, match="ended after 2,000 of 102,400 bytes"):
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")


def test_a_file_sent_packed_is_refused(server: Server, target: Path) -> None:
    server.files["/a"] = Served(BODY, headers={"Content-Encoding": "gzip"})

    with pytest.raises(DownloadFailed, match="sends the file packed"):
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")


def test_an_unreachable_address_is_reported_in_words(target: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"127.0.0.1:1 cannot be reached \(Connection refused"):
        fetch_file(FILE, ["http://127.0.0.1:1/a"], target, Listener(), dataset="talks")


def test_a_silent_server_is_not_waited_for_for_ever(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Event()
    server.files["/a"] = Served(BODY, gate=gate)
    monkeypatch.setattr(download, "_TIMEOUT_S", 0.1)

    with pytest.raises(DownloadFailed, match="did not answer within"):
        fetch_file(FILE, [f"{server.url}/a"], target, Listener(), dataset="talks")
    gate.set()


def test_a_rejected_certificate_is_reported_with_a_remedy() -> None:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_message = "self-signed certificate"

    words = download._describe_unreachable(error)

    assert "not accepted (self-signed certificate)" in words
    assert "SSL_CERT_FILE" in words


def test_proxies_of_the_environment_are_used(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    server.files["http://elsewhere.invalid/a"] = Served(BODY)

    assert fetched(FILE, target, "http://elsewhere.invalid/a") == BODY


def test_a_full_disk_keeps_what_has_arrived(server: Server, target: Path, part: Path) -> None:
    """A limit on the length of files stands in for the end of the disk."""
    resource = pytest.importorskip("resource", reason="needs limits as Unix has them")
    server.files["/a"] = Served(BODY)
    part.write_bytes(BODY[:40_000])
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, usual[1]))

    try:
        with pytest.raises(DownloadFailed, match=r"the disk is full; 70\.0 kB are kept"):
            fetch_file(
                FILE, [f"{server.url}/a", f"{server.url}/b"], target, Listener(), dataset="talks"
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    assert part.read_bytes() == BODY[:70_000]
    assert len(server.asked) == 1
    assert fetched(FILE, target, f"{server.url}/a") == BODY
