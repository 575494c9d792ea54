"""Parts that several HTML pages share: settings, parameters, comparisons with the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from accelflow.page import Column, Figure, Section, Table
from accelflow.page.document import Cell
from accelflow.page.plots import bars, dots
from accelflow.parameters import engines

__all__ = [
    "beside_the_paper",
    "configuration",
    "engine_table",
    "settings_table",
    "whisker_bars",
]

#: The cost of a TCP operation in ns, on which the listed costs of the paper's profile depend.
_TCP_COST_NS: Final = 7_000.0


def configuration(
    settings: Mapping[str, Any], *engine_names: str, values: Mapping[str, Any] | None = None
) -> Section:
    """Return the section of a page with the settings and the models' parameters of a result.

    `settings` are those of the result. `engine_names` are the simulators and models that computed
    the result. `values` has the parameters of these models that are not at their defaults, by key;
    if None, they are taken from `settings`.
    """
    given = settings if values is None else values
    tables = [engine_table(name, given) for name in engine_names]
    return Section(title="Configuration", parts=[settings_table(settings), *tables], folded=True)


def settings_table(settings: Mapping[str, Any]) -> Table:
    """Return a table with a row for each setting: its name and value.

    A nested setting has a dotted name, such as ``arrivals.kind``. Settings that are None or empty
    mappings are left out.
    """
    return Table(
        caption="What was asked",
        columns=[Column(name="Setting"), Column(name="Value")],
        rows=[[name, str(value)] for name, value in _flat(settings, "")],
    )


def _flat(settings: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None and value != {}:
            yield f"{prefix}{name}", value


def engine_table(engine: str, values: Mapping[str, Any] | None = None) -> Table:
    """Return a table of the parameters of one simulator or model, with the origin of each value.

    `engine` is the name of the simulator or model. `values` has the changed parameters by key; a
    key may lack the name of the engine before the first dot. Rows whose value is not the default
    are highlighted.
    """
    (found,) = [candidate for candidate in engines(_TCP_COST_NS) if candidate.engine == engine]
    given = dict(_flat(values or {}, ""))
    rows: list[list[Cell]] = []
    marked = set()
    for parameter in found.parameters:
        value = given.get(
            parameter.key, given.get(parameter.key.removeprefix(f"{engine}."), parameter.default)
        )
        if isinstance(value, int | float) and value != parameter.default:
            marked.add(len(rows))
        shown = parameter.text(float(value)) if isinstance(value, int | float) else str(value)
        default = parameter.text(parameter.default)
        rows.append(
            [parameter.key, shown, parameter.unit, default, parameter.provenance, parameter.source]
        )
    return Table(
        caption=found.title,
        columns=[
            Column(name="Parameter", form="code"),
            Column(name="Value", form="written"),
            Column(name="Unit"),
            Column(name="Default", form="written"),
            Column(name="Origin of the default"),
            Column(name="Source"),
        ],
        rows=rows,
        marked=frozenset(marked),
        notes=["`accelflow explain KEY` shows the arithmetic and the allowed values."],
    )


def beside_the_paper(rows: Sequence[tuple[str, str, float]], names: Sequence[str]) -> Figure:
    """Return a plot of the relative differences of our numbers from the paper's.

    Each of `rows` has the number's name, its group (one of `names`), and the difference divided by
    the paper's number: 0.1 is 10 % more. A dot has the colour of its group.
    """
    return Figure(
        title="Differences from the paper's figures",
        text="The relative difference of each of our figures from the paper's. A dot at 0 equals"
        " the paper's figure; a dot to the right is larger.",
        spec={
            **dots(
                names=names,
                colors={},
                rows=list(dict.fromkeys(what for what, _, _ in rows)),
                title="difference from the paper's figure",
                share=True,
            ),
        },
        data={
            "row": [what for what, _, _ in rows],
            "name": [name for _, name, _ in rows],
            "value": [share for _, _, share in rows],
        },
    )


def whisker_bars(
    rows: Sequence[tuple[str, float, float, float, str]],
    *,
    title: str,
    text: str,
    unit: str,
    whiskers: bool = True,
) -> Figure:
    """Return a plot with a bar and a whisker for each of `rows`.

    A row has the bar's name, its value, the low end and the high end of the whisker, and the label
    of the bar. `title` is that of the plot, `text` describes the plot in words, and `unit` is the
    title of the axis. Without `whiskers`, only bars are drawn.
    """
    return Figure(
        title=title,
        text=text,
        spec=bars(
            names=[name for name, *_ in rows],
            colors={},
            value="value",
            title=unit,
            parameters={},
            intervals=whiskers,
        ),
        data={
            "name": [name for name, *_ in rows],
            "value": [value for _, value, *_ in rows],
            "low": [low for _, _, low, _, _ in rows],
            "high": [high for _, _, _, high, _ in rows],
            "end": [max(0.0, value, high) for _, value, _, high, _ in rows],
            "label": [label for *_, label in rows],
        },
    )
