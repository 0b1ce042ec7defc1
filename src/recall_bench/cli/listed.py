"""Options that take several words, as people type them: `--ranges 30d 60d 90d`."""

from collections.abc import Sequence

import click


class MultiValueCommand(click.Command):
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
        return super().parse_args(ctx, _spread_values(args, names))


def _spread_values(args: Sequence[str], names: set[str]) -> list[str]:
    spread: list[str] = []
    listing: str | None = None
    is_empty = False
    for word in args:
        name, given, _ = word.partition("=")
        if not word.startswith("-"):
            spread += [listing, word] if listing is not None else [word]
            is_empty = False
            continue
        _refuse_empty(listing if is_empty else None)
        listing = name if name in names else None
        is_empty = listing is not None and not given
        if not is_empty:
            spread.append(word)
    _refuse_empty(listing if is_empty else None)
    return spread


def _refuse_empty(listing: str | None) -> None:
    """An option left without a word would swallow the next option instead."""
    if listing is not None:
        raise click.UsageError(f"Option {listing!r} requires an argument.")
