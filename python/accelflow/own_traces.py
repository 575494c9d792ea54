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
    """Your own traces for a server, programs of accelerator calls that process its messages.

    `library` has the traces: a library, a linked image, or the path of a file. `receive` is the
    name of the trace that receives requests, and `respond` of the trace that sends responses.
    `respond_compressed` is for compressed responses; if it is None and `respond` is given, it is
    `respond`. For any other field that is None, the server uses the trace in `library` with the
    same name as its built-in trace, or if there is none, the built-in trace. The built-in traces
    are T1, T2 and T3: called ``T1_plain`` and so on without TLS, ``T1_grpc`` and so on with gRPC.
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
    """Your own traces for a client, programs of accelerator calls that process its messages.

    `library` has the traces: a library, a linked image, or the path of a file. The other fields are
    names of traces. `call` sends a request and is followed (by its tail) by `answer`, which
    receives the response. With gRPC, `call` only encodes the request and has no tail, and `answer`
    only decodes the response: neither has TCP. `oneway` sends a request without a response (Thrift
    only). `call_compressed` and `oneway_compressed` send compressed requests; if they are None and
    `call` and `oneway` are given, they are these. For any other field that is None, the client uses
    the trace in `library` with the same name as its built-in trace, or if there is none, the
    built-in trace, which compresses (Cmp) if it is for compressed requests.
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
