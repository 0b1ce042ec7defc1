"""A bundle is one file that others can verify, and opening a stranger's is safe."""

import io
import json
import lzma
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from recall_bench.core.errors import DataError
from recall_bench.core.event import Answered, Event, Judged, RunStarted
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.journal import JOURNAL, encode_events, read_events
from recall_bench.features.archive import bundle_file
from recall_bench.features.archive.bundle_file import MANIFEST, unpack_bundle
from tests.commands import Invoke
from tests.gardener import ADAPTER, write_persona
from tests.thoroughness import choose_number

Members = dict[str, bytes]

LIMITS = {
    name: choose_number(1 << 20, usual)
    for name, usual in {
        "_MAX_LINE": bundle_file._MAX_LINE,
        "_FREE_BYTES": bundle_file._FREE_BYTES,
    }.items()
}
"""Of a hostile bundle: a hundred megabytes of nothing take seconds to pack and to open."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the gardener, a data folder, and a bundle of the run."""
    import recall_bench

    folder = tmp_path_factory.mktemp("bundles")
    write_persona(folder / "data")
    (folder / "neighbour.py").write_text("WORD = 'record'\n")
    adapter = folder / "adapter.py"
    adapter.write_text(f"from neighbour import WORD\n\n{ADAPTER}")
    done = recall_bench.run(
        data=folder / "data",
        adapter=str(adapter),
        ranges=("5d",),
        into=folder / "run",
        heatmap_png=False,
    )
    assert done.exit_code == 0
    from recall_bench.features.archive.run_bundle import make_bundle

    make_bundle(folder / "run", folder / "run.bundle")
    return folder


@pytest.fixture
def place(finished: Path, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in the current folder, to be changed; two folders above it belong to the test."""
    inner = tmp_path / "outer" / "inner"
    shutil.copytree(finished, inner)
    monkeypatch.chdir(inner)
    return inner


def read_members(bundle: Path) -> Members:
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(bundle.read_bytes()))) as tar:
        return {
            member.name: file.read()
            for member in tar.getmembers()
            if (file := tar.extractfile(member)) is not None
        }


def write_tar(bundle: Path, members: Iterator[tuple[tarfile.TarInfo, bytes]]) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for header, content in members:
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    # tarfile pads to whole records; a bundle ends after two empty blocks.
    content = plain.getvalue().rstrip(b"\0")
    content += bytes(-len(content) % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE)
    bundle.write_bytes(lzma.compress(content, preset=0))


def write_members(bundle: Path, members: Members) -> None:
    write_tar(bundle, ((tarfile.TarInfo(name), content) for name, content in members.items()))


def describe(members: Members) -> None:
    """State sizes and digests as they are, as somebody who knows the format can."""
    from hashlib import sha256

    manifest = json.loads(members[MANIFEST])
    manifest["files"] = [
        {"name": name, "sha256": sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in members.items()
        if name != MANIFEST
    ]
    members[MANIFEST] = json.dumps(manifest).encode()


def test_a_bundle_is_verified_and_names_what_is_not(place: Path, invoke: Invoke) -> None:
    shown = invoke("verify", "run.bundle", "--data", "data", "--json")

    assert shown.code == 0, shown.err
    checks = {row["part"]: row["state"] for row in json.loads(shown.out)["checks"]}
    assert checks.pop("system") == checks.pop("signature") == "not verified"
    assert set(checks.values()) == {"verified"}
    assert {"bundle", "journal", "trials", "data", "verdicts", "files"} <= checks.keys()


def test_data_of_ones_own_is_named_by_digest_and_ids_only(place: Path, invoke: Invoke) -> None:
    shown = invoke("bundle", "run", "-o", "again.bundle")
    manifest = json.loads(read_members(Path("again.bundle"))[MANIFEST])

    assert "own data" in shown.err
    assert manifest["dataset"]["items"].keys() == {"gardener"}
    assert all(isinstance(each, str) for each in manifest["dataset"]["items"]["gardener"])
    without = invoke("verify", "again.bundle", "--json")
    states = {row["part"]: row["state"] for row in json.loads(without.out)["checks"]}
    assert without.code == 0
    assert states["data"] == states["verdicts"] == "not verified"
    assert states["files"] == states["trials"] == "verified"


def test_the_same_run_gives_the_same_bytes(place: Path, invoke: Invoke) -> None:
    shutil.copytree("run", "elsewhere/run")
    invoke("bundle", "elsewhere/run")

    assert Path("elsewhere/run.bundle").read_bytes() == Path("run.bundle").read_bytes()


def test_a_bundle_tells_the_environment_and_the_files_of_the_adapter(place: Path) -> None:
    [environment] = json.loads(read_members(Path("run.bundle"))[MANIFEST])["environments"]

    assert environment["python"].startswith("CPython 3.")
    assert "numpy" in environment["packages"]
    assert [each["name"] for each in environment["adapter"]] == ["adapter.py", "neighbour.py"]


def test_a_bundle_holds_nothing_of_this_machine(place: Path, finished: Path) -> None:
    for name, content in read_members(Path("run.bundle")).items():
        assert str(finished).encode() not in content, name


def test_an_unfinished_run_makes_no_bundle(place: Path, invoke: Invoke) -> None:
    lines = Path("run", JOURNAL).read_bytes().splitlines(keepends=True)
    Path("run", JOURNAL).write_bytes(b"".join(lines[:-1]))
    shown = invoke("bundle", "run")

    assert shown.code == 2
    assert "unfinished" in shown.err


def test_a_journal_with_a_key_makes_no_bundle(
    place: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As earlier versions wrote them."""

    def leak(event: Event) -> Event:
        if isinstance(event, Answered):
            return event.replace(answer=event.answer.replace(text="sk-proj-0123456789abcdef0"))
        return event

    events = [leak(event) for event in read_events(Path("run", JOURNAL))]
    monkeypatch.setattr("recall_bench.engine.runs.journal_lines.redact_event", lambda event: event)
    Path("run", JOURNAL).write_bytes(b"".join(encode_events(events)))
    shown = invoke("bundle", "run")

    assert shown.code == 3
    assert "looks like a key" in shown.err
    assert not Path("run.bundle.part").exists()


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_signature_is_held_against_the_signers(place: Path, invoke: Invoke) -> None:
    for name in ("mine", "theirs"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
    key = Path("mine.pub").read_text()
    Path("signers").write_text(f"ada@example.org {key}")
    Path("others").write_text(f"eve@example.org {Path('theirs.pub').read_text()}")
    invoke("bundle", "run", "--sign", "mine")

    def find_state(signers: str, code: int) -> str:
        shown = invoke("verify", "run.bundle", "--data", "data", "--signers", signers, "--json")
        assert shown.code == code, shown.err
        rows = {row["part"]: row for row in json.loads(shown.out)["checks"]}
        return f"{rows['signature']['state']}: {rows['signature']['detail']}"

    assert find_state("signers", 0) == "verified: signed by ada@example.org"
    assert find_state("others", 3).startswith("differs")
    with Path("run.bundle.sig").open("r+b") as signature:
        signature.seek(60)
        signature.write(b"AAAA")
    assert find_state("signers", 3).startswith("differs")


def test_a_missing_signature_is_an_error_if_signers_are_named(place: Path, invoke: Invoke) -> None:
    Path("signers").write_text("")
    shown = invoke("verify", "run.bundle", "--signers", "signers")

    assert shown.code == 2
    assert "no signature" in shown.err


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, target
    return header


def replace_name(old: str, new: str) -> Callable[[Path], None]:
    def write(bundle: Path) -> None:
        members = read_members(bundle)
        manifest = members.pop(MANIFEST).replace(old.encode(), new.encode())
        renamed = {new if name == old else name: each for name, each in members.items()}
        write_members(bundle, {MANIFEST: manifest, **renamed})

    return write


def insert_link(kind: bytes) -> Callable[[Path], None]:
    def write(bundle: Path) -> None:
        members = read_members(bundle)
        headers = [(tarfile.TarInfo(MANIFEST), members[MANIFEST])]
        write_tar(bundle, iter([*headers, (link(JOURNAL, kind, "/etc/passwd"), b"")]))

    return write


def add_file(bundle: Path) -> None:
    write_members(bundle, {**read_members(bundle), "extra.py": b"print('hello')"})


def repeat_file(bundle: Path) -> None:
    members = read_members(bundle)
    headers = [(tarfile.TarInfo(name), content) for name, content in members.items()]
    write_tar(bundle, iter([*headers, (tarfile.TarInfo(JOURNAL), members[JOURNAL])]))


def expand(bundle: Path) -> None:
    """A bomb: a kilobyte that would fill the disk."""
    members = read_members(bundle)
    manifest = json.loads(members[MANIFEST])
    manifest["files"] = [{"name": JOURNAL, "sha256": "0" * 64, "bytes": 1 << 30}]
    header = tarfile.TarInfo(MANIFEST)
    content = json.dumps(manifest).encode()
    header.size = len(content)
    big = tarfile.TarInfo(JOURNAL)
    big.size = 1 << 30
    packer = lzma.LZMACompressor(preset=0)
    pieces = [
        packer.compress(header.tobuf(tarfile.USTAR_FORMAT) + content),
        packer.compress(bytes(-len(content) % 512) + big.tobuf(tarfile.USTAR_FORMAT)),
        *(packer.compress(bytes(LIMITS["_FREE_BYTES"])) for _ in range(10)),
        packer.flush(),
    ]
    bundle.write_bytes(b"".join(pieces))


def enlarge_manifest(bundle: Path) -> None:
    header = tarfile.TarInfo(MANIFEST)
    header.size = 1 << 30
    bundle.write_bytes(lzma.compress(header.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20)))


def cut_off(bundle: Path) -> None:
    content = bundle.read_bytes()
    bundle.write_bytes(content[: len(content) // 2])


def append_bytes(bundle: Path) -> None:
    bundle.write_bytes(bundle.read_bytes() + b"more")


def append_stream(bundle: Path) -> None:
    bundle.write_bytes(bundle.read_bytes() + lzma.compress(b"more"))


def flip_bit(bundle: Path) -> None:
    content = bytearray(bundle.read_bytes())
    content[len(content) // 2] ^= 1
    bundle.write_bytes(content)


def name_another_format(bundle: Path) -> None:
    members = read_members(bundle)
    members[MANIFEST] = members[MANIFEST].replace(b'"format": 1', b'"format": 2')
    write_members(bundle, members)


def change_answer(bundle: Path) -> None:
    members = read_members(bundle)
    members[JOURNAL] = members[JOURNAL].replace(b'"answered"', b'"answered" ', 1)
    write_members(bundle, members)


def change_answer_and_digest(bundle: Path) -> None:
    members = read_members(bundle)
    members[JOURNAL] = members[JOURNAL].replace(b'"seconds":', b'"seconds":1', 1)
    describe(members)
    write_members(bundle, members)


def drop_line_and_describe(bundle: Path) -> None:
    members = read_members(bundle)
    lines = members[JOURNAL].splitlines(keepends=True)
    members[JOURNAL] = b"".join(lines[:10] + lines[11:])
    describe(members)
    write_members(bundle, members)


def remove_journal(bundle: Path) -> None:
    members = read_members(bundle)
    del members[JOURNAL]
    describe(members)
    write_members(bundle, members)


def lengthen_line(bundle: Path) -> None:
    members = read_members(bundle)
    members[JOURNAL] += b"[" + b" " * (LIMITS["_MAX_LINE"] + (1 << 20)) + b"]\n"
    describe(members)
    write_members(bundle, members)


def plan_too_much(bundle: Path) -> None:
    """A plan whose trials would fill the memory where it is opened."""

    def repeat(event: Event) -> Event:
        if isinstance(event, RunStarted):
            return event.replace(plan=event.plan.replace(repeats=1 << 40))
        return event

    relink(bundle, repeat)


REFUSED = {
    "long line": lengthen_line,
    "trials without end": plan_too_much,
    "traversal": replace_name("result.json", "../../escaped.json"),
    "absolute path": replace_name("result.json", "/tmp/escaped.json"),
    "other name": replace_name("result.json", "labels.jsonl"),
    "symbolic link": insert_link(tarfile.SYMTYPE),
    "hard link": insert_link(tarfile.LNKTYPE),
    "device": insert_link(tarfile.CHRTYPE),
    "folder": insert_link(tarfile.DIRTYPE),
    "further file": add_file,
    "file twice": repeat_file,
    "bomb": expand,
    "huge manifest": enlarge_manifest,
    "cut off": cut_off,
    "bytes behind the end": append_bytes,
    "stream behind the end": append_stream,
    "flipped bit": flip_bit,
    "another format": name_another_format,
    "changed answer": change_answer,
    "changed answer and digest": change_answer_and_digest,
    "missing line": drop_line_and_describe,
    "no journal": remove_journal,
}


SAID = {"long line": "has a line of more than", "bomb": "expands to more than"}
"""Of those that are broken as well, and would be refused for it once all of them was read."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_or_hostile_bundle_is_refused_in_one_sentence(
    place: Path, invoke: Invoke, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, value in LIMITS.items():
        monkeypatch.setattr(bundle_file, limit, value)
    REFUSED[name](Path("run.bundle"))
    shutil.rmtree("forged", ignore_errors=True)
    before = sorted(tmp_path.rglob("*"))
    shown = invoke("verify", "run.bundle", "--data", "data")

    assert shown.code == 3, shown.out
    assert len(shown.err.splitlines()) == 1
    assert SAID.get(name, "") in shown.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"_MAX_BYTES": 20_000}, "a bundle is 0.0 GB"),
        ({"_MAX_MANIFEST": 100}, "its manifest has 0 MB"),
        ({"_FREE_BYTES": 0, "_MAX_RATIO": 1}, "times when it is opened"),
        ({"_MAX_LINE": 100, "_CHUNK": 50}, "journal.jsonl: has a line of more than"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, dict) else "",
)
def test_what_could_not_be_opened_is_refused_when_it_is_written(
    place: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, int],
    words: str,
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(bundle_file, name, value)

    shown = invoke("bundle", "run", "-o", "again.bundle")

    assert shown.code in (2, 3)
    assert words in shown.err
    assert not Path("again.bundle").exists()


def test_a_bundle_that_does_not_fit_on_the_disk_is_not_unpacked(
    place: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_file, "disk_usage", lambda _: SimpleNamespace(free=10))

    shown = invoke("verify", "run.bundle", "--data", "data")

    assert shown.code == 2
    assert "TMPDIR" in shown.err


def test_a_refused_bundle_writes_within_its_folder_only(place: Path) -> None:
    into = place / "a" / "b" / "c"
    into.mkdir(parents=True)
    replace_name("result.json", "../../escaped.json")(Path("run.bundle"))
    with pytest.raises(DataError):
        unpack_bundle(Path("run.bundle"), into)

    assert not list(place.rglob("escaped.json"))


def relink(bundle: Path, change: Callable[[Event], Event]) -> None:
    """Change events, and make everything else of the bundle fit them."""
    members = read_members(bundle)
    Path("forged").mkdir()
    Path("forged", JOURNAL).write_bytes(members[JOURNAL])
    events = [change(event) for event in read_events(Path("forged", JOURNAL))]
    members[JOURNAL] = b"".join(encode_events(events))
    manifest = json.loads(members[MANIFEST])
    manifest["link"] = members[JOURNAL].splitlines()[-1][-34:-2].decode()
    members[MANIFEST] = json.dumps(manifest).encode()
    describe(members)
    write_members(bundle, members)


def change_verdict(event: Event) -> Event:
    if isinstance(event, Judged):
        marks = (3, 2, 1) if event.verdict.composite < 6 else (0, 0, 1)
        return event.replace(verdict=Verdict.of(*marks, reason=event.verdict.reason))
    return event


def rename_system(members: Members) -> None:
    manifest = json.loads(members[MANIFEST])
    manifest["system"]["name"] = "another"
    members[MANIFEST] = json.dumps(manifest).encode()


def newer_packages(members: Members) -> None:
    members[MANIFEST] = members[MANIFEST].replace(b"CPython 3.", b"CPython 4.")


def other_adapter(members: Members) -> None:
    manifest = json.loads(members[MANIFEST])
    manifest["environments"][0]["adapter"][0]["sha256"] = "0" * 64
    members[MANIFEST] = json.dumps(manifest).encode()


def other_plan(members: Members) -> None:
    manifest = json.loads(members[MANIFEST])
    manifest["plan"] = "0" * 64
    members[MANIFEST] = json.dumps(manifest).encode()


def fewer_items(members: Members) -> None:
    manifest = json.loads(members[MANIFEST])
    manifest["dataset"]["items"]["gardener"].pop()
    members[MANIFEST] = json.dumps(manifest).encode()


def higher_score(members: Members) -> None:
    result = json.loads(members["result.json"])
    result["metadata"]["note"] = "six of six"
    members["result.json"] = json.dumps(result).encode()


def shorter_progress(members: Members) -> None:
    members["progress.jsonl"] = members["progress.jsonl"].splitlines(keepends=True)[0]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (rename_system, "bundle"),
        (newer_packages, "bundle"),
        (other_adapter, "bundle"),
        (other_plan, "bundle"),
        (fewer_items, "bundle"),
        (higher_score, "files"),
        (shorter_progress, "files"),
    ],
)
def test_what_does_not_follow_from_the_journal_differs(
    place: Path, invoke: Invoke, change: Callable[[Members], None], part: str
) -> None:
    members = read_members(Path("run.bundle"))
    change(members)
    describe(members)
    write_members(Path("run.bundle"), members)
    shown = invoke("verify", "run.bundle", "--data", "data", "--json")

    assert shown.code == 3
    differing = {r["part"] for r in json.loads(shown.out)["checks"] if r["state"] == "differs"}
    assert differing == {part}


def test_other_verdicts_are_found_whatever_else_was_made_to_fit(
    place: Path, invoke: Invoke
) -> None:
    relink(Path("run.bundle"), change_verdict)
    shown = invoke("verify", "run.bundle", "--data", "data", "--json")

    assert shown.code == 3
    differing = {r["part"] for r in json.loads(shown.out)["checks"] if r["state"] == "differs"}
    assert differing == {"verdicts", "files"}


def test_a_bundle_names_a_system_and_starts_none(place: Path, invoke: Invoke) -> None:
    """The adapter of a stranger is a name in a card: nothing imports it."""

    def name_code(event: Event) -> Event:
        if isinstance(event, RunStarted):
            system = event.plan.system.replace(name="trap.py", config={"adapter": "trap.py"})
            return event.replace(plan=event.plan.replace(system=system))
        return event

    Path("trap.py").write_text("from pathlib import Path\nPath('sprung').touch()\n")
    relink(Path("run.bundle"), name_code)
    invoke("verify", "run.bundle", "--data", "data")

    assert not Path("sprung").exists()
