"""Runs of traces on real bytes: the paper's `run_trace`.

Without your own :class:`Connection`, each run has a new demonstration connection with fixed
addresses and keys, which is not secure. Peers in this process answer the trace's requests.
"""

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Final, TypeAlias, TypeVar, overload

from accelflow import _native
from accelflow.errors import TraceError, instance_of, refused, whole_number
from accelflow.trace.kinds import EXECUTOR
from accelflow.trace.traces import LIBRARY, Library

#: The record of a run: what arrived at cores, the accelerators passed, the messages sent.
Run: TypeAlias = _native.TraceRun

#: What a notified core finds at the end of a trace: data and facts.
Arrival: TypeAlias = _native.TraceArrival

#: One end of a connection with a client or a service, used by runs.
Connection: TypeAlias = _native.TraceConnection

#: What a payload may be. A trace gets a copy of one that can change.
Payload: TypeAlias = bytes | bytearray | memoryview

#: The largest seed or number of a demonstration.
_MOST: Final = 2**64 - 1

_Fallen = TypeVar("_Fallen")


@overload
def run_trace(
    name: str,
    payload: Payload,
    *,
    call: Sequence[str] | None = None,
    library: Library = LIBRARY,
    connection: Connection | None = None,
) -> Run: ...


@overload
def run_trace(
    name: str,
    payload: Payload,
    *,
    cpu_fallback: Callable[[bytes], _Fallen],
    call: Sequence[str] | None = None,
    library: Library = LIBRARY,
    connection: Connection | None = None,
) -> Run | _Fallen: ...


def run_trace(  # noqa: PLR0913 (settings, by name)
    name: str,
    payload: Payload,
    *,
    cpu_fallback: Callable[[bytes], _Fallen] | None = None,
    call: Sequence[str] | None = None,
    library: Library = LIBRARY,
    connection: Connection | None = None,
) -> Run | _Fallen:
    """Run the trace called `name`, tails included, and return the record of the run.

    `payload` is the input of the first accelerator. For a trace that begins with TCP it is packets,
    as from :func:`demo_request`. For a trace that sends it is JSON, and `call` is the kind of
    message: ``("rpc", METHOD)``, ``("reply", METHOD)``, ``("cache_get", COLLECTION, KEY)``,
    ``cache_set``, ``db_find`` and ``db_insert`` likewise, or ``("http", HOST, TARGET)``. With
    ``("cache_response", COLLECTION, KEY)`` the payload is the packets that T5 receives.

    With a `connection`, messages use its interface and state, and the payload of a trace that
    begins with TCP is the bytes read from its socket. No peer answers: a trace that sends and then
    waits for the response fails.

    Raises TraceError, with `reason`, `trace` and `step`, if the run fails, and also if the trace is
    unknown or cannot be linked. The payload is then unchanged, so the CPU can do the work: with
    `cpu_fallback`, no TraceError is raised, and the result of ``cpu_fallback(payload)`` is
    returned. Raises InputError for values of other types.

    Source: AccelFlow, section V.4 and Listing 2.
    """
    payload = as_bytes(payload)
    instance_of("connection", connection, (Connection, NoneType), "a Connection or None")
    if cpu_fallback is not None and not callable(cpu_fallback):
        raise refused("cpu_fallback", cpu_fallback, "must be a function of the payload, or None")
    _check_call(call)
    try:
        runner = EXECUTOR if connection is None else connection
        return runner.run(memory(library, name), name, payload, call=call)
    except TraceError:
        if cpu_fallback is None:
            raise
    return cpu_fallback(payload)


def as_bytes(payload: Payload) -> bytes:
    """Return the bytes of `payload`. Raises InputError for a value of another type."""
    types = (bytes, bytearray, memoryview)
    instance_of("payload", payload, types, "bytes, a bytearray or a memoryview")
    return bytes(payload)


def memory(library: Library, name: str) -> _native.TraceImage:
    """Return a trace memory with the trace `name` of `library` and those that its tails lead to.

    Other traces of the library are included if all of them can be linked. Raises TraceError if
    `name` is unknown or cannot be linked, and InputError for values of other types.
    """
    instance_of("name", name, (str,), "the name of a trace")
    instance_of("library", library, (Library,), "a trace Library")
    if library.service_name is not None and name not in library:
        # Says so if the trace is another service's.
        library.link_from(name)
    try:
        return library.link()
    except TraceError:
        return library.link_from(name)


def _check_call(call: object) -> None:
    texts = isinstance(call, Sequence) and all(isinstance(text, str) for text in call)
    if call is not None and (isinstance(call, str) or not texts):
        raise refused("call", call, "must be a sequence of texts or None")


def run_counters() -> tuple[int, dict[str, int]]:
    """Return how many runs of traces in this process completed, and how many failed by reason.

    Only runs of :func:`run_trace` without a `connection` are counted.
    """
    return EXECUTOR.counters


def demo_request(method: str, *, seed: int = 1, index: int = 0, compressed: bool = False) -> bytes:
    """Return the packets of a call of a SocialNetwork method by a demo client: input for T1.

    `seed` and `index` choose the content of the message. Equal arguments give equal bytes. Raises
    TraceError for an unknown method, and InputError for a `seed` or an `index` that is not a whole
    number from 0 to 2^64 - 1.
    """
    whole_number("seed", seed, 0, _MOST)
    whole_number("index", index, 0, _MOST)
    return _native.demo_request(method, seed=seed, index=index, compressed=compressed)


def demo_secrets(number: int = 0) -> tuple[bytes, bytes]:
    """Return the TLS 1.3 application traffic secrets of a demo connection: (client's, server's).

    Connection 0 is the demo client's; the others lead to peers. The client's address is 10.0.x.y
    and the server's 10.1.x.y, where x and y are the two low bytes of `number`. The suite is
    TLS_AES_128_GCM_SHA256; both ends start at TCP sequence number 1 and record number 0, so other
    software can read and write the packets. Raises InputError for a `number` that is not a whole
    number from 0 to 2^64 - 1.
    """
    whole_number("number", number, 0, _MOST)
    return _native.demo_secrets(number)
