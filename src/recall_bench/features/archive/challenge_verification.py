"""Verify runs of a challenge: the seed is the committed one, and the stories are drawn from it."""

from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import WorldCard
from recall_bench.features.archive.run_bundle import open_run
from recall_bench.features.archive.run_verification import (
    CheckPart,
    CheckState,
    RunCheck,
    RunVerification,
)
from recall_bench.stories.drawn import BuildProgress, draw_story
from recall_bench.stories.seeds import Challenge, read_challenge, read_secret


def verify_challenge(
    path: Path, run: Path, building: BuildProgress | None = None
) -> RunVerification:
    """Hold a run against a revealed challenge, then derive everything in it again."""
    challenge = read_challenge(path)
    if challenge.seed is None:
        raise UsageError(
            f"{path}: its seed is still secret; its author publishes it with "
            "`recall-bench challenge reveal`"
        )
    with open_run(run) as opened:
        check = _check_seed(challenge, opened.folder.plan.world)
        if check.state is CheckState.VERIFIED:
            seed = read_secret(path)
            for story in challenge.stories:
                draw_story(story, seed, building)
        verification = opened.verify(data=None, building=building)
    return verification.replace(checks=(check, *verification.checks))


def _check_seed(challenge: Challenge, world: WorldCard | None) -> RunCheck:
    is_same = False
    if world is None:
        detail = "the run is of the stories as released, not of the challenge"
    elif world.commitment != challenge.commitment:
        detail = "the run is of another seed than the one the challenge committed to"
    elif not set(world.stories) <= set(challenge.stories):
        detail = "the run is of stories that are not in the challenge"
    elif missing := len(set(challenge.stories) - set(world.stories)):
        detail = f"the run leaves out {missing} of the challenge's {len(challenge.stories)} stories"
    else:
        is_same = True
        detail = f"the seed {challenge.seed} is the one that the challenge committed to"
    return RunCheck.of(CheckPart.SEED, detail, is_same=is_same)
