"""What users see of commands: output and progress, kinds of commands, help in colour.

Results go to stdout, progress to stderr.
"""

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from recall_bench.core.plain_text import Table


def forward_to_stderr() -> contextlib.AbstractContextManager[object]:
    """Redirect what an adapter or a judge prints to stderr: stdout is for the result."""
    return contextlib.redirect_stdout(sys.stderr)


def format_json(content: object) -> str:
    """Records as indented JSON."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


def paint(text: str, *, to_stderr: bool = False, **style: Any) -> str:  # noqa: ANN401 - click's own
    """The text in this style if it goes to a terminal and NO_COLOR is not set, else as it is."""
    stream = sys.stderr if to_stderr else sys.stdout
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return click.style(text, **style)


def find_width() -> int:
    """The columns of the terminal, within reason; a fixed number if there is none."""
    from recall_bench.core.plain_text import WIDTH

    if not sys.stdout.isatty():
        return WIDTH
    return min(max(shutil.get_terminal_size().columns, 60), _MAX_WIDTH)


_MAX_WIDTH = 160


@contextmanager
def show_activity() -> Iterator[Callable[[str], None]]:
    """A function that shows the current activity: on one line of a terminal, or as log lines."""
    if not sys.stderr.isatty():
        yield lambda what: click.echo(what, err=True)
        return
    # A line that fills the last column would wrap.
    width = shutil.get_terminal_size().columns - 1
    try:
        yield lambda what: click.echo(f"\r{what[:width]:{width}}", err=True, nl=False)
    finally:
        click.echo(f"\r{'':{width}}\r", err=True, nl=False)


@contextmanager
def show_build(persona: str, days: int) -> Iterator[Callable[[int], None]]:
    """A function that shows the day that a simulation has reached: as a bar at a terminal."""
    if not sys.stderr.isatty():
        click.echo(f"simulating {persona}, {days} days", err=True)
        yield lambda _: None
        return
    with click.progressbar(length=days, label=f"simulating {persona}", file=sys.stderr) as bar:
        day_before = 0

        def update(day: int) -> None:
            nonlocal day_before
            bar.update(day - day_before)
            day_before = day

        yield update
        update(days)


def print_table(table: "Table") -> None:
    """Print a table: with rich at a terminal, else in plain columns."""
    if not sys.stdout.isatty():
        from recall_bench.core.plain_text import render_text

        click.echo("\n".join(render_text(table)))
        return
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    printed = RichTable(box=None, pad_edge=False)
    for column in table.columns:
        printed.add_column(column.head, justify="left" if column.is_text else "right")
    for row in table.rows:
        printed.add_row(*map(Text, row))
    Console().print(printed)


MAX_WIDTH = 120
"""Help is as wide as the terminal, up to this: longer lines are hard to read."""
_COMPLETE = "recall_bench.complete_help"


class ColourFormatter(click.HelpFormatter):
    """Headings stand out at a terminal."""

    def write_heading(self, heading: str) -> None:
        """Write the heading."""
        super().write_heading(paint(heading, bold=True, fg="cyan"))


class HelpContext(click.Context):
    """A context whose help uses colour."""

    formatter_class = ColourFormatter


RARE_OPTIONS = frozenset(
    (
        # Settings of a run: `--set`, profiles and `recall-bench help settings` name them.
        "agent_tokens max_steps embedding_cache grpc_timeout_ms grpc_ca max_context_tokens copies "
        "max_calls judge_shows judge_budget_tokens judge_base_url appellate_base_url judge_cache "
        "judge_timeout_ms judge_memory_window worker_cpus worker_env calendar allow_gaps "
        "skip_preflight skip_catchup_ingest resume json_out question_log "
        "no_question_log progress_jsonl failure_log review "
        # Twins of other options, and knobs whose defaults fit nearly everyone.
        "as_grid no_heatmap_png keep_going answer_s day_s verdict_s neighbours keyword vector "
        "temporal_boost lexical_boost rerank mode rebuild reports scenario_offset correlation asks "
        "alpha skip patience_s load_s max_shards pool prompt_file epoch arcs_only "
        "history_window lag temperature per_checkpoint interval query_session start end "
        "date_order with_domains any_case density distance distractors restatements baselines "
        "output severity agent_conf edition sd fresh_seeds one_at_a_time is_opened amount"
    ).split()
)
"""Parameters that commands accept and their help does not list."""


def prepare_command(command: click.Command) -> click.Command:
    """The command with help in colour and without rare options, and so its subcommands."""
    command.context_class = HelpContext
    for param in command.params:
        if isinstance(param, click.Option) and param.name in RARE_OPTIONS:
            param.hidden = True
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            prepare_command(inner)
    return command


class MultiValueCommand(click.Command):
    """A command without arguments whose repeatable options take any number of values.

    `--ranges 30d 60d 90d`: all words up to the next option are values. Click itself would take one
    and refuse the rest.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite `--option a b` as `--option a --option b`."""
        names = {
            name
            for option in self.params
            if isinstance(option, click.Option) and option.multiple
            for name in option.opts
        }
        return super().parse_args(ctx, _spread_values(args, names))


def _spread_values(args: Sequence[str], names: set[str]) -> list[str]:
    spread: list[str] = []
    listing: str | None = None
    is_empty = False
    for word in args:
        name, equals, _ = word.partition("=")
        if not word.startswith("-"):
            spread += [listing, word] if listing is not None else [word]
            is_empty = False
            continue
        _refuse_empty(listing if is_empty else None)
        listing = name if name in names else None
        is_empty = listing is not None and not equals
        if not is_empty:
            spread.append(word)
    _refuse_empty(listing if is_empty else None)
    return spread


def _refuse_empty(listing: str | None) -> None:
    """An option without a value would take the next option as its value."""
    if listing is not None:
        raise click.UsageError(f"Option {listing!r} requires an argument.")


class AliasOption(click.Option):
    """An option with old names that still work and that help does not show."""

    def __init__(
        self,
        declarations: Sequence[str],
        *,
        aliases: Sequence[str],
        **more: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__([*declarations, *aliases], **more)
        self._aliases = aliases

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The help without the old names."""
        names = self.opts
        self.opts = [name for name in names if name not in self._aliases]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions alone
    """A time as `30s`, `500ms`, `2m` or `1h`, in the unit that the command needs.

    A bare number is in that unit, as it was before units could be written. A warning says so where
    the other unit is likely to be meant: at less than 1000 ms, or 1000 s and more.
    """

    name = "duration"

    def __init__(self, unit: str) -> None:
        self._unit = unit

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int | float:
        """The number of units; whole milliseconds."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a time; write it like 30s, 500ms or 2m", param, ctx)
        number, unit = float(match[1]), match[2] or self._unit
        converted = number * _SECONDS[unit] / _SECONDS[self._unit]
        if converted <= 0 or (self._unit == "ms" and converted < 1):
            self.fail(f"{value} is too short; use at least 1 ms", param, ctx)
        is_typed = isinstance(value, str) and not (ctx and ctx.resilient_parsing)
        if (
            is_typed
            and match[2] is None
            and (number < 1000 if self._unit == "ms" else number >= 1000)
        ):
            flag = param.opts[-1] if param else "the time"
            click.echo(
                f"warning: {flag} {value} was read as {value} {self._unit}; write {value}s or "
                f"{value}ms to say which is meant",
                err=True,
            )
        return round(converted) if self._unit == "ms" else converted


class GroupedCommand(MultiValueCommand):
    """A command with many options: `--help` lists the common ones, `--help-all` all, by group."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's own
        option_groups: Mapping[str, tuple[str, ...]],
        **more: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(*args, **more)
        self.option_groups = option_groups
        """The parameters of each group by its title; `--help` shows the first group."""
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_complete_help,
                help="Show all options and exit.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first group, or all, and last the options of no group."""
        records = {
            param.name: record
            for param in self.get_params(ctx)
            # An argument stands in the usage line, and its words in the text.
            if isinstance(param, click.Option)
            and (record := param.get_help_record(ctx)) is not None
        }
        is_complete, count = ctx.meta.get(_COMPLETE, False), len(records)
        for position, (title, names) in enumerate(self.option_groups.items()):
            rows = [records.pop(name) for name in names if name in records]
            if rows and (position == 0 or is_complete):
                with formatter.section(title):
                    formatter.write_dl(rows)
        with formatter.section("Output and help"):
            formatter.write_dl(list(records.values()))
        if not is_complete:
            formatter.write_paragraph()
            formatter.write_text(
                f"`{ctx.command_path} --help-all` shows all {count} options, "
                "`recall-bench help settings` every setting."
            )


def _show_complete_help(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        click.echo(render_complete_help(ctx), color=ctx.color)
        ctx.exit()


def render_complete_help(ctx: click.Context) -> str:
    """The help of the context's command, with all of its options."""
    ctx.meta[_COMPLETE] = True
    return ctx.command.get_help(ctx)
