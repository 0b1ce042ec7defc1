"""`check-adapter`: whether a system keeps the contract that runs rely on."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from recall_bench.cli.answer import format_json, forward_to_stderr
from recall_bench.cli.options import CALL_TIMEOUT, CONFIG, parse_config

if TYPE_CHECKING:
    from recall_bench.core.memory import MemorySystem
    from recall_bench.testing import ContractReport

BROKEN = 1
"""The exit code of a system that breaks the contract."""


@click.command("check-adapter")
@click.argument("adapter")
@CONFIG
@click.option("--only", multiple=True, metavar="NAME", help="Make this check; may be repeated.")
@CALL_TIMEOUT
@click.option("--seed", type=int, default=42, metavar="N", help="Tell other facts [42].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_adapter_command(
    *,
    adapter: str,
    config: tuple[str, ...],
    only: tuple[str, ...],
    timeout_s: float,
    seed: int,
    as_json: bool,
) -> int:
    """Check that a system keeps the contract that every run relies on.

    ADAPTER is what `run --adapter` takes. The checks tell it facts whose values are made-up words,
    ask about them, and look for the words in what comes back; no judge and no key is needed.
    Exits with 1 if the contract is broken.
    """
    from recall_bench.cli.doing import show_activity
    from recall_bench.resolve.systems import resolve_system
    from recall_bench.settings import Settings

    with forward_to_stderr(), show_activity() as telling:
        system = resolve_system(Settings(adapter=adapter, config=parse_config(config)))
        report = _run_checks(
            system, only, timeout_s, seed, lambda name: telling(f"checking {name}")
        )
    if as_json:
        click.echo(format_json(report))
    else:
        click.echo(report.rendered())
    return _report_failures(report)


def _run_checks(
    system: "MemorySystem",
    only: tuple[str, ...],
    timeout_s: float,
    seed: int,
    telling: Callable[[str], None],
) -> "ContractReport":
    import anyio

    from recall_bench.testing import check_system

    async def run_and_close() -> "ContractReport":
        try:
            return await check_system(
                system, only=only, seed=seed, timeout_s=timeout_s, telling=telling
            )
        finally:
            await system.close()

    return anyio.run(run_and_close)


def _report_failures(report: "ContractReport") -> int:
    broken = [check.name for check in report.failures]
    if not broken:
        return 0
    click.echo(
        f"error: {report.system.name} breaks the contract: {', '.join(broken)}; "
        "see what each check says above",
        err=True,
    )
    return BROKEN
