"""A verdict that was paid for is found again, whole, or not at all."""

import json
import signal
from pathlib import Path

import pytest

from recall_bench.core.errors import JudgeGone, UsageError
from recall_bench.core.verdict import JudgeCard, RubricCard, Verdict
from recall_bench.judging.verdicts import VerdictCache, make_cache_key
from recall_bench.systems.models.model import Prompt
from tests.forked_processes import PROCESSES
from tests.half_written import die_half_way

KEY = "ab" + "0" * 62
VERDICT = Verdict.of(2, 1, 1, "a slip")
RUBRIC = RubricCard(name="reference", version="1", digest="d")
CARD = JudgeCard(name="rubric", version="1", model="m", rules_digest="r", rubrics=(RUBRIC,))
PROMPT = Prompt(system="s", user="u", schema={"type": "object"})


def entry(folder: Path) -> Path:
    (path,) = folder.rglob("*.json")
    return path


def test_what_is_kept_is_found_when_the_folder_is_opened_next(tmp_path: Path) -> None:
    VerdictCache(tmp_path / "new" / "folder").keep(KEY, VERDICT)

    again = VerdictCache(tmp_path / "new" / "folder")

    assert again.find(KEY) == VERDICT
    assert again.find("cd" + "0" * 62) is None


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda whole: whole[: len(whole) // 2], id="torn"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"\xff\xfe", id="not text"),
        pytest.param(lambda _: b"[]", id="not an entry"),
        pytest.param(
            lambda whole: whole.replace(b'"correctness":2', b'"correctness":3'), id="a mark"
        ),
        pytest.param(
            lambda whole: whole.replace(b'"correctness":2', b'"correctness":9'), id="no mark"
        ),
        pytest.param(lambda whole: whole.replace(b"a slip", b"a quip"), id="a letter"),
        pytest.param(lambda whole: whole.replace(b"a slip", b"a \xfflip"), id="no letter"),
        pytest.param(lambda whole: whole.replace(KEY.encode(), b"c" * 64), id="another's"),
    ],
)
def test_a_damaged_entry_is_ignored_and_replaced(tmp_path: Path, damage: object) -> None:
    cache = VerdictCache(tmp_path)
    cache.keep(KEY, VERDICT)
    path = entry(tmp_path)
    assert callable(damage)
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)

    assert cache.find(KEY) is None
    cache.keep(KEY, VERDICT)
    assert cache.find(KEY) == VERDICT


def test_nothing_is_left_beside_the_entries(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    for number in range(5):
        cache.keep(f"{number:064x}", VERDICT)

    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".json"}


def _keep_often(folder: Path, first: int) -> None:
    cache = VerdictCache(folder)
    for number in range(first, first + 200):
        cache.keep(KEY, Verdict.of(number % 4, 0, 1, "x" * (number * 7 % 500)))
        assert cache.find(KEY) is not None, "a half-written entry was seen"


def test_several_processes_may_write_the_same_entry(tmp_path: Path) -> None:
    writers = [PROCESSES.Process(target=_keep_often, args=(tmp_path, 100 * n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert VerdictCache(tmp_path).find(KEY) is not None
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{KEY}.json"]


def _share(folder: Path, first: int) -> None:
    cache = VerdictCache(folder)
    for number in range(first, first + 60):
        key = f"{number:064x}"
        found = cache.find(key)
        assert found in (None, Verdict.of(number % 4, 0, 1, f"case {number}"))
        cache.keep(key, Verdict.of(number % 4, 0, 1, f"case {number}"))


def test_processes_that_share_a_folder_find_each_other_s_verdicts_and_no_wrong_one(
    tmp_path: Path,
) -> None:
    workers = [PROCESSES.Process(target=_share, args=(tmp_path, 20 * n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0] * 4
    cache = VerdictCache(tmp_path)
    assert all(cache.find(f"{number:064x}") for number in range(120))
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 120


def _die_while_writing(folder: Path) -> None:
    die_half_way()
    VerdictCache(folder).keep(KEY, VERDICT)


def test_a_process_killed_while_it_writes_leaves_the_old_verdict_or_none(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    for before in (None, VERDICT):
        if before is not None:
            cache.keep(KEY, before)
        worker = PROCESSES.Process(target=_die_while_writing, args=(tmp_path,))
        worker.start()
        worker.join()

        assert worker.exitcode == -signal.SIGKILL
        assert cache.find(KEY) == before


@pytest.mark.parametrize(
    ("card", "prompt"),
    [
        (CARD.replace(model="another"), PROMPT),
        (CARD.replace(version="2"), PROMPT),
        (CARD.replace(rules_digest="other"), PROMPT),
        (CARD.replace(rubrics=(RUBRIC.replace(digest="e"),)), PROMPT),
        (CARD, Prompt(system="S", user="u", schema=PROMPT.schema)),
        (CARD, Prompt(system="s", user="U", schema=PROMPT.schema)),
        (CARD, Prompt(system="su", user="", schema=PROMPT.schema)),
        (CARD, Prompt(system="s", user="u", schema={"type": "array"})),
        (CARD, Prompt(system="s", user="u")),
    ],
    ids="model version rules rubric system user boundary schema no-schema".split(),
)
def test_the_key_changes_with_everything_a_verdict_depends_on(
    card: JudgeCard, prompt: Prompt
) -> None:
    assert make_cache_key(card, prompt) != make_cache_key(CARD, PROMPT)
    assert make_cache_key(CARD, PROMPT) == make_cache_key(CARD.replace(), PROMPT)


def test_an_entry_holds_the_verdict_and_nothing_of_the_case(tmp_path: Path) -> None:
    VerdictCache(tmp_path).keep(KEY, VERDICT)

    assert json.loads(entry(tmp_path).read_bytes()).keys() == {"key", "verdict", "check"}


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="name another folder"):
        VerdictCache(tmp_path / "file" / "cache")


def test_a_folder_that_takes_no_more_ends_the_run(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    (tmp_path / KEY[:2]).write_text("in the way")

    with pytest.raises(JudgeGone, match="then run the same command again"):
        cache.keep(KEY, VERDICT)
