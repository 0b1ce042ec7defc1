"""Make one file of a run that others can verify, and verify such a file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.core.event_redaction import redact_event
from recall_bench.core.plan import DrawnStory
from recall_bench.engine.runs.journal import JOURNAL, read_events, walk_folders
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.bundle_file import (
    FORMAT,
    BundleDataset,
    BundleManifest,
    describe_files,
    is_bundle,
    unpack_bundle,
    write_bundle,
)
from recall_bench.features.archive.bundle_signature import find_signer, locate_signature
from recall_bench.features.archive.run_verification import (
    CheckPart,
    RunCheck,
    RunVerification,
    StoryFinder,
    verify_folder,
)
from recall_bench.stories.drawn import BuildProgress
from recall_bench.stories.shipped import load_catalogue
from recall_bench.stories.story_folders import name_released_story


def make_bundle(run: Path, output: Path, building: BuildProgress | None = None) -> BundleManifest:
    """Write the bundle of a finished run; DataError if its journal was changed or holds a key."""
    folder = RunFolder.open(run)
    if not folder.is_finished or folder.unstarted:
        raise UsageError(f"{run} is unfinished; run the command that started it again to finish it")
    _refuse_keys(run)
    manifest = build_manifest(folder, StoryFinder(folder.plan, None, building))
    write_bundle(output, manifest, run)
    return manifest


def _refuse_keys(run: Path) -> None:
    """Journals of earlier versions may hold keys."""
    for number, event in enumerate(read_events(run / JOURNAL), start=1):
        if redact_event(event) != event:
            raise DataError(
                f"{run / JOURNAL}, line {number}: holds what looks like a key, so no bundle is "
                "made; run it again, and the key is not written"
            )


def build_manifest(folder: RunFolder, shipped: StoryFinder) -> BundleManifest:
    """Build the manifest that follows from a run folder and the shipped stories."""
    plan = folder.plan
    return BundleManifest(
        format=FORMAT,
        plan=plan.digest,
        link=folder.last_link,
        codes=folder.codes,
        system=plan.system,
        judge=plan.judge,
        appellate=plan.appellate,
        reader=plan.reader,
        environments=folder.environments,
        dataset=_describe_dataset(folder, shipped),
        files=describe_files(folder.path),
    )


def _describe_dataset(folder: RunFolder, shipped: StoryFinder) -> BundleDataset:
    plan = folder.plan
    dataset = BundleDataset(digest=plan.dataset_digest)
    if plan.dataset is not None:
        return dataset.replace(public=plan.dataset)
    if (world := plan.world) is not None:
        return dataset.replace(stories=world.stories, seed=world.seed, commitment=world.commitment)
    if (stories := _find_shipped(shipped)) is not None:
        return dataset.replace(stories=stories)
    states = folder.states.scenarios
    items = {name: tuple(item.id for item in states[name].items) for name in folder.scenarios}
    return dataset.replace(items=items)


def _find_shipped(finder: StoryFinder) -> tuple[DrawnStory, ...] | None:
    """Return the shipped stories of a plan; None if they are not all shipped."""
    plan, shipped = finder.plan, set(load_catalogue())
    if plan.imported is not None or not {card.id for card in plan.scenarios} <= shipped:
        return None
    try:
        stories = finder.stories
    except BenchError:
        # A persona of one's own may have the name of a shipped one.
        return None
    return tuple(name_released_story(persona, story) for persona, (story, _) in stories.items())


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run folder, or a bundle that is unpacked to a temporary one."""

    place: Path
    """The folder or the bundle."""
    folder: RunFolder
    manifest: BundleManifest | None = None
    """That of the bundle."""

    def verify(
        self,
        data: Path | None = None,
        building: BuildProgress | None = None,
        *,
        signers: Path | None = None,
    ) -> RunVerification:
        """Derive everything again; nothing in it is executed.

        `data` is the folder of the personas, unless they are shipped; `signers` a file of people
        and their SSH keys, one of whom must have signed the bundle.
        """
        finder = StoryFinder(self.folder.plan, data, building)
        if self.manifest is None:
            return verify_folder(self.folder, finder)
        signature = _check_signature(self.place, signers)
        verification = verify_folder(self.folder, finder)
        here = _check_manifest(self.manifest, self.folder, finder)
        return verification.replace(
            run=str(self.place), checks=(here, signature, *verification.checks)
        )


@contextmanager
def open_run(place: Path) -> Iterator[OpenedRun]:
    """Open a run folder, or a bundle in a temporary one; DataError if it is damaged."""
    if not is_bundle(place):
        yield OpenedRun(place, RunFolder.open(place))
        return
    with TemporaryFolder("bundle") as scratch:
        manifest = unpack_bundle(place, Path(scratch))
        try:
            folder = RunFolder.open(Path(scratch))
        except DataError as error:
            raise DataError(str(error).replace(scratch, str(place))) from error
        yield OpenedRun(place, folder, manifest)


def find_runs(path: Path) -> Sequence[Path]:
    """The bundles and run folders at or below a path; UsageError if there is none."""
    if is_bundle(path) or (path / JOURNAL).is_file():
        return [path]
    faults = [
        place
        for folder, files in walk_folders(path)
        for place in (folder, *(folder / name for name in files))
        if is_bundle(place) or (place == folder and JOURNAL in files)
    ]
    if not faults:
        raise UsageError(f"{path}: holds no bundle and no run; `recall-bench bundle` makes one")
    return faults


def _check_signature(bundle: Path, signers: Path | None) -> RunCheck:
    is_same: bool | None = None
    if signers is None:
        is_signed = locate_signature(bundle).is_file()
        detail = "name the people you trust with --signers" if is_signed else "it is not signed"
    elif (signer := find_signer(bundle, signers)) is not None:
        is_same, detail = True, f"signed by {signer}"
    else:
        is_same, detail = False, f"none of the signers in {signers} signed these bytes"
    return RunCheck.of(CheckPart.SIGNATURE, detail, is_same=is_same)


def _check_manifest(manifest: BundleManifest, folder: RunFolder, finder: StoryFinder) -> RunCheck:
    # A bundle names shipped stories, wherever those of the user are.
    shipped = finder if finder.data is None else StoryFinder(folder.plan, None, finder.building)
    again = build_manifest(folder, shipped)
    if bool(manifest.dataset.stories) != bool(again.dataset.stories):
        # Another version has other stories; whether the data is the same is a check of its own.
        manifest, again = (
            card.replace(dataset=card.dataset.replace(stories=(), items={}))
            for card in (manifest, again)
        )
    differing = [
        name
        for name in BundleManifest.__struct_fields__
        if getattr(manifest, name) != getattr(again, name)
    ]
    detail = f"its manifest has another {', another '.join(differing)} than its journal"
    if not differing:
        detail = f"{len(manifest.files)} files with the digests of the manifest, which follows "
        detail += "from the journal"
    return RunCheck.of(CheckPart.BUNDLE, detail, is_same=not differing)
