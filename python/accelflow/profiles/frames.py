"""Names of frames, as every kind of profile here has them."""

from typing import Final

#: The name of a frame that the profiler could not name.
UNKNOWN: Final = "[unknown]"

_KERNEL_OBJECTS: Final = ("[kernel", "[guest.kernel", "vmlinux", ".ko")


def marked(symbol: str, binary: str) -> str:
    """Return `symbol` with ``_[k]`` at its end if `binary`, where it is from, is of the kernel."""
    in_kernel = any(part in binary for part in _KERNEL_OBJECTS)
    return f"{symbol}_[k]" if in_kernel and symbol != UNKNOWN else symbol
