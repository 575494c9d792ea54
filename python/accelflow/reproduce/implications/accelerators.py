"""The kinds of accelerators as the paper's averages name them, for proofs about all of them."""

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

#: Speedups of (De)Cmp: that of decompression, the slower, and that of compression.
SLOW_COMPRESSION: Final = "dcmp"
FAST_COMPRESSION: Final = "cmp"


@dataclass(frozen=True)
class Kind:
    """One or two accelerators for which the paper has a share of the time.

    `key` begins the keys of its statements, `row` names it in section VII.B.4, `accelerators` is
    the number that its figures are the mean of. `operations` is their largest number for each
    operation of TCP, in all services (Tables II and IV). A trace that receives or sends has one
    operation of TCP, one of (De)Encr, one of (De)Ser, and at most one of RPC and of (De)Cmp. As
    many traces send as receive, and only those that receive have one of LdB.
    """

    key: str
    name: str
    row: str
    accelerators: int
    operations: float

    def speedup(self, compression: str = SLOW_COMPRESSION) -> str:
        """Return the key of the statement that gives this kind's speedup.

        (De)Cmp has two: `compression` selects `dcmp`, the slower, or `cmp`.
        """
        return f"{compression if self.key == 'cmp' else self.key}_speedup"


BESIDE_TCP: Final = (
    Kind("encr", "(De)Encr", "Encr_Decr", 2, 1.0),
    Kind("rpc", "RPC", "RPC", 1, 1.0),
    Kind("ser", "(De)Ser", "Ser_Dser", 2, 1.0),
    Kind("cmp", "(De)Cmp", "Cmp_Dcmp", 2, 1.0),
    Kind("ldb", "LdB", "LdB", 1, 0.5),
)
TCP: Final = Kind("tcp", "TCP", "TCP", 1, 1.0)
KINDS: Final = (TCP, *BESIDE_TCP)


def keys(*what: str, compression: str = SLOW_COMPRESSION) -> tuple[str, ...]:
    """Return the keys of all kinds for each of `what`: ``share``, ``speedup`` or ``used``."""
    return tuple(
        kind.speedup(compression) if quantity == "speedup" else f"{kind.key}_{quantity}"
        for quantity in what
        for kind in KINDS
    )


def work(figures: Figures, kind: Kind, compression: str = SLOW_COMPRESSION) -> Range:
    """Return the time on elements of a kind, per unit of a request's time on cores alone."""
    return figures[f"{kind.key}_share"] / figures[kind.speedup(compression)]


def computation(
    figures: Figures, kinds: Sequence[Kind] = KINDS, compression: str = SLOW_COMPRESSION
) -> Range:
    """Return the time on elements of all `kinds` together, in the unit of :func:`work`."""
    total = Range.of(0.0)
    for kind in kinds:
        total = total + work(figures, kind, compression)
    return total
