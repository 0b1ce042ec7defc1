"""Personas are written: by the simulator, or by a language model through a durable pipeline."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.personas"

FEATURE = Feature(
    name="personas",
    commands=(
        Command(
            name="world",
            target=f"{HERE}.world_command:world_command",
            help="Build, verify and describe simulated personas.",
            section="Data",
        ),
        Command(
            name="create-persona",
            target=f"{HERE}.create_persona_command:create_persona_command",
            help="Write a persona and its story from a description.",
            section="Data",
        ),
        Command(
            name="generate",
            target=f"{HERE}.generate_command:generate_command",
            help="Write and verify a persona's days, dialogues and questions.",
            section="Data",
            old_names={
                "generate-conversations": "generate conversations",
                "generate-tool-calls": "generate tool-calls",
                "generate-qa": "generate questions",
                "verify-qa": "generate verify",
            },
        ),
    ),
    parts={
        "personas.draw_folder": f"{HERE}.worlds:draw_folder",
        "personas.draw_short_story": f"{HERE}.worlds:draw_short_story",
    },
)
