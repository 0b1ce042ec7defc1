"""Whole agents as systems: chat endpoints, command lines, A2A; the tool loop over a memory."""

from recall_bench.core.feature import Feature

HERE = "recall_bench.features.agents"

FEATURE = Feature(
    name="agents",
    forms={
        "loop": f"{HERE}.loop.loop_system:build_named_loop",
        "agent": f"{HERE}.command_agent:build_command_agent",
        "openai": f"{HERE}.openai_agent:open_openai_agent",
        "a2a": f"{HERE}.a2a_agent:open_a2a_agent",
    },
    transports={
        "openai": f"{HERE}.started_agent:start_agents",
        "a2a": f"{HERE}.started_agent:start_agents",
    },
)
