"""The answer to a plan of a fleet, as text for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_NAMES: Final = {"closed_form": "closed form", "simulated": "simulated"}
_WIDTH: Final = 88
_SYSTEM_WIDTH: Final = 13
#: The least widths of the columns of numbers.
_WIDTHS: Final = (15, 10, 8, 12, 12)


def text(answer: Mapping[str, Any]) -> str:
    """Return text for a terminal: all systems' fleets, and where closed form and simulation differ.

    `answer` is the result of :func:`accelflow.sizing.answer.size`.
    """
    return "\n".join(
        [
            *_table(answer),
            "",
            *_reading(answer),
            *_idle(answer),
            *_unanswered(answer),
            *_differences(answer),
        ]
    )


def _table(answer: Mapping[str, Any]) -> Iterator[str]:
    year = f"{answer['plan']['currency']} a year".strip()
    system = max([_SYSTEM_WIDTH, *(len(row["system"]) + 1 for row in answer["systems"])])
    header = ("servers", "headroom", "kW", year, "chip worth", "limit")
    found = [
        (row["system"], name, _cells(row[kind]))
        for row in answer["systems"]
        for kind, name in _NAMES.items()
        if row[kind] is not None
    ]
    widths = [
        max(least, *(len(cells[column]) + 2 for cells in (header, *(row[2] for row in found))))
        for column, least in enumerate(_WIDTHS)
    ]

    def line(cells: Sequence[str]) -> str:
        numbers = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
        return f"{numbers}  {cells[-1]}"

    yield f"{'system':{system}}{'answer':12}{line(header)}"
    shown = ""
    for name, answered, cells in found:
        yield f"{'' if name == shown else name:{system}}{answered:12}{line(cells)}"
        shown = name


def _cells(side: Mapping[str, Any]) -> tuple[str, ...]:
    fleet, limit = side["fleet"], side["binding"]["text"]
    if fleet is None:
        return ("none", "-", "-", "-", "-", limit)
    servers = f"{fleet['servers']:,}"
    if fleet["servers_low"] != fleet["servers_high"]:
        servers += f" ({fleet['servers_low']:,}-{fleet['servers_high']:,})"
    worth = side.get("break_even_chip_price")
    return (
        servers,
        f"{fleet['headroom_ratio']:,.1%}",
        f"{fleet['watts'] / 1e3:,.2f}",
        f"{fleet['cost_per_year']:,.0f}",
        "-" if worth is None else f"{worth:,.0f}",
        limit,
    )


def _reading(answer: Mapping[str, Any]) -> list[str]:
    rates = answer["needed_rps"]
    limit = answer["plan"]["limits"]["utilization_ratio"]
    services = "1 service" if len(rates) == 1 else f"{len(rates)} services"
    without = ", ".join(answer["left_out"])
    without = f" Not planned for, as the plan has no rate of them: {without}." if without else ""
    return _wrapped(
        f"For {_rate(rates)} requests a second{_growth(answer)} over {services}, with no resource"
        f" busy for more than {limit * 100:.6g}% of the time and the P99 of each service"
        " within its SLO. servers: with the 95 % interval where its ends differ; limit: the"
        " limiting factor of a server's load; headroom: the additional load that the servers could"
        " take; chip worth: the break-even price of a server's chip." + without
    )


def _growth(answer: Mapping[str, Any]) -> str:
    """Return the growth that the rates include, in parentheses; empty without growth."""
    growth = answer["plan"]["growth"]
    if growth["per_year_ratio"] == 0 or growth["years"] == 0:
        return ""
    today = _rate(answer["plan"]["rates_rps"])
    years = "1 year" if growth["years"] == 1 else f"{growth['years']:g} years"
    return f" ({today} today, {growth['per_year_ratio'] * 100:+.6g}% a year for {years})"


def _rate(rates_rps: Mapping[str, float]) -> str:
    total = sum(rates_rps.values())
    return f"{total:,.0f}" if total >= 100 else f"{total:.3g}"


def _idle(answer: Mapping[str, Any]) -> Iterator[str]:
    for row in answer["systems"]:
        for kind, name in _NAMES.items():
            binding = row[kind]["binding"] if row[kind] else None
            if binding is None or binding["kind"] != "idle":
                continue
            idle_us, slo_us = binding["idle_us"], binding["slo_us"]
            yield ""
            below = (
                f"{idle_us - slo_us:,.1f} us below"
                if idle_us - slo_us >= 0.05
                else "no longer than"
            )
            yield from _wrapped(
                f"No number of {row['system']} servers is enough ({name}): the SLO of "
                f"{binding['name']}, {slo_us:,.1f} us, is {below} its P99 on an idle server, "
                f"{idle_us:,.1f} us."
            )


def _unanswered(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the systems without an answer, which have no closed form."""
    names = [row["system"] for row in answer["systems"] if not any(row[kind] for kind in _NAMES)]
    if names:
        yield ""
        verb = "has" if len(names) == 1 else "have"
        yield from _wrapped(
            f"No answer for {', '.join(names)}, which {verb} no closed form: leave out --quick to"
            " simulate."
        )


def _differences(answer: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (row["system"], difference)
        for row in answer["systems"]
        for difference in row["disagreements"]
    ]
    if not rows:
        return
    yield ""
    yield "Where the answers disagree at the simulated fleet's load: closed form, simulated"
    width = max([_SYSTEM_WIDTH - 2, *(len(system) + 1 for system, _ in rows)])
    for system, difference in rows:
        values = f"{_value(difference['closed_form'])}, {_value(difference['simulated'])}"
        yield f"  {system:{width}}{difference['what']}: {values}"
    for number, why in enumerate(dict.fromkeys(difference["why"] for _, difference in rows)):
        yield from textwrap.wrap(
            why,
            _WIDTH,
            initial_indent="  why: " if number == 0 else "       ",
            subsequent_indent=" " * 7,
        )


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _WIDTH)


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
    return str(value)
