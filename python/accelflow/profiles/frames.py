"""Names of frames, as every kind of profile here has them."""

import re
from functools import lru_cache
from typing import Final

#: The name of a frame that the profiler could not name.
UNKNOWN: Final = "[unknown]"

_KERNEL_OBJECTS: Final = ("[kernel", "[guest.kernel", "vmlinux", ".ko")

#: Python's frames as py-spy writes them, and as the interpreter itself tells them to perf.
_PYTHON: Final = (
    re.compile(r"^(?P<function>\S+) \((?P<file>[^()]*\.pyx?)(?::\d+)?\)$"),
    re.compile(r"^py::(?P<function>[^:]+):(?P<file>.*\.py)$"),
)
_OPERATOR: Final = re.compile(r"\boperator\s*(?:\(\)|<=>|<<=|>>=|->\*|<<|>>|->|<=|>=|<|>)")
_TAIL: Final = re.compile(r"(?: const| volatile| noexcept| &&?| ?\[clone [^\]]*\]| ?\[abi:\w+\])+$")
_CLOSING: Final = {"<": ">", "(": ")"}


def marked(symbol: str, binary: str) -> str:
    """Return `symbol` with ``_[k]`` at its end if `binary`, where it is from, is of the kernel."""
    in_kernel = any(part in binary for part in _KERNEL_OBJECTS)
    return f"{symbol}_[k]" if in_kernel and symbol != UNKNOWN else symbol


@lru_cache(maxsize=1 << 16)
def function_name(frame: str) -> str:
    """Return the name by which rules know the function of `frame`.

    Of a function of C++ that is its qualified name, without what it returns, the types of its
    arguments and those of its templates: ``UserProcessor::process_Login`` takes a
    ``apache::thrift::protocol::TProtocol*`` and is no function of Thrift. Of Python it is the file
    and the function (``thrift/server/TServer.py::handle``). Any other is as the profile has it.
    """
    for pattern in _PYTHON:
        if found := pattern.match(frame):
            return f"{found['file']}::{found['function']}"
    # Rust's <T as Trait>::f begins with what it is a function of.
    if frame.startswith("<") or ("<" not in frame and "(" not in frame):
        return frame
    kept = _without_types(frame)
    if kept is None:
        return frame
    name, has_arguments = _TAIL.sub("", kept[0].rstrip()).rstrip(), kept[1]
    if not has_arguments:
        return name or frame
    # What a template returns stands before it; the space of `operator new` is part of a name.
    operator = re.search(r"\boperator ", name)
    start = name.rfind(" ", 0, operator.start() if operator else len(name)) + 1
    return name[start:] or frame


def _without_types(frame: str) -> tuple[str, bool] | None:
    """`frame` without its brackets' contents, and whether one had arguments; None if unbalanced."""
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
            # A receiver of Go, as in main.(*Server).handle, is a part of the name.
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
