"""Suites of behaviour: erasure, poisoning, tenants, freshness, load, procedures."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.suites"

FEATURE = Feature(
    name="suites",
    commands=(
        Command(
            name="suite",
            target=f"{HERE}.suite_command:suite_command",
            help="Measure erasure, poisoning, tenants, freshness, load or procedures.",
            section="Run",
        ),
        Command(
            name="suite scorecard",
            target=f"{HERE}.suite_command:scorecard_command",
            old_names={
                "scorecard": "suite scorecard",
            },
        ),
    ),
    figures={
        "erasure": f"{HERE}.erasure:build_erasure_figures",
        "poisoning": f"{HERE}.poisoning:build_poisoning_figures",
        "tenants": f"{HERE}.tenants:build_tenant_figures",
        "freshness": f"{HERE}.freshness:build_freshness_figures",
        "load": f"{HERE}.load:build_load_figures",
        "procedures": f"{HERE}.procedures.suite:build_procedure_figures",
    },
    parts={
        "suites.assemble": f"{HERE}.behaviour_assembly:assemble_cell",
        "suites.settings": f"{HERE}.behaviour_assembly:SUITE_SETTINGS",
        "suites.stories": f"{HERE}.story_events:render_stories",
    },
)
