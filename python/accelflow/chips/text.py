"""Chips as text: TOML with every parameter, its unit, allowed values and origin."""

import json
import textwrap
from collections.abc import Mapping
from typing import Final

from accelflow.chips.chip import Chip
from accelflow.parameters import Parameter, configured, parameters

__all__ = ["SCHEMA", "chip_text"]

#: The schema of a chip's file.
SCHEMA: Final = "accelflow.chip/1"

_WIDTH: Final = 100

#: The comment above each section.
_SECTIONS: Final[Mapping[str, str]] = {
    "core": "Cores, and the costs of software on them.",
    "accelerator": "All accelerators and their queues.",
    "accelerator.TCP": (
        "Parameters of one accelerator. A value that is commented out is the default: remove its #"
        " to change it. With instances = 0 the chip does not have the accelerator."
    ),
    "exception": "Exceptions that stop an accelerator.",
    "scheduling": "The order of input queues.",
    "tenant": "Limits of tenants.",
    "tcp": "Traces that wait for messages.",
    "dispatcher": "Output dispatchers.",
    "atm": "The trace memory.",
    "network": "Wires and DMA engines.",
    "memory": "The last-level cache and main memory.",
    "tlb": "Address translation.",
    "relief": (
        "The hardware manager of RELIEF, PerAccTypeQ, Direct and CntrFlow. The queue and the"
        " deadlines are those of RELIEF only."
    ),
    "cohort": (
        "The software queues of cohort_polling. The system cohort interrupts its cores instead, and"
        " uses none of these."
    ),
    "payload": "Messages.",
    "facts": "Answers of remote sides, where they are drawn.",
}


def chip_text(chip: Chip) -> str:
    """Return the text of a TOML file for `chip`: all parameters, with comments on their sources.

    Raises InputError for a parameter that does not exist and for a value that is not allowed.
    """
    values = configured(chip.config)
    of_all = {
        parameter.key: values.get(parameter.key, parameter.default) for parameter in parameters()
    }
    sections: dict[str, list[str]] = {}
    for parameter in parameters():
        section, _, name = (parameter.also or parameter.key).rpartition(".")
        lines = sections.setdefault(section, [])
        own = values.get(parameter.key)
        if parameter.also and name != "speedup" and own in (None, parameter.default):
            lines += _proposal(parameter, name, of_all.get(f"accelerator.{name}"))
        else:
            lines += _lines(parameter, name, own)
    text = _head(chip)
    known = list(sections)
    # What one accelerator has follows what all have.
    for section in sorted(known, key=lambda heading: known.index(heading.partition(".")[0])):
        note = _SECTIONS.get(section)
        text += ["", *(_comment(note) if note else []), f"[{section}]", *sections[section]]
    return "\n".join(text) + "\n"


def _head(chip: Chip) -> list[str]:
    head = [
        f"schema = {json.dumps(SCHEMA)}",
        f"name = {json.dumps(chip.name, ensure_ascii=False)}",
        f"description = {json.dumps(chip.description, ensure_ascii=False)}"
        if chip.description
        else '# description = "..."',
    ]
    note = (
        "Every parameter of the simulated server. The comment above a value gives its allowed"
        " values, its unit, and the origin of the default: paper (printed), derived (calculated"
        " from printed figures), measured, or assumed. Omitted parameters keep their defaults;"
        " `accelflow explain KEY` describes one."
    )
    return [*head, "", *_comment(note)]


def _lines(parameter: Parameter, name: str, value: float | None) -> list[str]:
    """The line of a parameter, under a comment on it."""
    shown = parameter.default if value is None else value
    origin = f"{parameter.provenance}: {parameter.source}"
    if value is not None and value != parameter.default:
        origin = f"default {_plain(parameter, parameter.default)}, {origin}"
    return [
        *_comment(f"{parameter.allowed}; {origin}"),
        f"{name} = {_plain(parameter, shown)}",
    ]


def _proposal(parameter: Parameter, name: str, of_all: float | None) -> list[str]:
    """Return the commented-out line of a parameter that one accelerator may override."""
    if of_all is None:
        of_all, about = parameter.default, "0: the time on a core over the speedup"
    else:
        about = "as all accelerators"
    return [
        *_comment(f"{parameter.allowed}; {about}"),
        f"# {name} = {_plain(parameter, of_all)}",
    ]


def _plain(parameter: Parameter, value: float) -> str:
    label = parameter.text(value)
    named = any(choice.name == label for choice in parameter.choices)
    return json.dumps(label) if named else repr(int(value)) if value.is_integer() else repr(value)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
