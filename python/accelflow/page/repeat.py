"""The section "How to repeat it" of a page."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from pathlib import Path

from accelflow import _native
from accelflow.page.document import Code, Section
from accelflow.page.library import library_versions

__all__ = ["command_line", "repeated"]


def command_line(arguments: Sequence[str]) -> str:
    """Return the command line `arguments` as text that can be pasted into a shell.

    `arguments` has the form of :data:`sys.argv`: first the path of the program's file, then its
    arguments. Bytes that are not UTF-8 become question marks.
    """
    program, *others = arguments
    name = Path(program).name
    started = ["python", "-m", "accelflow"] if name == "__main__.py" else [name]
    return shlex.join([*started, *others]).encode(errors="replace").decode()


def repeated(seeds: str, command: str | None, *, classes: Sequence[str] = ()) -> Section:
    """Return a page's section "How to repeat it": the command, seeds and software versions.

    `seeds` describes the seeds in words. `command` is the command line to repeat; None if unknown.
    `classes` describes the systems that are classes in Python.
    """
    parts = [] if command is None else [Code(caption="The command", text=command)]
    return Section(
        title="How to repeat it",
        text=[
            f"Equal versions, settings{', classes' if classes else ''} and seeds give equal results"
            f" ({seeds}).",
            *([f"Classes in Python: {'; '.join(classes)}."] if classes else []),
            f"accelflow {_native.version()}, Python {platform.python_version()} on"
            f" {platform.system()} {platform.machine()}; plots by {library_versions()}.",
        ],
        parts=parts,
    )
