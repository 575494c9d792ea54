"""`accelflow compare`: one workload under several orchestrators."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from rich.console import Console

from accelflow import _native, comparing, report, simulation
from accelflow.calibration import calibrated, calibration_of
from accelflow.cli import offered
from accelflow.cli.assignments import read_settings
from accelflow.cli.chosen import chosen_chips
from accelflow.cli.doubts import plain_warnings
from accelflow.cli.experiments import may_replace
from accelflow.cli.naming import file_once, left_out
from accelflow.cli.output import Output, bar
from accelflow.cli.pages import REPORT, check_report, page_samples
from accelflow.cli.pages import written as written_page
from accelflow.cli.places import check_apart, check_place, written_as
from accelflow.cli.precise import (
    asked_precision,
    check_reached,
    check_samples_file,
    kept_in,
    length_options,
    rounds_shown,
    warmup_of,
    with_samples,
)
from accelflow.cli.recorded import recorded
from accelflow.cli.timeline import check_timeline, timeline_options, write_timeline
from accelflow.effects import check_effects
from accelflow.errors import GIVEN, LEFT_OUT, InputError, refused, unwritable
from accelflow.files import alone_in, parse_json, read_text, write_whole
from accelflow.page import command_line
from accelflow.precision import Precision, check_replications
from accelflow.report import Comparison, write_json, write_parquet
from accelflow.report.export import to_json
from accelflow.scenario import resolved
from accelflow.time_limit import TimeLimit

if TYPE_CHECKING:
    import pyarrow as pa

#: The defaults of the options are those of :class:`accelflow.simulation.Scenario`.
_DEFAULT = simulation.Scenario()


@click.command("compare")
@click.argument("workload", required=False, shell_complete=offered.workloads)
@file_once(
    "--scenario",
    "scenario_file",
    text="Take WORKLOAD and options from a scenario (TOML or JSON); options override them.",
)
@file_once(
    "--save-scenario",
    "saved_file",
    text="Write WORKLOAD and the options to this file, for --scenario.",
    metavar="FILE.json",
    kind=written_as(".json"),
)
@click.option(
    "--orchestrator",
    "orchestrators",
    multiple=True,
    metavar="NAME",
    help="Simulate this orchestrator; repeatable. Default: the paper's five and Ideal."
    " per_acc_type_q, direct and cntr_flow are the steps from RELIEF to AccelFlow;"
    " direct_list is the system Direct of the paper's Fig. 3.",
    shell_complete=offered.orchestrators,
)
@click.option(
    "--service",
    "services",
    multiple=True,
    metavar="NAME",
    help="Simulate this service; repeatable.",
    shell_complete=offered.services,
)
@click.option(
    "--profile",
    type=click.Choice(simulation.PROFILES),
    help="Source of the costs: measured on this machine, or the paper's shares. Default: as a"
    " workload's file states costs, measured for socialnetwork, else paper.",
)
@file_once(
    "--recording",
    "recording_file",
    text="Take costs from a recording, written by `accelflow record` or an earlier comparison.",
)
@click.option(
    "--recalibrate", is_flag=True, help="Measure costs again, even if measured ones are saved."
)
@click.option(
    "--chip",
    "--config",
    "chip_places",
    multiple=True,
    metavar="FILE",
    help="The chip: a file, or a name listed by `accelflow chip list`. Repeat it to compare chips.",
    shell_complete=offered.chips,
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a server parameter of all chips, overriding --chip: accelerator.pes=4,"
    " accelerator.TCP.pes=16, core.balancing=random; repeatable.",
    shell_complete=offered.settings,
)
@click.option(
    "--placement",
    default=_DEFAULT.placement,
    show_default=True,
    metavar="NAME",
    help="colocated: all services on one server; isolated: one server each.",
    shell_complete=offered.names(simulation.PLACEMENTS),
)
@click.option(
    "--arrivals",
    metavar="NAME",
    help="How requests arrive: poisson; short_bursts; alibaba and azure: bursts fitted to traces of"
    " these clouds. Default: as set by WORKLOAD, else poisson.",
    shell_complete=offered.names(simulation.ARRIVALS),
)
@click.option(
    "--rate",
    "rate_rps",
    type=float,
    show_default=f"{simulation.PAPER_RATE_RPS:g}; serverless {simulation.SERVERLESS_RATE_RPS:g};"
    " as a workload's file states",
    help="Mean requests per second of the services that clients call. Services called only by"
    " other services do not count.",
)
@click.option(
    "--rates",
    metavar="NAME",
    help="How services share the rate: equal; own: as their rates in the file; alibaba"
    " (socialnetwork); azure (serverless). Default: alibaba for socialnetwork with --profile"
    " paper and no --rate, own for a file with rates, else equal.",
    shell_complete=offered.names(simulation.RATES),
)
@click.option(
    "--recorded-times",
    type=click.Choice(simulation.RECORDED_TIMES),
    help="median: each step takes its recorded median. distribution: each step's time is drawn,"
    " and the recorded time outside steps is added. Default: median.",
)
@click.option(
    "--facts",
    metavar="NAME",
    help="How branches go. common: the most common path. drawn: cache hits, errors and compression"
    " are drawn for each request. recorded: each request has the hits, errors and compression of a"
    " random request in --recording."
    " Default: drawn for a file with odds, else common.",
    shell_complete=offered.names(simulation.FACTS),
)
@click.option(
    "--tcp-cost",
    "tcp_cost_ns",
    type=float,
    show_default=f"{simulation.ASSUMED_TCP_COST_NS:g}",
    help="With --profile paper: core time of one TCP operation, in ns; scales all other costs.",
)
@click.option(
    "--sizes",
    metavar="NAME",
    help="Payload sizes: socialnetwork; fleet: sizes up to 64 KiB that Google's services compress;"
    " fleet_whole: all sizes that they compress; hypercompressbench: those of this benchmark."
    " Default: socialnetwork for that workload, as a workload's file states sizes, else fleet.",
    shell_complete=offered.names(simulation.SIZES),
)
@click.option(
    "--remote",
    metavar="NAME",
    help="Waits for other servers: short (5 us) or socialnetwork (traced). short_drawn and"
    " socialnetwork_drawn draw each wait. Default: as set by WORKLOAD, else short.",
    shell_complete=offered.names(simulation.REMOTES),
)
@click.option(
    "--requests",
    type=int,
    default=_DEFAULT.requests,
    show_default=True,
    help="Number of requests of a service with the mean rate; other services run for the same"
    " time. The first requests are warm-up (--warmup).",
)
@length_options
@click.option(
    "--policy",
    metavar="NAME",
    help="Order of input queues: fifo; priority; edf: earliest deadline first; deadline: an entry"
    " that would be late swaps places with an earlier one that has slack. Default: as in"
    " --chip, else fifo.",
    shell_complete=offered.names(simulation.POLICIES),
)
@click.option(
    "--slo-factor",
    type=float,
    default=_DEFAULT.slo_factor,
    show_default=True,
    help="SLO of each service that states none, as a multiple of its mean response time on an idle"
    " server.",
)
@click.option(
    "--seed", type=int, default=_DEFAULT.seed, show_default=True, help="Seed of all random numbers."
)
@click.option(
    "--seeds",
    type=click.IntRange(1, comparing.MAX_SEEDS),
    default=1,
    show_default=True,
    help="Number of seeds, from --seed on. With several, results are means with 95 % confidence"
    " intervals, and counts are sums.",
)
@click.option(
    "--threads",
    type=int,
    default=os.cpu_count() or 1,
    show_default="one a core",
    help="Number of worker threads; does not change results.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out"),
    show_default=True,
    help="Folder for results and plots. Results of another scenario are kept; the new files then"
    " get the next free number.",
)
@click.option(
    "--spans",
    "spans_file",
    type=written_as(".jsonl", ".json", ".ndjson"),
    metavar="FILE",
    help="Write the requests of the first seed as spans, in OTLP JSON lines; needs exactly one"
    " --orchestrator, and at most one --chip.",
)
@REPORT
@click.option(
    "--loads",
    metavar="LIST",
    help="Multiples of the load for the load curves of --report, or none. Each runs a tenth of the"
    " requests. Default: 0.5,1,1.5,2,3,4; none if WORKLOAD has arrival times.",
)
@click.option("--by-service", is_flag=True, help="Also print a row for each service.")
@timeline_options
@click.option("--json", "as_json", is_flag=True, help="Print only the results, as JSON.")
@click.pass_context
def compare(context: click.Context, /, **options: Any) -> None:
    """Compare orchestrators on WORKLOAD and write table, files and plot.

    WORKLOAD is socialnetwork, hotelreservation, mediaservices, trainticket, serverless or usuite,
    or a file of your own, such as shop.toml. `accelflow service new shop` writes such a file.
    """
    started = time.monotonic()
    console = Console(stderr=True)
    out, threads = options["out"], options["threads"]
    _check_shown(context)
    with plain_warnings():
        scenario = simulation.loaded(_asked_for(context, options["scenario_file"]))
    simulation.check(scenario, threads)
    check_effects(scenario)
    check_place(out)
    check_report(options["report_file"])
    loads = _loads_asked(options["loads"], options["report_file"], scenario)
    check_timeline(options)
    check_samples_file(options["samples_file"], options["report_file"])
    _check_apart(scenario, options)
    asked = asked_precision(context)
    spans_file = options["spans_file"]
    _check_spans(scenario, spans_file)
    _check_costs(context, scenario)
    _check_slo_factor(context, scenario)
    if options["saved_file"]:
        simulation.write_scenario(scenario, options["saved_file"])
    if scenario.costs == "measured" and scenario.recording is None:
        recording = _measured(console, anew=options["recalibrate"])
        scenario = replace(scenario, recording=recording, profile="measured")
    for lack in _lacks(scenario):
        warning = f"accelflow: warning: {lack}"
        console.print(warning, highlight=False, markup=False, soft_wrap=True)
    # First, as it is refused sooner than a comparison ends.
    timeline_file = write_timeline(scenario, options)
    comparison = _compared(context, scenario, console, asked, loads)
    written = _write(comparison, scenario.recording, out)
    if spans_file:
        _write_spans(scenario, spans_file)
    extras = (options["saved_file"], options["samples_file"], spans_file, timeline_file)
    written += [file for file in extras if file]
    if options["as_json"]:
        click.echo(to_json(comparison), nl=False)
    else:
        report.print_comparison(comparison, Output(), by_service=options["by_service"])
    wrote = f"wrote {', '.join(str(path) for path in written)}"
    console.print(wrote, highlight=False, markup=False, soft_wrap=True)
    if options["report_file"]:
        _write_page(comparison, options["report_file"])
    console.print(f"took {time.monotonic() - started:.1f} s", highlight=False)
    check_reached(comparison, context)


def _compared(
    context: click.Context,
    scenario: simulation.Scenario,
    console: Console,
    asked: Precision | None,
    loads: Sequence[float],
) -> Comparison:
    """Run the comparison, also at `loads`; write single requests if --samples names a file."""
    options = context.params
    limit = TimeLimit(options["time_limit_s"])

    def run(samples_to: Callable[[pa.Table], None] | None = None) -> Comparison:
        with bar(console, "simulating") as advance:
            return comparing.compare(
                scenario,
                seeds=options["seeds"],
                precision=options["precision"],
                time_limit_s=options["time_limit_s"],
                keep_in=kept_in(context),
                mser5=warmup_of(context)[1],
                exact=_EXACT[options["percentiles"]],
                samples=_kept(scenario, options),
                samples_to=samples_to,
                use_over_time=options["report_file"] is not None,
                threads=options["threads"],
                progress=advance,
                on_round=rounds_shown(console, asked),
            )

    samples_file = options["samples_file"]
    comparison = with_samples(samples_file, run) if samples_file else run()
    if not loads:
        return comparison
    with bar(console, "simulating other loads") as advance:
        found = comparing.at_loads(
            scenario, loads, threads=options["threads"], progress=advance, limit=limit
        )
    if len(found) < len(set(loads)):
        late = f"accelflow: warning: --time-limit {limit}: the load curves have only"
        late += f" {len(found)} of {len(set(loads))} loads"
        console.print(late, highlight=False, markup=False, soft_wrap=True)
    return replace(comparison, loads=found)


#: The engine's option for each value of `--percentiles`.
_EXACT: Final = {None: None, "exact": True, "binned": False}


def _kept(scenario: simulation.Scenario, options: Mapping[str, Any]) -> int:
    """Return how many single requests of each service a page needs; 0 without --report."""
    seeds = options["seeds"]
    if options["precision"]:
        seeds = check_replications(seeds)
    return page_samples(scenario, seeds) if options["report_file"] else 0


def _write_page(comparison: Comparison, file: Path) -> None:
    from accelflow.report.page import comparison_page  # noqa: PLC0415 (seldom needed)

    written_page(comparison_page(comparison, command_line(sys.argv)), file)


def _loads_asked(
    listed: str | None, report_file: Path | None, scenario: simulation.Scenario
) -> tuple[float, ...]:
    """Return the multiples of the load for the page's load curves; empty for no curves."""
    if listed is None:
        fixed = resolved(scenario)["arrivals"] == "own"
        return () if report_file is None or fixed else comparing.REPORT_LOADS
    if report_file is None:
        raise refused("--loads", listed, "must be given together with --report FILE.html")
    if listed == "none":
        return ()
    try:
        factors = tuple(float(factor) for factor in listed.split(","))
    except ValueError:
        allowed = "must be none, or numbers separated by commas, such as 0.5,1,2"
        raise refused("--loads", listed, allowed) from None
    comparing.check_loads(scenario, factors)
    return factors


def _check_shown(context: click.Context) -> None:
    """Raise InputError for --by-service with --json."""
    if context.params["as_json"]:
        allowed = {*context.params} - {"by_service"}
        left_out(context, " with --json, which prints every service", allowed)


def _check_spans(scenario: simulation.Scenario, file: Path | None) -> None:
    """Raise InputError for spans of several systems or chips."""
    if file and len(scenario.orchestrators) != 1:
        allowed = "must be given together with exactly one --orchestrator"
        raise refused("--spans", str(file), allowed)
    if file and len(scenario.chips) > 1:
        raise refused("--spans", str(file), "must be left out for several chips")


def _check_apart(scenario: simulation.Scenario, options: Mapping[str, Any]) -> None:
    """Raise InputError for an extra file with a name that :func:`_write` may choose."""
    workload: Any = scenario.workload
    name = workload if isinstance(workload, str) else workload["name"]
    own = rf"compare-{re.escape(name)}(-\d+)?(\.json|\.parquet|\.png|\.svg|-recording\.json)"
    extras = ("report", "samples", "saved", "spans", "timeline")
    files = {
        "--save-scenario" if extra == "saved" else f"--{extra}": options[f"{extra}_file"]
        for extra in extras
    }
    check_apart(files, options["out"], own)


def _check_costs(context: click.Context, scenario: simulation.Scenario) -> None:
    """Raise InputError for --recalibrate if the scenario does not measure costs."""
    options, costs = context.params, scenario.costs
    if options["recalibrate"] and (costs != "measured" or scenario.recording is not None):
        source = {"paper": "the paper", "own": "the workload"}.get(costs, "the recording")
        allowed = f"must be left out, since nothing is measured: the costs come from {source}"
        raise refused("--recalibrate", GIVEN, allowed)


def _check_slo_factor(context: click.Context, scenario: simulation.Scenario) -> None:
    """Raise InputError for --slo-factor if every simulated service has an SLO of its own."""
    if context.get_parameter_source("slo_factor") is not ParameterSource.COMMANDLINE:
        return
    workload: Any = scenario.workload
    names = simulation.services(workload)
    stated = set(scenario.slo_us)
    if not isinstance(workload, str):
        keys = {"slo_us", "slo_factor"}
        by_default = keys & set(workload.get("defaults", ()))
        stated |= {each["name"] for each in workload["services"] if by_default or keys & set(each)}
    if stated.issuperset(scenario.services or names):
        which = "every chosen service" if scenario.services else "every service"
        allowed = f"must be left out, since {which} has an SLO of its own (slo_us, slo_factor)"
        raise refused("--slo-factor", scenario.slo_factor, allowed)


def _write_spans(scenario: simulation.Scenario, file: Path) -> None:
    try:
        with bar(Console(stderr=True), "simulating") as advance:
            simulation.write_spans(scenario, file, progress=advance)
    except InputError as error:
        raise (error.at("--spans") if error.place == "path" else error) from error


#: The parameter that `--policy` replaces.
_ORDER: Final = "scheduling.policy"


def _asked_for(context: click.Context, scenario_file: Path | None) -> simulation.Scenario:
    """Return the scenario in the file, or the default one, changed by the options on the line."""
    base = simulation.read_scenario(scenario_file) if scenario_file else simulation.Scenario()
    if not scenario_file and context.params["workload"] is None:
        names = ", ".join(simulation.WORKLOADS)
        allowed = f"must be one of {names}, or a workload's file, or be set by --scenario FILE"
        raise refused("WORKLOAD", LEFT_OUT, allowed)
    fields = {field.name for field in dataclasses.fields(simulation.Scenario)}
    typed = {
        name: value
        for name, value in context.params.items()
        if name in fields and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    changes = read_settings(context.params["changes"])
    policy = typed.get("policy", base.policy)
    if policy is not None and _ORDER in changes:
        source = "--policy" if "policy" in typed else "the scenario's policy"
        allowed = f"must be left out, since {source} {policy} replaces it"
        raise refused(f"--set {_ORDER}", changes[_ORDER], allowed)
    config, chips = chosen_chips(base, context.params["chip_places"], changes)
    recording_file = context.params["recording_file"]
    if recording_file and "profile" in typed:
        raise refused("--profile", typed["profile"], "must be left out with --recording")
    if recording_file:
        typed |= {"recording": recorded(recording_file), "profile": None}
    if "warmup" in typed:
        typed["warmup"], _ = warmup_of(context)
    return replace(base, **typed, config=config, chips=chips)


def _lacks(scenario: simulation.Scenario) -> list[str]:
    """Return warnings about data that the scenario asks for and its recording lacks."""
    drawn = scenario.recorded_times == "distribution"
    if not drawn or scenario.recording is None:
        return []
    return _native.recording_lacks(scenario.recording)


def _measured(console: Console, *, anew: bool) -> str:
    with bar(console, "measuring real bytes") as advance:
        recording, note = calibrated(anew=anew, progress=advance)
    console.print(note, highlight=False, markup=False, soft_wrap=True)
    known = calibration_of(recording)
    for doubt in known.doubts if known else ():
        warning = f"accelflow: warning: {doubt}; --recalibrate measures again"
        console.print(warning, highlight=False, markup=False, soft_wrap=True)
    return recording


def _stem(comparison: Comparison, out: Path) -> Path:
    """Return the path of the results without suffix, numbered if other results are in `out`."""
    mine = parse_json(to_json(comparison))
    for number in itertools.count(1):
        stem = out / f"compare-{comparison.workload}{f'-{number}' if number > 1 else ''}"
        data = stem.with_suffix(".json")
        if not data.exists():
            return stem
        try:
            there = parse_json(read_text(data))
        except (OSError, ValueError):
            continue
        if may_replace(mine, there):
            return stem
    raise AssertionError


def _write(comparison: Comparison, recording: str | None, out: Path) -> list[Path]:
    try:
        with alone_in(out):
            return _write_to(_stem(comparison, out), comparison, recording)
    except OSError as error:
        raise unwritable("--out", out, error) from error


def _write_to(stem: Path, comparison: Comparison, recording: str | None) -> list[Path]:
    table, data = stem.with_suffix(".parquet"), stem.with_suffix(".json")
    written = [data, table]
    write_json(comparison, data)
    write_parquet(comparison, table)
    written += report.write_plots(comparison, stem)
    if recording is not None:
        kept = stem.with_name(f"{stem.name}-recording.json")
        write_whole(kept, lambda path: path.write_text(recording, encoding="utf-8"))
        written.append(kept)
    return written
