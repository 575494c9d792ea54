"""A service's own traces, for servers and clients (docs/server.md)."""

from dataclasses import dataclass
from os import PathLike
from typing import TypeAlias

from accelflow import _native
from accelflow.errors import InputError, refused

__all__ = ["ClientTraces", "ServerTraces", "Traces"]

#: Where traces are from: a library, an image that a library linked to, or a file: a trace file, or
#: the text of traces.
Traces: TypeAlias = _native.TraceLibrary | _native.TraceImage | str | PathLike[str]


@dataclass(frozen=True, slots=True)
class ServerTraces:
    """Names of the traces by which a server receives requests and sends responses.

    The others are the server's own traces, or those of the same names in `library`.
    """

    library: Traces
    receive: str | None = None
    respond: str | None = None
    respond_compressed: str | None = None


@dataclass(frozen=True, slots=True)
class ClientTraces:
    """Names of the traces by which a client sends requests and receives responses.

    The others are the client's own traces, or those of the same names in `library`.
    """

    library: Traces
    call: str | None = None
    call_compressed: str | None = None
    oneway: str | None = None
    oneway_compressed: str | None = None
    answer: str | None = None


def server_traces(
    library: Traces | None,
    receive: str | None,
    respond: str | None,
    respond_compressed: str | None,
) -> ServerTraces | None:
    """Return the user's traces for a server; None without a library.

    Raises InputError for names without a library, and for a value that is not a library.
    """
    names = {"receive": receive, "respond": respond, "respond_compressed": respond_compressed}
    if library is None:
        _unnamed(names)
        return None
    return ServerTraces(_checked(library), **_texts(names))


def client_traces(library: Traces | None, **names: str | None) -> ClientTraces | None:
    """Return the user's traces for a client; otherwise as :func:`server_traces`."""
    if library is None:
        _unnamed(names)
        return None
    return ClientTraces(_checked(library), **_texts(names))


def _unnamed(names: dict[str, str | None]) -> None:
    for place, name in names.items():
        if name is not None:
            raise InputError(f"{place} = {name!r}: must be given together with its library")


def _checked(library: Traces) -> Traces:
    if isinstance(library, _native.TraceLibrary | _native.TraceImage | str | PathLike):
        return library
    raise refused(
        "library", library, "must be a Library, an Image, or the path of a file of traces"
    )


def _texts(names: dict[str, str | None]) -> dict[str, str | None]:
    for place, name in names.items():
        if name is not None and not isinstance(name, str):
            raise refused(place, name, "must be the name of a trace")
    return names
