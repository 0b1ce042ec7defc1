"""`doctor`: whether what a run would say about a system can be believed."""

from textwrap import wrap
from typing import TYPE_CHECKING

import click

from recall_bench.cli.answer import commentary, json_text
from recall_bench.cli.options import CALL_TIMEOUT, CONFIG, settings_in
from recall_bench.core.diagnosis import Health
from recall_bench.core.memory import UNDECLARED

if TYPE_CHECKING:
    from recall_bench.doctor.examination import Examined

UNHEALTHY = 1
"""The exit code of a system whose numbers would mean nothing."""


@click.command("doctor")
@click.argument("adapter")
@CONFIG
@CALL_TIMEOUT
@click.option("--strict", is_flag=True, help="Exit with 1 for a suspect system too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(
    *, adapter: str, config: tuple[str, ...], timeout_s: float, strict: bool, as_json: bool
) -> int:
    """Examine a system before its numbers are believed.

    ADAPTER is what `run --adapter` takes. It is put through the contract, asked about a story it
    was never told, told a small one, told it with its days shuffled, and compared with controls
    that know nothing, guess, and know everything. The verdict is `valid`, `suspect` or `invalid`;
    later runs of the same system carry it. Exits with 1 if it is `invalid`.
    """
    from recall_bench.diagnoses import keep

    examined = _examined(adapter, settings_in(config), timeout_s)
    if as_json:
        click.echo(json_text(examined.diagnosis))
    else:
        click.echo(_rendered(examined))
    if examined.contract.system.version == UNDECLARED:
        click.echo("not kept for later runs: the system does not say its version", err=True)
    else:
        click.echo(f"kept for later runs: {keep(examined.diagnosis)}", err=True)
    health = examined.diagnosis.health
    if health is Health.VALID or (health is Health.SUSPECT and not strict):
        return 0
    checks = dict.fromkeys(each.check for each in examined.diagnosis.complaints)
    name = examined.contract.system.name
    click.echo(f"error: {name} is {health.value}: {', '.join(checks)}", err=True)
    return UNHEALTHY


def _examined(adapter: str, config: dict[str, object], timeout_s: float) -> "Examined":
    import anyio

    from recall_bench.cli.doing import doing
    from recall_bench.doctor.clinic import usual_clinic
    from recall_bench.doctor.examination import examine
    from recall_bench.doctor.footprint import footprint
    from recall_bench.job import code_version
    from recall_bench.library import load_persona
    from recall_bench.resolve.personas import SAMPLE
    from recall_bench.resolve.systems import resolve_system
    from recall_bench.settings import Settings
    from recall_bench.shipped import SOURCES

    clinic = usual_clinic(load_persona(SOURCES / SAMPLE), code_version())
    with footprint() as files, commentary(), doing() as telling:
        system = resolve_system(Settings(adapter=adapter, config=config))

        async def examination() -> "Examined":
            try:
                return await examine(system, clinic, files, timeout_s=timeout_s, telling=telling)
            finally:
                await system.close()

        return anyio.run(examination)


def _rendered(examined: "Examined") -> str:
    diagnosis, contract = examined.diagnosis, examined.contract
    lines = [f"{contract.system.name} {contract.system.version}: {diagnosis.health.value}", ""]
    for complaint in diagnosis.complaints:
        lead = f"  {complaint.health.value:8} "
        words = f"{complaint.check}: {complaint.message}"
        lines += wrap(words, 100, initial_indent=lead, subsequent_indent=" " * len(lead))
    if diagnosis.complaints:
        lines.append("")
    clock = "could not be told" if diagnosis.clock is None else diagnosis.clock.value
    asker = "could not be told" if diagnosis.asker is None else diagnosis.asker.value
    lines += [
        f"  {'seen to know the date':34} {clock}",
        f"  {'seen to take the asker as':34} {asker}",
    ]
    lines += [f"  {name:34} {value:,.2f}" for name, value in diagnosis.figures.items()]
    return "\n".join(lines)
