"""What the endpoint says when it says no, in the shape that OpenAI's clients understand."""

from collections.abc import Mapping

from recall_bench.errors import ModelBusy, ModelFault, ModelGone

NO_RETRY = {"x-should-retry": "false"}
"""OpenAI's clients repeat what failed on the server's side, unless they are told not to."""


class EndpointRefusal(Exception):
    """Becomes a reply; it never leaves the endpoint."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
        self.headers = dict(headers or {})


def translate_fault(fault: ModelFault) -> EndpointRefusal:
    """What a model's failure looks like to the product that asked for it."""
    if isinstance(fault, ModelBusy):
        if fault.retry_after_s > 0:
            headers = {"retry-after": f"{fault.retry_after_s:g}"}
            return EndpointRefusal(429, str(fault), kind="rate_limit_error", headers=headers)
        return EndpointRefusal(503, str(fault), kind="server_error")
    final = NO_RETRY if isinstance(fault, ModelGone) else None
    return EndpointRefusal(502, str(fault), kind="server_error", headers=final)
