"""Specifications of plots in the grammar of Vega-Lite.

Column names are constants. Users' texts are only values of the data, so that no text becomes a
program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["PALETTE", "Columns", "bars", "dots", "lines", "stacked"]

#: The data of a plot: the sequence of values of each column, by the column's name.
Columns = Mapping[str, Sequence[Any]]

#: Colours with a contrast of at least 3 to 1 on the light and on the dark page (WCAG 2.2, 1.4.11).
#: They are in an order in which neighbours differ for every common kind of colour vision.
PALETTE: Final = (
    "#0072b2",
    "#d55e00",
    "#008f68",
    "#a58300",
    "#c2609a",
    "#808080",
    "#2b8cc4",
    "#b0622a",
    "#7d6bd0",
    "#c23b3b",
    "#3f8f3f",
    "#9d7350",
)
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 2])
_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_ROW_HEIGHT: Final = 30
_WIDE: Final = {"type": "fit-x", "contains": "padding"}


def scale(names: Sequence[str], colors: Mapping[str, str]) -> dict[str, Any]:
    """Return the Vega-Lite colour scale of `names`, in order.

    `colors` has colours by name. Other names take a colour from :data:`PALETTE`.
    """
    unused = [color for color in PALETTE if color not in colors.values()] or list(PALETTE)
    chosen = [colors.get(name, unused[place % len(unused)]) for place, name in enumerate(names)]
    return {"domain": list(names), "range": chosen}


def bars(  # noqa: PLR0913 (options, by name)
    *,
    names: Sequence[str],
    colors: Mapping[str, str],
    value: str,
    title: str,
    parameters: Mapping[str, str | float],
    intervals: bool = False,
    limit: str | None = None,
    mark: str | None = None,
) -> dict[str, Any]:
    """Return the Vega-Lite specification of a plot with a horizontal bar for each of `names`.

    The plot's data has a row for each bar, with its name in the column ``name`` and its length in
    the column called `value`. `title` is the title of the x axis, and `colors` has colours by name.
    `parameters` maps the columns that controls filter by to their initial values. With `intervals`,
    whiskers reach from the column ``low`` to the column ``high``. A dashed line is drawn at the
    largest value of the column called `limit`, and ticks at the values of the column called `mark`.
    The text in the column ``label`` is drawn at the position in the column ``end``.
    """
    y = {"field": "name", "type": "nominal", "sort": list(names), "title": None}
    x = {"field": value, "type": "quantitative", "title": title, "scale": {"zero": True}}
    tooltip = [_tooltip_field("name", "system"), _tooltip_field(value, title)]
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "aria": False},
            "encoding": {
                "x": x,
                "color": {
                    "field": "name",
                    "type": "nominal",
                    "scale": scale(names, colors),
                    "legend": None,
                },
                "tooltip": tooltip,
            },
        }
    ]
    layers += [_interval(title)] * intervals
    layers += [] if mark is None else [_tick(mark)]
    layers.append(
        {
            "mark": {"type": "text", "align": "left", "dx": 6, "aria": False},
            "encoding": {
                "x": {"field": "end", "type": "quantitative", "title": title},
                "text": {"field": "label"},
            },
        }
    )
    layers += [] if limit is None else [_limit(limit)]
    return {
        **_chosen(parameters),
        "height": _ROW_HEIGHT * len(names),
        "autosize": _WIDE,
        "encoding": {"y": y},
        "layer": layers,
    }


def _interval(title: str) -> dict[str, Any]:
    """Return whiskers from the column ``low`` to the column ``high``."""
    return {
        "mark": {"type": "errorbar", "aria": False, "ticks": True},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "title": title},
            "x2": {"field": "high"},
        },
    }


def _tick(column: str) -> dict[str, Any]:
    """Return a short line across each row for which the column has a value."""
    return {
        "transform": [{"filter": f"isValid(datum.{column})"}],
        "mark": {"type": "tick", "aria": False, "thickness": 2, "color": "currentColor"},
        "encoding": {"x": {"field": column, "type": "quantitative"}},
    }


def _limit(column: str) -> dict[str, Any]:
    """Return a dashed line across all rows at the largest value of the column."""
    return {
        "transform": [{"filter": f"isValid(datum.{column})"}],
        "mark": {"type": "rule", "aria": False, "strokeDash": [6, 3], "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": column, "type": "quantitative", "aggregate": "max"},
            "y": {"value": 0},
            "y2": {"value": "height"},
        },
    }


def stacked(
    *,
    names: Sequence[str],
    parts: Sequence[str],
    title: str,
    parameters: Mapping[str, str | float],
    colors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the Vega-Lite specification of a plot with a stacked bar for each of `names`.

    Bars are horizontal, and each is stacked from `parts`. The plot's data has a row for each part
    of a bar, with the columns ``name``, ``part``, ``value`` (the length of the part) and ``place``
    (the part's index in the bar). `title` is the title of the x axis, and `colors` has colours by
    part. `parameters` maps the columns that controls filter by to their initial values.
    """
    return {
        **_chosen(parameters),
        "height": _ROW_HEIGHT * len(names),
        "autosize": _WIDE,
        "mark": {"type": "bar", "aria": False, "style": "segment", "strokeWidth": 1},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": list(names), "title": None},
            "x": {"field": "value", "type": "quantitative", "title": title, "stack": "zero"},
            "color": {"field": "part", "type": "nominal", "scale": scale(parts, colors or {})},
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [
                _tooltip_field("name", "system"),
                _tooltip_field("part", "part"),
                _tooltip_field("value", title),
            ],
        },
    }


def dots(  # noqa: PLR0913 (options, by name)
    *,
    names: Sequence[str],
    colors: Mapping[str, str],
    rows: Sequence[str],
    title: str,
    log: bool = False,
    share: bool = False,
    limit: str | None = None,
    parameters: Mapping[str, str | float] | None = None,
) -> dict[str, Any]:
    """Return the Vega-Lite specification of a plot with a row of dots for each of `rows`.

    The plot's data has an entry for each dot, with the columns ``row``, ``name`` (which sets the
    colour) and ``value`` (the position on the x axis). `title` is the title of the x axis, which is
    logarithmic with `log`, and in per cent with `share`. `limit` is the column at whose values
    ticks are drawn. `parameters` maps the columns that controls filter by to their initial values.
    """
    kind = {"type": "log", "nice": False, "padding": 10} if log else {"zero": True}
    # Without a precision, Vega shows as many digits as neighbouring ticks need to differ.
    axis: dict[str, Any] = {"format": "%"} if share else {}
    x = {"field": "value", "type": "quantitative", "title": title, "scale": kind, "axis": axis}
    series = {"field": "name", "type": "nominal", "scale": scale(names, colors)}
    shapes = [_SHAPES[place % len(_SHAPES)] for place in range(len(names))]
    shape = {"field": "name", "type": "nominal", "scale": {"domain": names, "range": shapes}}
    tooltip = {"field": "value", "title": title, "format": ".3~p" if share else ",.1f"}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "point", "filled": True, "size": 75, "opacity": 0.9, "aria": False},
            "encoding": {
                "x": x,
                "color": series,
                "shape": shape,
                "tooltip": [_tooltip_field("row", "of"), _tooltip_field("name", "system"), tooltip],
            },
        }
    ]
    layers += [] if limit is None else [_tick(limit)]
    return {
        **_chosen(parameters or {}),
        "height": 24 * len(rows),
        "autosize": _WIDE,
        "encoding": {
            "y": {"field": "row", "type": "nominal", "sort": list(rows), "title": None},
        },
        "layer": layers,
    }


def lines(  # noqa: PLR0913 (options, by name)
    *,
    names: Sequence[str],
    colors: Mapping[str, str],
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    parameters: Mapping[str, str | float] | None = None,
    cursor: str | None = None,
    points: bool = False,
    steps: bool = False,
    limit: str | None = None,
) -> dict[str, Any]:
    """Return the Vega-Lite specification of a plot with a line for each of `names`.

    The plot's data has the lines' points, with the columns ``name``, ``x`` and ``y``. Lines differ
    in colour and dashes. `x` and `y` are Vega-Lite encodings with a ``title`` and without field and
    type. `cursor` is the name of a parameter: a horizontal line is drawn where y equals the
    parameter's value, with a dot on each of the lines. A dashed horizontal line is at the largest
    value of the column called `limit`. `points` marks each value. With `steps`, a value holds until
    the next. `parameters` maps the columns that controls filter by to their initial values.
    """
    held = {"interpolate": "step-after", "strokeWidth": 1.5} if steps else {"strokeWidth": 2}
    dashes = [_DASHES[place % len(_DASHES)] for place in range(len(names))]
    of_x = {"field": "x", "type": "quantitative", **x}
    of_y = {"field": "y", "type": "quantitative", **y}
    order = "x" if cursor is None else "y"
    legend = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolSize": 300}
    color = {"field": "name", "type": "nominal", "scale": scale(names, colors), "legend": legend}
    dash = {"field": "name", "type": "nominal", "scale": {"domain": list(names), "range": dashes}}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "aria": False, **held},
            "encoding": {
                "x": of_x,
                "y": of_y,
                "color": color,
                "strokeDash": dash,
                "order": {"field": order, "type": "quantitative"},
            },
        }
    ]
    tooltip = [
        _tooltip_field("name", "of"),
        _tooltip_field("x", str(x["title"])),
        _tooltip_field("y", str(y["title"])),
    ]
    if points:
        layers.append(
            {
                "mark": {"type": "point", "filled": True, "size": 40, "aria": False},
                "encoding": {"x": of_x, "y": of_y, "color": color, "tooltip": tooltip},
            }
        )
    if cursor is not None:
        layers += _cursor(cursor, of_x, of_y, color, tooltip[:2])
    if limit is not None:
        layers.append(
            {
                "transform": [{"filter": f"isValid(datum.{limit})"}],
                "mark": {"type": "rule", "aria": False, "strokeDash": [6, 3]},
                "encoding": {"y": {"field": limit, "type": "quantitative", "aggregate": "max"}},
            }
        )
    return {**_chosen(parameters or {}, every=cursor), "height": 300, "layer": layers}


def _cursor(
    name: str,
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    color: Mapping[str, Any],
    tooltip: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return a line where y equals the parameter `name`, and a dot where it crosses each line."""
    here = [{"filter": f"datum.y === {name}"}]
    return [
        {
            "transform": here,
            "mark": {"type": "rule", "aria": False, "strokeDash": [3, 3]},
            "encoding": {"y": {**y, "aggregate": "max"}},
        },
        {
            "transform": here,
            "mark": {"type": "point", "filled": True, "size": 70, "aria": False},
            "encoding": {"x": x, "y": y, "color": color, "tooltip": list(tooltip)},
        },
    ]


def _chosen(parameters: Mapping[str, str | float], every: str | None = None) -> dict[str, Any]:
    """Return the parameters of a plot, and the filters that keep the rows which they select.

    The parameter called `every` filters nothing.
    """
    declared = [{"name": name, "value": value} for name, value in parameters.items()]
    kept = [{"filter": f"datum.{name} === {name}"} for name in parameters if name != every]
    return {"params": declared, "transform": kept}


def _tooltip_field(field: str, title: str) -> dict[str, str]:
    kind = {"format": ",.4~r"} if field in ("value", "x", "y", "us") else {}
    return {"field": field, "title": title, **kind}
