"""The kinds of accelerators for which the paper prints averages, for proofs about all kinds."""

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

    `key` begins the keys of the kind's statements, `name` is the paper's name, and `row` names the
    kind in section VII.B.4. `accelerators` is the number of accelerators whose mean the figures
    are. `operations` is the largest number of the kind's operations for each operation of TCP, over
    all services (Tables II and IV). A trace that receives or sends has one operation of TCP, of
    (De)Encr and of (De)Ser, and at most one of RPC and of (De)Cmp. As many traces send as receive,
    and only those that receive have one of LdB.
    """

    key: str
    name: str
    row: str
    accelerators: int
    operations: float

    def speedup(self, compression: str = SLOW_COMPRESSION) -> str:
        """Return the key of the statement with this kind's speedup.

        (De)Cmp has two speedups: `compression` selects the lower, ``dcmp``, or ``cmp``.
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

    Each of `what` is ``share`` (of the time on cores), ``speedup`` or ``used`` (utilisation).
    `compression` selects the speedup of (De)Cmp, as in :meth:`Kind.speedup`.
    """
    return tuple(
        kind.speedup(compression) if quantity == "speedup" else f"{kind.key}_{quantity}"
        for quantity in what
        for kind in KINDS
    )


def work(figures: Figures, kind: Kind, compression: str = SLOW_COMPRESSION) -> Range:
    """Return a request's time on elements of `kind`, relative to its time without accelerators.

    Without accelerators, all of that time is on cores. `figures` has the kind's share and speedup.
    `compression` selects the speedup of (De)Cmp.
    """
    return figures[f"{kind.key}_share"] / figures[kind.speedup(compression)]


def computation(
    figures: Figures, kinds: Sequence[Kind] = KINDS, compression: str = SLOW_COMPRESSION
) -> Range:
    """Return a request's time on elements of all `kinds` together, in the unit of :func:`work`."""
    total = Range.of(0.0)
    for kind in kinds:
        total = total + work(figures, kind, compression)
    return total
