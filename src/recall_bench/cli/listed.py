"""Options that take several words, as people type them: `--ranges 30d 60d 90d`."""

from collections.abc import Sequence

import click


class ListedCommand(click.Command):
    """A command without arguments, whose repeatable options take any number of words.

    Everything up to the next option belongs to the list: without this, click would take one
    word and refuse the rest, and other harnesses silently keep only the last.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spread `--option a b` into `--option a --option b`."""
        names = {
            name
            for option in self.params
            if isinstance(option, click.Option) and option.multiple
            for name in option.opts
        }
        return super().parse_args(ctx, _spread(args, names))


def _spread(args: Sequence[str], names: set[str]) -> list[str]:
    spread: list[str] = []
    listing: str | None = None
    for word in args:
        if word in names:
            listing = word
        elif word.startswith("--"):
            listing = None
            spread.append(word)
        elif listing is not None:
            spread += [listing, word]
        else:
            spread.append(word)
    return spread
