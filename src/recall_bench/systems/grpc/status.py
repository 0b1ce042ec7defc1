"""How a call ended."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

if TYPE_CHECKING:
    import grpc

T = TypeVar("T")

_LOST_IN_CORE = "Internal error from Core"
"""What a stream's status becomes in grpcio when the server ended it while we were writing."""


class GrpcStatus(NamedTuple):
    """What the server said at the end."""

    code: str
    details: str
    trailing: dict[str, str]

    @classmethod
    def from_error(cls, error: "grpc.aio.AioRpcError") -> Self:
        """The status a failed call raised."""
        trailing = {key: str(value) for key, value in error.trailing_metadata() or ()}
        return cls(error.code().name, error.details() or "", trailing)


class StreamStatus:
    """The status of a stream as the server sent it.

    A server may end a stream at any time. If we are writing just then, grpcio puts a status of
    its own before the server's, or in its place; so the first is noted, and the last is raised.
    """

    def __init__(self, call: "grpc.aio.StreamStreamCall") -> None:
        self._call = call
        self._first: GrpcStatus | None = None
        call.add_done_callback(self._note)

    def resolve(self, error: "grpc.aio.AioRpcError") -> GrpcStatus:
        """What the server said, which is not always what is raised."""
        if self._first is None or self._first.details == _LOST_IN_CORE:
            return GrpcStatus.from_error(error)
        return self._first

    def _note(self, _: object) -> None:
        trailing = _run_ready_coroutine(self._call.trailing_metadata())
        self._first = GrpcStatus(
            _run_ready_coroutine(self._call.code()).name,
            _run_ready_coroutine(self._call.details()) or "",
            {key: str(value) for key, value in trailing or ()},
        )


def _run_ready_coroutine(known: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that has nothing to wait for, as at the end of a call."""
    try:
        known.send(None)
    except StopIteration as returned:
        return returned.value  # type: ignore[no-any-return]
    known.close()
    raise AssertionError("the call has not ended")
