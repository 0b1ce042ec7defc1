"""Where an HTTP system is, and what it is shown to let us in."""

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from recall_bench.errors import UsageError
from recall_bench.systems.http.contract import TOKEN_VARIABLE

_ADDRESS_FORM = "write http://host:port, and perhaps a path before /health and the others"


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """An address that can be shown, and credentials that cannot."""

    url: str
    """Without credentials, and without a slash at its end."""
    authorization: str | None = field(default=None, repr=False)
    """The header, if there is one to send."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def redact(self, text: str) -> str:
        """The text without the credentials, in case a server repeats them."""
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]")
        return text


def parse_http_address(target: str, environ: Mapping[str, str] = os.environ) -> HttpAddress:
    """The address a target spells, or a UsageError that repeats no credentials.

    Credentials in it are sent as Basic authorization; without any, the token that the environment
    gives is sent as a bearer.
    """
    try:
        parts = urlsplit(target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        shown = f"{target.partition('://')[0]}://{target.rpartition('@')[2].rpartition('//')[2]}"
        raise UsageError(f"{shown!r} is not an address ({error}); {_ADDRESS_FORM}") from None
    place = parts.netloc.rpartition("@")[2]
    url = f"{parts.scheme}://{place}{parts.path.rstrip('/')}"
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"{url!r} is not an HTTP address; {_ADDRESS_FORM}")
    if not host or port == 0:
        raise UsageError(f"{url!r} names no host and port; {_ADDRESS_FORM}")
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} is followed by a query or a fragment; {_ADDRESS_FORM}")
    return _add_credentials(url, parts.username, parts.password, environ.get(TOKEN_VARIABLE))


def _add_credentials(
    url: str, user: str | None, password: str | None, token: str | None
) -> HttpAddress:
    if user is not None:
        plain = f"{unquote(user)}:{unquote(password or '')}"
        encoded = b64encode(plain.encode()).decode()
        secrets = (encoded, plain, unquote(password or ""), password or "", unquote(user))
        return HttpAddress(url, f"Basic {encoded}", tuple(filter(None, secrets)))
    if token:
        if not (token.isascii() and token.isprintable()):
            raise UsageError(f"{TOKEN_VARIABLE} holds what no HTTP header can; set it anew")
        return HttpAddress(url, f"Bearer {token}", (token,))
    return HttpAddress(url)
