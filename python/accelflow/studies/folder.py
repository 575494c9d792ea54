"""A study's folder: rows that are whole or not there, for one process at a time.

`rows/` has a file of Parquet for each batch of simulations, written beside its place and renamed.
`design.parquet` has a row for each simulation: its key, point, seed and the axes' values.
`results.parquet` has the rows of the design's simulations with the axes' values beside them.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from accelflow.errors import AccelflowError, InputError
from accelflow.files import parse_json, read_text, why, write_whole
from accelflow.studies.tasks import Skipped, Task

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCHEMA", "Folder"]

SCHEMA: Final = "accelflow.study-folder/1"
_ABOUT, _LOCK, _ROWS = "study.json", "lock", "rows"
#: More files than this are joined to one, as each of them takes about a millisecond to read.
_MOST_FILES: Final = 512


class Folder:
    """The results of a study on disk. :meth:`opened` locks it against other processes."""

    def __init__(self, place: Path) -> None:
        """Name the folder; nothing is read or written yet."""
        self.place = place

    @contextmanager
    def opened(self) -> Iterator[Folder]:
        """Make the folder if it is missing, and lock it.

        Raises InputError for a folder of something else or of another version, AccelflowError if
        another process works in it.
        """
        self._check()
        (self.place / _ROWS).mkdir(parents=True, exist_ok=True)
        with (self.place / _LOCK).open("a+", encoding="utf-8") as lock:
            self._take(lock)
            if not (self.place / _ABOUT).exists():
                self._write_json(_ABOUT, {"schema": SCHEMA})
            self._join()
            yield self

    def done(self) -> set[str]:
        """The keys of all simulations that have their rows."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

        found: set[str] = set()
        for part in self._parts():
            table = _readable(part, lambda part: pq.read_table(part, columns=["key"]))
            found.update(table.column("key").to_pylist())
        return found

    def add(self, keys: Sequence[str], table: pa.Table) -> None:
        """Write the rows of the simulations `keys`, all of them or none."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

        name = keys[0] if len(keys) == 1 else f"{keys[0]}-{len(keys)}"
        part = self.place / _ROWS / f"{name}.parquet"
        write_whole(part, lambda scratch: pq.write_table(table, scratch, compression="zstd"))

    def write_design(self, found: Sequence[Task], names: Sequence[str]) -> None:
        """Write `design.parquet`: key, point, seed, and the axes' values as ``axis.NAME``."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

        table = _design(found, names)
        place = self.place / "design.parquet"
        write_whole(place, lambda scratch: pq.write_table(table, scratch, compression="zstd"))

    def write_skipped(self, skipped: Iterable[Skipped]) -> None:
        """Write `skipped.json`: the points that could not be simulated, with the reasons."""
        self._write_json("skipped.json", [one.to_dict() for one in skipped])

    def errors(self) -> dict[str, str]:
        """The reasons of simulations that failed, by key."""
        table = self._rows()
        if table is None or "error" not in table.column_names:
            return {}
        pairs = zip(table["key"].to_pylist(), table["error"].to_pylist(), strict=True)
        return {key: error for key, error in pairs if error is not None}

    def write_results(self, found: Sequence[Task], names: Sequence[str]) -> Path | None:
        """Write `results.parquet`, in the order of the design; returns its place, None if empty."""
        import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)
        import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

        rows = self._rows()
        if rows is None:
            return None
        if "error" in rows.column_names:
            rows = rows.filter(pc.is_null(rows["error"])).drop_columns(["error"])
        joined = _joined(_design(found, names), rows)
        place = self.place / "results.parquet"
        write_whole(place, lambda scratch: pq.write_table(joined, scratch, compression="zstd"))
        return place

    def _parts(self) -> list[Path]:
        return sorted((self.place / _ROWS).glob("[!.]*.parquet"))

    def _rows(self) -> pa.Table | None:
        """All rows; those of a simulation once, should two files have them."""
        import pyarrow as pa  # noqa: PLC0415 (slow to load)
        import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)
        import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

        tables: list[pa.Table] = []
        seen: set[str] = set()
        for part in self._parts():
            table = _readable(part, pq.read_table)
            keys = set(table["key"].to_pylist())
            if again := keys & seen:
                again_too = pa.array(sorted(again), pa.string())
                table = table.filter(pc.invert(pc.is_in(table["key"], again_too)))
            seen |= keys
            tables.append(table)
        return pa.concat_tables(tables, promote_options="default") if tables else None

    def _join(self) -> None:
        """Join many files of rows to one; after a kill in between, rows are there twice."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

        parts = self._parts()
        if len(parts) <= _MOST_FILES:
            return
        table = self._rows()
        last = parts[-1].stem.split("-")[0]
        place = self.place / _ROWS / f"all-{last}-{len(parts)}.parquet"
        write_whole(place, lambda scratch: pq.write_table(table, scratch, compression="zstd"))
        for part in parts:
            if part != place:
                part.unlink()

    def _check(self) -> None:
        about = self.place / _ABOUT
        if self.place.exists() and not self.place.is_dir():
            raise InputError(f"{self.place}: must be a folder")
        if about.exists():
            try:
                schema = parse_json(read_text(about)).get("schema")
            except (OSError, ValueError, AttributeError) as error:
                raise InputError(f"{about}: {why(error)}") from error
            if schema != SCHEMA:
                raise InputError(
                    f"{about}: schema = {schema}: must be {SCHEMA}; another version of accelflow "
                    "has written this folder"
                )
        elif self.place.exists() and {one.name for one in self.place.iterdir()} - {_LOCK, _ROWS}:
            raise InputError(f"{self.place}: must be empty or the folder of a study")

    def _take(self, lock: Any) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            raise AccelflowError(f"{self.place}: {holder} works on this study") from error
        lock.seek(0)
        lock.truncate()
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()

    def _write_json(self, name: str, value: object) -> None:
        text = json.dumps(value, indent=2, allow_nan=False) + "\n"
        write_whole(self.place / name, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def _readable(part: Path, read: Any) -> pa.Table:
    """Return the table in `part`. Raises AccelflowError for a damaged file."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    try:
        return read(part)
    except (pa.ArrowException, OSError) as error:
        raise AccelflowError(
            f"{part}: is damaged; delete it, and its simulations run again"
        ) from error


def _design(found: Sequence[Task], names: Sequence[str]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    columns: dict[str, Any] = {
        "key": pa.array([task.key for task in found], pa.string()),
        "point": pa.array([task.point for task in found], pa.uint64()),
    }
    for name in names:
        columns[f"axis.{name}"] = _column([task.values.get(name) for task in found])
    return pa.table(columns)


def _column(values: Sequence[Any]) -> pa.Array:
    """Numbers if all are numbers, else texts."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    numbers = all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in values
    )
    if numbers:
        return pa.array([None if one is None else float(one) for one in values], pa.float64())
    texts = [one if one is None or isinstance(one, str) else json.dumps(one) for one in values]
    return pa.array(texts, pa.string())


def _joined(design: pa.Table, rows: pa.Table) -> pa.Table:
    """The rows with the values of the design, in the order of both.

    Two points may be the same simulation; then each has its rows.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    places: dict[str, list[int]] = {}
    for place, key in enumerate(rows["key"].to_pylist()):
        places.setdefault(key, []).append(place)
    left, right = [], []
    for place, key in enumerate(design["key"].to_pylist()):
        for other in places.get(key, ()):
            left.append(place)
            right.append(other)
    values = design.take(pa.array(left, pa.int64()))
    found = rows.take(pa.array(right, pa.int64())).drop_columns(["key"])
    for name in found.column_names:
        values = values.append_column(found.field(name), found[name])
    return values
