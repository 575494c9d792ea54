"""Reports of imports: which data was understood, guessed or dropped, how often, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from accelflow.errors import InputError

__all__ = ["SCHEMA", "Remark", "Report", "Source"]

#: The name and version of the object that :meth:`Report.as_json` returns.
SCHEMA: Final = "accelflow.import/1"

#: The number of places in the input that a remark lists.
PLACES: Final = 3


@dataclass
class Remark:
    """A remark on imported data: what was found and done, how often, and the first three places."""

    what: str
    done: str = ""
    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, count: int, place: str) -> None:
        """Add `count` cases of this remark; keep their `place` if it is one of the first three."""
        self.count += count
        if place and len(self.places) < PLACES:
            self.places.append(place)

    def as_json(self) -> dict[str, Any]:
        """Return the remark as an object for JSON."""
        return {"what": self.what, "count": self.count, "done": self.done, "places": self.places}


@dataclass(frozen=True)
class Source:
    """A file that was read: its name without folders, its size and its SHA-256."""

    name: str
    bytes: int
    sha256: str


class Report:
    """The report of one import on its input files: which data it understood, guessed or dropped.

    With `strict`, the first guess or drop raises an InputError instead of being counted. Exempt are
    data that the import leaves out on purpose (:meth:`left_out`), and values that no file of this
    kind can contain (:meth:`convention`).
    """

    def __init__(self, kind: str, *, strict: bool = False) -> None:
        """Begin a report of the importer `kind`."""
        self.kind = kind
        self.strict = strict
        self.sources: list[Source] = []
        #: The times in the data beside those of the workload, as
        #: :func:`accelflow.importing.timed` returns them; None if they are not compared.
        self.times: dict[str, Any] | None = None
        self._remarks: dict[str, dict[str, Remark]] = {
            "understood": {},
            "guessed": {},
            "dropped": {},
        }

    def understood(self, what: str, count: int = 1) -> None:
        """Count records of the kind `what` that were read as intended."""
        self._add("understood", what, "", "", count)

    def convention(self, what: str, done: str, count: int = 1) -> None:
        """Count values that no file of this kind has; `done` is the assumption that replaces them.

        They are listed as understood, since the lack is a property of the kind of file, not of this
        file.
        """
        self._add("understood", what, f"by convention: {done}", "", count)

    def guessed(self, what: str, done: str, place: str = "", count: int = 1) -> None:
        """Count values that the file lacks; `done` is the assumption that replaces them.

        Raises InputError if the import is strict.
        """
        self._refuse(what, done, place, count)
        self._add("guessed", what, done, place, count)

    def dropped(self, what: str, done: str, place: str = "", count: int = 1) -> None:
        """Count records that could not be used; `done` says what became of them.

        Raises InputError if the import is strict.
        """
        self._refuse(what, done, place, count)
        self._add("dropped", what, done, place, count)

    def left_out(self, what: str, why: str, count: int = 1) -> None:
        """Count records that are left out on purpose: by an option, or since none are needed.

        `why` is the reason, or what became of them. They are listed as dropped, but a strict import
        accepts them.
        """
        self._add("dropped", what, why, "", count)

    def remarks(self, section: str) -> Sequence[Remark]:
        """Return the remarks of a section: ``understood``, ``guessed`` or ``dropped``.

        The remarks are in the order in which they were first made.
        """
        return list(self._remarks[section].values())

    def count(self, section: str, what: str) -> int:
        """Return the count of `what` in `section`; 0 if there is none."""
        remark = self._remarks[section].get(what)
        return remark.count if remark else 0

    def drops(self) -> str:
        """Return text on the dropped records for the end of an error message; empty if none."""
        remarks = self._remarks["dropped"].values()
        return "".join(f"; dropped: {each.what} ({each.count}): {each.done}" for each in remarks)

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of the schema ``accelflow.import/1``."""
        sections = {
            name: [remark.as_json() for remark in remarks.values()]
            for name, remarks in self._remarks.items()
        }
        files = [
            {"name": source.name, "bytes": source.bytes, "sha256": source.sha256}
            for source in self.sources
        ]
        times = {} if self.times is None else {"times": self.times}
        return {"schema": SCHEMA, "kind": self.kind, "files": files, **sections, **times}

    def origin(self) -> dict[str, Any]:
        """Return the table ``origin`` of a workload's file: kind, files, and counts of remarks."""
        files = [{"name": source.name, "sha256": source.sha256} for source in self.sources]
        counts = {
            name: {remark.what: remark.count for remark in remarks.values()}
            for name, remarks in self._remarks.items()
        }
        return {"kind": self.kind, "files": files, **counts}

    def _refuse(self, what: str, done: str, place: str, count: int) -> None:
        if self.strict and count > 0:
            where = f"{place}: " if place else ""
            raise InputError(f"{where}{what}: refused because of --strict (without it: {done})")

    def _add(self, section: str, what: str, done: str, place: str, count: int) -> None:
        if count > 0:
            remark = self._remarks[section].setdefault(what, Remark(what, done))
            remark.add(count, place)
