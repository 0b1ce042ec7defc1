"""The command `import-history`: a persona of your own chats, mail and traces."""

import shlex
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import PATH, add_json_option, add_output_option, option
from recall_bench.core.errors import UsageError
from recall_bench.features.histories.history_formats import FORMATS
from recall_bench.features.histories.whatsapp import ORDERS


@click.command("import-history")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option("--as", "name", default="persona", metavar="ID", help="Id of the persona [persona].")
@add_output_option("Data folder, in which the persona's folder is made [my-personas].")
@click.option(
    "--format",
    type=click.Choice(["auto", *(each.name for each in FORMATS)]),
    default="auto",
    metavar="NAME",
    help=f"auto, {', '.join(each.name for each in FORMATS)} [auto, for each FILE].",
)
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME",
    help="Your name, then addresses and handles of yours; repeat it [as the export says].",
)
@option("--since", metavar="YYYY-MM-DD", help="The first day [the first there is].")
@option("--until", metavar="YYYY-MM-DD", help="The last day [the last there is].")
@click.option(
    "--timezone",
    default="UTC",
    metavar="NAME",
    help="Time zone of the days, such as Europe/Berlin; WhatsApp has its own [UTC].",
)
@option(
    "--dates",
    "date_order",
    type=click.Choice(ORDERS),
    help="Order of day, month and year in WhatsApp [as the whole file shows].",
)
@click.option(
    "--pseudonymise",
    "is_pseudonymised",
    is_flag=True,
    help="Replace people's names, addresses, phone numbers and handles, each consistently.",
)
@option("--seed", metavar="TEXT", help="Secret that decides the pseudonyms [random, in the map].")
@option(
    "--map",
    "map_file",
    type=PATH,
    help="File of the pseudonyms; an existing one is continued [beside the data folder].",
)
@click.option(
    "--name", "also", multiple=True, metavar="NAME", help="Replace this name too; repeat it."
)
@click.option("--domains", "with_domains", is_flag=True, help="Replace domains too.")
@click.option("--any-case", is_flag=True, help="Replace names in lower case too.")
@add_json_option("Print what was read, left out and replaced as JSON.")
def import_history_command(
    files: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> None:
    """Make a persona of your own history: chats, mail, messages or traces in FILE.

    Takes data exports of ChatGPT and Claude, of Slack and Discord, mbox, WhatsApp's text,
    OpenTelemetry, Langfuse and LangSmith traces, JSON lines and folders of Markdown; as files,
    folders or zip files. Several FILEs become one persona. Nothing leaves this machine. (`import`
    is another command: it reads results of runs.)
    """
    from recall_bench.features.histories.import_history import (
        HistoryRequest,
        import_history,
        parse_names,
        render_history_report,
    )

    request = HistoryRequest(
        paths=files,
        into=out or Path("my-personas"),
        name=flags["name"],
        format=None if flags["format"] == "auto" else flags["format"],
        users=parse_names(flags["users"]),
        since=_parse_day("--since", flags["since"]),
        until=_parse_day("--until", flags["until"]),
        zone=_find_zone(flags["timezone"]),
        date_order=flags["date_order"],
        is_pseudonymised=flags["is_pseudonymised"],
        seed=flags["seed"],
        map_file=flags["map_file"],
        with_domains=flags["with_domains"],
        any_case=flags["any_case"],
        also=parse_names(flags["also"]),
    )
    report = import_history(request)
    if as_json:
        click.echo(format_json(report))
        return
    click.echo(render_history_report(report))
    persona = shlex.quote(str(request.folder))
    click.echo(f"next: recall-bench generate questions --persona {persona} --model PROVIDER:MODEL")


def _parse_day(flag: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise UsageError(
            f"{flag}: {text} is not a date; write year-month-day, such as 2026-03-02"
        ) from None


def _find_zone(name: str) -> Any:  # noqa: ANN401 - a time zone of two modules
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--timezone: no time zone named {name!r}; write it like Europe/Berlin"
        ) from None
