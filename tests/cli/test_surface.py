"""What users meet stays small: few commands, few options, and old names that still work."""

from collections.abc import Iterator

import click

from recall_bench.cli.main import cli, group_commands, list_names, read_commands, read_old_names
from recall_bench.core.settings import describe_settings
from tests.commands import Invoke


def walk_leaves() -> Iterator[click.Command]:
    context = click.Context(cli)
    waiting = [cli.get_command(context, name) for name in read_commands()]
    for command in waiting:
        assert command is not None
        if isinstance(command, click.Group):
            waiting += command.commands.values()
        else:
            yield command


def test_there_are_35_commands_at_most_and_12_on_the_first_screen(invoke: Invoke) -> None:
    first, everything = invoke("--help"), invoke("help", "all")
    listed = [name for name in list_names() if f"\n  {name} " in first.out]

    assert len(list_names()) <= 35
    assert sorted(listed) == sorted(each.name for each in group_commands()["Start here"])
    assert len(listed) == 12
    assert [name for name in list_names() if f"\n  {name} " not in everything.out] == []


def test_there_are_150_options_at_most() -> None:
    names = {
        max(param.opts, key=len)
        for command in walk_leaves()
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden
    }

    assert len(names) <= 150


def test_a_rare_setting_is_set_by_name_and_its_old_flag_still_works(invoke: Invoke) -> None:
    by_name = invoke("plan", "--adapter", "none", "--set", "judgeMemoryWindow=3", "--json")
    by_flag = invoke("plan", "--adapter", "none", "--judge-memory-window", "3", "--json")

    assert (by_name.code, by_name.out) == (0, by_flag.out)
    assert "--judge-memory-window" not in invoke("plan", "--help-all").out


def test_a_setting_that_is_none_is_refused(invoke: Invoke) -> None:
    for word in ("judge-memory-windw=3", "seed", "seed=x"):
        shown = invoke("plan", "--set", word)
        assert shown.code == 2
        assert "--set" in shown.err


def test_every_setting_is_explained(invoke: Invoke) -> None:
    shown = invoke("help", "settings").out

    assert [
        each.flag for each in describe_settings().values() if f"{each.flag} " not in shown
    ] == []


def test_old_names_of_commands_still_work(invoke: Invoke) -> None:
    for name, words in read_old_names().items():
        if words[-1].startswith("-"):
            assert invoke(name).out == invoke(*words).out
        else:
            assert invoke(name, "--help").out == invoke(*words, "--help").out
