"""MCP servers as systems, and their tools."""

from recall_bench.core.feature import Feature

HERE = "recall_bench.features.mcp"

FEATURE = Feature(
    name="mcp",
    systems={"mcp-server-memory": f"{HERE}.mcp_system:build_reference_server"},
    transports={"mcp": f"{HERE}.mcp_system:start_described_server"},
)
