"""For people who write plugins: fakes to test against. Ours are tested with the same."""

from recall_bench.testing.fakes import (
    CopiesInMemory,
    ExactJudge,
    Script,
    ScriptedMemory,
    ScriptedSystem,
)

__all__ = ["CopiesInMemory", "ExactJudge", "Script", "ScriptedMemory", "ScriptedSystem"]
