"""The one model of a compatible server, where somebody gives its address and nothing else."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from recall_bench.errors import UsageError
from recall_bench.models.compatible import CompatibleServer, resolve_server
from recall_bench.models.faults import truncate_line
from recall_bench.models.spec import ModelSpec, parse_spec

_TIMEOUT_S = 5.0
_LIMIT = 8 * 1024 * 1024
_SHOWN = 12
"""How many models are listed for somebody who has to choose."""

_NO_LIST = "replied with something that is no list of models; check the address"
_REFUSED = "wants a key, or another one; name its variable with key-env="
_NONE_THERE = "lists no models there; check the address (most base URLs end in /v1)"


def is_address(target: str) -> bool:
    """Whether the target is a base URL, perhaps with options after it."""
    return re.match(r"\s*https?:", target, re.IGNORECASE) is not None


def parse_address(target: str, environ: Mapping[str, str] | None = None) -> ModelSpec:
    """What `URL;options…` says, with None for the name of the model. Nobody is asked."""
    spec = parse_spec(f"openai:MODEL;{target}", environ)
    assert spec is not None  # noqa: S101 - it names a provider
    return replace(spec, model=None)


def find_served_model(target: str, environ: Mapping[str, str] | None = None) -> ModelSpec:
    """The only model that the server at `URL;options…` lists.

    Asked once. UsageError if it cannot be reached, lists none, or lists several to choose from.
    """
    spec = parse_address(target, environ)
    server = resolve_server(spec, environ)
    assert server is not None  # noqa: S101 - it has a base URL
    names = _read_names(_fetch_models(server), server)
    if len(names) == 1:
        return replace(spec, model=names[0])
    if not names:
        raise UsageError(f"{server.base_url}: serves no model; load one, then try again")
    shown = ", ".join(truncate_line(server.redact(name)) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UsageError(
        f"{server.base_url}: serves {len(names)} models ({shown}{more}); name one, as in "
        f"'openai:{names[0]};{server.base_url}'"
    )


class _NoRedirects(HTTPRedirectHandler):
    """Whoever is sent elsewhere would take the key along."""

    def redirect_request(self, *_: object) -> None:
        return None


def _fetch_models(server: CompatibleServer) -> object:
    """The reply to `GET /models`."""
    url = server.build_url("models")
    # Over plain http a proxy would be one more machine that sees the key.
    proxies: dict[str, str] | None = {} if url.startswith("http:") else None
    opener = build_opener(ProxyHandler(proxies), _NoRedirects)
    request = Request(url, headers={"Accept": "application/json", **server.headers})  # noqa: S310
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as reply:
            return json.loads(reply.read(_LIMIT))
    except HTTPError as error:
        error.close()
        problem = _describe_status(error.code)
    except TimeoutError:
        problem = f"no reply within {_TIMEOUT_S:g} s; check the address"
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        said = truncate_line(server.redact(str(reason))) or type(error).__name__
        problem = f"cannot be asked for its models ({said}); check the address, start the server"
    except (ValueError, RecursionError):
        problem = _NO_LIST
    # Raised here, where no error of the library is being handled, it drags no headers along.
    raise _make_error(server, problem)


def _describe_status(status: int) -> str:
    if status in {401, 403}:
        return _REFUSED
    if status == 404:
        return _NONE_THERE
    return f"refuses to list its models (status {status}); check the address"


def _make_error(server: CompatibleServer, problem: str) -> UsageError:
    place = server.base_url
    instead = "" if problem == _REFUSED else f", or name the model as 'openai:NAME;{place}'"
    return UsageError(f"{place}: {problem}{instead}")


def _read_names(listed: object, server: CompatibleServer) -> list[str]:
    """The ids in OpenAI's shape, each once."""
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        raise _make_error(server, _NO_LIST)
    ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return list(dict.fromkeys(name for name in ids if isinstance(name, str) and name.strip()))
