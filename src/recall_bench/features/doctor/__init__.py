"""Whether a system's numbers can be believed: the contract and the doctor."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.doctor"

FEATURE = Feature(
    name="doctor",
    commands=(
        Command(
            name="check-adapter",
            target=f"{HERE}.doctor_command:check_adapter_command",
            help="Check that a system satisfies the contract of a run.",
            section="Trust",
            is_first=True,
        ),
        Command(
            name="doctor",
            target=f"{HERE}.doctor_command:doctor_command",
            help="Diagnose a system before its scores are used.",
            section="Trust",
            is_first=True,
        ),
    ),
)
