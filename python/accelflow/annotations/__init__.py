"""Find the tax operations that a function calls, and propose traces and a workload for it.

::

    @accelflow.offload
    def render(request: bytes) -> bytes:
        page = lay_out(json.loads(zlib.decompress(request)))
        return zlib.compress(json.dumps(page).encode())

    render(request)                          # runs as before
    proposal = render.propose()              # traces and a workload, from recorded calls
    proposal.compare(requests=1000)          # simulated with and without accelerators

A call of the decorated function runs a copy of the function, whose own calls go through a recorder
(:mod:`accelflow.annotations.rewriting`); nothing else is replaced. Calls that other functions make
are therefore not recorded; `marks` can declare such a function to be an operation itself. The
recognised calls are in :data:`TAX_CALLS`.

Source: AccelFlow, section V.4: "The software annotates the code of a service with which sections
should be executed on which accelerator."
"""

from __future__ import annotations

import functools
import inspect
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Final, Generic, ParamSpec, TypeVar, overload

from accelflow.annotations.known import TAX_CALLS
from accelflow.annotations.proposals import Proposal, propose
from accelflow.annotations.recording import Operation, Recording, recorded_call, recording
from accelflow.annotations.rewriting import rewritten
from accelflow.errors import refused
from accelflow.trace import kind

__all__ = ["TAX_CALLS", "Offloaded", "Operation", "Proposal", "Recording", "offload"]

#: The largest number of recordings kept of a function; the latest are kept.
MAX_RECORDINGS: Final = 1_000

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Offloaded(Generic[_Given, _Result]):
    """A function decorated with :func:`offload`, which records the operations in its calls.

    It records operations that accelerators could do, such as compression. Calls that raise an
    exception are not recorded, and only the latest :data:`MAX_RECORDINGS` recordings are kept. As
    with other functions, pickle stores only the name. So recordings stay in their process.
    """

    def __init__(
        self, function: Callable[_Given, _Result], marks: Mapping[Callable[..., object], str]
    ) -> None:
        """Wrap `function`. Raises InputError and TraceError as :func:`offload` does."""
        if not isinstance(function, FunctionType):
            raise refused("offload", function, "must be a function defined with def")
        _check_marks(marks)
        self._function = function
        copy = rewritten(function, recorded_call)
        # The body of a generator or a coroutine runs after the call, perhaps within another one.
        self._copy = function if _runs_later(function) else copy
        self._marks = dict(marks)
        self._recordings: deque[Recording] = deque(maxlen=MAX_RECORDINGS)
        functools.update_wrapper(self, function)
        # With these, inspect takes this for a function: of the same parameters, and a coroutine
        # function if it is one.
        self.__code__ = function.__code__
        self.__defaults__ = function.__defaults__
        self.__kwdefaults__ = function.__kwdefaults__

    def __call__(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        """Call the function, and record its operations if it returns."""
        found = Recording(self._marks)
        found.begins((*args, *kwargs.values()))
        with recording(found):
            start = time.perf_counter_ns()
            result: _Result = self._copy(*args, **kwargs)
            spent = time.perf_counter_ns() - start
        found.ends(result, spent)
        self._recordings.append(found)
        return result

    def __get__(self, owner: object, kind_of: type | None = None) -> Any:
        """Bind the function as a method, which has the attributes of this object, too."""
        return self if owner is None else MethodType(self, owner)

    def __reduce__(self) -> str:
        """Return the name under which pickle finds the decorated function in its module."""
        return self._function.__qualname__

    @property
    def original(self) -> Callable[_Given, _Result]:
        """The undecorated function."""
        return self._function

    @property
    def operations(self) -> list[Operation]:
        """The operations of the last call that returned, in order; empty before such a call."""
        return list(self._recordings[-1].operations) if self._recordings else []

    @property
    def recordings(self) -> list[Recording]:
        """The recordings of the latest calls that returned, at most :data:`MAX_RECORDINGS`."""
        return list(self._recordings)

    def propose(self, *, rate_rps: float = 1_000.0) -> Proposal:
        """Propose traces (programs of accelerator calls) and a workload from the recorded calls.

        In the workload, the function is a service with `rate_rps` requests per second. Raises
        InputError if no call has returned or the last one had no operation other than TCP and LdB,
        and for a rate that is not a number above 0, at most 1e9.
        """
        return propose(self._function.__name__, self.recordings, rate_rps)


@overload
def offload(function: Callable[_Given, _Result], /) -> Offloaded[_Given, _Result]: ...


@overload
def offload(
    *, marks: Mapping[Callable[..., object], str]
) -> Callable[[Callable[_Given, _Result]], Offloaded[_Given, _Result]]: ...


def offload(
    function: Callable[..., Any] | None = None,
    /,
    *,
    marks: Mapping[Callable[..., object], str] | None = None,
) -> Any:
    """Decorate `function` to record its calls of functions that accelerators could do.

    Known functions, such as those of zlib, are always recorded. `marks` maps further functions to
    their accelerators: one of the paper's nine, or a name of your own
    (``@offload(marks={resize: "Resize"})``). Other decorators must be above this one. Generator and
    coroutine functions run as before, and none of their operations are recorded.

    Raises InputError for a function without source code, for one whose source has changed, for a
    lambda, for a function that another decorator has wrapped, for a method that uses private names
    of its class, and for `marks` that do not map callables to texts. Raises TraceError for an
    invalid accelerator name.
    """
    if function is None:
        _check_marks(marks or {})
        return functools.partial(Offloaded, marks=marks or {})
    return Offloaded(function, marks or {})


def _runs_later(function: FunctionType) -> bool:
    """Whether a call of `function` returns before its body has run."""
    kinds = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(is_kind(function) for is_kind in kinds)


def _check_marks(marks: Mapping[Callable[..., object], str]) -> None:
    if not isinstance(marks, Mapping):
        raise refused("marks", marks, "must be a mapping of functions to accelerators")
    for mark, accelerator in marks.items():
        if not callable(mark):
            raise refused("key of marks", mark, "must be a function")
        if not isinstance(accelerator, str):
            raise refused("value of marks", accelerator, "must be the name of an accelerator")
        if accelerator not in TAX_CALLS.values() and accelerator not in {"TCP", "RPC", "LdB"}:
            kind(accelerator)  # refuses what cannot be a name
