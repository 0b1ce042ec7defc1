"""Public datasets: download, loaders, evaluation, official protocols."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.datasets"

FEATURE = Feature(
    name="datasets",
    commands=(
        Command(
            name="eval",
            target=f"{HERE}.eval_command:eval_command",
            help="Measure a system on a public dataset, beside floors and ceilings.",
            section="Data",
            is_first=True,
        ),
        Command(
            name="datasets",
            target=f"{HERE}.datasets_command:datasets_command",
            help="List, download and describe the public datasets.",
            section="Data",
        ),
    ),
    protocols={
        "locomo": f"{HERE}.protocols.string_match:list_protocols",
        "longmemeval": f"{HERE}.protocols.longmemeval_protocol:list_protocols",
        "longmemeval-v2": f"{HERE}.protocols.longmemeval_v2_protocol:list_protocols",
        "beam": f"{HERE}.protocols.nugget_protocol:list_protocols",
        "halumem": f"{HERE}.protocols.halumem_protocol:list_protocols",
    },
    parts={"datasets.assemble": f"{HERE}.eval_assembly:assemble_evaluation"},
)
