"""Sorts any number of records in bounded memory, with temporary files."""

from __future__ import annotations

import heapq
import struct
import tempfile
from collections.abc import Iterator
from typing import IO, Final

__all__ = ["Sorted"]

#: Records that are held in memory: 16 bytes each in a file, some 100 in memory.
_HELD: Final = 500_000

_RECORD: Final = struct.Struct("<qd")

Record = tuple[int, float]


class Sorted:
    """Records of a whole number and a value, given in any order and read in ascending order."""

    def __init__(self, held: int = _HELD) -> None:
        """Begin without records; `held` of them stay in memory."""
        self._held = held
        self._records: list[Record] = []
        self._runs: list[IO[bytes]] = []
        self.count = 0

    def add(self, key: int, value: float = 0.0) -> None:
        """Add a record. `key` has at most 63 bits."""
        self._records.append((key, value))
        self.count += 1
        if len(self._records) >= self._held:
            self._spill()

    def __iter__(self) -> Iterator[Record]:
        """Yield all records in order. May be iterated several times, one after the other."""
        self._records.sort()
        return heapq.merge(self._records, *map(_records_of, self._runs))

    def replace(self, records: Iterator[Record]) -> None:
        """Hold `records` instead, which may be made of those that are held."""
        made = Sorted(self._held)
        try:
            for key, value in records:
                made.add(key, value)
        except BaseException:
            made.close()
            raise
        self.close()
        self._records, self._runs, self.count = made._records, made._runs, made.count

    def close(self) -> None:
        """Delete the temporary files."""
        for run in self._runs:
            run.close()
        self._runs = []

    def _spill(self) -> None:
        self._records.sort()
        run = tempfile.TemporaryFile()  # noqa: SIM115 (`close` closes it)
        self._runs.append(run)
        for record in self._records:
            run.write(_RECORD.pack(*record))
        self._records = []


def _records_of(run: IO[bytes]) -> Iterator[Record]:
    run.seek(0)
    while block := run.read(_RECORD.size << 10):
        yield from _RECORD.iter_unpack(block)
