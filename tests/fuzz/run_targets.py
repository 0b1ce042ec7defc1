"""Targets that read what runs leave behind, and what others made of them.

A journal is sealed by its chain of checksums: what is accepted has either the same events or
another last link. Imported files are known by their digests, bundles by their manifest.
"""

import lzma
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from recall_bench.core.append_log import LineChain, split_link
from recall_bench.core.memory import Passage
from recall_bench.core.plan import DrawnStory, digest_text
from recall_bench.engine.runs.journal import JOURNAL, encode_events, read_events
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.archive.bundle_file import unpack_bundle
from recall_bench.features.archive.import_run import import_run
from recall_bench.features.archive.leaderboard.collection import find_submission
from recall_bench.features.archive.leaderboard.replay import Replay, locate_replay, read_replay
from recall_bench.features.archive.run_bundle import make_bundle
from recall_bench.features.judges.labelled_verdicts import load_labels, merge_repeats
from recall_bench.judging.human_labels import (
    LABELS,
    HumanLabel,
    LabelLine,
    append_label,
    read_labels,
)
from recall_bench.reporting.analyses.canaries import (
    CANARY_RULE,
    FILE_VERSION,
    CanaryFile,
    CanaryQuestion,
    read_canaries,
)
from recall_bench.reporting.analyses.costs import measure_costs
from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
from recall_bench.reporting.run_report import build_report
from recall_bench.stories.drawn import SIMULATED_EDITION
from recall_bench.stories.seeds import create_challenge, read_challenge, read_secret
from tests.fuzz.mutator import Format
from tests.fuzz.target import ContentReader, FuzzTarget, Reading, Seed, make_file_target
from tests.written_runs import ALL_OF_ADA, PERFECT, POOR, ada_story, trial


def _write_run(folder: Path) -> Path:
    """A finished run of five trials, each with the same passage."""
    story = ada_story(folder / "run")
    passage = Passage(text="Ada took in a cat on the first day, and called it Smoke.", day=1)
    for each in ALL_OF_ADA:
        story.answer(each, "something", passage)
        story.judge(each, POOR if each == trial("dog", "4d") else PERFECT)
    story.end()
    journal = story.save() / JOURNAL
    journal.write_bytes(b"".join(encode_events(list(read_events(journal)))))
    return story.folder


def _look_at_journal(folder: Path) -> Reading:
    run = RunFolder.open(folder / "run")
    summary = summarise(run)
    events = tuple(read_events(run.path / JOURNAL))
    return Reading((events, summary.overall, summary.validity), run.last_link)


def _look_at_report(folder: Path) -> Reading:
    """As a report does: the log of the trials, their table and their costs."""
    run = RunFolder.open(folder / "run")
    table = read_trials(run)
    costs = measure_costs(run, table)
    return Reading((tuple(table.rows), costs), run.last_link)


def _open_forged(folder: Path) -> ContentReader:
    """Changes to a journal by someone who seals it again: nothing to compare, but no crash."""
    run = _write_run(folder)
    lines = [split_link(line)[0] for line in (run / JOURNAL).read_bytes().splitlines()]

    def parse(content: bytes) -> Reading:
        chain = LineChain()
        sealed = (chain.add(line) + b"\n" for line in content.split(b"\n") if line)
        (run / JOURNAL).write_bytes(b"".join(sealed))
        found = RunFolder.open(run)
        report = build_report(found, read_trials(found))
        export_files(found, result=folder / "result.json", questions=folder / "q.jsonl")
        return Reading(report.header, (found.last_link, report.header))

    return ContentReader([Seed(b"\n".join(lines), Format.LINES)], parse)


def _write_public_files(folder: Path) -> None:
    run = RunFolder.open(_write_run(folder / "made"))
    shutil.rmtree(folder / "files", ignore_errors=True)
    (folder / "files").mkdir()
    export_files(
        run,
        result=folder / "files" / "result.json",
        progress=folder / "files" / "progress.jsonl",
        questions=folder / "files" / "questions.jsonl",
        failures=folder / "files" / "failures.jsonl",
    )


def _look_at_import(folder: Path) -> Reading:
    into = folder / "imported"
    shutil.rmtree(into, ignore_errors=True)
    found = import_run([folder / "files"], into)
    imported = RunFolder.open(into).plan.imported
    return Reading((found.mean, found.evaluations), imported)


def _look_at_picture(name: str) -> Callable[[Path], Reading]:
    def look(folder: Path) -> Reading:
        found = load_heatmap(folder / "files" / name)
        return Reading(found, found)

    return look


def _open_bundle(folder: Path) -> ContentReader:
    """Changes to the archive inside of a bundle, which is then compressed again."""
    bundle = folder / "run.bundle"
    make_bundle(_write_run(folder), bundle)
    archive = lzma.decompress(bundle.read_bytes())

    def parse(content: bytes) -> Reading:
        bundle.write_bytes(lzma.compress(content, preset=0))
        return _look_at_bundle(folder)

    return ContentReader([Seed(archive, Format.BYTES), Seed(archive, Format.TEXT)], parse)


def _write_bundle(folder: Path) -> None:
    make_bundle(_write_run(folder), folder / "run.bundle")


def _look_at_bundle(folder: Path) -> Reading:
    into = folder / "unpacked"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    manifest = unpack_bundle(folder / "run.bundle", into)
    files = {path.name: path.read_bytes() for path in into.iterdir()}
    return Reading((manifest, files), manifest)


def _write_challenge(folder: Path) -> None:
    story = DrawnStory(
        persona="executive-assistant", arcs="arcs-30d.yaml", edition=SIMULATED_EDITION
    )
    create_challenge(folder / "challenge.json", (story,), "0.1.0")


def _look_at_challenge(folder: Path) -> Reading:
    found = read_challenge(folder / "challenge.json")
    return Reading((found, read_secret(folder / "challenge.json")), found)


def _write_replay(folder: Path) -> None:
    replay = Replay(
        link="abc", system="a 1", trials=9, same_answers=8, same_marks=9, differing=("x/y@2d#0",)
    )
    locate_replay(folder / "run").write_bytes(msgspec.json.encode(replay))


def _look_at_replay(folder: Path) -> Reading:
    found = read_replay(folder / "run", "abc")
    return Reading(found, found)


def _write_canaries(folder: Path) -> None:
    canary = CanaryQuestion(
        persona="ada",
        question="cat",
        text="Which cat?",
        category="factual-recall",
        digest=digest_text("x"),
        asked=6,
        hallucinated=6,
        runs=2,
        sizes=2,
        repeats=2,
    )
    file = CanaryFile(version=FILE_VERSION, rule=CANARY_RULE, runs=(), canaries=(canary,))
    (folder / "canaries.json").write_bytes(msgspec.json.encode(file))


def _look_at_canaries(folder: Path) -> Reading:
    found = read_canaries(folder / "canaries.json")
    return Reading(found, found)


def _write_labels(folder: Path) -> None:
    for label in (HumanLabel.RIGHT, HumanLabel.WRONG):
        line = LabelLine(
            trial=str(trial("cat")),
            label=label,
            by=f"{label.value} person",
            at=datetime(2026, 5, 1, tzinfo=UTC),
            question="Which cat?",
            reference="Fig",
            answer="Plum",
            category="factual-recall",
            question_id="cat",
            relevant_days=(1, 2),
            checkpoint_days=4,
            correctness=3,
            completeness=2,
            grounded=1,
        )
        append_label(folder, line)


def _look_at_labels(folder: Path) -> Reading:
    own = read_labels(folder)
    merged = merge_repeats(load_labels(folder / LABELS))
    return Reading((own, merged), (own, merged))


def _write_submission(folder: Path) -> None:
    (folder / "submission.yaml").write_text(
        "name: Plum\nadapter: plum\noptions: [--config, k=3]\nurl: https://example.org\n"
        "install: pip install plum\nnote: A cat.\n"
    )


def _look_at_submission(folder: Path) -> Reading:
    found = find_submission(folder / "run")
    return Reading(found, found)


def list_run_targets() -> Sequence[FuzzTarget]:
    """Every file of a run, and every file about one."""
    return (
        make_file_target("journal", _write_run, _look_at_journal, files=("*.jsonl",)),
        make_file_target("journal, for a report", _write_run, _look_at_report, files=("*.jsonl",)),
        FuzzTarget(name="journal, sealed again", open=_open_forged),
        make_file_target(
            "files to import", _write_public_files, _look_at_import, files=("files/*",)
        ),
        *(
            make_file_target(
                f"heatmap of {name}",
                _write_public_files,
                _look_at_picture(name),
                files=(f"files/{name}",),
            )
            for name in ("result.json", "progress.jsonl")
        ),
        make_file_target("bundle", _write_bundle, _look_at_bundle, files=("*.bundle",)),
        FuzzTarget(name="archive of a bundle", open=_open_bundle),
        make_file_target("challenge", _write_challenge, _look_at_challenge, files=("c*",)),
        make_file_target("replay", _write_replay, _look_at_replay),
        make_file_target("canaries", _write_canaries, _look_at_canaries),
        make_file_target("labels of people", _write_labels, _look_at_labels, files=(LABELS,)),
        make_file_target("submission", _write_submission, _look_at_submission),
    )
