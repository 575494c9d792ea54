"""Write a workload and its companion files: all of them or none."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from accelflow.errors import file_path, refused
from accelflow.files import named, write_whole
from accelflow.importing.places import check_companions, check_existing
from accelflow.importing.report import Report
from accelflow.importing.workloads import OWNER, Imported, Tree, plain_name
from accelflow.workload import workload_text

__all__ = ["check_out", "text_of", "write_imported", "write_lines"]

#: Endings of workload files that :func:`text_of` writes.
ENDINGS = (".toml", ".json")


def check_out(out: Path) -> None:
    """Raise InputError unless `out` ends in ``.toml`` or ``.json``, as a workload file must."""
    if out.suffix not in ENDINGS:
        raise refused("--out", str(out), f"must end in {' or '.join(ENDINGS)}")


def text_of(tree: dict[str, Any], out: Path) -> str:
    """Return the text of a workload's file with the content `tree`.

    It is TOML, or JSON if `out` ends in ``.json``. For TOML, raises InputError if `tree` is not a
    workload. JSON is not checked.
    """
    if out.suffix == ".json":
        return json.dumps(tree, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    return workload_text(tree)


def write_imported(
    imported: Imported,
    report: Report | None,
    out: str | PathLike[str],
    inputs: Iterable[Path] = (),
) -> list[Path]:
    """Write an imported workload to `out`, and its companion files to the same folder.

    Returns the paths of all files. `report` is added to the workload's table ``origin``; None
    leaves the table as it is. The names of companion files, such as tables of arrivals, begin with
    that of `out`. The files appear when all of them are complete. If their content cannot be made,
    none appears, and existing files are unchanged. `inputs` are the files that the import reads.
    Raises OSError if a file cannot be written, and InputError for a tree that is not a workload,
    and for a companion file that would replace one of `inputs` or a file of another service. A
    companion file replaces another existing file only if the contents are equal, or if the workload
    that was in `out` before names that file for the same service.
    """
    out = file_path("out", out)
    stem = plain_name(out.stem)
    names = {key: key.replace(OWNER, stem, 1) for key in imported.companions}
    check_companions(imported.tree, names, out, inputs)
    beside = out.absolute().parent
    with named(out), tempfile.TemporaryDirectory(prefix=f".{stem}-", dir=beside) as scratch:
        for key, lines in imported.companions.items():
            _fill(Path(scratch) / names[key], lines)
        # Lines come while files are read, so only now the report is complete.
        tree = _renamed(imported.tree, names)
        if report is not None:
            tree["origin"] = _joined(tree.get("origin"), report.origin())
        (Path(scratch) / "workload").write_text(text_of(tree, out), encoding="utf-8")
        check_existing(tree, {name: Path(scratch) / name for name in names.values()}, out)
        for name in names.values():
            (Path(scratch) / name).replace(out.parent / name)
        write_whole(out, (Path(scratch) / "workload").replace)
    return [*(out.parent / name for name in names.values()), out]


def write_lines(lines: Iterable[str], out: str | PathLike[str]) -> None:
    """Write `lines` to the file `out`, whole or not at all.

    Raises OSError if the file cannot be written.
    """
    out = file_path("out", out)
    write_whole(out, lambda scratch: _fill(scratch, lines))


def _fill(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in lines:
            file.write(f"{line}\n")


def _joined(before: Any, now: Tree) -> Tree:
    """Merge the origin of an updated workload with that of the import in `now`."""
    if not isinstance(before, dict) or not isinstance(before.get("kind"), str):
        return now
    files = before.get("files")
    joined: Tree = {
        "kind": f"{before['kind']}, {now['kind']}",
        "files": [*(files if isinstance(files, list) else []), *now["files"]],
    }
    for section in ("understood", "guessed", "dropped"):
        counts = before.get(section)
        joined[section] = {**(counts if isinstance(counts, dict) else {}), **now[section]}
    return joined


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Copy `value`, with the companions' final names."""
    if isinstance(value, dict):
        return {
            key: names.get(each, each)
            if key == "file" and isinstance(each, str)
            else _renamed(each, names)
            for key, each in value.items()
        }
    return [_renamed(each, names) for each in value] if isinstance(value, list) else value
