"""Traces on real bytes: the paper's `run_trace`.

The connection is that of a demo: fixed addresses and keys, anew for each run, and peers inside this
process that answer what a trace asks. Nothing here protects anything.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar, overload

from accelflow import _native
from accelflow.errors import TraceError
from accelflow.trace.traces import LIBRARY, Library

#: What a run did: arrivals at cores, visits, accelerator calls, messages sent.
Run: TypeAlias = _native.TraceRun

#: The end of one execution: what the core finds when it is notified.
Arrival: TypeAlias = _native.TraceArrival

#: LdB balances over the 36 cores of the paper's Table III.
_EXECUTOR: Final = _native.TraceExecutor(cores=36)


_Fallen = TypeVar("_Fallen")


@overload
def run_trace(
    name: str, payload: bytes, *, call: Sequence[str] | None = None, library: Library = LIBRARY
) -> Run: ...


@overload
def run_trace(
    name: str,
    payload: bytes,
    *,
    cpu_fallback: Callable[[bytes], _Fallen],
    call: Sequence[str] | None = None,
    library: Library = LIBRARY,
) -> Run | _Fallen: ...


def run_trace(
    name: str,
    payload: bytes,
    *,
    cpu_fallback: Callable[[bytes], _Fallen] | None = None,
    call: Sequence[str] | None = None,
    library: Library = LIBRARY,
) -> Run | _Fallen:
    """Run the trace called `name`, tails included, and return what it did.

    `payload` is the input of the first accelerator: packets for a trace that begins with TCP, such
    as :func:`demo_request` makes. For a trace that begins by sending it is JSON, and `call` says
    what kind of message it becomes: ``("rpc", METHOD)``, ``("reply", METHOD)``, ``("cache_get",
    COLLECTION, KEY)``, ``cache_set``, ``db_find`` and ``db_insert`` likewise, or ``("http", HOST,
    TARGET)``. With ``("cache_response", COLLECTION, KEY)`` the payload is packets again: what T5
    receives.

    Raises TraceError for anything that goes wrong, with `reason`, `trace` and `step`. The payload
    is untouched then, and the CPU can do the work: with a `cpu_fallback`, nothing is raised for it,
    and what that routine makes of the payload is returned.

    Source: AccelFlow, section V.4 and Listing 2.
    """
    try:
        return _EXECUTOR.run(_memory(library, name), name, payload, call=call)
    except TraceError:
        if cpu_fallback is None:
            raise
    return cpu_fallback(payload)


def _memory(library: Library, name: str) -> _native.TraceImage:
    """The trace memory to run in: a trace that cannot be linked does not stop the others."""
    try:
        return library.link()
    except TraceError:
        return library.link_from(name)


def run_counters() -> tuple[int, dict[str, int]]:
    """How many runs of this process reached their end, and how many ended early, by reason."""
    return _EXECUTOR.counters


def demo_request(method: str, *, seed: int = 1, index: int = 0, compressed: bool = False) -> bytes:
    """The packets in which the demo's client calls a method of SocialNetwork: input for T1.

    Equal arguments give equal bytes. Raises TraceError for an unknown method.
    """
    return _native.demo_request(method, seed=seed, index=index, compressed=compressed)


def demo_secrets(number: int = 0) -> tuple[bytes, bytes]:
    """Return the TLS 1.3 application traffic secrets of a demo connection: client's, server's.

    Connection 0 is the demo client's; the others lead to peers. The client of number 256 x + y is
    at 10.0.x.y and the server at 10.1.x.y. The suite is TLS_AES_128_GCM_SHA256; both ends send from
    TCP sequence number 1 and record number 0 on. So other software can read and write the packets.
    """
    return _native.demo_secrets(number)
