"""What a profile says about generation."""

from pathlib import Path
from typing import Any

from recall_bench.profile import parse_profile, resolve_code_path


def read_generation_profile(path: Path, model: str) -> dict[str, Any]:
    """The fields of a request that a profile gives. Relative paths in it are relative to it.

    `model` is the one of its models that is asked: creation, generation or conversation. Where a
    profile names no model for creation or conversation, it is the one for generation.
    """
    profile, base = parse_profile(path), path.parent
    found: dict[str, Any] = {}
    if profile.persona is not None:
        found["persona"] = base / (profile.persona.dir or profile.persona.id)
        found["arcs"] = profile.persona.arcs
    if profile.models is not None:
        named = getattr(profile.models, model) or profile.models.generation
        found["model"] = resolve_code_path(named, base)
    if profile.generate is not None:
        for name in ("days", "start", "end", "temperature", "max_tokens", "history_window"):
            found[name] = getattr(profile.generate, name)
    return {name: value for name, value in found.items() if value is not None}
