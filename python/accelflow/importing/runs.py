"""Sorting of any number of records in bounded memory, with temporary files."""

from __future__ import annotations

import heapq
import io
import struct
import tempfile
from collections.abc import Iterator
from typing import IO, Final

__all__ = ["Sorted"]

#: Records that are held in memory: 16 bytes each in a file, some 100 in memory.
_HELD: Final = 500_000

_RECORD: Final = struct.Struct("<qd")

_BLOCK: Final = _RECORD.size << 10

#: A pair of an integer to sort by and a value.
Record = tuple[int, float]


class Sorted:
    """A collection of pairs (integer, value), added in any order and read in ascending order.

    Pairs that do not fit in memory are in a temporary file.
    """

    def __init__(self, held: int = _HELD) -> None:
        """Begin without pairs; fewer than `held` of them stay in memory."""
        self._held = held
        self._records: list[Record] = []
        self._file: IO[bytes] | None = None
        #: Where each sorted run of the file begins and ends.
        self._runs: list[tuple[int, int]] = []
        self.count = 0

    def add(self, key: int, value: float = 0.0) -> None:
        """Add the pair of the integer `key`, of at most 63 bits, and `value`."""
        self._records.append((key, value))
        self.count += 1
        if len(self._records) >= self._held:
            self._spill()

    def __iter__(self) -> Iterator[Record]:
        """Yield all pairs in ascending order. Several iterations must follow one another."""
        self._records.sort()
        return heapq.merge(self._records, *map(self._run, self._runs))

    def replace(self, records: Iterator[Record]) -> None:
        """Replace all pairs by those of `records`, which may be computed from the present ones."""
        made = Sorted(self._held)
        try:
            for key, value in records:
                made.add(key, value)
        except BaseException:
            made.close()
            raise
        self.close()
        self.__dict__.update(made.__dict__)

    def close(self) -> None:
        """Delete the temporary file, which has the pairs that did not fit in memory."""
        if self._file is not None:
            self._file.close()
        self._file, self._runs = None, []

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (`close` closes it)
        self._records.sort()
        start = self._file.seek(0, io.SEEK_END)
        for record in self._records:
            self._file.write(_RECORD.pack(*record))
        self._runs.append((start, self._file.tell()))
        self._records = []

    def _run(self, place: tuple[int, int]) -> Iterator[Record]:
        """The records between two places of the file, some of them at a time."""
        start, end = place
        while start < end and self._file is not None:
            self._file.seek(start)  # other runs have been read meanwhile
            block = self._file.read(min(_BLOCK, end - start))
            start += len(block)
            yield from _RECORD.iter_unpack(block)
