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
        "erasure": f"{HERE}.report.erasure_report:build_erasure_figures",
        "poisoning": f"{HERE}.report.poisoning_report:build_poisoning_figures",
        "tenants": f"{HERE}.report.tenants_report:build_tenant_figures",
        "freshness": f"{HERE}.report.freshness_report:build_freshness_figures",
        "load": f"{HERE}.report.load_report:build_load_figures",
        "procedures": f"{HERE}.report.procedures_report:build_procedure_figures",
    },
    parts={
        "suites.assemble": f"{HERE}.behaviour_assembly:assemble_cell",
        "suites.settings": f"{HERE}.behaviour_assembly:SUITE_SETTINGS",
        "suites.stories": f"{HERE}.report.story_events:render_stories",
    },
)
