"""Standard output holds a command's answer and nothing else."""

import contextlib
import sys


def forward_to_stderr() -> contextlib.AbstractContextManager[object]:
    """While it lasts, what an adapter or a judge prints goes to stderr, whatever it meant."""
    return contextlib.redirect_stdout(sys.stderr)


def format_json(content: object) -> str:
    """Any of our records, or several, as JSON that people can read."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
