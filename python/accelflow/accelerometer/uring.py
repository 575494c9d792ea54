"""The cost of io_uring's system calls: submitting an operation and taking its result."""

import ctypes
import mmap
import os
import struct
import time
from typing import Final

#: Numbers of the system calls io_uring_setup and io_uring_enter, the same on all architectures.
_SETUP: Final = 425
_ENTER: Final = 426
_GETEVENTS: Final = 1

#: Offsets for mmap (linux/io_uring.h).
_SUBMISSIONS: Final = 0
_ENTRIES: Final = 0x1000_0000
#: Bytes of struct io_uring_params, of a submission entry and of a completion entry.
_PARAMETERS: Final = 120
_ENTRY: Final = 64
_COMPLETION: Final = 16
#: IORING_FEAT_SINGLE_MMAP: both rings are in one mapping.
_SINGLE: Final = 1


def submission_ns(operations: int) -> float:
    """Return the processor time in ns of submitting a no-op (NOP) and taking its completion.

    This is the mean over `operations`, submitted one at a time. Raises OSError if the
    kernel has no io_uring, forbids it, or is too old for one mapping of both rings (before Linux
    5.4).
    """
    library = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(_PARAMETERS)
    ring = library.syscall(_SETUP, 8, parameters)
    if ring < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        return _run(library, ring, parameters.raw, operations)
    finally:
        os.close(ring)


def _run(library: ctypes.CDLL, ring: int, parameters: bytes, operations: int) -> float:
    words = struct.unpack_from("<10I", parameters)
    entries, features = words[0], words[5]
    submission = struct.unpack_from("<10I", parameters, 40)
    completion = struct.unpack_from("<10I", parameters, 80)
    if not features & _SINGLE:
        raise OSError(95, "io_uring needs Linux 5.4 or later")
    tail, array = submission[1], submission[6]
    head = completion[0]
    length = max(array + 4 * entries, completion[5] + _COMPLETION * words[1])
    with (
        mmap.mmap(ring, length, offset=_SUBMISSIONS) as rings,
        mmap.mmap(ring, _ENTRY * entries, offset=_ENTRIES) as slots,
    ):
        slots[:_ENTRY] = bytes(_ENTRY)  # opcode 0 is IORING_OP_NOP
        struct.pack_into("<I", rings, array, 0)
        word = struct.Struct("<I")
        submitted = word.unpack_from(rings, tail)[0]
        began = time.process_time_ns()
        for _ in range(operations):
            submitted += 1
            word.pack_into(rings, tail, submitted & 0xFFFF_FFFF)
            if library.syscall(_ENTER, ring, 1, 1, _GETEVENTS, None, 0) != 1:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            word.pack_into(rings, head, submitted & 0xFFFF_FFFF)
        return (time.process_time_ns() - began) / operations
