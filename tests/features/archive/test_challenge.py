"""A run on a drawn seed, and a challenge from commitment to verification."""

import json
import stat
from pathlib import Path

import pytest

from recall_bench.core.random_stream import derive_seed
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.stories.seeds import WorldSeed
from tests.commands import Invoke, Shown

STORY = ("-p", "er-physician", "--arcs", "arcs-21d.yaml")
JUDGED = ("-a", "none", "-r", "10d", "--no-heatmap-png")
RUN = (*JUDGED, "--judge", "stub")


@pytest.fixture
def challenge(invoke: Invoke) -> Path:
    assert invoke("challenge", "new", *STORY).code == 0
    return Path("challenge.json")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that has drawn nothing yet."""
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "other-cache"))


def get_states(shown: Shown) -> dict[str, str]:
    ((_, found),) = json.loads(shown.out).items()
    return {check["part"]: check["state"] for check in found["checks"]}


def test_a_fresh_seed_is_recorded_and_continued(invoke: Invoke) -> None:
    words = ("run", *RUN, *STORY, "--world-seed", "fresh")

    assert invoke(*words, "-o", "r").code == 0
    world = RunFolder.open(Path("r")).plan.world
    again = invoke(*words, "-o", "r")
    other = invoke(*words, "-o", "other")

    assert world is not None
    assert world.seed is not None
    assert int(world.seed, 16).bit_length() == 128
    assert again.code == 0
    assert "nothing was asked" in again.err
    assert f"drawn from seed {world.seed}" in " ".join(again.out.split())
    assert other.code == 0
    assert RunFolder.open(Path("other")).plan.dataset_digest != (
        RunFolder.open(Path("r")).plan.dataset_digest
    )


@pytest.mark.usefixtures("elsewhere")
def test_a_drawn_run_is_verified_where_it_was_not_drawn(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert invoke("run", *JUDGED, *STORY, "--world-seed", "77", "-o", "r").code == 0
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "third-cache"))

    shown = invoke("verify", "r", "--json")

    states = {check["part"]: check["state"] for check in json.loads(shown.out)["checks"]}
    assert states["data"] == "verified"
    assert states["verdicts"] == "verified"


def test_a_changed_story_in_the_cache_is_drawn_again(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    words = ("run", *RUN, *STORY, "--world-seed", "78")
    assert invoke(*words, "-o", "r").code == 0
    (day,) = (tmp_path / "cache").rglob("day-0002.md")
    before = day.read_text()
    day.write_text(before + "One more sentence.\n")

    assert invoke(*words, "-o", "again").code == 0

    assert day.read_text() == before
    assert RunFolder.open(Path("again")).plan == RunFolder.open(Path("r")).plan


def test_a_challenge_tells_no_seed_before_its_reveal(invoke: Invoke, challenge: Path) -> None:
    secret = challenge.with_suffix(".secret")
    ran = invoke("challenge", "run", challenge, *RUN, "-o", "r")
    seed = secret.read_text().strip()

    assert ran.code == 0
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert len(seed) == len("0x") + 32
    for file in (challenge, *(path for path in Path("r").rglob("*") if path.is_file())):
        assert seed.removeprefix("0x").encode() not in file.read_bytes(), file
    assert seed not in ran.out + ran.err


def test_everyone_can_verify_a_revealed_challenge(
    invoke: Invoke,
    challenge: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert invoke("challenge", "run", challenge, *JUDGED, "-o", "r").code == 0
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "other-cache"))
    early = invoke("challenge", "verify", challenge, "r")
    unknown = json.loads(invoke("verify", "r", "--json").out)["checks"]
    assert invoke("challenge", "reveal", challenge).code == 0
    challenge.with_suffix(".secret").unlink()

    shown = invoke("challenge", "verify", challenge, "r", "--json")

    assert early.code == 2
    assert "still secret" in early.err
    assert {row["part"]: row["state"] for row in unknown}["data"] == "not verified"
    assert shown.code == 0
    assert get_states(shown)["seed"] == "verified"
    assert get_states(shown)["verdicts"] == "verified"


def test_a_run_of_another_seed_is_not_of_the_challenge(invoke: Invoke, challenge: Path) -> None:
    assert invoke("run", *RUN, *STORY, "--world-seed", "77", "-o", "seeded").code == 0
    assert invoke("run", *RUN, "-p", "er-physician", "-o", "released").code == 0
    assert invoke("challenge", "reveal", challenge).code == 0

    for name in ("seeded", "released"):
        shown = invoke("challenge", "verify", challenge, name, "--json")
        assert shown.code == 3
        assert get_states(shown)["seed"] == "differs"


@pytest.mark.parametrize("stated", ["0x1f", "0", "seed", "-3"])
def test_another_seed_than_the_committed_one_is_refused(
    invoke: Invoke, challenge: Path, stated: str
) -> None:
    public = json.loads(challenge.read_text())
    challenge.write_text(json.dumps(public | {"seed": stated}))

    shown = invoke("challenge", "verify", challenge, "r")

    assert shown.code == 3
    assert "not the one that the challenge committed to" in shown.err


def test_only_who_made_a_challenge_can_run_it_before_the_reveal(
    invoke: Invoke, challenge: Path
) -> None:
    challenge.with_suffix(".secret").unlink()

    shown = invoke("challenge", "run", challenge, *RUN, "-o", "r")

    assert shown.code == 2
    assert "only the author of the challenge can run it" in shown.err


def test_a_challenge_is_never_overwritten(invoke: Invoke, challenge: Path) -> None:
    before = challenge.read_bytes(), challenge.with_suffix(".secret").read_bytes()

    assert invoke("challenge", "new", *STORY).code == 2
    challenge.unlink()
    assert invoke("challenge", "new", *STORY).code == 2

    assert challenge.with_suffix(".secret").read_bytes() == before[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (*STORY, "--world-seed", "soon"),
            "neither a seed nor the file of a challenge",
        ),
        (
            (*STORY, "--world-seed", "0"),
            "leave it out for the stories as released",
        ),
        ((*STORY, "--world-seed", str(1 << 128)), "is not between 1 and"),
        (("-p", "harbour-office", "--world-seed", "7"), "written by hand"),
        (("--data", ".", "--world-seed", "7"), "draws shipped personas only"),
        (
            (*STORY, "--world-seed", "notes.txt"),
            "is not the file of a challenge",
        ),
    ],
)
def test_a_seed_that_cannot_be_used_is_named(
    invoke: Invoke, words: tuple[str, ...], said: str
) -> None:
    Path("notes.txt").write_text("[1, 2]")

    shown = invoke("run", *RUN, *words)

    assert shown.code in {2, 3}
    assert said in shown.err


def test_seeds_of_the_simulator_keep_all_their_bits() -> None:
    small = derive_seed(777, "ada", "arcs-30d.yaml")
    large = WorldSeed.draw().value

    assert small < 1 << 64
    assert derive_seed(large, "ada", "arcs-30d.yaml") != derive_seed(large ^ 1, "ada", "x")
    drawn = {derive_seed(large + n, "ada", "arcs-30d.yaml") for n in range(64)}
    assert max(drawn).bit_length() > 120
