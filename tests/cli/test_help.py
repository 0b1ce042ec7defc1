"""Help for people: groups, length, short flags, suggestions, colour, completion."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from recall_bench.cli.console import Duration, GroupedCommand, paint
from recall_bench.cli.main import cli, group_commands, list_names
from tests.commands import Invoke
from tests.loops import loop_over_rows

TWO_SCREENS = {100: 60, 80: 80}
"""The lines on two screens of this many columns: 100 by 30, and 80 by 40."""


def walk_commands(width: int = 100) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(cli, info_name="recall-bench", terminal_width=width)
    yield "recall-bench", cli, context
    waiting: list[tuple[str, click.Group, click.Context]] = [
        (name, cli, context) for name in list_names()
    ]
    for name, group, parent in waiting:
        command = group.get_command(parent, name)
        assert command is not None
        inner = click.Context(command, parent=parent, info_name=name, terminal_width=width)
        yield f"{parent.command_path} {name}", command, inner
        if isinstance(command, click.Group):
            waiting += [(each, command, inner) for each in command.list_commands(inner)]


@pytest.mark.parametrize(("width", "most"), TWO_SCREENS.items())
def test_every_help_fits_on_two_screens(width: int, most: int) -> None:
    lengths = {
        path: len(command.get_help(context).splitlines())
        for path, command, context in walk_commands(width)
    }

    assert {path: n for path, n in lengths.items() if n > most} == {}
    assert len(lengths) > len(list_names())


def test_every_command_is_in_one_section() -> None:
    grouped = [each.name for group in group_commands().values() for each in group]

    assert sorted(grouped) == sorted(list_names())
    assert list(group_commands()) == ["Start here", "Run", "Understand", "Data", "Trust"]


@loop_over_rows("name", ["run", "eval", "plan", "suite"])
def test_every_option_is_in_one_group(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, GroupedCommand)
    grouped = [each for names in command.option_groups.values() for each in names]
    options = [each for each in command.params if isinstance(each, click.Option)]
    rest = {each.name for each in options} - set(grouped)

    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= {each.name for each in command.params}
    assert rest <= {"quiet", "verbose", "as_json", "as_grid", "help_all"}


def test_help_shows_the_common_options_and_help_all_the_rest(invoke: Invoke) -> None:
    brief, complete = invoke("run", "--help"), invoke("run", "--help-all")

    assert "-a, --adapter" in brief.out
    assert "--ray-address" not in brief.out
    assert "`recall-bench run --help-all`" in brief.out.replace("\n", " ")
    assert "-a, --adapter" in complete.out
    assert "--ray-address" in complete.out
    assert "Workers:" in complete.out
    assert "shows all" not in complete.out


def test_help_is_as_wide_as_the_terminal(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    widths = []
    for columns in ("60", "110"):
        monkeypatch.setenv("COLUMNS", columns)
        widths.append(max(map(len, invoke("run", "--help").out.splitlines())))

    assert widths[0] <= 60
    assert 90 < widths[1] <= 110


def test_short_flags_take_the_same_values(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    place = adapter()
    short = invoke(
        *("run", "-a", place, "-d", data, "-p", "gardener", "-r", "1d", "2d"),
        *("-j", "stub", "-n", "2", "-o", "short", "--json"),
    )

    assert short.code == 0, short.err
    assert (Path("short") / "journal.jsonl").exists()
    assert '"1d"' in short.out
    assert '"2d"' in short.out


def test_a_short_flag_means_the_same_in_every_command() -> None:
    meanings: dict[str, set[str]] = {}
    for _, command, _ in walk_commands():
        for option in command.params:
            names = option.opts if isinstance(option, click.Option) else []
            long = [name for name in names if name.startswith("--")]
            for short in set(names) - set(long):
                meanings.setdefault(short, set()).update(long[:1])

    assert {short: names for short, names in meanings.items() if len(names) > 1} == {}
    assert len(meanings) > 8


def test_every_time_limit_is_written_with_its_unit() -> None:
    limits = [
        (path, option)
        for path, command, _ in walk_commands()
        for option in command.params
        if isinstance(option, click.Option) and "timeout" in option.opts[-1]
    ]

    assert len(limits) > 15
    for path, option in limits:
        assert isinstance(option.type, Duration), (path, option.opts)
        assert option.metavar == "TIME"


def test_quiet_prints_the_result_and_no_progress(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    words = ("run", "-a", adapter(), "-d", data, "-j", "stub")
    quiet, loud = invoke(*words, "-q", "-o", "a"), invoke(*words, "-o", "b")

    assert quiet.code == loud.code == 0
    assert "gardener" in quiet.out
    assert "run folder:" in loud.err
    assert "files:" in loud.err
    assert "run folder:" not in quiet.err
    assert "files:" not in quiet.err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["runn"], "run"),
        (["comapre"], "compare"),
        (["run", "--adapter", "hybird"], "hybrid"),
        (["run", "--personas", "er-physican"], "er-physician"),
        (["run", "--judge", "ofline"], "offline"),
        (["run", "--judge", "clade"], "claude"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(
    invoke: Invoke, words: list[str], near: str
) -> None:
    shown = invoke(*words)

    assert shown.code == 2
    assert f"; did you mean '{near}'?" in shown.err
    assert shown.err.index("did you mean") < 80, "it comes before any list"


def test_a_name_like_no_other_gets_no_suggestion(invoke: Invoke) -> None:
    shown = invoke("qqqqqqqq")

    assert "did you mean" not in shown.err
    assert "`recall-bench help all` lists them" in shown.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_and_no_color_is_respected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    coloured = paint("Run", fg="red")
    monkeypatch.setenv("NO_COLOR", "1")
    refused = paint("Run", fg="red")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    assert coloured != "Run"
    assert click.unstyle(coloured) == "Run"
    assert refused == paint("Run", fg="red") == "Run"


def test_tab_completes_commands_and_options() -> None:
    def complete(words: str, position: int) -> list[str]:
        environment = {
            **os.environ,
            "_RECALL_BENCH_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(position),
        }
        program = (
            "import sys; sys.argv = ['recall-bench']; "
            "from recall_bench.cli.main import main; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert complete("recall-bench ge", 1) == ["generate"]
    assert complete("recall-bench run --pers", 2) == ["--personas"]
    assert complete("recall-bench run --lifecycle f", 3) == ["fresh", "forked"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_and_installed(
    invoke: Invoke, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    printed = invoke("completion", shell)
    installed = invoke("completion", shell, "--install")
    place = Path(installed.out.partition(":")[0])

    assert f"{shell}_complete" in printed.out
    assert place.is_relative_to(tmp_path / "home")
    assert place.read_text() == printed.out
    assert invoke("completion", shell, "--install").code == 0
    place.write_text("another program's\n")
    refused = invoke("completion", shell, "--install")
    assert refused.code == 2
    assert place.read_text() == "another program's\n"


@pytest.mark.parametrize(
    ("unit", "given", "warning"),
    [
        ("ms", "30", "30 was read as 30 ms; write 30s or 30ms"),
        ("s", "30000", "30000 was read as 30000 s; write 30000s or 30000ms"),
        ("ms", "30000", ""),
        ("s", "30", ""),
        ("ms", "30ms", ""),
        ("s", 120.0, ""),
    ],
)
def test_a_time_without_a_unit_that_seems_to_be_in_the_other_one_is_warned_about(
    unit: str, given: str | float, warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Duration(unit).convert(given, click.Option(["-t", "--timeout"]), None)

    whole = f"warning: --timeout {warning} to say which is meant\n" if warning else ""
    assert capsys.readouterr().err == whole
