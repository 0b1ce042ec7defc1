"""Groups of systems that do not differ, and a site that is safe and complete."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.plan import WorldCard
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.leaderboard.board import (
    CONTROL,
    Board,
    BoardRun,
    BoardSubmission,
    build_board,
    group_systems,
    read_run,
)
from recall_bench.features.archive.leaderboard.site import list_files, name_file, write_site
from recall_bench.features.archive.run_verification import CheckPart, CheckState, RunCheck
from tests.commands import Invoke

HOSTILE = '<script>alert("x")</script> & "quotes" \u202e../../etc'
MakeRun = Callable[..., BoardRun]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Runs of three systems on one fresh seed, and of one on the released story."""
    import recall_bench

    seed = f"0x{(1 << 127) + 5:x}"
    place = tmp_path_factory.mktemp("runs")
    found = {}
    for system, world in (("bm25", seed), ("recency", seed), ("none", seed), ("bm25", None)):
        into = place / f"{system}-{'fresh' if world else 'released'}"
        recall_bench.run(
            adapter=system,
            personas=("er-physician",),
            ranges=("20d",),
            world_seed=world,
            into=into,
            heatmap_png=False,
        )
        found[system, "fresh" if world else "released"] = into
    return found


@pytest.fixture
def make_run(folders: dict[tuple[str, str], Path]) -> MakeRun:
    def make(system: str, kind: str = "fresh", **stated: str) -> BoardRun:
        checks = (RunCheck(part=CheckPart.JOURNAL, state=CheckState.VERIFIED, detail="all lines"),)
        path = folders[system, kind]
        submission = BoardSubmission(**stated)  # type: ignore[arg-type]
        return read_run(RunFolder.open(path), path.name, submission, checks, ("verified",))

    return make


@pytest.fixture
def board(make_run: MakeRun) -> Board:
    kinds = (("bm25", "fresh"), ("recency", "fresh"), ("none", "fresh"), ("bm25", "released"))
    return build_board([make_run(system, kind) for system, kind in kinds])


def test_a_system_joins_the_group_whose_best_it_cannot_be_shown_from() -> None:
    order = ("a", "b", "c", "d")
    p_values = {("a", "b"): 0.3, ("a", "c"): 0.01, ("b", "c"): 0.2, ("c", "d"): 0.06}

    groups = group_systems(order, p_values)

    assert groups == (("a", "b"), ("c", "d"))


def test_the_headline_is_measured_on_fresh_seeds(board: Board) -> None:
    fresh, released = board.suites

    assert fresh.is_fresh
    assert not released.is_fresh
    assert fresh.title == "er-physician, 180 days, fresh seeds"
    assert {entry.system for entry in fresh.entries} == {"bm25", "recency", "none"}
    assert [entry.system for entry in released.entries] == ["bm25"]


def test_controls_are_shown_but_in_no_group(board: Board) -> None:
    suite = board.suites[0]
    grouped = {name for group in suite.groups for name in group}

    assert grouped == {"bm25", "recency"}
    assert [e.system for e in suite.entries if CONTROL in e.badges] == ["none"]
    assert suite.comparisons == 1


def test_a_small_seed_is_not_fresh(make_run: MakeRun) -> None:
    run = make_run("bm25")
    world = run.plan.world
    assert world is not None
    assert world.is_fresh
    assert not WorldCard(commitment=world.commitment, seed="0xb").is_fresh
    assert WorldCard(commitment=world.commitment).is_fresh


def test_the_newest_entry_of_a_system_counts_and_the_others_are_its_history(
    make_run: MakeRun,
) -> None:
    board = build_board([make_run("bm25"), make_run("recency", name="bm25")])
    (suite,) = board.suites

    assert len(suite.entries) == len(suite.earlier) == 1
    assert suite.entries[0].ended > suite.earlier[0].ended


def test_the_command_names_stories_seed_and_checkpoints(board: Board) -> None:
    entry = next(e for e in board.suites[0].entries if e.system == "bm25")

    assert entry.command == (
        f"recall-bench run --adapter bm25 --personas er-physician --arcs arcs-180d.yaml "
        f"--edition 3 --world-seed {entry.seed} --ranges 20d"
    )


def test_runs_of_several_judges_show_their_range(tmp_path: Path) -> None:
    import recall_bench

    runs = []
    for system in ("bm25", "recency", "none"):
        into = tmp_path / system
        recall_bench.run(
            adapter=system,
            personas=("er-physician",),
            ranges=("20d",),
            judges="offline,offline@strict",
            into=into,
            heatmap_png=False,
        )
        runs.append(read_run(RunFolder.open(into), system, BoardSubmission(), (), ("verified",)))

    (suite,) = (board := build_board(runs)).suites
    pages = {name: content.decode() for name, content in list_files(board)}

    (groups,) = suite.judge_groups.values()
    assert list(suite.judge_groups) == ["offline@strict"]
    assert {name for group in groups for name in group} == {"bm25", "recency"}
    said = suite.describe_judges()
    assert said is not None
    assert said in pages["index.html"]
    for entry in suite.entries:
        assert [each.judge for each in entry.judges] == ["offline", "offline@strict"]
        assert entry.score is not None
        assert entry.judges[0].mean == pytest.approx(entry.score.value)
        assert "--judges offline,offline@strict" in entry.command
        assert "over 2 judges" in pages[f"system/{entry.system}.html"]
    turned = {"offline@strict": (("recency",), ("bm25",))}
    unlike = suite.replace(judge_groups=turned).describe_judges()
    assert unlike == "By offline@strict the groups are 1. recency; 2. bm25."
    swapped = {"offline@strict": (("recency", "bm25"),)}
    alike = suite.replace(groups=(("bm25", "recency"),), judge_groups=swapped)
    assert alike.describe_judges() == "All 2 judges give the same groups."


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [value for name, value in attrs if name == "href" and value]


def test_every_link_of_the_site_leads_to_a_file_of_it(board: Board, tmp_path: Path) -> None:
    count = write_site(board, tmp_path / "site")
    pages = sorted((tmp_path / "site").rglob("*.html"))
    links = [(page, link) for page in pages for link in parse(page).links]

    assert count == len(list((tmp_path / "site").rglob("*.*")))
    assert len(pages) == 4
    assert len(links) > 10
    for page, link in links:
        assert (page.parent / link).is_file(), f"{page}: {link}"


def parse(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_pages_of_a_system_that_left_are_removed(make_run: MakeRun, tmp_path: Path) -> None:
    write_site(build_board([make_run("bm25"), make_run("recency")]), tmp_path / "site")
    write_site(build_board([make_run("bm25")]), tmp_path / "site")

    assert (tmp_path / "site/system/bm25.html").is_file()
    assert not (tmp_path / "site/system/recency.html").exists()


def test_a_hostile_name_is_text_everywhere(make_run: MakeRun, tmp_path: Path) -> None:
    stated = {"name": HOSTILE, "url": HOSTILE, "note": HOSTILE, "adapter": HOSTILE}
    board = build_board([make_run("bm25", **stated), make_run("recency")], HOSTILE)

    write_site(board, tmp_path / "site")

    for path in (tmp_path / "site").rglob("*"):
        assert path.resolve().is_relative_to(tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert not any(char in name_file(HOSTILE) for char in "/\\.<>")


def test_the_json_holds_the_figures_of_the_pages(board: Board) -> None:
    files = dict(list_files(board))
    entry = board.suites[0].entries[0]

    shown = json.loads(files["board.json"])["suites"][0]["entries"][0]
    assert entry.score is not None
    assert shown["score"]["value"] == pytest.approx(entry.score.value)
    assert msgspec.json.decode(files[f"system/{name_file(entry.system)}.json"])


def test_a_site_does_not_replace_files_of_others(board: Board, invoke: Invoke) -> None:
    from recall_bench.core.errors import UsageError

    assert invoke("leaderboard", "--help").code == 0
    Path("site").mkdir()
    Path("site/notes.txt").write_text("mine")

    with pytest.raises(UsageError, match=r"notes\.txt"):
        write_site(board, Path("site"))
