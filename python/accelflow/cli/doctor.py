"""`accelflow doctor`: check the installation, and tell how to get what is missing."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

import click
from rich.markup import escape
from rich.table import Table

from accelflow import _native
from accelflow.calibration import kept
from accelflow.cli.output import Output
from accelflow.errors import AccelflowError

_PYTHON: Final = (3, 11)

#: The Python packages that commands need, and the purpose of each. tests/test_doctor.py compares
#: them with pyproject.toml.
PACKAGES: Final = {
    "click": "the command line",
    "cmaes": "accelflow fit",
    "matplotlib": "pictures",
    "numpy": "curves and pictures",
    "protobuf": "accelflow import",
    "pyarrow": "results as Parquet and tables",
    "rich": "tables in the terminal",
    "vl-convert-python": "--report",
}

#: Optional programs: alternative names, purpose, and how to get them.
_PROGRAMS: Final = (
    (("cargo",), "building the extension module", "install Rust with rustup"),
    (("cc",), "building the extension module", "apt-get install build-essential"),
    (("redis-server",), "examples/socialnetwork, tests of storage", "scripts/install-storage"),
    (("postgres",), "examples/socialnetwork, tests of storage", "scripts/install-storage"),
    (("chromium",), "tests and pictures of reports", "scripts/install-browser"),
    (("zsh",), "tests of shell completion", "scripts/install-shells"),
    (("fish",), "tests of shell completion", "scripts/install-shells"),
    (("valgrind",), "counting a simulation's instructions", "scripts/install-valgrind"),
)


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one check of the installation.

    `name` is the program or package that was looked for, and `needed_for` its purpose. `state` is
    ``ok``, ``missing`` (a command needs it), or ``optional`` (missing, but most commands work
    without it). `found` is its version or place, and `remedy` how to get it.
    """

    name: str
    state: Literal["ok", "missing", "optional"]
    found: str
    needed_for: str
    remedy: str = ""


@click.command("doctor")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def doctor(as_json: bool) -> None:
    """Check the installation, and tell how to get what is missing.

    Exits with 1 if something is missing that a command needs.
    """
    found = [*_needed(), *_machine(), *_programs()]
    missing = [check.name for check in found if check.state == "missing"]
    if as_json:
        content = {"version": _native.version(), "checks": [asdict(check) for check in found]}
        click.echo(json.dumps(content, indent=2))
    else:
        _print(found)
    if missing:
        raise AccelflowError(f"the installation lacks {', '.join(missing)}")
    if not as_json:
        click.echo("Everything that the commands need is there.")


def _needed() -> Iterator[Check]:
    yield Check(
        name="Python",
        state="ok" if sys.version_info >= _PYTHON else "missing",
        found=f"{platform.python_version()}, {sys.executable}",
        needed_for="everything",
        remedy="install Python 3.11 or later",
    )
    yield Check(
        name="extension module",
        state="ok",
        found=f"{_native.version()}, {_native.__file__}",
        needed_for="everything",
    )
    for name, purpose in PACKAGES.items():
        try:
            version, state = metadata.version(name), "ok"
        except metadata.PackageNotFoundError:
            version, state = "", "missing"
        yield Check(
            name=name,
            state="ok" if state == "ok" else "missing",
            found=version,
            needed_for=purpose,
            remedy=f"scripts/bootstrap, or pip install {name}",
        )


def _machine() -> Iterator[Check]:
    cores = os.cpu_count() or 1
    yield Check(
        name="cores", state="ok", found=f"{cores}, {platform.machine()}", needed_for="simulations"
    )
    place, date = kept()
    yield Check(
        name="measured costs",
        state="ok" if date else "optional",
        found=f"{date}, {place}" if date else "",
        needed_for="compare socialnetwork without --profile",
        remedy="accelflow compare socialnetwork measures them at first use",
    )


def _programs() -> Iterator[Check]:
    for names, purpose, remedy in _PROGRAMS:
        place = next(filter(None, map(_find, names)), None)
        yield Check(
            name=names[0],
            state="ok" if place else "optional",
            found=place or "",
            needed_for=purpose,
            remedy=remedy,
        )


def _find(name: str) -> str | None:
    """Return the program's path, in PATH or where Debian puts PostgreSQL's programs, or None."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(places[-1]) if places else None)


_MARKS: Final = {"ok": ("ok", "green"), "missing": ("MISSING", "red"), "optional": ("-", "yellow")}


def _print(found: list[Check]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in found:
        mark, style = _MARKS[check.state]
        said = check.found if check.state == "ok" else f"for {check.needed_for}: {check.remedy}"
        table.add_row(f"[{style}]{mark}[/]", escape(check.name), escape(said))
    Output().print(table)
