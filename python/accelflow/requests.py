"""The request that a server's handler answers, and the threads that work for this request.

A handler's calls of services keep the request's deadline and distributed trace if they are made on
the thread or in the coroutine that runs the handler. For other threads, which the handler starts or
takes from a pool, use :func:`within_request`. ::

    with ThreadPoolExecutor() as pool:
        ask = within_request(posts.call)
        answers = pool.map(ask, ["PostStorage.ReadPost"] * 2, [{"id": 1}, {"id": 2}])
"""

import functools
import inspect
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeVar, cast

from accelflow import _native
from accelflow.errors import refused

__all__ = [
    "Metadata",
    "Request",
    "Settled",
    "Worked",
    "current_scope",
    "in_scope",
    "pairs",
    "within_request",
]

#: The request that a server passes to a handler with a second parameter.
Request = _native.Request

#: gRPC's custom metadata: bytes where the name ends in ``-bin``, else text.
Metadata: TypeAlias = Mapping[str, str | bytes] | Iterable[tuple[str, str | bytes]]

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: The scope of a coroutine's request, and of functions made by :func:`within_request`.
_SCOPE: Final[ContextVar[_native.Scope | None]] = ContextVar("accelflow-scope", default=None)


def within_request(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return `work` as a function that works for the current request on whatever thread it runs.

    Use it for functions that a handler passes to other threads. Calls of services by the returned
    function keep the request's deadline, distributed trace and tenant, with the tenant's priority
    and limit on concurrent chains of traces. A coroutine function stays a coroutine function.
    Outside handlers, and for requests without any of these, `work` is returned unchanged. Raises
    InputError for generator functions, whose work is spread over several calls.
    """
    if inspect.isgeneratorfunction(work) or inspect.isasyncgenfunction(work):
        raise refused("work", work, "must not be a generator function")
    scope = current_scope()
    if scope is None:
        return work
    if inspect.iscoroutinefunction(work):

        @functools.wraps(work)
        async def awaited(*args: _P.args, **kwargs: _P.kwargs) -> Any:
            with _entered(scope):
                return await work(*args, **kwargs)

        return cast(Callable[_P, _T], awaited)

    @functools.wraps(work)
    def within(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with _entered(scope):
            return work(*args, **kwargs)

    return within


@contextmanager
def _entered(scope: _native.Scope) -> Iterator[None]:
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)


def current_scope() -> _native.Scope | None:
    """Return the request that this coroutine or thread works for, as a native handle.

    Returns None if it works for no request.
    """
    return _SCOPE.get() or _native.current_scope()


@dataclass(frozen=True)
class Settled(Generic[_T]):
    """The outcome of a coroutine: its result `value`, or the exception that it `raised`."""

    value: _T | None
    raised: BaseException | None

    def get(self) -> _T:
        """Return the value, or raise the exception."""
        if self.raised is not None:
            raise self.raised
        return cast(_T, self.value)


class Worked(Generic[_T]):
    """A coroutine with the processor time of its own steps, without the time that it waits.

    `worked_ns` is the time so far, in nanoseconds. Tasks that the coroutine creates, and other
    threads, are not part of it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, _T]) -> None:
        """Prepare to await `coroutine`."""
        self.worked_ns = 0
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, _T]:
        """Run the coroutine to its next wait, and so on to its end. Return its result."""
        step: Callable[[Any], Any] = self._coroutine.send
        given: Any = None
        while True:
            begun = time.thread_time_ns()
            try:
                awaited = step(given)
            except StopIteration as ended:
                return cast(_T, ended.value)
            finally:
                self.worked_ns += time.thread_time_ns() - begun
            try:
                given = yield awaited
                step = self._coroutine.send
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as raised:
                step, given = self._coroutine.throw, raised


async def in_scope(scope: _native.Scope | None, coroutine: Awaitable[_T]) -> Settled[_T]:
    """Await a handler's `coroutine` as work for the request `scope`, and return its outcome."""
    _SCOPE.set(scope)
    try:
        return Settled(await coroutine, None)
    except (KeyboardInterrupt, SystemExit) as raised:
        # These would end the event loop, and with it all other coroutines.
        return Settled(None, raised)


def pairs(metadata: Metadata | None) -> list[tuple[str, str | bytes]]:
    """Return gRPC `metadata`, a mapping or pairs, as a list of pairs (name, value); empty for None.

    Raises InputError for metadata of another type, and for an entry that is not a pair of a name
    and a value (text or bytes).
    """
    if metadata is None:
        return []
    if not isinstance(metadata, Iterable):
        raise refused(
            "type of metadata",
            type(metadata).__name__,
            "must be a mapping, or a list of pairs of name and value",
        )
    found = list(metadata.items() if isinstance(metadata, Mapping) else metadata)
    for number, entry in enumerate(found):
        match entry:
            case (str(), str() | bytes()):
                pass
            # Metadata may hold secrets, so that refusals show types instead of values.
            case (str() as name, value):
                place = f"type of metadata '{name}'"
                raise refused(place, type(value).__name__, "must be str or bytes")
            case _:
                place = f"type of metadata[{number}]"
                form = type(entry).__name__
                if isinstance(entry, tuple | list):
                    form += f" of {len(entry)}"
                raise refused(place, form, "must be a pair of a name, a str, and a value")
    return found
