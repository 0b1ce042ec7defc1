"""Translates errors of the library that calls models into ModelFault and its subclasses.

This decides what is retried: ModelBusy is, by `core/retry.py`; ModelGone and ModelFault are not.
"""

from typing import TYPE_CHECKING

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone
from recall_bench.core.plain_text import escape_surrogates
from recall_bench.core.redaction import Redactor

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelHTTPError

_MESSAGE_LIMIT = 300

FAULTS_BY_LIBRARY_ERROR: tuple[tuple[str, type[ModelFault], str], ...] = (
    ("ModelQuotaExceededError", ModelGone, "the account has no money or quota left"),
    ("ModelAuthenticationError", ModelGone, "the key is refused"),
    ("ModelNotFoundError", ModelGone, "no such model or address (most base URLs end in /v1)"),
    ("ModelConnectionError", ModelBusy, "the connection failed"),
    ("ModelRequestTimeout", ModelBusy, "no reply in time"),
    ("ModelRateLimitError", ModelBusy, "it asks us to slow down"),
    ("ModelUnavailableError", ModelBusy, "it cannot serve now"),
    ("ModelServerError", ModelBusy, "the server failed"),
    ("ModelHTTPError", ModelFault, "the request is refused"),
    ("UserError", ModelGone, "it cannot be asked this way"),
)
"""The library's errors by class name, most specific first: our error and its message."""

_GONE = frozenset({401, 402, 403, 404, 405, 407, 410})
_BUSY = frozenset({408, 409, 425, 429})

_FILTERS = frozenset({"content_filter", "content_policy_violation"})


def classify_status(status: int) -> type[ModelFault]:
    """ModelBusy if another try may succeed, ModelGone if none can, ModelFault for this request."""
    if status in _BUSY or status >= 500:
        return ModelBusy
    return ModelGone if status in _GONE else ModelFault


def is_filtered(error: Exception) -> bool:
    """Whether the provider refused the prompt because of its content."""
    from pydantic_ai.exceptions import ContentFilterError, ModelAPIError

    if isinstance(error, ModelAPIError):
        return error.provider_error_code in _FILTERS
    return isinstance(error, ContentFilterError)


def read_refusal(error: Exception) -> str | None:
    """Return the server's message about a malformed request; None for any other failure."""
    from pydantic_ai.exceptions import ModelHTTPError

    if isinstance(error, ModelHTTPError) and error.status_code in {400, 422}:
        return _extract_message(error)
    return None


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection to the server could be opened, so that nothing was sent."""
    return any(type(cause).__name__ == "ConnectError" for cause in _collect_chain(error))


def translate_error(error: Exception, name: str, redact: Redactor) -> ModelFault:
    """Return a ModelFault for an error of the library, with no secret in it.

    Raise it outside of the `except` block: inside, it would carry the library's error as its
    context, with headers and bodies.
    """
    reason = truncate_line(redact(_extract_message(error)))
    kind, problem = _find_kind(error)
    message = f"{name}: {problem}{_format_status(error)}: {reason}"
    wait_s = getattr(error, "retry_after", None)
    if kind is ModelBusy and isinstance(wait_s, int | float) and wait_s >= 0:
        return ModelBusy(f"{message}; it asks to wait {wait_s:g} s", float(wait_s))
    return kind(message)


def _find_kind(error: Exception) -> tuple[type[ModelFault], str]:
    classes = {base.__name__ for base in type(error).__mro__}
    for name, kind, problem in FAULTS_BY_LIBRARY_ERROR:
        if name in classes:
            status = getattr(error, "status_code", None)
            if name == "ModelHTTPError" and isinstance(status, int):
                return classify_status(status), problem
            return kind, problem
    return ModelFault, f"replied with something that is no completion ({type(error).__name__})"


def _format_status(error: Exception) -> str:
    status = getattr(error, "status_code", None)
    return "" if status is None else f" (status {status})"


def _extract_message(error: Exception) -> str:
    """Return the provider's message, or the operating system's for a lost connection."""
    from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError

    if isinstance(error, ModelHTTPError):
        return _extract_body_message(error)
    if isinstance(error, ModelConnectionError):
        from recall_bench.systems.transports.http_system import explain_transport_error

        return explain_transport_error(error)
    return str(error) or "no reason given"


def _extract_body_message(error: "ModelHTTPError") -> str:
    body = error.body
    for key in ("error", "message"):
        if isinstance(body, dict) and key in body:
            body = body[key]
    return str(body) if body else "no reason given"


def _collect_chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 10:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def truncate_line(text: str) -> str:
    """Return the text on one line, cut to the length of a message."""
    line = _join_lines(text)
    return line if len(line) <= _MESSAGE_LIMIT else f"{line[:_MESSAGE_LIMIT]}…"


def truncate_start(text: str) -> str:
    """Return the end of the text on one line: programs name the problem last."""
    line = _join_lines(text)
    return line if len(line) <= _MESSAGE_LIMIT else f"…{line[-_MESSAGE_LIMIT:]}"


def _join_lines(text: str) -> str:
    return " ".join(escape_surrogates(text).split())
