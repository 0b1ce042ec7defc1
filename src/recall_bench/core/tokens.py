"""About how many tokens a text is: one count for every budget, whoever's model reads it."""

CHARACTERS_A_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """About how many tokens the text is; none only for an empty one."""
    return -(-len(text) // CHARACTERS_A_TOKEN)
