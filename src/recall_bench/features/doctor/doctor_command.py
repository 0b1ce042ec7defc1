"""The commands `doctor` and `check-adapter`: whether a system can be measured."""

from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import (
    CALL_TIMEOUT,
    CODE,
    PATH,
    add_json_option,
    build_system_settings,
)
from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.memory import UNDECLARED
from recall_bench.core.settings import Settings
from recall_bench.stories.drawn import FIRST_EDITION, choose_drawn_stories
from recall_bench.stories.persona_files import DEFAULT_ARCS
from recall_bench.stories.shipped import DEMO, find_persona

if TYPE_CHECKING:
    from recall_bench.core.diagnosis import Diagnosis
    from recall_bench.features.doctor.doctor import DoctorResult
    from recall_bench.stories.seeds import WorldSeed


UNHEALTHY = 1
"""The exit code for a system whose scores would be meaningless."""


@click.command("doctor")
@click.argument("adapter")
@CODE
@CALL_TIMEOUT
@click.option("--strict", is_flag=True, help="Exit with 1 for a suspect system too.")
@click.option(
    "--seed",
    "story_seed",
    metavar="SEED",
    help="Seed of the story to examine on, or the first of --memorisation [a fresh one].",
)
@click.option(
    "--memorisation",
    is_flag=True,
    help="Test instead whether it knows the released stories: run them, and fresh ones.",
)
@click.option(
    "--fresh-seeds",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    help="With --memorisation: how many fresh seeds.",
)
@click.option(
    "-p",
    "--personas",
    multiple=True,
    help="With --memorisation: shipped personas [executive-assistant er-physician].",
)
@click.option(
    "-o", "--into", type=PATH, help="With --memorisation: folder to keep the runs in [none]."
)
@add_json_option("Print JSON.")
def doctor_command(
    *,
    adapter: str,
    timeout_s: float,
    strict: bool,
    story_seed: str | None,
    memorisation: bool,
    fresh_seeds: int,
    personas: tuple[str, ...],
    into: Path | None,
    as_json: bool,
    **system: Any,  # noqa: ANN401 - one for each option of `CODE`
) -> int:
    """Diagnose a system before its scores are used.

    ADAPTER is as for `run --adapter`. The system is checked against the contract, asked about a
    story it does not know, about a small story, about the same with shuffled days, and compared
    with controls that know nothing, guess, and know everything. The verdict is `valid`, `suspect`
    or `invalid`; later runs of the same system show it. Exits with 1 for `invalid`.

    With --memorisation it exits with 1 if the system scores higher on the released stories than
    on the same stories drawn from fresh seeds.
    """
    settings = build_system_settings(adapter, system)
    if memorisation:
        settings = replace(
            settings,
            personas=personas,
            # Released longest, and simulated as well, so that questions of all kinds compare.
            arcs=DEFAULT_ARCS,
            edition=FIRST_EDITION,
            ranges=("6mo",),
            timeout_ms=round(1000 * timeout_s),
        )
        # Before anything runs: these have to be stories that seeds draw.
        choose_drawn_stories(replace(settings, edition=None))
        for name in personas:
            if FIRST_EDITION not in {story.edition for story in find_persona(name).stories}:
                raise UsageError(
                    f"--personas: no simulated story of {name} was released; name "
                    f"{' or '.join(DEMO)}"
                )
        earlier_seeds = _list_kept_seeds(into)
        seeds = [
            *earlier_seeds,
            *_choose_seeds(story_seed, max(0, fresh_seeds - len(earlier_seeds))),
        ]
        return _test_memorisation(settings, seeds, into, as_json=as_json)
    result = _run_doctor(settings, timeout_s, story_seed)
    if as_json:
        click.echo(format_json(result.diagnosis))
    else:
        click.echo(_render_diagnosis(result))
    if result.contract.system.version == UNDECLARED:
        click.echo(
            "not saved for later runs: the system declares no version; add `version` to it",
            err=True,
        )
    else:
        _save_for_later(result.diagnosis)
    health = result.diagnosis.health
    if health is SystemHealth.VALID or (health is SystemHealth.SUSPECT and not strict):
        return 0
    checks = dict.fromkeys(complaint.check for complaint in result.diagnosis.complaints)
    name = result.contract.system.name
    click.echo(f"error: {name} is {health.value}: {', '.join(checks)}", err=True)
    return UNHEALTHY


def _test_memorisation(
    settings: Settings, seeds: list[str], into: Path | None, *, as_json: bool
) -> int:
    from recall_bench.cli.console import show_activity, show_build
    from recall_bench.core.atomic_file import TemporaryFolder
    from recall_bench.features.doctor.memorisation import render_memorisation, run_memorisation

    with TemporaryFolder("doctor") as scratch, forward_to_stderr(), show_activity() as show:
        result = run_memorisation(settings, seeds, into or Path(scratch), show, show_build)
    click.echo(format_json(result) if as_json else render_memorisation(result))
    return UNHEALTHY if result.is_memorised else 0


def _save_for_later(diagnosis: "Diagnosis") -> None:
    """Save the diagnosis; the verdict stands where the cache cannot be written to."""
    from recall_bench.core.diagnosis import save_diagnosis

    try:
        message = f"saved for later runs: {save_diagnosis(diagnosis)}"
    except BenchError as error:
        message = f"not saved for later runs: {error}"
    click.echo(message, err=True)


def _choose_seeds(first: str | None, count: int) -> list[str]:
    """Random seeds, or this one and those after it."""
    from recall_bench.stories.seeds import WorldSeed

    if first is None:
        return [WorldSeed.draw().hex for _ in range(count)]
    return [WorldSeed(_parse_seed(first).value + number).hex for number in range(count)]


def _parse_seed(word: str) -> "WorldSeed":
    """The seed of an examination, which is printed; the seed of a challenge stays secret."""
    from recall_bench.stories.seeds import parse_world_seed

    seed = parse_world_seed(word)
    if seed.is_secret:
        raise UsageError("--seed: the seed of a challenge is secret; give a number")
    return seed


def _list_kept_seeds(folder: Path | None) -> list[str]:
    """The seeds of a test that is continued."""
    folders = [] if folder is None else sorted(folder.glob("system-0x*"))
    return [path.name.removeprefix("system-") for path in folders]


def _run_doctor(settings: Settings, timeout_s: float, story_seed: str | None) -> "DoctorResult":
    import anyio

    from recall_bench.cli.console import show_activity
    from recall_bench.core.distribution import get_version
    from recall_bench.core.feature import require_part
    from recall_bench.features.doctor.contract import close_after
    from recall_bench.features.doctor.doctor import (
        build_doctor_setup,
        collect_temporary_files,
        examine_system,
    )
    from recall_bench.stories.seeds import WorldSeed
    from recall_bench.systems.resolver import resolve_system

    draw_short_story = require_part("personas.draw_short_story", "the doctor")
    seed = WorldSeed.draw() if story_seed is None else _parse_seed(story_seed)
    setup = build_doctor_setup(
        draw_short_story(seed),
        get_version(),
        seed.hex,
        draw_other=lambda: draw_short_story(WorldSeed(seed.value + 1)),
    )
    with collect_temporary_files() as files, forward_to_stderr(), show_activity() as show:
        system = resolve_system(settings)
        examining = examine_system(system, setup, files, timeout_s=timeout_s, on_progress=show)
        return anyio.run(close_after, system, examining)


def _render_diagnosis(result: "DoctorResult") -> str:
    from recall_bench.core.plain_text import make_table, render_text

    diagnosis, contract = result.diagnosis, result.contract
    lines = [f"{contract.system.name} {contract.system.version}: {diagnosis.health.value}", ""]
    width = max(map(len, SystemHealth))
    for complaint in diagnosis.complaints:
        lead = f"  {complaint.health.value.ljust(width)}  "
        words = f"{complaint.check}: {complaint.message}"
        lines += wrap(words, 100, initial_indent=lead, subsequent_indent=" " * len(lead))
    if diagnosis.complaints:
        lines.append("")
    clock = "unknown" if diagnosis.clock is None else diagnosis.clock.value
    asker = "unknown" if diagnosis.asker is None else diagnosis.asker.value
    facts = {"story": diagnosis.story} if diagnosis.story else {}
    facts |= {"seen to know the date": clock, "use of the asker's session": asker}
    facts |= {name: _format_figure(name, value) for name, value in diagnosis.figures.items()}
    table = make_table(("measured", "result"), facts.items(), text=(1,))
    return "\n".join([*lines, *(f"  {line}" for line in render_text(table))])


_SHARES = ("facts found again", "answers changed by shuffling")


def _format_figure(name: str, value: float) -> str:
    """A figure as reports show its kind: marks as points of 100, a share in %, a count whole."""
    from recall_bench.reporting.formats import format_number, format_score

    if name.startswith("score"):
        return f"{format_score(value)} of 100"
    if name in _SHARES:
        return f"{format_number(100 * value, 0)} %"
    return f"{value:,.0f}" if name == "questions" else f"{value:,.2f}"


BROKEN = 1
"""The exit code for a system that breaks the contract."""


@click.command("check-adapter")
@click.argument("adapter")
@CODE
@click.option("--only", multiple=True, metavar="NAME", help="Run only this check; can be repeated.")
@CALL_TIMEOUT
@click.option("--seed", type=int, default=42, metavar="N", help="Seed of the facts [42].")
@add_json_option("Print JSON.")
def check_adapter_command(
    *,
    adapter: str,
    only: tuple[str, ...],
    timeout_s: float,
    seed: int,
    as_json: bool,
    **system: Any,  # noqa: ANN401 - one for each option of `CODE`
) -> int:
    """Check that a system satisfies the contract that every run relies on.

    ADAPTER is as for `run --adapter`. The checks ingest facts with made-up words, ask about them,
    and look for the words in the reply; no judge and no API key is needed. Exits with 1 if the
    contract is broken.
    """
    import anyio

    from recall_bench.cli.console import show_activity
    from recall_bench.features.doctor.contract import check_system, close_after
    from recall_bench.systems.resolver import resolve_system

    with forward_to_stderr(), show_activity() as show:
        checked = resolve_system(build_system_settings(adapter, system))
        checking = check_system(
            checked,
            only=only,
            seed=seed,
            timeout_s=timeout_s,
            on_progress=lambda name: show(f"checking {name}"),
        )
        report = anyio.run(close_after, checked, checking)
    if as_json:
        click.echo(format_json(report))
    else:
        click.echo(report.render())
    if not report.failures:
        return 0
    broken = ", ".join(check.name for check in report.failures)
    click.echo(
        f"error: {report.system.name} breaks the contract: {broken}; "
        "see what each check says above",
        err=True,
    )
    return BROKEN
