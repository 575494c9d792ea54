"""Measurements of this project's live server, in the form of the Accelerometer paper's services.

`scripts/live_server.py` makes the measurements: payload sizes of operations, and profiles without
and with the processor's AES instructions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

from accelflow.findings.page import markdown_table
from accelflow.findings.targets import DATA
from accelflow.profiles.references import compared, peak_ipc

__all__ = ["LEAST_IPC", "SCHEMA", "beside_the_paper", "live_server", "live_server_lines"]

#: The name and version of the object in ``live-server.json``.
SCHEMA: Final = "accelflow.live-server/1"

#: The least share of the instructions with which a category is shown.
_LEAST: Final = 0.01

#: The lowest instructions per cycle of a category that are shown. Below this bound, the emulator
#: does not see the instructions that the cycles execute.
LEAST_IPC: Final = 0.005

#: Where the paper states the IPC of leaf functions.
_IPC_PLACE: Final = "section 2.3.5"


#: The names of the section's pictures, and the paper's figures that each picture has.
_PICTURES: Final = {
    "fig1": "Fig. 1",
    "fig2-9": "Figs. 2 and 9",
    "fig3-7": "Figs. 3 to 7",
    "fig8-10": "Figs. 8 and 10",
    "fig15-22": "Figs. 15, 19, 21 and 22",
}

_ABOUT_PICTURES: Final = (
    "The pictures have the paper's form. One machine was measured: Figs. 8 and 10 have one "
    "processor instead of three generations, and the others one service, without and with the "
    "processor's AES instructions. Bars of cycles show shares of their own profile. Bars of the "
    "paper are those whose shares its text has. Figs. 8 and 10 leave out categories whose "
    "instructions the emulator does not see, and an IPC whose cycles are in part the kernel's is "
    "too low."
)


def live_server() -> Mapping[str, Any]:
    """Return the stored measurements of this project's own server, read from a packaged file.

    ``about`` describes the measurements, and ``sizes`` has the payload sizes of operations by kind.
    ``profiles`` has the server's cycles by category: ``before`` without AES instructions, and
    ``after`` with them.
    """
    text = resources.files(DATA).joinpath("live-server.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def live_server_lines(measured: Mapping[str, Any], pictures: Mapping[str, str]) -> list[str]:
    """Return the part of Accelerometer's results page on this project's server, as Markdown lines.

    `measured` is the result of :func:`live_server`, and `pictures` maps the names of pictures to
    their files.
    """
    lines = [
        "## The live server, characterised alike",
        "",
        "The paper's Figs. 1 to 10, 15, 19, 21 and 22 are of services in production, which nothing "
        f"here computes. The same is measured of this project's server ({measured['about']}). "
        "Cycles are samples of processor time at the nominal clock, and instructions are counted "
        "by an emulator in user space, since the machine has no counters. So the IPC has no "
        "instructions of the kernel, and its scale is that of the nominal clock.",
        "",
    ]
    shown = [name for name in _PICTURES if name in pictures]
    if shown:
        lines += [_ABOUT_PICTURES, ""]
    for name in shown:
        lines += [f"![{_PICTURES[name]}]({pictures[name]})", ""]
    columns = ("category", "live server", "paper", "of", "place")
    lines += markdown_table(columns, beside_the_paper(measured))
    profiles = measured["profiles"]
    return [*lines, *_before_and_after(profiles["before"], profiles["after"])]


def beside_the_paper(measured: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a table that compares our server's cycles with those of Accelerometer's services.

    A row has five texts: the category of cycles (or the IPC), our value, the paper's value, the
    paper's service, and the place in the paper.
    """
    before = measured["profiles"]["before"]
    rows: list[tuple[str, ...]] = []
    for row in compared(before):
        known = row["reference"]
        parts = f", {' and '.join(row['parts'])}" if row["parts"] else ""
        rows.append(
            (
                f"{row['category'].replace('_', ' ')}{parts}",
                f"{100 * row['share_ratio']:.1f} %",
                known.text,
                known.subject,
                known.place,
            )
        )
    known_ipc = [row["ipc"] for row in before["leaf"] if row.get("ipc")]
    if known_ipc:
        most = peak_ipc() / 2
        ours = f"{max(known_ipc):.2f}"
        rows.append(
            ("IPC of leaf functions, most", ours, f"below {most:.1f}", "Cache1", _IPC_PLACE)
        )
    return rows


def _before_and_after(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return lines on the server's instructions by category, without and with AES instructions."""
    executed = sum(row["instructions"] for row in before["functionality"])
    rows = []
    for view in ("functionality", "leaf"):
        first = {row["category"]: row for row in before[view]}
        for row in after[view]:
            was, now = (each["instructions"] for each in (first[row["category"]], row))
            if max(row["share_ratio"], was / executed, now / executed) < _LEAST:
                continue
            rows.append(
                (
                    view,
                    row["category"].replace("_", " "),
                    f"{100 * row['share_ratio']:.1f} %",
                    "-" if (row["ipc"] or 0.0) < LEAST_IPC else f"{row['ipc']:.2f}",
                    f"{100 * was / executed:.1f} %",
                    f"{100 * now / executed:.1f} %",
                    f"{100 * (now / was - 1):+.0f} %" if was else "-",
                )
            )
    left = sum(row["instructions"] for row in after["functionality"]) / executed
    columns = ("view", "category", "cycles", "IPC", "instructions without", "with", "change")
    return [
        "The paper's first case study (Fig. 16) on this server: without and with the processor's "
        "AES instructions. Other work ran on the machine, which disturbs cycles by more than the "
        "difference, so that only instructions are compared, as shares of all without AES "
        f"instructions: {100 * (left - 1):+.1f} % in all (the paper's Cache1 has 12.8 % fewer "
        "cycles). The cycles of each category, and its IPC, are those of the server with AES "
        f"instructions. Categories below {100 * _LEAST:.0f} % are left out.",
        "",
        *markdown_table(columns, rows),
    ]
