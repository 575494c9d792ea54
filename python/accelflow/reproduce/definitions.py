"""Definitions of experiments: what they simulate, measure, and compare with the paper.

Each experiment is a file ``python/accelflow/experiments/NAME.toml``; docs/reproduce.md describes
its form. Unknown keys and values are refused; the message names the place and the allowed values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from typing import Any

from accelflow import simulation
from accelflow.errors import LEFT_OUT, InputError, one_of, refused
from accelflow.files import parse_toml
from accelflow.findings import Reason
from accelflow.findings.targets import targets
from accelflow.reproduce.measures import FORMS, SUMMARIES, check_measure
from accelflow.reproduce.reasons import read_reason
from accelflow.reproduce.sections import Section
from accelflow.reproduce.tables import TABLES

__all__ = [
    "Also",
    "Cell",
    "Check",
    "Definition",
    "Plot",
    "Point",
    "Row",
    "Slo",
    "load",
    "names",
    "parse",
]

#: The kinds of experiments: simulations at given loads, searches for the highest load, and tables
#: without a simulation.
KINDS = ("simulation", "throughput", "static")
#: The forms of an experiment's picture.
PLOTS = ("bars", "lines", "stack", "range")
#: What a bar of a picture may stand for: a service, or the server if its services share the figure.
PLOTTED_PER = ("service", "server")
#: The directions of a trend.
DIRECTIONS = ("rises", "falls")
#: The fields of :class:`accelflow.simulation.Scenario` that an experiment's file may set; the
#: scenario and the budget of the evaluation set the others.
SETTABLE = frozenset(field_of.name for field_of in fields(simulation.Scenario)) - {
    "by_rate",
    "orchestrators",
    "profile",
    "recording",
    "remote",
    "requests",
    "seed",
    "sizes",
    "slo_us",
    "tcp_cost_ns",
}
#: The value of `arrivals` in a file for the paper's production load, whose arrivals the scenario
#: of the evaluation chooses.
PRODUCTION = "production"


@dataclass(frozen=True)
class Point:
    """One value of the parameter that an experiment varies, such as one load of several.

    `label` is the point's name. `settings` are settings of the simulation at this point, in
    addition to :attr:`Definition.setup`, which all points share. `speedup_factor` multiplies the
    speedup of every accelerator.
    """

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: The factor by which the speedup of every accelerator is multiplied.
    speedup_factor: float = 1.0


@dataclass(frozen=True)
class Cell:
    """One simulation of an experiment: the name of a `system` and the label of a `point`.

    In a statement about a trend, `point` is empty, since the statement is about several points.
    """

    system: str
    point: str


@dataclass(frozen=True)
class Row:
    """The definition of one of our figures, to compare with a figure that the paper reports.

    `target` is the key of the reported figure. Our figure is computed from `measure` in the results
    of the cell `of` (a system at a point). The `form` ``value`` is the measure itself. ``ratio``
    and ``reduction`` compare it with the same measure, or with `to_measure` if not empty, in the
    cell `to`. `summary` combines the services: ``mean`` or ``max``. `also` has other ways to
    compute the figure. `label` says which figure it is if the key does not.

    A row of a user's workload has no reported figure. Its `target` then begins with ``own.``, and
    `unit` is the unit of our figure.
    """

    target: str
    measure: str
    form: str
    summary: str
    of: Cell
    to: Cell | None
    also: tuple[Also, ...] = ()
    unit: str = ""
    to_measure: str = ""
    label: str = ""


@dataclass(frozen=True)
class Also:
    """Another way to compute a figure: `row` defines it, and `says` describes it in words."""

    says: str
    row: Row


@dataclass(frozen=True)
class Check:
    """A statement that the paper makes in words (`says`), in a form that can be checked.

    The form is one of four, by `kind`:

    - ``order``: the `groups` name systems; `measure` at `point` rises (or falls, by `direction`)
      from group to group. Systems within a group may have any order.
    - ``ranking``: the `groups` name measures, which rise or fall in this order for the system and
      point of `row`.
    - ``trend``: the figure of `row` rises or falls over `points`. Each of these is a pair: a point,
      and the point that the figure compares it with.
    - ``most``: the figure of `row` for each of `services` is larger than its mean over all services
      that are not in `services`.

    `why_not` is the recorded reason why the statement does not hold in our results; None if it
    should hold.
    `also` has checks of the same statement with figures that are computed in other ways.
    """

    says: str
    kind: str
    measure: str
    groups: tuple[tuple[str, ...], ...] = ()
    point: str = ""
    row: Row | None = None
    direction: str = "rises"
    points: tuple[tuple[str, str], ...] = ()
    services: tuple[str, ...] = ()
    why_not: Reason | None = None
    also: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Plot:
    """The description of an experiment's picture.

    `form` is one of :data:`PLOTS`. The picture shows `measures`; `star` is another measure, drawn
    as stars. `y` and `x` are the titles of the axes. `log` makes the y axis logarithmic. The
    picture is `width_in` inches wide. `per` says what a bar stands for, a service or a server.
    `points` are the labels of the points to draw; empty for all.
    """

    form: str
    measures: tuple[str, ...]
    y: str
    x: str = ""
    star: str | None = None
    log: bool = False
    width_in: float = 7.5
    #: What a bar stands for, one of :data:`PLOTTED_PER`.
    per: str = "service"
    #: The labels of the points that are drawn; empty for all.
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slo:
    """A service-level objective: `factor` times a service's mean response time on an idle server.

    The idle server has the settings of the point with the label `point`, and the system that the
    scenario of the evaluation chooses. `low_rps` and `high_rps` are the lowest and highest rate, in
    requests per second, that a search for the highest load tries; 0 without a search.
    """

    point: str
    factor: float
    low_rps: float
    high_rps: float


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One experiment of the paper, as its TOML file defines it.

    `name` identifies the experiment, `title` is its heading, `place` the figure, table or section
    of the paper, and `note` a remark. `kind` is one of :data:`KINDS`.

    Each of `systems` is simulated at each of `points` (the values of the varied parameter), with
    the settings in `setup`. A `long_run` experiment, about rare events, begins with four times the
    budget's requests. `slo` is the SLO for a search or for deadlines, or None. An experiment
    without a simulation has instead the name of a `table` to compute.

    `measures` are reported for each service, `rows` and `checks` are compared with the paper, and
    `plot` describes the picture. `paper_only` is the reason why the experiment applies only to the
    paper's services; empty if it applies to any workload.
    """

    name: str
    title: str
    place: str
    kind: str
    note: str
    systems: tuple[str, ...]
    setup: Mapping[str, Any]
    points: tuple[Point, ...]
    measures: tuple[str, ...]
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    plot: Plot | None
    table: str | None
    slo: Slo | None
    long_run: bool
    paper_only: str = ""

    @property
    def tails(self) -> bool:
        """Whether the experiment shows P99s at given loads; searches for a load do not count."""
        return self.kind != "throughput" and "p99_us" in self.measures


def names() -> list[str]:
    """Return the names of all experiments: figures and then tables by number, then the others."""
    files = resources.files("accelflow.experiments").iterdir()
    found = [file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")]
    return sorted(set(found) - {"notes", "paper-targets", "reasons", "uncovered"}, key=_rank)


def _rank(name: str) -> tuple[int, int, str]:
    for place, prefix in enumerate(("fig", "table")):
        number = name.removeprefix(prefix)
        if number != name and number.isdecimal():
            return place, int(number), name
    return 2, 0, name


def load(name: str) -> Definition:
    """Return the experiment called `name`. Raises InputError for an unknown name."""
    one_of("experiment", name, names())
    file = resources.files("accelflow.experiments").joinpath(f"{name}.toml")
    return parse(name, file.read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Definition:
    """Return the experiment `name` that `text`, the content of its file, defines.

    Raises InputError for a text that is not TOML, for a missing or unknown key, and for a value
    that is not allowed.
    """
    try:
        tree = parse_toml(text)
    except ValueError as error:
        raise InputError(f"{name}.toml: {error}") from error
    root = Section(tree, f"{name}.toml")
    definition = _read(name, root)
    root.end()
    return definition


def _read(name: str, root: Section) -> Definition:
    kind = root.choice("kind", KINDS)
    table = root.choice("table", tuple(TABLES)) if kind == "static" else None
    setup = root.table("setup", needed=kind != "static")
    known = [system for system, _ in simulation.systems()]
    systems = setup.choices("systems", known) if kind != "static" else ("",)
    settings = _settings(setup)
    setup.end()
    points = tuple(_point(inner) for inner in root.tables("point")) or (Point(""),)
    labels = [point.label for point in points]
    repeated = next((label for label in labels if labels.count(label) > 1), None)
    if repeated is not None:
        raise InputError(f"{root.place}: label = '{repeated}': given to several points")
    measures = tuple(root.strings("measures")) if kind != "static" else ()
    for measure in measures:
        check_measure(measure, f"{root.place}: measures")
    scope = _Scope(systems, labels, frozenset(measures) if kind != "static" else None)
    rows = [_row(inner, scope) for inner in root.tables("row")]
    section = root.string("section", "")
    if section:
        rows += _section_rows(section, root.place)
    return Definition(
        name=name,
        title=root.string("title"),
        place=root.string("place"),
        kind=kind,
        note=root.string("note", ""),
        systems=systems,
        setup=settings,
        points=points,
        measures=measures,
        rows=tuple(rows),
        checks=(
            *(_order(inner, scope) for inner in root.tables("order")),
            *(_trend(inner, scope) for inner in root.tables("trend")),
            *(_ranking(inner, scope) for inner in root.tables("ranking")),
            *(_most(inner, scope) for inner in root.tables("most")),
        ),
        plot=_plot(root.table("plot", needed=False), scope),
        table=table,
        slo=_slo(root.table("slo", needed=kind == "throughput"), labels, kind),
        long_run=root.flag("long_run"),
        paper_only=root.string("paper_only", ""),
    )


@dataclass(frozen=True)
class _Scope:
    """The systems, points and measures that the rows and checks of a file may name."""

    systems: Sequence[str]
    points: Sequence[str]
    measures: frozenset[str] | None

    def measure(self, table: Section) -> str:
        if self.measures is None:
            return table.string("measure")
        return table.choice("measure", sorted(self.measures))

    def cell(self, table: Section) -> Cell:
        """Read a cell; its system and point may be omitted if there is only one."""
        system = table.choice("system", self.systems, self.systems[0] if self._one_system else None)
        point = table.choice("point", self.points, self.points[0] if self._one_point else None)
        table.end()
        return Cell(system, point)

    def any_point(self, table: Section) -> Cell:
        """Read a cell of a trend, which has no point since it means all points."""
        system = table.choice("system", self.systems, self.systems[0] if self._one_system else None)
        table.end()
        return Cell(system, "")

    @property
    def _one_system(self) -> bool:
        return len(self.systems) == 1

    @property
    def _one_point(self) -> bool:
        return len(self.points) == 1


def _settings(table: Section) -> Mapping[str, Any]:
    """Read fields of a simulation; the simulation checks their values."""
    found = {key: table.take(key) for key in sorted(SETTABLE) if key in table}
    checked = dict(found)
    if checked.get("arrivals") == PRODUCTION:
        # The scenario checks its own arrivals.
        del checked["arrivals"]
        if "rates" not in found:
            rates = ", ".join(simulation.RATES)
            raise refused(
                f"{table.place}.rates",
                LEFT_OUT,
                f"must be one of {rates}, since arrivals = '{PRODUCTION}': the rule by which"
                " services share their mean rate",
            )
    simulation.check(simulation.Scenario(**checked))
    return found


def _point(table: Section) -> Point:
    label = table.string("label")
    factor = table.number("speedup_factor", 1.0)
    point = Point(label, _settings(table), factor)
    table.end()
    return point


def _row(table: Section, scope: _Scope) -> Row:
    target = table.choice("target", [row.removeprefix("accelflow.") for row in targets()])
    label = table.string("label", "")
    row = _figure(table, scope, f"accelflow.{target}", scope.cell)
    also = tuple(_also(inner, scope, row) for inner in table.tables("also"))
    table.end()
    return replace(row, also=also, label=label)


def _also(table: Section, scope: _Scope, row: Row) -> Also:
    """Read another definition of the figure of `row`; missing fields are those of `row`."""
    says = table.string("says")
    form = table.choice("form", FORMS, row.form)
    of = table.table("of", needed=False)
    to = table.table("to", needed=form != "value" and row.to is None)
    to_measure = scope.measure(to) if to.present and "measure" in to else row.to_measure
    other = Row(
        target=row.target,
        measure=scope.measure(table) if "measure" in table else row.measure,
        form=form,
        summary=table.choice("summary", SUMMARIES, row.summary),
        of=scope.cell(of) if of.present else row.of,
        to=scope.cell(to) if to.present else row.to if form != "value" else None,
        to_measure=to_measure if form != "value" else "",
    )
    table.end()
    return Also(says, other)


def _figure(table: Section, scope: _Scope, target: str, cell: Any) -> Row:
    form = table.choice("form", FORMS, "value")
    measure, summary = scope.measure(table), table.choice("summary", SUMMARIES, "mean")
    of = cell(table.table("of", needed=False))
    if form == "value":
        return Row(target, measure, form, summary, of, None)
    to = table.table("to")
    to_measure = scope.measure(to) if "measure" in to else ""
    return Row(target, measure, form, summary, of, cell(to), to_measure=to_measure)


def _section_rows(section: str, place: str) -> list[Row]:
    prefix = f"accelflow.{section}."
    found = [row for row in targets() if row.startswith(prefix)]
    if not found:
        known = sorted({row.split(".")[1] for row in targets() if row.startswith("accelflow.")})
        raise refused(f"{place}: section", section, known=known)
    cell = Cell("", "")
    return [Row(row, row.removeprefix(prefix), "value", "mean", cell, None) for row in found]


def _order(table: Section, scope: _Scope) -> Check:
    check = Check(
        says=table.string("says"),
        kind="order",
        groups=_groups(table, "systems", scope.systems),
        measure=scope.measure(table),
        point=table.choice("point", scope.points, scope.points[0]),
        direction=table.choice("direction", DIRECTIONS, "rises"),
        why_not=_why_not(table),
    )
    table.end()
    return check


def _groups(table: Section, key: str, known: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Read names that must be in order; names in an inner list may have any order."""
    groups = table.take(key)
    if not isinstance(groups, list) or len(groups) < 2:
        raise refused(f"{table.place}.{key}", groups, "must be a list of two or more names")
    split = tuple(tuple(group) if isinstance(group, list) else (group,) for group in groups)
    for name in (name for group in split for name in group):
        one_of(f"{table.place}.{key}", name, known)
    return split


def _why_not(table: Section) -> Reason | None:
    if "why_not" not in table:
        return None
    return read_reason(table.take("why_not"), f"{table.place}.why_not")


def _trend(table: Section, scope: _Scope) -> Check:
    also = tuple(_trend(inner, scope) for inner in table.tables("also"))
    row = _figure(table, scope, "", scope.any_point)
    check = Check(
        says=table.string("says"),
        kind="trend",
        measure=row.measure,
        row=row,
        direction=table.choice("direction", DIRECTIONS),
        points=_pairs(table, scope),
        why_not=_why_not(table),
        also=also,
    )
    table.end()
    return check


def _pairs(table: Section, scope: _Scope) -> tuple[tuple[str, str], ...]:
    """Read a trend's points (default: all), each with its point of comparison (default: itself)."""
    points = table.choices("points", scope.points) if "points" in table else tuple(scope.points)
    others = points
    if "to_points" in table:
        others = table.choices("to_points", scope.points)
    if len(points) < 2:
        raise refused(f"{table.place}.points", list(points), "must be two or more points")
    if len(points) != len(others):
        allowed = f"must be as many as `points` has: {len(points)}"
        raise refused(f"{table.place}.to_points", list(others), allowed)
    return tuple(zip(points, others, strict=True))


def _ranking(table: Section, scope: _Scope) -> Check:
    of = scope.cell(table.table("of", needed=False))
    check = Check(
        says=table.string("says"),
        kind="ranking",
        measure="",
        groups=_groups(table, "measures", sorted(scope.measures or ())),
        row=Row("", "", "value", "mean", of, None),
        direction=table.choice("direction", DIRECTIONS, "rises"),
        why_not=_why_not(table),
    )
    table.end()
    return check


def _most(table: Section, scope: _Scope) -> Check:
    row = _figure(table, scope, "", scope.cell)
    check = Check(
        says=table.string("says"),
        kind="most",
        measure=row.measure,
        row=row,
        services=tuple(table.strings("services")),
        why_not=_why_not(table),
    )
    table.end()
    if not check.services:
        raise refused(f"{table.place}.services", [], "must name at least one service")
    return check


def _plot(table: Section, scope: _Scope) -> Plot | None:
    if not table.present:
        return None
    plot = Plot(
        form=table.choice("form", PLOTS),
        measures=tuple(table.strings("measures")),
        y=table.string("y"),
        x=table.string("x", ""),
        star=table.string("star", "") or None,
        log=table.flag("log"),
        width_in=table.number("width_in", 7.5),
        per=table.choice("per", PLOTTED_PER, "service"),
        points=tuple(table.choices("points", scope.points)) if "points" in table else (),
    )
    shown = {f"measures[{number}]": measure for number, measure in enumerate(plot.measures)}
    if plot.star:
        shown["star"] = plot.star
    for key, measure in shown.items():
        if scope.measures is not None and measure not in scope.measures:
            raise refused(f"{table.place}.{key}", measure, known=sorted(scope.measures))
    table.end()
    return plot


def _slo(table: Section, points: Sequence[str], kind: str) -> Slo | None:
    if not table.present:
        return None
    searches = kind == "throughput"
    slo = Slo(
        point=table.choice("point", points, points[0]),
        factor=table.number("factor"),
        low_rps=table.number("low_rps") if searches else 0.0,
        high_rps=table.number("high_rps") if searches else 0.0,
    )
    table.end()
    if searches and not 0 < slo.low_rps < slo.high_rps:
        allowed = f"must be above 0 and below high_rps = {slo.high_rps:g}"
        raise refused(f"{table.place}.low_rps", slo.low_rps, allowed)
    return slo
