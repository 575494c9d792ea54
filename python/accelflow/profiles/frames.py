"""Names of stack frames, in one form for all kinds of profile."""

import re
from functools import lru_cache
from typing import Final

#: The name of a frame without a symbol.
UNKNOWN: Final = "[unknown]"

_KERNEL_OBJECTS: Final = ("[kernel", "[guest.kernel", "vmlinux", ".ko")

#: Python frames as written by py-spy, and by the interpreter's perf support.
_PYTHON: Final = (
    re.compile(r"^(?P<function>\S+) \((?P<file>[^()]*\.pyx?)(?::\d+)?\)$"),
    re.compile(r"^py::(?P<function>[^:]+):(?P<file>.*\.py)$"),
)
_OPERATOR: Final = re.compile(r"\boperator\s*(?:\(\)|<=>|<<=|>>=|->\*|<<|>>|->|<=|>=|<|>)")
_TAIL: Final = re.compile(r"(?: const| volatile| noexcept| &&?| ?\[clone [^\]]*\]| ?\[abi:\w+\])+$")
_CLOSING: Final = {"<": ">", "(": ")"}


def marked(symbol: str, binary: str) -> str:
    """Return the name `symbol`, ending in ``_[k]`` if its `binary` belongs to the kernel."""
    in_kernel = any(part in binary for part in _KERNEL_OBJECTS)
    return f"{symbol}_[k]" if in_kernel and symbol != UNKNOWN else symbol


@lru_cache(maxsize=1 << 16)
def function_name(frame: str) -> str:
    """Return the function name in `frame`, in which the expressions of rules are searched.

    For C++ it is the qualified name without return type, argument types and template arguments.
    So an argument of type ``apache::thrift::protocol::TProtocol*`` does not make
    ``UserProcessor::process_Login`` a function of Thrift. For Python it is file and function
    (``thrift/server/TServer.py::handle``). Other names are returned as the profile has them.
    """
    for pattern in _PYTHON:
        if found := pattern.match(frame):
            return f"{found['file']}::{found['function']}"
    # Rust's <T as Trait>::f begins with its type.
    if frame.startswith("<") or ("<" not in frame and "(" not in frame):
        return frame
    kept = _without_types(frame)
    if kept is None:
        return frame
    name, has_arguments = _TAIL.sub("", kept[0].rstrip()).rstrip(), kept[1]
    if not has_arguments:
        return name or frame
    # A template's return type precedes its name; the space of `operator new` is part of a name.
    operator = re.search(r"\boperator ", name)
    start = name.rfind(" ", 0, operator.start() if operator else len(name)) + 1
    return name[start:] or frame


def _without_types(frame: str) -> tuple[str, bool] | None:
    """Return `frame` without bracketed parts, and whether it has arguments; None if unbalanced."""
    kept: list[str] = []
    open_: list[str] = []
    has_arguments = False
    place = 0
    while place < len(frame):
        character = frame[place]
        operator = None if open_ else _OPERATOR.match(frame, place)
        if operator:
            kept.append(operator[0])
            place = operator.end()
            continue
        if not open_ and frame.startswith("(anonymous namespace)", place):
            kept.append("{anonymous}")
            place += len("(anonymous namespace)")
            continue
        if not open_ and character == "(" and kept and kept[-1] == ".":
            # A receiver in Go, as in main.(*Server).handle, is part of the name.
            end = frame.find(")", place) + 1
            if end == 0:
                return None
            kept.append(frame[place:end])
            place = end
            continue
        if character in _CLOSING:
            has_arguments |= not open_ and character == "("
            open_.append(_CLOSING[character])
        elif open_ and character == open_[-1]:
            open_.pop()
        elif not open_:
            kept.append(character)
        place += 1
    return None if open_ else ("".join(kept), has_arguments)
