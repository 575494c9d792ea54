"""Write the reference page of all parameters, docs/parameters.md."""

from collections.abc import Iterator, Sequence

from accelflow.parameters import Engine, Parameter

__all__ = ["markdown"]

_HEAD = """\
# Parameters

Every parameter of every model: its unit, its default, what it may be, and where the default comes
from. `accelflow explain KEY` prints the same for one of them. This page is written by
`accelflow explain --markdown docs/parameters.md`; a test compares the two.

Parameters of the simulated server are set by `accelflow compare --set KEY=VALUE`, or in the file of
a chip ([chips.md](chips.md)). What one accelerator has of its own, such as `pes.TCP`, may also be
written `accelerator.TCP.pes`. Choices with names are set by their names, or by their numbers, which
count from 0 in the order of the list. A *constant* is part of a model and cannot be set.

A default is from a `paper`, `derived` from printed figures, `measured`, or `assumed`.
"""

_COLUMNS = "| key | default | allowed | provenance | source |\n|---|---|---|---|---|\n"


def markdown(engines: Sequence[Engine]) -> str:
    """Return a Markdown page of all parameters: a section per engine, a table per group of keys."""
    return "\n".join([_HEAD, _contents(engines), *map(_section, engines)])


def _contents(engines: Sequence[Engine]) -> str:
    lines = []
    for engine in engines:
        anchor = "".join(c for c in engine.title.casefold() if c.isalnum() or c in " -_")
        lines.append(f"- [{engine.title}](#{anchor.replace(' ', '-')})\n")
    return "".join(lines)


def _section(engine: Engine) -> str:
    return "\n".join([f"## {engine.title}\n", *_tables(engine)])


def _tables(engine: Engine) -> Iterator[str]:
    groups: dict[str, list[Parameter]] = {}
    for parameter in engine.parameters:
        groups.setdefault(_group(engine, parameter), []).append(parameter)
    for group, rows in groups.items():
        heading = f"### {group}\n\n" if group else ""
        yield heading + _COLUMNS + "".join(map(_row, rows))


def _group(engine: Engine, parameter: Parameter) -> str:
    """Return the part of the parameter's key before its last dot, unless that is the engine."""
    group = parameter.key.rpartition(".")[0]
    return "" if group == engine.engine else group


def _row(parameter: Parameter) -> str:
    default = (
        f"`{parameter.text(parameter.default)}` {parameter.unit_of(parameter.default)}".rstrip()
    )
    because = f"{parameter.source}. {parameter.why}" if parameter.why else parameter.source
    cells = (f"`{parameter.key}`", default, _allowed(parameter), parameter.provenance, because)
    return "".join(f"| {_cell(cell)} " for cell in cells) + "|\n"


def _allowed(parameter: Parameter) -> str:
    if parameter.kind == "fixed":
        return "constant"
    if not any(choice.meaning for choice in parameter.choices):
        return parameter.allowed
    lines = (
        f"`{choice.label}`: {choice.meaning}" if choice.meaning else f"`{choice.label}`"
        for choice in parameter.choices
    )
    # Names beside a range stand for numbers outside it.
    ranged = parameter.kind == "whole"
    return "<br>".join([parameter.allowed, *lines] if ranged else lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
