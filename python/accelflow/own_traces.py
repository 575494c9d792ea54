"""Your own traces instead of the built-in ones, for servers and clients.

docs/server.md#your-trace-on-a-socket has an example.
"""

from dataclasses import dataclass, fields
from os import PathLike
from types import NoneType
from typing import TypeAlias

from accelflow import _native
from accelflow.errors import refused

__all__ = ["ClientTraces", "ServerTraces", "Traces"]

#: A source of traces: a library, a linked image of a library, or the path of a file with traces,
#: compiled or as text.
Traces: TypeAlias = _native.TraceLibrary | _native.TraceImage | str | PathLike[str]


@dataclass(frozen=True, slots=True)
class ServerTraces:
    """Your own traces for a server: a `library`, and the names of the traces that serve requests.

    `library` is a library, an image, or the path of a file of traces. `receive` names the trace
    that receives requests, and `respond` the one that sends responses. `respond_compressed` names
    the one for compressed responses: by default `respond` if that is given, else the server's T3.
    For a field that is None, the server uses the trace of `library` that has the same name as its
    built-in trace, or without such a trace the built-in one.
    """

    library: Traces
    receive: str | None = None
    respond: str | None = None
    respond_compressed: str | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a `library` of another type, and for a name that is not a string."""
        _check(self)


@dataclass(frozen=True, slots=True)
class ClientTraces:
    """Your own traces for a client: a `library`, and the names of the traces that make calls.

    `library` is a library, an image, or the path of a file of traces. `call` names the trace that
    sends a request; its tail leads to the trace `answer`, which receives the response. With gRPC,
    `call` only encodes the request and has no tail, and `answer` only decodes the response: neither
    has TCP. `oneway` names the trace that sends a request without a response (Thrift alone).
    `call_compressed` and `oneway_compressed` name the traces for compressed requests: by default
    `call` and `oneway` if they are given, else the built-in traces with Cmp. For another field
    that is None, the client uses the trace of `library` that has the same name as its built-in
    trace, or without such a trace the built-in one.
    """

    library: Traces
    call: str | None = None
    call_compressed: str | None = None
    oneway: str | None = None
    oneway_compressed: str | None = None
    answer: str | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a `library` of another type, and for a name that is not a string."""
        _check(self)


def traces_of(
    kind: type[ServerTraces] | type[ClientTraces], traces: ServerTraces | ClientTraces | None
) -> None:
    """Raise InputError if `traces` is neither a `kind` nor None."""
    if not isinstance(traces, (kind, NoneType)):
        raise refused("traces", traces, f"must be a {kind.__name__} or None")


def is_file(traces: ServerTraces | None) -> bool:
    """Return whether `traces` are from a file, which can be read again."""
    return traces is not None and isinstance(traces.library, str | PathLike)


def _check(traces: ServerTraces | ClientTraces) -> None:
    library: object = traces.library
    if not isinstance(library, _native.TraceLibrary | _native.TraceImage | str | PathLike):
        allowed = "must be a trace Library, a trace Image, or the path of a file of traces"
        raise refused("library", library, allowed)
    for field in fields(traces):
        name = getattr(traces, field.name)
        if field.name != "library" and name is not None and not isinstance(name, str):
            raise refused(field.name, name, "must be the name of a trace")
