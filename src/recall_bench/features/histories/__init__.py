"""Own chats, mail and traces become a persona."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.histories"

FEATURE = Feature(
    name="histories",
    commands=(
        Command(
            name="import-history",
            target=f"{HERE}.import_history_command:import_history_command",
            help="Make a persona of your own chats, mail or traces.",
            section="Data",
        ),
    ),
)
