"""Several runs beside each other: compare, gate, matrix, ablation; the pytest plugin."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.comparison"

FEATURE = Feature(
    name="comparison",
    commands=(
        Command(
            name="ablate",
            target=f"{HERE}.ablate_command:ablate_command",
            help="Switch each part of a system off or on, and compare the scores.",
            section="Run",
        ),
        Command(
            name="matrix",
            target=f"{HERE}.matrix_command:matrix_command",
            help="Run several systems, settings and seeds as one job, and compare them.",
            section="Run",
        ),
        Command(
            name="compare",
            target=f"{HERE}.compare_command:compare_command",
            help="Compare runs, with intervals.",
            section="Understand",
            is_first=True,
        ),
        Command(
            name="gate",
            target=f"{HERE}.gate_command:gate_command",
            help="Pass or fail a run by rules, and by its loss against a baseline.",
            section="Trust",
            is_first=True,
        ),
        Command(
            name="plan power",
            target=f"{HERE}.compare_command:power_command",
            old_names={"power": "plan power"},
        ),
    ),
)
