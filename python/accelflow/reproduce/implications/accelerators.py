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
    """One or two accelerators for which the paper prints common averages, such as Encr and Decr.

    `key` is the first part of the keys of statements about this kind, such as ``encr`` in
    ``encr_speedup``. `name` is its name in the paper. `row` is the last part of the key of its
    utilisation at peak (section VII.B.4), such as ``Encr_Decr``. `accelerators` is 1 or 2, the
    number of accelerators over which the averages are taken.

    `operations` is the largest number of the kind's operations per operation of TCP, over all
    services (Tables II and IV). Each trace that receives or sends a message has one operation of
    TCP, one of (De)Encr and one of (De)Ser, and at most one of RPC and one of (De)Cmp. LdB has an
    operation only in traces that receive a message, which are half of the traces that receive or
    send one.
    """

    key: str
    name: str
    row: str
    accelerators: int
    operations: float

    def speedup(self, compression: str = SLOW_COMPRESSION) -> str:
        """Return the key of the paper's statement on this kind's speedup.

        (De)Cmp has two speedups, chosen by `compression`: ``dcmp`` is the lower and ``cmp`` the
        higher. Other kinds ignore it.
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
    """Return the keys of the paper's statements on all kinds of accelerators about some quantities.

    Each of `what` is a quantity: ``share`` (of the time on cores), ``speedup`` or ``used``
    (utilisation). `compression` selects the speedup of (De)Cmp, as in :meth:`Kind.speedup`.
    """
    return tuple(
        kind.speedup(compression) if quantity == "speedup" else f"{kind.key}_{quantity}"
        for quantity in what
        for kind in KINDS
    )


def work(figures: Figures, kind: Kind, compression: str = SLOW_COMPRESSION) -> Range:
    """Return a request's time on accelerators of `kind`, relative to its time without any.

    This is the kind's share of the time on cores, divided by its speedup, both from `figures`.
    `compression` selects the speedup of (De)Cmp.
    """
    return figures[f"{kind.key}_share"] / figures[kind.speedup(compression)]


def computation(
    figures: Figures, kinds: Sequence[Kind] = KINDS, compression: str = SLOW_COMPRESSION
) -> Range:
    """Return the sum of :func:`work` over `kinds`: a request's time on all these accelerators."""
    total = Range.of(0.0)
    for kind in kinds:
        total = total + work(figures, kind, compression)
    return total
