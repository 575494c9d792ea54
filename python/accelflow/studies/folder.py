"""A study's folder with its results, which one process at a time writes atomically.

`rows/` has a Parquet file for each batch of simulations, with a row for each system and service of
a simulation; many files are joined to one. `design.parquet` has a row for each simulation: its key,
point, seed and the axes' values. `results.parquet` has the rows of the design's simulations, with
the axes' values.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from accelflow.errors import AccelflowError, refused, unwritable
from accelflow.files import LOCK as RESULTS_LOCK
from accelflow.files import named, parse_json, read_text, take_lock, why, write_whole
from accelflow.studies.tasks import Skipped, Task

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCHEMA", "Folder", "errors_of"]

#: The schema of a study's folder.
SCHEMA: Final = "accelflow.study-folder/1"
_ABOUT, _LOCK, _ROWS = "study.json", "lock", "rows"
#: The number of files above which they are joined to one, since reading a file takes about 1 ms.
_MOST_FILES: Final = 512


class Folder:
    """The folder in which a study keeps its results. :meth:`opened` locks it for one process."""

    def __init__(self, place: Path) -> None:
        """Make an object for the folder `place`, without reading or writing."""
        self.place = place
        #: The file of each simulation by key; None until the files are read for the first time.
        self._files: dict[str, Path] | None = None
        #: The number of simulations in each file, and the rows of files with several simulations.
        self._counts: dict[Path, int] = {}
        self._shared: dict[Path, pa.Table] = {}

    @contextmanager
    def opened(self) -> Iterator[Folder]:
        """Create the folder if it is missing, and lock it for the ``with`` block.

        Raises InputError for a folder with other content or of another version, and AccelflowError
        if another process uses the folder.
        """
        self._check()
        try:
            (self.place / _ROWS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable("--out", self.place, error) from error
        with (self.place / _LOCK).open("a+", encoding="utf-8") as lock:
            self._take(lock)
            if not (self.place / _ABOUT).exists():
                self._write_json(_ABOUT, {"schema": SCHEMA})
            self._join()
            yield self

    def done(self) -> Mapping[str, Path]:
        """Return the path of the file with the results of each complete simulation, by key.

        Simulations that failed are included: their reasons are stored. The files are read in the
        first call. Raises AccelflowError for a damaged file.
        """
        if self._files is None:
            files: dict[str, Path] = {}
            for part in self._parts():
                table = _readable(part, columns=["key"])
                self._know(files, part, table.column("key").unique().to_pylist())
            self._files = files
        return self._files

    def add(self, keys: Sequence[str], table: pa.Table) -> None:
        """Write `table`, the results of the simulations `keys`, to a new file of the folder.

        Its rows, one for each system and service, or one if the simulation failed, have the
        simulation's key in the column ``key``.
        The file appears when it is complete. Raises AccelflowError if it cannot be written.
        """
        name = keys[0] if len(keys) == 1 else f"{keys[0]}-{len(keys)}"
        part = self.place / _ROWS / f"{name}.parquet"
        with self._writing():
            _write(table, part)
        if self._files is not None:
            self._know(self._files, part, keys)

    def write_design(self, found: Sequence[Task], names: Sequence[str]) -> None:
        """Write ``design.parquet``, a table of the study's simulations without their results.

        It has the columns key, point, seed, and ``axis.NAME`` for the values of each axis. `found`
        are the simulations, and `names` the names of the axes.
        """
        with self._writing():
            _write(_design(found, names), self.place / "design.parquet")

    def write_skipped(self, skipped: Iterable[Skipped]) -> None:
        """Write ``skipped.json``: the simulations that are not possible, with the reasons."""
        self._write_json("skipped.json", [point.to_dict() for point in skipped])

    def errors(self, keys: Iterable[str]) -> dict[str, str]:
        """Return why simulations failed: the reason by key, for those of `keys` that failed."""
        table = self.rows(keys)
        return {} if table is None else errors_of(table)

    def write_results(self, found: Sequence[Task], names: Sequence[str]) -> Path | None:
        """Write ``results.parquet``: the results of the simulations in `found`, in this order.

        Simulations that failed have no rows. `names` has the names of the study's axes. Returns the
        path of the file. If the folder has nothing of these simulations, writes no file and returns
        None. Raises AccelflowError if the file cannot be written.
        """
        import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

        rows = self.rows(task.key for task in found)
        if rows is None:
            return None
        if "error" in rows.column_names:
            rows = rows.filter(pc.is_null(rows["error"])).drop_columns(["error"])
        joined = _joined(_design(found, names), rows)
        place = self.place / "results.parquet"
        with self._writing():
            _write(joined, place)
        return place

    def rows(self, keys: Iterable[str]) -> pa.Table | None:
        """Return the stored rows of results of the simulations with `keys`.

        A simulation that failed has one row, with the reason in ``error``. Returns None if the
        folder has no results of these simulations. Reads only the files that have such rows. If two
        files have results of a simulation, the rows of one file are returned. Raises AccelflowError
        for a damaged file.
        """
        import pyarrow as pa  # noqa: PLC0415 (slow to load)
        import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

        wanted: dict[Path, list[str]] = {}
        files = self.done()
        for key in dict.fromkeys(keys):
            if key in files:
                wanted.setdefault(files[key], []).append(key)
        tables = []
        for part in sorted(wanted):
            table = self._table(part)
            if len(wanted[part]) < self._counts[part]:
                these = pa.array(wanted[part], pa.string())
                table = table.filter(pc.is_in(table["key"], these))
            tables.append(table)
        _check_types(sorted(wanted), tables)
        return pa.concat_tables(tables, promote_options="default") if tables else None

    def _table(self, part: Path) -> pa.Table:
        """Return the rows in the file `part`; those of several simulations stay in memory."""
        if self._counts[part] == 1:
            return _readable(part)
        if part not in self._shared:
            self._shared[part] = _readable(part)
        return self._shared[part]

    def _know(self, files: dict[str, Path], part: Path, keys: Sequence[str]) -> None:
        """Remember that the file `part` has the rows of `keys`."""
        for key in keys:
            files.setdefault(key, part)
        self._counts[part] = len(keys)
        self._shared.pop(part, None)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn an OSError of the block, such as a full disk, into an AccelflowError with advice."""
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else why(error)
            raise AccelflowError(
                f"{self.place}: {reason}; completed simulations are kept; the same command resumes"
            ) from error

    def _parts(self) -> list[Path]:
        return sorted((self.place / _ROWS).glob("[!.]*.parquet"))

    def _join(self) -> None:
        """Join many files of rows to one. If the process is killed meanwhile, rows are doubled."""
        parts = self._parts()
        if len(parts) <= _MOST_FILES:
            return
        table = self.rows(self.done())
        last = parts[-1].stem.split("-")[0]
        place = self.place / _ROWS / f"all-{last}-{len(parts)}.parquet"
        _write(table, place)
        for part in parts:
            if part != place:
                part.unlink()
        self._files, self._counts, self._shared = None, {}, {}

    def _check(self) -> None:
        if str(self.place).encode(errors="replace").decode() != str(self.place):
            # pyarrow takes no other names.
            raise refused("--out", str(self.place), "must be a name in UTF-8")
        about = self.place / _ABOUT
        try:
            exists = self.place.exists()
        except OSError as error:  # a name that is too long
            raise unwritable("--out", self.place, error) from error
        if exists and not self.place.is_dir():
            raise refused("--out", str(self.place), "must be a folder")
        if about.exists():
            try:
                schema = parse_json(read_text(about)).get("schema")
            except (OSError, ValueError, AttributeError) as error:
                raise refused(
                    "--out",
                    str(self.place),
                    f"must be the folder of a study: {_ABOUT}: {why(error)}",
                ) from error
            if schema != SCHEMA:
                raise refused(
                    f"{about}: schema",
                    schema,
                    f"must be {SCHEMA}; this folder was written by another version of accelflow",
                )
        elif self._is_other():
            raise refused("--out", str(self.place), "must be empty or the folder of a study")

    def _is_other(self) -> bool:
        """Return whether the folder, which names no study, has other files than a study's."""
        if (self.place / _ROWS).is_file():
            return True
        known = {_LOCK, _ROWS, RESULTS_LOCK}
        return self.place.exists() and any(each.name not in known for each in self.place.iterdir())

    def _take(self, lock: Any) -> None:
        if not take_lock(lock, wait=False):
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            raise AccelflowError(f"{self.place}: is in use: {holder} works on this study")
        lock.truncate(0)
        # Unbuffered, since closing a file with unwritten text on a full disk fails without a name.
        with named(self.place / _LOCK):
            os.write(lock.fileno(), f"process {os.getpid()} on {socket.gethostname()}".encode())

    def _write_json(self, name: str, value: object) -> None:
        text = json.dumps(value, indent=2, allow_nan=False) + "\n"
        write_whole(self.place / name, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def errors_of(rows: pa.Table) -> dict[str, str]:
    """Return why simulations in `rows` failed: the reason by key; empty if none failed."""
    if "error" not in rows.column_names:
        return {}
    pairs = zip(rows["key"].to_pylist(), rows["error"].to_pylist(), strict=True)
    return {key: error for key, error in pairs if error is not None}


def _write(table: pa.Table, place: Path) -> None:
    """Write `table` to the file `place`, which appears when it is complete, with checksums."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    how: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
    write_whole(place, lambda scratch: pq.write_table(table, scratch, **how))


def _readable(part: Path, **options: Any) -> pa.Table:
    """Return the table in `part`. Raises AccelflowError if it is damaged.

    `options` go to pyarrow's function, such as `columns`. Without checksums, a value that the disk
    changed would be read as another number.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    try:
        table = pq.read_table(part, page_checksum_verification=True, **options)
    except (pa.ArrowException, OSError) as error:
        raise AccelflowError(f"{part}: is damaged; delete it to repeat its simulations") from error
    return table


def _check_types(parts: Sequence[Path], tables: Sequence[pa.Table]) -> None:
    """Raise AccelflowError if `tables`, read from `parts`, have a column of different types."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    known: dict[str, tuple[pa.DataType, Path]] = {}
    for part, table in zip(parts, tables, strict=True):
        for field in table.schema:
            if pa.types.is_null(field.type):  # no value: it joins any type
                continue
            first, place = known.setdefault(field.name, (field.type, part))
            if field.type != first:
                raise AccelflowError(
                    f"{part}: is damaged, or {place} is: column {field.name} is {field.type} here"
                    f" and {first} there; delete the damaged one to repeat its simulations"
                )


def _design(found: Sequence[Task], names: Sequence[str]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    columns: dict[str, Any] = {
        "key": pa.array([task.key for task in found], pa.string()),
        "point": pa.array([task.point for task in found], pa.uint64()),
        "seed": pa.array([task.seed for task in found], pa.uint64()),
    }
    for name in names:
        columns[f"axis.{name}"] = _column([task.values.get(name) for task in found])
    return pa.table(columns)


def _column(values: Sequence[Any]) -> pa.Array:
    """Return a column of numbers if all `values` are numbers, and otherwise of texts."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    numbers = all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in values
    )
    if numbers:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in values
    ]
    return pa.array(texts, pa.string())


def _joined(design: pa.Table, rows: pa.Table) -> pa.Table:
    """Return `rows` with the axes' values of the design, in the order of both.

    If two points are the same simulation, its rows appear for both points.
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
    values = design.drop_columns(["seed"]).take(pa.array(left, pa.int64()))  # rows have theirs
    found = rows.take(pa.array(right, pa.int64())).drop_columns(["key"])
    for name in found.column_names:
        values = values.append_column(found.field(name), found[name])
    return values
