"""The model endpoint that the parent process started for this one."""

import os
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.usage import UsageMeter
from recall_bench.systems.transports.child_environment import ENDPOINT_VARIABLE

_NOT_CHAT = {"dimensions", "reranker"}
"""What the models of an endpoint say of themselves if they are no language models."""


class ParentEndpoint:
    """The endpoint of the parent process, which starts, meters and stops it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url.strip())
        if parts.scheme != "http" or parts.hostname not in {"127.0.0.1", "localhost"}:
            raise UsageError(
                f"{ENDPOINT_VARIABLE}: names no endpoint on this machine; leave it to recall-bench "
                "to set"
            )
        self.url = url.strip().rstrip("/")
        """The base URL for products."""
        self.meter = UsageMeter()
        """Stays empty: the parent process counts."""
        self._offered: list[dict[str, Any]] = []

    @property
    def embedding_model(self) -> str:
        """The embedder's name for products."""
        return str(self._embedding_entry["id"])

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return int(self._embedding_entry["dimensions"])

    @property
    def embedder(self) -> str:
        """The exact name of the embedder."""
        return str(self._embedding_entry["embedder"])

    @property
    def model(self) -> str | None:
        """The language model's name for products; None if there is none."""
        _ = self._embedding_entry
        names = (str(model["id"]) for model in self._offered if not _NOT_CHAT & model.keys())
        return next(names, None)

    @property
    def reranker(self) -> str | None:
        """The exact name of the reranker; None if there is none."""
        _ = self._embedding_entry
        return next(
            (str(model["reranker"]) for model in self._offered if "reranker" in model), None
        )

    @property
    def _embedding_entry(self) -> dict[str, Any]:
        if not self._offered:
            self.start()
        return next(model for model in self._offered if "dimensions" in model)

    def start(self) -> None:
        """Check that it answers; UsageError otherwise."""
        parts = urlsplit(self.url)
        line = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        try:
            line.request("GET", f"{parts.path}/models")
            listed = decode_untrusted_json(line.getresponse().read(), _ModelList).data
        except (OSError, HTTPException, msgspec.MsgspecError) as error:
            raise self._make_missing_error() from error
        finally:
            line.close()
        if not any("dimensions" in model for model in listed):
            raise self._make_missing_error()
        self._offered = listed

    def stop(self) -> None:
        """Do nothing: the parent process stops it."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _make_missing_error(self) -> UsageError:
        # Without the path, which may be its key.
        place = urlsplit(self.url)._replace(path="").geturl()
        return UsageError(
            f"{ENDPOINT_VARIABLE}: no model endpoint answers at {place}; start recall-bench "
            "endpoint, or unset the variable"
        )


class _ModelList(msgspec.Struct):
    """The part of `/v1/models` that matters."""

    data: list[dict[str, Any]]


started_here: set[str] = set()
"""The endpoints of this process: the variable that its children find them by is no parent's."""
BUILT_IN_EMBEDDER = "wordllama"
"""The name of the built-in word vectors."""


def is_parent_endpoint_set() -> bool:
    """Whether the parent process has an endpoint for this one."""
    return bool(find_parent_url(os.environ))


def find_parent_url(environ: Mapping[str, str]) -> str:
    """The address of the parent's endpoint; empty if it has none."""
    url = environ.get(ENDPOINT_VARIABLE, "").strip()
    return "" if url in started_here else url
