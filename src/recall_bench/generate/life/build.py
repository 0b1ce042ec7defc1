"""Build a persona folder in the public format from the sources of a life edition."""

from pathlib import Path

from recall_bench.core.errors import Malformed, Problems
from recall_bench.core.garbage_collector import pause_collector
from recall_bench.generate.life.checks import find_faults
from recall_bench.generate.life.edition import LEDGER, LifeEdition, play_life, write_ledger
from recall_bench.generate.life.sources import LifeSources
from recall_bench.generate.world.build import choose_new_folder, write_whole_folder
from recall_bench.generate.written.build import write_edition
from recall_bench.generate.written.derivation import UnderivableAnswer


def build_life_folder(sources: LifeSources, out: Path, *, seed: int = 0) -> Path:
    """Play the edition and write its folder under `out`; a failure leaves nothing behind."""
    folder = choose_new_folder(out, sources.persona.id)
    if faults := find_faults(sources):
        raise Problems([Malformed(each.where, each.message) for each in faults])
    out.mkdir(parents=True, exist_ok=True)
    with write_whole_folder(folder) as partial, pause_collector():
        try:
            write_life(play_life(sources, seed), partial)
        except UnderivableAnswer as fault:
            raise Malformed(
                sources.persona.id, f"{fault}, and a question asks for it; see the wordings of it"
            ) from fault
    return folder


def write_life(edition: LifeEdition, folder: Path) -> None:
    """Write all files of an edition that was played."""
    write_edition(edition.rendered, folder)
    ledger = folder / f"qa-{edition.written.story.days}d" / LEDGER
    with ledger.open("w", encoding="utf-8", newline="\n") as lines:
        write_ledger(edition.play, lines)
