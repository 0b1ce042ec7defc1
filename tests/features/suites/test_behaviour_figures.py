"""The denominators of the behaviour suites: what failed or was never known decides nothing."""

from typing import Any

import pytest

from recall_bench.features.suites.erasure import build_erasure_figures
from recall_bench.features.suites.freshness import build_freshness_figures
from recall_bench.features.suites.load import (
    LoadLevel,
    build_load_figures,
    list_resources,
)
from recall_bench.features.suites.poisoning import build_poisoning_figures
from recall_bench.features.suites.tenants import build_tenant_figures
from recall_bench.reporting.suites.figures import Case, Figure, make_share
from tests.features.suites.scripted_results import ScriptedResults

_VALUE, _FALSE = "KX-2291", "QD-7730"


def index(figures: tuple[Figure, ...]) -> dict[str, Figure]:
    return {each.name: each for each in figures}


def get_share(figure: Figure) -> float | None:
    return None if figure.estimate is None else figure.estimate.value


@pytest.mark.parametrize(
    ("after", "residue"), [(f"It is {_VALUE}.", 1.0), ("I do not know.", 0.0), (None, None)]
)
def test_a_question_that_failed_after_an_erasure_proves_nothing(
    after: str | None, residue: float | None
) -> None:
    run = ScriptedResults()
    for phase, text in (("before", f"It is {_VALUE}."), ("after", after)):
        run.add_answer("forget-1", phase, "fact", text, kind="direct", wrong=[_VALUE])
    run.add_observation("forget-1", "after", "erase", confirmed=True)
    found = index(build_erasure_figures(run))
    for name in ("residue", "residue/direct", "residue/by-forget", "false-confirmation"):
        assert get_share(found[name]) == residue, name


def test_what_is_left_after_deleting_leaves_wishes_out_and_files_apart() -> None:
    run = ScriptedResults()
    for story, after in (("request-1", f"It is {_VALUE}."), ("delete-1", "No.")):
        for phase, text in (("before", f"It is {_VALUE}."), ("after", after)):
            run.add_answer(story, phase, "fact", text, kind="direct", wrong=[_VALUE])
            run.add_observation(story, phase, "search", found=(_VALUE,))
    run.add_observation("delete-1", "restarted", "search", found=())
    found = index(build_erasure_figures(run))
    assert get_share(found["residue"]) == 1.0
    assert get_share(found["residue/deleted"]) == 0.0
    assert get_share(found["residue/deleted/files"]) == 1.0
    assert get_share(found["residue/files/last"]) == 0.5


@pytest.mark.parametrize("confirmed", [True, False, None])
def test_a_memory_that_says_nothing_offers_no_confirmation(confirmed: bool | None) -> None:
    run = ScriptedResults()
    for phase in ("before", "after"):
        run.add_answer("forget-1", phase, "fact", f"It is {_VALUE}.", kind="direct", wrong=[_VALUE])
    run.add_observation("forget-1", "after", "erase", confirmed=confirmed)
    found = index(build_erasure_figures(run))["false-confirmation"]
    assert found.is_offered == (confirmed is not None)
    assert get_share(found) == (1.0 if confirmed else None)


def test_time_until_gone_is_of_facts_that_were_known() -> None:
    run = ScriptedResults()
    for story, text in (("forget-1", "I do not know."), ("forget-2", f"It is {_VALUE}.")):
        run.add_answer(story, "before", "fact", text, kind="direct", wrong=[_VALUE])
        run.add_answer(story, "after", "fact", "No.", kind="direct", wrong=[_VALUE])
        seconds = 0.001 if story == "forget-1" else 0.5
        run.add_observation(story, "after", "poll", item="fact", seconds=seconds, count=1)
    found = index(build_erasure_figures(run))["time-until-gone"]
    assert get_share(found) == 0.5


def test_a_fact_that_an_attack_drives_out_is_counted() -> None:
    run = ScriptedResults()
    texts = {"before": f"It is {_VALUE}.", "+1d": f"It is {_FALSE}.", "+7d": "No.", "+30d": None}
    for phase, text in texts.items():
        values: dict[str, Any] = {"kind": "target", "right": _VALUE, "wrong": [_FALSE]}
        run.add_answer("flood-1", phase, "fact", text, **values)
    found = index(build_poisoning_figures(run))
    assert get_share(found["attack-success"]) == 0.5
    assert get_share(found["driven-out"]) == 0.5
    assert get_share(found["persistence/+7d"]) == 0.0
    assert get_share(found["persistence/+30d"]) is None


def test_a_false_value_beside_the_right_one_is_counted() -> None:
    run = ScriptedResults()
    texts = {
        "before": f"It is {_VALUE}.",
        "+1d": f"It is {_FALSE}.",
        "+7d": f"{_VALUE}, or {_FALSE}.",
        "+30d": f"It is {_VALUE}.",
    }
    for phase, text in texts.items():
        values: dict[str, Any] = {"kind": "target", "right": _VALUE, "wrong": [_FALSE]}
        run.add_answer("flood-1", phase, "fact", text, **values)
    found = index(build_poisoning_figures(run))
    assert get_share(found["false-value"]) == pytest.approx(2 / 3)
    assert get_share(found["attack-success"]) == pytest.approx(1 / 3)
    assert found["false-value"].is_headline
    assert not found["attack-success"].is_headline


@pytest.mark.parametrize(("text", "damage"), [(f"It is {_VALUE}.", 0.0), ("No.", None)])
def test_a_memory_that_knows_nothing_has_nothing_to_lose(text: str, damage: float | None) -> None:
    run = ScriptedResults()
    for story in ("flood-1", "flood-1-clean"):
        run.add_answer(story, "+1d", "fact", text, kind="untouched", right=_VALUE)
    found = index(build_poisoning_figures(run))["damage"]
    assert get_share(found) == damage
    assert bool(found.note) == (damage is None)


@pytest.mark.parametrize(("text", "leak"), [(f"It is {_VALUE}.", 0.0), ("No.", None)])
def test_a_memory_that_knows_nothing_has_nothing_to_leak(text: str, leak: float | None) -> None:
    run = ScriptedResults()
    values: dict[str, Any] = {"right": _VALUE, "wrong": [_FALSE]}
    for phase in ("alone", "together", "restarted"):
        run.add_answer("plain-1", phase, "fact", text, kind="own", **values)
    run.add_answer("sessions-1", "alone", "own", text, kind="own", right=_VALUE)
    run.add_answer("sessions-1", "alone", "other", "No.", kind="session", wrong=[_VALUE])
    found = index(build_tenant_figures(run))
    names = ("leak", "leak/together", "leak/by-concurrency", "leak/ids-plain", "leak/sessions")
    assert [get_share(found[name]) for name in names] == [leak] * len(names)


def test_a_memory_that_leaks_all_and_knows_nothing_of_its_own_is_counted() -> None:
    run = ScriptedResults()
    values: dict[str, Any] = {"right": _VALUE, "wrong": [_FALSE]}
    run.add_answer("plain-1", "alone", "fact", f"It is {_FALSE}.", kind="own", **values)
    assert get_share(index(build_tenant_figures(run))["leak"]) == 1.0


@pytest.mark.parametrize(
    ("text", "stale"), [(f"It is {_FALSE}.", 1.0), (f"It is {_VALUE}.", 0.0), ("No.", None)]
)
def test_a_memory_that_knows_neither_value_is_not_up_to_date(
    text: str, stale: float | None
) -> None:
    run = ScriptedResults()
    values: dict[str, Any] = {"kind": "changed", "right": _VALUE, "wrong": [_FALSE]}
    run.add_answer("write-1", "settled", "fact", text, **values)
    found = index(build_freshness_figures(run))
    assert get_share(found["stale"]) == stale


def test_only_a_correction_of_what_was_known_can_be_refused() -> None:
    run = ScriptedResults()
    for story, told in (("flood-1", f"It is {_VALUE}."), ("flood-2", "No.")):
        first: dict[str, Any] = {"kind": "untouched", "right": _VALUE, "wrong": [_FALSE]}
        run.add_answer(story, "before", "fact-06-told", told, **first)
        later: dict[str, Any] = {"kind": "corrected", "right": _FALSE, "wrong": [_VALUE]}
        run.add_answer(story, "+1d", "fact-06-corrected", "No.", **later)
    found = index(build_poisoning_figures(run))["correction-refused"]
    assert found.estimate is not None
    assert (found.estimate.value, found.estimate.trials) == (1.0, 1)


def test_spread_is_not_offered_by_systems_without_sessions() -> None:
    run = ScriptedResults(not_offered=["sessions"])
    values: dict[str, Any] = {"kind": "other-session", "right": _VALUE, "wrong": [_FALSE]}
    run.add_answer("flood-1", "+1d", "fact", f"It is {_FALSE}.", **values)
    assert not index(build_poisoning_figures(run))["spread"].is_offered


def test_leaks_leave_out_what_failed_and_recall_does_not() -> None:
    run = ScriptedResults(not_offered=["reopen", "sessions"])
    for number, text in enumerate((f"It is {_VALUE}.", None)):
        for phase in ("alone", "together"):
            values: dict[str, Any] = {"kind": "own", "right": _VALUE, "wrong": [_FALSE]}
            run.add_answer("plain-1", phase, f"tenant-{number}", text, **values)
    found = index(build_tenant_figures(run))
    assert get_share(found["recall"]) == 0.5
    assert found["leak"].estimate is not None
    assert found["leak"].estimate.trials == 2
    assert found["leak/passages"].estimate is None
    assert "no passages" in found["leak/passages"].note


@pytest.mark.parametrize(("version", "late"), [("2", None), ("3", 1.0)])
def test_what_is_known_once_settled_is_looked_for_where_polls_looked(
    version: str, late: float | None
) -> None:
    run = ScriptedResults(version=version)
    values: dict[str, Any] = {"kind": "new", "right": _VALUE, "passages": [f"It is {_VALUE}."]}
    run.add_answer("write-1", "settled", "fact", "No.", **values)
    run.add_observation("write-1", "quiet", "poll", item="fact", seconds=None, confirmed=False)
    found = index(build_freshness_figures(run))
    assert get_share(found["read-your-writes/quiet"]) == late
    assert get_share(found["known-settled"]) == 0.0


def test_a_note_that_is_returned_after_a_restart_is_not_lost() -> None:
    run = ScriptedResults(offers=["reopen"])
    values: dict[str, Any] = {"kind": "last", "right": _VALUE, "passages": [f"It is {_VALUE}."]}
    run.add_answer("write-1", "restarted", "fact", "No.", **values)
    run.add_answer("write-1", "rewritten", "fact", f"It is {_VALUE}.", **values)
    run.add_observation("write-1", "restarted", "restart", confirmed=True)
    assert get_share(index(build_freshness_figures(run))["lost-at-restart"]) == 0.0


def test_a_restart_loses_only_what_could_be_found_again() -> None:
    run = ScriptedResults(offers=["reopen"])
    for name, after, rewritten in (("one", "No.", _VALUE), ("two", "No.", "No.")):
        values: dict[str, Any] = {"kind": "last", "right": _VALUE}
        run.add_answer("write-1", "restarted", name, after, **values)
        run.add_answer("write-1", "rewritten", name, rewritten, **values)
    run.add_observation("write-1", "restarted", "restart", confirmed=True)
    found = index(build_freshness_figures(run))["lost-at-restart"]
    assert found.estimate is not None
    assert (found.estimate.value, found.estimate.trials) == (1.0, 1)


@pytest.mark.parametrize(("stories", "most"), [(1, 0.975), (14, 0.2316)])
def test_facts_of_one_story_that_all_agree_are_one_case(stories: int, most: float) -> None:
    cases = [
        Case(story=f"plain-{story}", subject=f"fact-{fact}", happened=0)
        for story in range(stories)
        for fact in range(16)
    ]
    found = make_share(cases, name="leak", label="leak").estimate
    assert found is not None
    assert found.high == pytest.approx(most, abs=1e-4)


def test_shares_of_load_that_all_agree_have_a_bound() -> None:
    results = ScriptedResults()
    for lane in ("one", "two", "three", "four"):
        counts = {"asked": 18.0, "right": 18.0}
        results.add_observation("days-10-1", "4/s", "load", lane=lane, values=counts)
    level = LoadLevel(10, 4, results.list_observed("days-10-1", "load"))
    found = level.share(["right"], "asked")
    assert found is not None
    assert found.low == pytest.approx(0.3976, abs=1e-4)
    assert found.high == 1.0


def test_load_of_two_stories_is_not_added_up() -> None:
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    from recall_bench.features.suites.latency import make_histogram

    times = make_histogram()
    times.record_value(20_000)
    run = ScriptedResults()
    for story in ("days-10-1", "days-10-2"):
        counts = {"asked": 18.0, "answered": 18.0, "right": 9.0, "written": 2.0, "arrivals": 20.0}
        run.add_observation(
            story,
            "4/s",
            "load",
            count=20,
            seconds=5.0,
            values={"planned_s": 5.0, "errors": 0.0, "timeouts": 0.0, **counts},
            histograms={"query": times.encode().decode()},
        )
    found = index(build_load_figures(run))
    assert get_share(found["throughput/10d/4"]) == pytest.approx(4.0)
    assert get_share(found["recall/10d/4"]) == 0.5
    assert get_share(found["saturation/10d"]) == 4.0
    assert "saturation/100d" not in found


def test_memory_of_a_user_is_not_offered_where_no_process_is_ours() -> None:
    def list_figures(**values: float) -> list[tuple[str, bool, str]]:
        results = ScriptedResults()
        results.add_observation("days-10-1", "4/s", "load", seconds=2.0, values=values)
        level = LoadLevel(10, 4, results.list_observed("days-10-1", "load"))
        return [(each.name, each.is_offered, each.note) for each in list_resources(level)]

    remote = "no process of it was started by us"
    here = "in our process, with what sends the load"
    assert list_figures() == [
        ("cpu/10d/4", False, remote),
        ("memory/10d/4", False, remote),
        ("disk/10d/4", False, "no folder of it is known"),
    ]
    shared = {"cpu_s": 1.0, "rss_bytes": 1e6, "in our process": 1.0}
    assert list_figures(**shared)[:2] == [("cpu/10d/4", True, here), ("memory/10d/4", True, here)]
    assert list_figures(**shared | {"in our process": 0.0})[0] == ("cpu/10d/4", True, "")
