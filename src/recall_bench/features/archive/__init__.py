"""Runs as things to keep and pass on: bundles, verification, merging, exports, leaderboards."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.archive"

FEATURE = Feature(
    name="archive",
    commands=(
        Command(
            name="merge",
            target=f"{HERE}.run_files_command:merge_command",
            help="Merge the shards of `run --shard` into one run.",
            section="Run",
        ),
        Command(
            name="verify",
            target=f"{HERE}.verify_command:verify_command",
            help="Derive everything in a run folder again, and name what differs.",
            section="Trust",
        ),
        Command(
            name="bundle",
            target=f"{HERE}.bundle_command:bundle_command",
            help="Write a finished run as one file that others can verify.",
            section="Trust",
        ),
        Command(
            name="leaderboard",
            target=f"{HERE}.leaderboard.command:leaderboard_command",
            help="Make a site of verified runs, and repeat parts of them.",
            section="Trust",
        ),
        Command(
            name="challenge",
            target=f"{HERE}.challenge_command:challenge_command",
            help="Commit to a secret seed, run it, and reveal it.",
            section="Trust",
        ),
        Command(
            name="canaries",
            target=f"{HERE}.canaries_command:canaries_command",
            help="Keep a file of questions that always hallucinate, and check them.",
            section="Trust",
        ),
        Command(
            name="import",
            target=f"{HERE}.run_files_command:import_command",
            help="Make a run folder of the public harness's files.",
            section="Understand",
        ),
        Command(
            name="export",
            target=f"{HERE}.run_files_command:export_command",
            help="Write results as tables, for papers or for trackers.",
            section="Understand",
        ),
    ),
)
