"""Records of the tax operations among the calls of a function."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from accelflow.annotations.known import INPUTS, TAX_CALLS, carries_over, names_of

__all__ = ["Operation", "Recording", "recorded_call", "recording"]


#: The types of a payload.
_DATA: Final = (bytes, bytearray, memoryview, str)


@dataclass(frozen=True)
class Operation:
    """A recorded call that an accelerator could do, with its sizes in bytes and its time.

    `accelerator` names the accelerator, and `call` the called function. The input of the call is
    the argument for the function's first parameter (for encryption and Thrift, for the parameter
    with the payload), given by position or by name, or else the object of a method. `input_bytes`
    and `output_bytes` are the sizes of input and output; a value without bytes, such as a dict, has
    size 0. `time_ns` is the call's time. `follows` is the index of the operation whose output is
    this input; None if the input comes from elsewhere.
    `of_argument` is true if the input is an argument of the recorded function, and `is_result` if
    the output is that function's result. A checksum has `output_bytes` 0. For `follows` and
    `is_result`, its unchanged input counts as its output.
    """

    accelerator: str
    call: str
    input_bytes: int
    output_bytes: int
    time_ns: int
    follows: int | None
    of_argument: bool
    is_result: bool = False

    @property
    def message_bytes(self) -> int:
        """The size in bytes of the message that the operation processes, before compression."""
        return max(self.input_bytes, self.output_bytes)


@dataclass
class Recording:
    """A recording of one call of a function: its operations that accelerators could do.

    `time_ns` is the total time of the call. `marks` maps each function that the user has declared
    to be an operation to the name of its accelerator.
    """

    marks: Mapping[Callable[..., object], str]
    operations: list[Operation] = field(default_factory=list)
    time_ns: int = 0
    #: The origin of each value by identity: an operation, or None for an argument. The values are
    #: kept, so that no other gets their identity.
    _origins: dict[int, tuple[object, int | None]] = field(default_factory=dict)

    def begins(self, arguments: tuple[object, ...]) -> None:
        """Record `arguments`, those of the recorded function, to recognise them as inputs."""
        for value in arguments:
            self._origins[id(value)] = (value, None)

    def ends(self, result: object, time_ns: int) -> None:
        """Record `time_ns`, the function's time, and which operation's output is its `result`.

        The result itself is not kept.
        """
        self.time_ns = time_ns
        _, origin = self._origins.get(id(result), (None, None))
        if origin is not None:
            made = self.operations[origin]
            self.operations[origin] = Operation(**{**vars(made), "is_result": True})
        self._origins.clear()

    def called(
        self,
        function: object,
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
        result: object,
        ns: int,
    ) -> None:
        """Record a call of `function` by the recorded function, if it is an operation to record.

        `arguments` are those given by position, and `named` those by name. `ns` is the time of the
        call in nanoseconds.
        """
        if carries_over(function):
            owner = getattr(function, "__self__", None)
            of_object = owner is not None and not isinstance(owner, type)
            source = owner if of_object else _input_of(function, arguments, named)
            if id(source) in self._origins:
                self._origins[id(result)] = (result, self._origins[id(source)][1])
            return
        found = self._accelerator(function)
        if found is None:
            return
        accelerator, name = found
        gets = _payload_of(name, function, arguments, named)
        known, origin = self._origins.get(id(gets), (None, None))
        number = len(self.operations)
        operation = Operation(
            accelerator=accelerator,
            call=name,
            input_bytes=_size(gets),
            output_bytes=_size(result),
            time_ns=ns,
            follows=origin,
            of_argument=known is not None and origin is None,
        )
        self.operations.append(operation)
        if isinstance(result, _DATA):  # objects change on their way through application logic
            self._origins[id(result)] = (result, number)
        elif isinstance(gets, _DATA) and operation.accelerator not in {"Dser", "RPC"}:
            # A checksum: its data go on after it.
            self._origins[id(gets)] = (gets, number)

    def _accelerator(self, function: object) -> tuple[str, str] | None:
        for mark, accelerator in self.marks.items():
            if function is mark or getattr(function, "__func__", None) is mark:
                return accelerator, getattr(mark, "__qualname__", repr(mark))
        for name in names_of(function):
            if name in TAX_CALLS:
                return TAX_CALLS[name], name
        return None


#: The recording of the function that runs in this context, if it is recorded.
_RECORDING: ContextVar[Recording | None] = ContextVar("recording", default=None)


def recorded_call(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Call `function` with the arguments, and return its result.

    If the caller is being recorded and the call is an operation to record, it is added to the
    recording.
    """
    recording_now = _RECORDING.get()
    if recording_now is None:
        return function(*arguments, **named)
    # Calls that `function` makes are not the recorded function's own.
    token = _RECORDING.set(None)
    try:
        start = time.perf_counter_ns()
        result = function(*arguments, **named)
        spent = time.perf_counter_ns() - start
    finally:
        _RECORDING.reset(token)
    recording_now.called(function, arguments, named, result, spent)
    return result


class recording:  # noqa: N801 (a context manager)
    """A context manager in which :func:`recorded_call` adds calls to the given recording."""

    def __init__(self, found: Recording) -> None:
        """Prepare to record into `found`."""
        self._found: Final = found

    def __enter__(self) -> Recording:
        """Begin to record."""
        self._token = _RECORDING.set(self._found)
        return self._found

    def __exit__(self, *_: object) -> None:
        """Stop recording."""
        _RECORDING.reset(self._token)


def _payload_of(
    call: str, function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> object:
    """The input of the operation `call`, a key of TAX_CALLS or a marked function's name."""
    if call in INPUTS:
        place, name = INPUTS[call]
        return arguments[place] if len(arguments) > place else named.get(name)
    return _input_of(function, arguments, named)


def _input_of(function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> object:
    """The input of a call: the argument for the first parameter, or else the object of a method."""
    if arguments:
        return arguments[0]
    owner = getattr(function, "__self__", None)
    if not named:
        return owner
    if inspect.ismethod(function):
        found = _first_names(function.__func__, 1)  # without the object, which would be kept
    elif owner is None or isinstance(owner, ModuleType | type):
        found = _first_names(function, 0)
    else:
        found = _first_names.__wrapped__(function, 0)
    # Some functions in C do not tell their parameters. Their payload is the argument that is data.
    names = [name for name, value in named.items() if isinstance(value, _DATA)]
    return next(
        (named[name] for name in (names if found is None else found) if name in named), owner
    )


@functools.lru_cache(maxsize=256)
def _first_names(function: Callable[..., Any], before: int) -> tuple[str, ...] | None:
    """The name of the parameter of `function` after the first `before` ones; empty without one.

    None if the parameters are unknown.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = parameters[before : before + 1]
    return tuple(parameter.name for parameter in first if parameter.kind is by_name)


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass"))
    if isinstance(value, bytes | bytearray):
        return len(value)
    return value.nbytes if isinstance(value, memoryview) else 0
