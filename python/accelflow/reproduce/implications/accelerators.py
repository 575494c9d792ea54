"""The kinds of accelerators for which the paper prints averages, for proofs about all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from accelflow.reproduce.implications.proof import Figures
from accelflow.reproduce.implications.ranges import Range

__all__ = [
    "BESIDE_TCP",
    "FAST_COMPRESSION",
    "KINDS",
    "TCP",
    "Kind",
    "computation",
    "keys",
    "work",
]

#: The key of (De)Cmp's lower speedup, that of decompression.
SLOW_COMPRESSION: Final = "dcmp"
#: The key of (De)Cmp's higher speedup, that of compression.
FAST_COMPRESSION: Final = "cmp"


@dataclass(frozen=True)
class Kind:
    """One or two accelerators, such as Encr and Decr, for which the paper prints common averages.

    `key` begins the keys of its statements, `name` is the paper's, `row` names it in section
    VII.B.4, and `accelerators` is the number that its figures are the mean of. `operations` is
    their largest number for each operation of TCP, in all services (Tables II and IV). A trace that
    receives or sends has one operation of TCP, one of (De)Encr, one of (De)Ser, and at most one of
    RPC and of (De)Cmp. As many traces send as receive, and only those that receive have one of LdB.
    """

    key: str
    name: str
    row: str
    accelerators: int
    operations: float

    def speedup(self, compression: str = SLOW_COMPRESSION) -> str:
        """Return the key of the statement with this kind's speedup.

        (De)Cmp has two: `compression` selects ``dcmp``, the lower, or ``cmp``.
        """
        return f"{compression if self.key == 'cmp' else self.key}_speedup"


#: All kinds of accelerators except TCP.
BESIDE_TCP: Final = (
    Kind("encr", "(De)Encr", "Encr_Decr", 2, 1.0),
    Kind("rpc", "RPC", "RPC", 1, 1.0),
    Kind("ser", "(De)Ser", "Ser_Dser", 2, 1.0),
    Kind("cmp", "(De)Cmp", "Cmp_Dcmp", 2, 1.0),
    Kind("ldb", "LdB", "LdB", 1, 0.5),
)
#: The TCP accelerator.
TCP: Final = Kind("tcp", "TCP", "TCP", 1, 1.0)
#: All kinds of accelerators.
KINDS: Final = (TCP, *BESIDE_TCP)


def keys(*what: str, compression: str = SLOW_COMPRESSION) -> tuple[str, ...]:
    """Return the keys of the statements on all kinds, for each of `what`.

    `what` is ``share`` (of the time), ``speedup`` or ``used`` (utilisation).
    """
    return tuple(
        kind.speedup(compression) if quantity == "speedup" else f"{kind.key}_{quantity}"
        for quantity in what
        for kind in KINDS
    )


def work(figures: Figures, kind: Kind, compression: str = SLOW_COMPRESSION) -> Range:
    """Return the time on elements of a kind, relative to the request's time without accelerators.

    All of that time is on cores. `compression` selects the speedup of (De)Cmp.
    """
    return figures[f"{kind.key}_share"] / figures[kind.speedup(compression)]


def computation(
    figures: Figures, kinds: Sequence[Kind] = KINDS, compression: str = SLOW_COMPRESSION
) -> Range:
    """Return the time on elements of all `kinds` together, in the unit of :func:`work`."""
    total = Range.of(0.0)
    for kind in kinds:
        total = total + work(figures, kind, compression)
    return total
