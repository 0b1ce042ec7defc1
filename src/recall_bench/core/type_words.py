"""What is wrong with the type of a value in a YAML file, in the words of YAML."""

import re

import msgspec

_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a mapping",
    "str": "a text",
}
_REMEDIES = {"array": "write for example [a, b]", "object": "write for example {key: value}"}
_MISMATCH = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")


def split_type_error(error: msgspec.ValidationError) -> tuple[str, str]:
    """The problem, with a remedy where there is one, and the place, such as `run.personas`."""
    problem, _, place = str(error).partition(" - at ")
    match = _MISMATCH.fullmatch(problem)
    if match is None:
        words = problem.replace("`", "")
        words = words[:1].lower() + words[1:]
    else:
        kinds = [kind for kind in match[1].split(" | ") if kind != "null"]
        expected = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
        words = f"expected {expected}, got {_WORDS.get(match[2], match[2])}"
        if len(kinds) == 1 and kinds[0] in _REMEDIES:
            words += f"; {_REMEDIES[kinds[0]]}"
    return words, place.strip("`").removeprefix("$").removeprefix(".")
