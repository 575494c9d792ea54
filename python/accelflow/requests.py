"""What handlers know of their requests, and how other threads work for them.

A handler's calls keep its request's deadline and trace, on its thread and in its coroutine. For
threads that a handler starts, or has from a pool, there is :func:`within_request`. ::

    with ThreadPoolExecutor() as pool:
        ask = within_request(posts.call)
        answers = pool.map(ask, ["PostStorage.ReadPost"] * 2, [{"id": 1}, {"id": 2}])
"""

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from accelflow import _native

__all__ = ["Metadata", "Request", "current_scope", "in_scope", "pairs", "within_request"]

#: What a handler with a second parameter is given there.
Request = _native.Request

#: gRPC's custom metadata: bytes where the name ends in ``-bin``, else text.
Metadata: TypeAlias = Mapping[str, str | bytes] | Iterable[tuple[str, str | bytes]]

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: That of a coroutine's request, and of what runs by :func:`within_request`.
_SCOPE: Final[ContextVar[_native.Scope | None]] = ContextVar("accelflow-scope", default=None)


def within_request(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return `work` as a function that keeps this request's deadline and trace on any thread.

    Outside handlers, and of requests that have neither, it is `work` itself.
    """
    scope = current_scope()
    if scope is None:
        return work

    @functools.wraps(work)
    def within(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        token = _SCOPE.set(scope)
        try:
            return work(*args, **kwargs)
        finally:
            _SCOPE.reset(token)

    return within


def current_scope() -> _native.Scope | None:
    """Return that of the request that this coroutine or thread handles, if it has one."""
    return _SCOPE.get() or _native.current_scope()


async def in_scope(scope: _native.Scope | None, coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Await what handles the request of `scope`, in a task of its own."""
    _SCOPE.set(scope)
    return await coroutine


def pairs(metadata: Metadata | None) -> list[tuple[str, str | bytes]]:
    """Return metadata in either form as pairs of name and value."""
    if metadata is None:
        return []
    return list(metadata.items() if isinstance(metadata, Mapping) else metadata)
