"""Checks wheels and source distributions: metadata, missing files and unwanted files.

Run it from the root of the repository: .venv/bin/python scripts/distributions.py dist/*
"""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Final

#: Files that no distribution may contain: leftovers of a machine, and files of the repository only.
_STRAY: Final = (".pyc", ".new", ".orig", ".log", ".rec", ".html")
#: The fields of the metadata that a package index shows.
_FIELDS: Final = (
    "Name",
    "Version",
    "Summary",
    "Author",
    "License-Expression",
    "License-File",
    "Requires-Python",
    "Keywords",
    "Classifier",
    "Description-Content-Type",
)


def problems_of_wheel(path: Path) -> list[str]:
    """Return the problems of a wheel; empty if there are none."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        found = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(found[0]).decode()) if found else Message()
    own = {
        name
        for name in names
        if ".dist-info/" not in name and not name.startswith("accelflow.libs/")
    }
    problems = [*_missing_fields(metadata), *_stray(names)]
    problems += _different(own, {*_tracked("python"), "accelflow/_native.abi3.so"})
    if "-abi3-" not in path.name:
        problems.append("its name has no tag abi3, so it works with only one version of Python")
    if "linux_" in path.name and "manylinux" not in path.name:
        problems.append("its tag is that of this machine, which no index takes")
    return problems


def problems_of_source(path: Path) -> list[str]:
    """Return the problems of a source distribution; empty if there are none."""
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        member = next((each for each in archive if each.name.endswith("/PKG-INFO")), None)
        file = archive.extractfile(member) if member else None
        metadata = message_from_string(file.read().decode()) if file else Message()
    needed = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE", "NOTICE"}
    needed |= {f"python/{name}" for name in _tracked("python")}
    crates = tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["dependencies"]
    for name, row in crates.items():
        if name.startswith("accelflow-") and name != "accelflow-storage":
            needed |= {f"{row['path']}/{file}" for file in _tracked(row["path"])}
    lacking = [f"lacks {name}" for name in sorted(needed - set(names))]
    return [*_missing_fields(metadata), *_stray(names), *lacking]


def _missing_fields(metadata: Message) -> list[str]:
    return [f"its metadata lack {name}" for name in _FIELDS if not metadata.get(name)]


def _stray(names: Iterable[str]) -> list[str]:
    return [f"has {name}" for name in names if name.endswith(_STRAY) or "__pycache__" in name]


def _different(found: set[str], expected: set[str]) -> list[str]:
    return [
        *(f"lacks {name}" for name in sorted(expected - found)),
        *(f"has {name}, which is not in the repository" for name in sorted(found - expected)),
    ]


def _tracked(folder: str) -> set[str]:
    """Return the paths of the files that git tracks in a folder, relative to it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", folder]
    done = subprocess.run(listed, capture_output=True, text=True, check=True)  # noqa: S603
    return {name.removeprefix(f"{folder}/") for name in done.stdout.split("\0") if name}


def main() -> None:
    """Check the files named on the command line; exit with 1 if one has a problem."""
    wrong = False
    for name in sys.argv[1:]:
        path = Path(name)
        check = problems_of_wheel if path.suffix == ".whl" else problems_of_source
        try:
            problems = check(path)
        except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            reason = str(error).partition("\n")[0].rstrip(":")
            sys.exit(f"distributions: error: {path}: not a wheel or source distribution: {reason}")
        wrong = wrong or bool(problems)
        size = f"{path.stat().st_size / 1e6:.1f} MB"
        print(f"{path.name}: {size}, {'as it must be' if not problems else 'wrong'}")
        for problem in problems:
            print(f"  {problem}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
