"""The files of conventions and tasks: right solutions pass, wrong ones fail for their reason."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.memory import SystemCard
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.suites.procedures import task_source
from recall_bench.features.suites.procedures.suite import (
    CEILING,
    FLOOR,
    MEMORY,
    decode_grading,
    grade_reply,
    load_history,
)
from recall_bench.features.suites.procedures.suite import (
    draw_stories as draw_procedure_stories,
)
from recall_bench.features.suites.procedures.task_source import (
    PERSONAS,
    TaskFile,
    load_tasks,
)
from recall_bench.features.suites.story_writer import StoryRequest
from tests.features.suites.procedure_lint import find_mistakes, list_missing
from tests.loops import loop_over, loop_over_rows

FILES = {name: Path(task_source.__file__).parent / f"{name}.yaml" for name in PERSONAS}


@loop_over(PERSONAS)
def test_the_shipped_files_have_no_mistakes_and_miss_nothing(persona: str) -> None:
    source = load_tasks(persona)

    assert find_mistakes(source, load_history(persona)) == []
    assert list_missing(source) == []


def draw(seed: int = 42, **wanted: Any) -> list[Any]:
    """The stories of the suite."""
    card = SystemCard(name="x", version="1")
    request = StoryRequest(
        seed=seed, each=2, system=card, offers=frozenset(), patience_s=1.0, **wanted
    )
    return list(draw_procedure_stories(request))


def test_sixty_tasks_are_stated_and_asked_in_three_ways() -> None:
    stories = draw()

    assert Counter(story.variant for story in stories) == {MEMORY: 2, FLOOR: 2, CEILING: 2}
    for story in stories:
        source = load_tasks(story.scenario.id.partition("-")[2])
        assert {item.id for item in story.scenario.items} == {task.id for task in source.tasks}
        assert len(story.scenario.items) == 30
        texts = "\n".join(item.text for item in story.scenario.items)
        told = [rule.rule.strip() in texts for rule in source.rules]
        assert any(told) is (story.variant == CEILING)
        assert bool(story.scenario.episodes) is (story.variant == MEMORY)
    assert [item.id for item in stories[0].scenario.items] != [
        item.id for item in draw(seed=7)[0].scenario.items
    ]
    assert {story.variant for story in draw(can_act=False)} == {MEMORY}
    assert {story.variant for story in draw(only=(FLOOR,))} == {FLOOR}


def test_evidence_is_where_a_rule_is_stated_and_days_keep_what_they_had() -> None:
    for story in draw(only=(MEMORY,)):
        persona = story.scenario.id.partition("-")[2]
        source, history = load_tasks(persona), load_history(persona)
        texts = {episode.day: episode.text for episode in story.scenario.episodes}
        for item in story.scenario.items:
            for name, places in decode_grading(item.truth).needs.items():
                keys = [(each.key or each.text).strip() for each in source.get_rule(name).told]
                assert [texts[each.day][each.start : each.end] for each in places] == keys
        for episode in history.episodes:
            left = texts[episode.day]
            for rule in source.rules:
                for telling in rule.told:
                    left = left.replace(telling.text.strip(), "")
            lost = set(episode.text.split("\n")) - set(left.split("\n"))
            assert not lost, episode.id


def test_a_task_gives_no_rule_away() -> None:
    for persona in PERSONAS:
        source = load_tasks(persona)
        for task in source.tasks:
            asked = task_source.describe_task(task)
            for name in task.needs:
                rule = source.get_rule(name)
                assert rule.rule.strip() not in asked
                assert all((each.key or each.text) not in asked for each in rule.told)


def test_every_sample_is_graded_as_its_author_says() -> None:
    counts: Counter[str] = Counter()
    for story in draw(only=(MEMORY,)):
        source = load_tasks(story.scenario.id.partition("-")[2])
        for item in story.scenario.items:
            task = next(each for each in source.tasks if each.id == item.id)
            for sample in task.outcomes:
                grade = grade_reply(sample.reply, decode_grading(item.truth))
                assert set(grade.broken) == set(sample.breaks), (task.id, sample.kind)
                assert not grade.is_off, (task.id, sample.kind)
                assert grade.is_done is (sample.kind == "right")
                assert not (grade.is_old and sample.kind != "stale")
                counts[sample.kind] += 1
    assert counts["right"] >= 60
    assert counts.total() - counts["right"] >= 120


def change(path: str, value: object) -> TaskFile:
    """The file of a persona with one place changed: `tasks.0.kind`."""
    tree: Any = load_yaml(FILES["backend-eng-saas"])
    place = tree
    *steps, last = (int(step) if step.isdecimal() else step for step in path.split("."))
    for step in steps:
        place = place[step]
    if value is None:
        place.pop(last)
    else:
        place[last] = value
    return msgspec.convert(tree, TaskFile)


@loop_over_rows(
    ("path", "value", "mistake"),
    [
        ("rules.1.id", "branch-name", "2 have this id"),
        ("rules.0.id", "Branch name", "small letters"),
        ("rules.1.exception_to", "nothing", "no other rule nothing"),
        ("rules.0.told.0.day", 6, "no log of that day"),
        ("rules.0.told.0.session", "security-room", "not an open session"),
        ("rules.0.told.0.by", "Somebody Else", "not in the cast"),
        ("rules.0.told.0.key", "something else", "does not stand in the text"),
        ("rules.0.told.0.text", "Too short.", "fewer than 15 words"),
        ("rules.0.told", [], "stated nowhere"),
        ("tasks.0.needs", ["nothing"], "there is no rule nothing"),
        ("tasks.0.needs", ["tag-year"], "was replaced"),
        ("tasks.0.kind", "revised", "do not make it one"),
        ("tasks.0.kind", "combined", "do not make it one"),
        ("tasks.0.asked", "2025-02-01", "is not between"),
        ("tasks.0.asked", "soon", "is not a date"),
        ("tasks.0.form", "text", "`fields` belong to the form json"),
        ("tasks.0.checks.1.at", "other", "no field other"),
        ("tasks.0.checks.0.rule", None, "no check tests the rule"),
        ("tasks.0.checks.0.rule", "pr-headings", "which the task does not need"),
        ("tasks.0.checks.0.matches", "x", "outcome 1 (right): it fails a check of branch-name"),
        ("tasks.0.checks.1.matches", "xyz", "fails a check that belongs to no rule"),
        ("tasks.0.checks.0.matches", ".", "should break branch-name, but passes"),
        ("tasks.0.outcomes.0.kind", "wrong", "none is right"),
        ("tasks.0.outcomes.0.reply", "nothing of the kind", "cannot be read as json"),
        ("tasks.0.outcomes.1.kind", "wrong", "by default"),
        ("tasks.13.old", None, "`old` belongs to the kind revised"),
        ("tasks.13.tools", [], "`tools` belong to the form calls"),
        ("tasks.13.outcomes.2.kind", "wrong", "none follows the rule that was replaced"),
        ("tasks.13.checks.0.tool", "other", "no tool other"),
    ],
)
def test_a_mistake_in_a_file_is_named(path: str, value: object, mistake: str) -> None:
    found = find_mistakes(change(path, value), load_history("backend-eng-saas"))

    assert any(mistake in each for each in found), found


def test_a_reply_that_needs_no_memory_must_not_pass() -> None:
    lax = change("tasks.0.checks", [{"rule": "branch-name", "at": "branch", "absent": True}])

    found = find_mistakes(lax, load_history("backend-eng-saas"))

    assert any("an empty result passes all checks" in each for each in found)
