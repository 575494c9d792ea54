"""Reading of text files of any size: gzipped or not, hashed, with lines of bounded length."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from accelflow.errors import refused, unreadable
from accelflow.importing.report import Report, Source

__all__ = ["LONGEST_NAME", "CsvRow", "CsvTable", "bytes_of", "each_table", "lines_of", "table_of"]

#: The longest line that is read, in bytes. Rows of Azure's tables have some ten thousand
#: characters.
MAX_LINE: Final = 1 << 20

#: The largest number of characters in a name of a service, function or call.
LONGEST_NAME: Final = 400

_GZIP: Final = b"\x1f\x8b"


class _Hashed(io.RawIOBase):
    """A binary file that hashes the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._hash.update(data)
        self.bytes += len(data)
        return len(data)

    def digest(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def _opened(path: Path, report: Report) -> Iterator[Any]:
    """Open `path` unpacked; on exit, read the remainder and add it to the sources."""
    try:
        with path.open("rb", buffering=0) as file:
            hashed = _Hashed(file)
            raw = io.BufferedReader(hashed, 1 << 16)
            packed = raw.peek(2)[:2] == _GZIP
            yield gzip.GzipFile(fileobj=raw) if packed else raw
            while raw.read(1 << 16):
                pass
            report.sources.append(Source(path.name, hashed.bytes, hashed.digest()))
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable("FILE", path, error) from error


def bytes_of(path: Path, report: Report, limit: int) -> bytes:
    """Return the contents of the file at `path`, unpacked if it is gzipped.

    The file is added to the sources of `report`. Raises InputError for a file that cannot be read
    or has more than `limit` bytes when unpacked.
    """
    with _opened(path, report) as file:
        data: bytes = file.read(limit + 1)
        if len(data) > limit:
            raise refused("FILE", str(path), f"must have at most {limit} bytes")
    return data


@contextmanager
def lines_of(path: Path, report: Report) -> Iterator[Iterator[tuple[int, str]]]:
    """Open the text file `path` for a ``with`` block that gets pairs (line number from 1, line).

    A gzipped file is unpacked. Lines keep their line breaks. The file is read line by line, so
    memory does not depend on its size. At the end, the file is added to the sources of `report`.
    Raises InputError, also during iteration, for a file that cannot be read, is not UTF-8, contains
    zero bytes, has a line of more than 1 MiB, or is a damaged archive.
    """
    with _opened(path, report) as file:
        yield _numbered(file, str(path))


def _numbered(data: IO[bytes], place: str) -> Iterator[tuple[int, str]]:
    number = 0
    while True:
        number += 1
        line = data.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise refused(
                "FILE", f"{place}:{number}", f"must have lines of at most {MAX_LINE} bytes"
            )
        if b"\0" in line:
            hint = ", such as the output of perf script" if line.startswith(b"PERFILE") else ""
            raise refused("FILE", f"{place}:{number}", f"must be text{hint}; it has a zero byte")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            byte = f"byte {error.start} of the line is 0x{error.object[error.start]:02x}"
            allowed = f"must be text in UTF-8; {byte}"
            raise refused("FILE", f"{place}:{number}", allowed) from error
        yield number, text.removeprefix("\ufeff") if number == 1 else text


@dataclass(frozen=True)
class CsvRow:
    """A row of a CSV table: its `cells`, and its `place` (file and line) for error messages."""

    cells: Sequence[str]
    #: The file and the number of the row's last line, counted from 1.
    place: str


class CsvTable:
    """A CSV table that is read once, row by row.

    `columns` are the names in its first line, without surrounding spaces. Rows with more or fewer
    cells are dropped and counted in the report; empty lines are not rows.
    """

    def __init__(self, path: Path, lines: Iterator[tuple[int, str]], report: Report) -> None:
        """Read the first line. Raises InputError for a file without one."""
        self.path = path
        self._report = report
        self._number = 0
        self._reader = csv.reader(self._texts(lines), strict=True)
        header = self._next()
        if header is None:
            allowed = "must be a CSV table whose first line names the columns; it has no text"
            raise refused("FILE", str(path), allowed)
        self.columns: tuple[str, ...] = tuple(name.strip() for name in header)

    def _texts(self, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        for self._number, text in lines:
            yield text

    def _next(self) -> list[str] | None:
        try:
            for row in self._reader:
                if any(cell.strip() for cell in row):
                    return row
        except csv.Error as error:
            why = str(error)
            if why.startswith("new-line character seen"):  # goes on with advice for programmers
                why = "it has a carriage return outside quotes"
            raise refused("FILE", self.place, f"must be a row of CSV: {why}") from error
        return None

    @property
    def place(self) -> str:
        """The file and the number of the line that was read last, for error messages."""
        return f"{self.path}:{self._number}"

    def index(self, what: str, *names: str) -> int:
        """Return the position (from 0) of the column with the first of `names` that the table has.

        Case is ignored. Raises InputError if the table has none of `names`, or if several columns
        have the name found. `what` says in the message which data the column has.
        """
        found = self.find(*names)
        if found is None:
            wanted = " or ".join(names)
            there = ", ".join(self.columns)[:200]
            raise refused(f"{self.path}:1: columns of {what}", there, f"must include {wanted}")
        return found

    def find(self, *names: str) -> int | None:
        """Return the position (from 0) of the column with the first of `names` that the table has.

        Case is ignored. None if the table has none of `names`. Raises InputError if several columns
        have the name found.
        """
        lower = [column.lower() for column in self.columns]
        found = next((name.lower() for name in names if name.lower() in lower), None)
        if found is None:
            return None
        if (count := lower.count(found)) > 1:
            there = [column for column in self.columns if column.lower() == found]
            allowed = f"must be a single column, but {count} have this name"
            raise refused(f"{self.path}:1: columns", ", ".join(there)[:200], allowed)
        return lower.index(found)

    def only(self, what: str, names: Sequence[str], hint: str = "") -> int | None:
        """Return the position (from 0) of the only column with one of `names`; None without any.

        Case is ignored. Raises InputError for several such columns. In the message, `what` says
        which data the column has, and `hint` what the user may do.
        """
        known = {name.lower() for name in names}
        found = [column for column in self.columns if column.lower() in known]
        if len(found) > 1:
            # Equal names cannot be told apart by any option.
            allowed = "must be a single column" + (hint if len(set(found)) > 1 else "")
            raise refused(f"{self.path}:1: columns of {what}", ", ".join(found)[:200], allowed)
        return self.columns.index(found[0]) if found else None

    def named(self, option: str, name: str) -> int:
        """Return the position (from 0) of the column `name`, which the user gave with `option`.

        Raises InputError if there is no such column, with a message that names `option`, or if
        there are several.
        """
        if name not in self.columns:
            raise refused(option, name, known=self.columns)
        if (count := self.columns.count(name)) > 1:
            allowed = f"must be the name of a single column; {self.path}:1 has {count} of them"
            raise refused(option, name, allowed)
        return self.columns.index(name)

    def rows(self) -> Iterator[CsvRow]:
        """Yield the rows below the header.

        A row with another number of cells than the header is left out, and the report counts it.
        """
        width = len(self.columns)
        while (cells := self._next()) is not None:
            if len(cells) == width:
                yield CsvRow(cells, self.place)
                continue
            self._report.dropped(
                "rows with another number of cells than the first line", "left out", self.place
            )


@contextmanager
def table_of(path: Path, report: Report) -> Iterator[CsvTable]:
    """Open the CSV file `path`, gzipped or not, for a ``with`` block as a :class:`CsvTable`."""
    with lines_of(path, report) as lines:
        yield CsvTable(path, lines, report)


def each_table(
    paths: Sequence[Path], report: Report, readers: Mapping[str, tuple[str, ...]], what: str
) -> Iterator[tuple[str, CsvTable]]:
    """Open the CSV tables in `paths` in turn, and yield a pair (kind of the table, table) for each.

    `readers` maps each kind to the columns that it needs; the first kind whose columns the table
    has is taken. A ``|`` separates alternative names of a column. Raises InputError if no kind
    matches, with the requirement `what` in the message.
    """
    for path in paths:
        with table_of(path, report) as table:
            fits: Callable[[str], bool] = lambda kind: all(  # noqa: E731
                table.find(*column.split("|")) is not None for column in readers[kind]
            )
            kind = next((name for name in readers if fits(name)), None)
            if kind is None:
                there = ", ".join(table.columns)[:200]
                raise refused(f"{path}:1: columns", there, f"must be {what}")
            yield kind, table
