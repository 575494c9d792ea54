"""Names, defaults and limits in the prose of the documents are those of the code."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from importlib.util import find_spec
from typing import Any

import click
import pytest

import accelflow
from accelflow import arcus
from accelflow.accelerometer import Kernel
from accelflow.cli import COMMANDS
from accelflow.cli.failure import BROKEN_PIPE, FAILED, INTERRUPTED, OK, TERMINATED, WRONG_USE
from accelflow.client import CallLimits
from accelflow.comparing import REPORT_LOADS
from accelflow.parameters import parameters
from accelflow.phases import Chain, ChainOptions
from accelflow.plans import plan_schema
from accelflow.services import Service
from accelflow.settings import Limits, Timeouts
from accelflow.sizing import plan as sizing
from accelflow.studies.question import COSTS, LIMITS, Goal, Question
from accelflow.studies.study import KINDS, Range, Study
from accelflow.trace import Ensemble
from conftest import ROOT
from test_docs import DOCUMENTS, FENCED

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in DOCUMENTS
    if path.name not in {"CHANGELOG.md", "parameters.md"}  # the past; generated
    and "results" not in path.parts  # generated
}
KEYS = {parameter.key for parameter in parameters()}
SCHEMAS = {
    schema
    for path in [*ROOT.glob("python/accelflow/**/*.py"), *ROOT.glob("crates/*/src/**/*.rs")]
    for schema in re.findall(r'"(accelflow\.[a-z-]+/\d+)"', path.read_text(encoding="utf-8"))
}


def prose(page: str) -> str:
    return re.sub(FENCED, "", PAGES[page])


def spans(page: str) -> list[str]:
    """The pieces of code within sentences and tables."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(page))]


def table(page: str, heading: str, begins: str = "") -> dict[str, list[str]]:
    """The rows of the table below `heading`: the cells after the first, by the first.

    Of several tables with this heading, that whose first cell begins with `begins`.
    """
    tables = PAGES[page].split(f"\n{heading}\n")[1:]
    rule = re.compile(r"[|-]+\n\| " + re.escape(begins))
    (below,) = (text for text in tables if rule.match(text))
    rows = {}
    for line in below.splitlines()[1:]:
        if not line.startswith("|"):
            break
        first, *others = (cell.strip() for cell in line.strip("|").split("|"))
        rows[first] = others
    return rows


def named(cells: Iterable[str]) -> list[str]:
    """The names in code style, in order."""
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


# Names, in all pages.


@pytest.mark.parametrize("page", PAGES)
def test_schemas_are_those_that_the_code_has(page: str) -> None:
    assert "accelflow.compare/1" in SCHEMAS
    assert set(re.findall(r"\baccelflow\.[a-z-]+/\d+", PAGES[page])) <= SCHEMAS


@pytest.mark.parametrize("page", PAGES)
def test_keys_of_parameters_exist(page: str) -> None:
    sections = "|".join({key.split(".")[0] for key in KEYS})
    keys = re.compile(rf"(?:{sections})\.[a-z][a-zA-Z_0-9]*")
    found = {span.partition("=")[0] for span in spans(page)}
    assert {key for key in found if keys.fullmatch(key)} <= KEYS | PLAN_KEYS


#: Keys of a plan of `accelflow size`, which look like those of parameters.
PLAN_KEYS = {f"server.{attribute.name}" for attribute in fields(sizing.Server)}


#: Attributes of spans of OpenTelemetry, which look like names of the package.
ATTRIBUTES = {
    f"accelflow.{name}"
    for name in ("application", "detached", "input_bytes", "output_bytes", "result", "tenant")
}


def exists(name: str) -> bool:
    """Whether a dotted name of the package can be imported, or is an attribute of what can."""
    found: Any = accelflow
    place = "accelflow"
    for part in name.split(".")[1:]:
        place = f"{place}.{part}"
        if not hasattr(found, part) and find_spec(place) is None:
            return False
        found = getattr(found, part, None) or importlib.import_module(place)
    return True


@pytest.mark.parametrize("page", PAGES)
def test_names_of_the_package_exist(page: str) -> None:
    names = {span.partition("(")[0] for span in spans(page)}
    names = {name for name in names if re.fullmatch(r"accelflow(\.[A-Za-z_]+)+", name)}
    assert [name for name in sorted(names - ATTRIBUTES) if not exists(name)] == []


def command_lines(page: str) -> Iterator[list[str]]:
    """The words after `accelflow` of all command lines, also of those that no test runs."""
    blocks = re.findall(r"^```(?:console|sh)\b[^\n]*\n(.*?)^```", PAGES[page], re.M | re.S)
    lines = [*spans(page), *"\n".join(blocks).replace("\\\n", " ").splitlines()]
    for line in (re.sub(r"\$\([^)]*\)", "", line) for line in lines):
        for text in re.findall(r"(?:^|[\s/(])accelflow ([a-z][^|;>&]*)", line):
            yield text.split("#")[0].split()


def command_of(words: list[str]) -> tuple[click.Command, list[str]] | None:
    """The command that the words call, and the words after its name."""
    listed = {each.name: each for each in COMMANDS}
    if words[0] not in listed:
        return None
    command, rest = listed[words[0]].load(), words[1:]
    while isinstance(command, click.Group) and rest:
        deeper = command.get_command(click.Context(command), rest[0])
        if deeper is None:
            break
        command, rest = deeper, rest[1:]
    return command, rest


@pytest.mark.parametrize("page", PAGES)
def test_options_of_commands_exist(page: str) -> None:
    unknown = []
    for words in command_lines(page):
        called = command_of(words)
        if called is None:
            continue
        command, rest = called
        known = {"--help", *(option for each in command.params for option in each.opts)}
        given = [word.partition("=")[0].rstrip(".,") for word in rest if word.startswith("--")]
        unknown += [(" ".join(words), option) for option in given if option not in known]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_crates_exist(page: str) -> None:
    text = PAGES[page].replace("\\\n", " ")
    named_here = re.findall(r"-p\s+accelflow-([a-z-]+)\s+--example\s+(\w+)", text)
    for crate, example in named_here:
        manifest = tomllib.loads((ROOT / f"crates/{crate}/Cargo.toml").read_text("utf-8"))
        assert example in [each["name"] for each in manifest.get("example", ())], (crate, example)


# Choices, defaults and limits, page by page.


@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("| policy | core |", "core.balancing"),
        ("| way | when the core notices |", "core.notification"),
    ],
)
def test_choices_of_a_parameter_are_all_there_with_the_default(heading: str, key: str) -> None:
    rows = table("docs/simulator-reference.md", heading)
    (parameter,) = (each for each in parameters() if each.key == key)
    assert set(named(rows)) == {choice.name for choice in parameter.choices}
    (default,) = (name for name in rows if "(default)" in name)
    assert named([default]) == [parameter.text(parameter.default)]


def test_orders_of_queues_are_all_there() -> None:
    (policy,) = (each for each in parameters() if each.key == "scheduling.policy")
    rows = table("docs/simulator-tenants.md", "| policy | order |")
    assert set(named(rows)) == {choice.name for choice in policy.choices}


def test_defaults_in_the_simulators_pages() -> None:
    defaults = {each.key: each.text(each.default) for each in parameters()}
    found = []
    for page in (page for page in PAGES if page.startswith("docs/simulator")):
        text = " ".join(prose(page).split())
        found += re.findall(
            r"`([a-z_]+\.[a-z_]+)`(?: set to `\w+`)? \(default `?([\w.]+)`?\)", text
        )
        found += re.findall(r"`([a-z_]+\.[a-z_]+)`:? (?:is |set to )?`(\w+)`,? the default", text)
        found += re.findall(r"`([a-z_]+\.[a-z_]+)` is `(\w+)` \(default\)", text)
    assert {"core.cold_code_ns", "core.software_balancing", "dispatcher.busy"} <= {
        key for key, _ in found
    }
    assert [(key, value) for key, value in found if defaults[key] != value] == []


def test_limits_of_a_server() -> None:
    rows = table("docs/server-limits.md", "| setting | default | beyond it |")
    limits, timeouts = Limits().resolved(), Timeouts().resolved()
    assert rows["`max_connections`"][0] == f"{limits.max_connections:,}"
    assert rows["`reserved_descriptors`"][0] == str(limits.reserved_descriptors)
    assert rows["`limits.max_message_bytes`"][0] == f"{limits.max_message_bytes >> 20} MiB"
    seconds = {"10 s": 10.0, "5 min": 300.0}
    for name in ("first_byte_timeout", "idle_timeout", "evict_after", "message_timeout"):
        (row,) = (cells for first, cells in rows.items() if f"`{name}`" in first)
        assert seconds[row[0]] == getattr(timeouts, f"{name}_s"), name
    counted = table("docs/server-limits.md", "| setting | default | what counts |")
    assert counted["`limits.max_elements`"][0] == f"{limits.max_elements:,}"
    assert limits.max_value_bytes is not None
    assert limits.max_unsent_bytes is not None
    assert counted["`limits.max_value_bytes`"][0] == f"{limits.max_value_bytes >> 20} MiB"
    assert counted["`limits.max_depth`"][0] == str(limits.max_depth)
    assert f"`max_unsent_bytes` ({limits.max_unsent_bytes >> 20} MiB)" in " ".join(
        prose("docs/server-limits.md").split()
    )


def default_of(kind: type[Any], name: str) -> Any:
    """The default of the field `name` of a dataclass."""
    (found,) = (attribute for attribute in fields(kind) if attribute.name == name)
    assert found.default is not MISSING
    return found.default


def test_bounds_of_a_client() -> None:
    rows = table("docs/client.md", "| setting | default | bounds |")
    defaults = {each.name: f"{default_of(CallLimits, each.name):,g}" for each in fields(CallLimits)}
    assert {name.strip("`"): cells[0] for name, cells in rows.items()} == defaults


def test_settings_of_the_ensemble() -> None:
    rows = table("docs/ensemble.md", "| setting | default | meaning |")
    for names, default in (
        ("`queue_entries`, `overflow_entries`", ("queue_entries", "overflow_entries")),
        ("`core_workers`", ("core_workers",)),
        ("`least_bytes`", ("least_bytes",)),
    ):
        values = ", ".join(str(default_of(Ensemble, name)) for name in default)
        assert rows[names][0] == values
    assert rows["`most_runs`, `tenant_runs`"][0].startswith(
        f"{default_of(Ensemble, 'most_runs'):,},"
    )
    seconds = default_of(Ensemble, "response_timeout_s")
    assert rows["`response_timeout`"][0] == f"{seconds:g} s"
    public = {attribute.name.removesuffix("_s") for attribute in fields(Ensemble) if attribute.init}
    assert set(named(rows)) == public


def test_keys_of_a_plan_for_a_fleet() -> None:
    rows = table("docs/sizing.md", "| key | meaning | default |")
    assert rows["`workload`"][1] == f"`{default_of(sizing.Plan, 'workload')}`"
    slo_factor = default_of(sizing.Plan, "slo_factor")
    assert rows["`slo_factor`, `[p99_us]`"][1] == f"{slo_factor:g}"
    assert named([rows["`systems`"][1]]) == list(sizing.DEFAULT_SYSTEMS)
    limits = sizing.Limits()
    assert rows["`[limits]` `utilization_ratio`"][1] == str(limits.utilization_ratio)
    assert rows["`[limits]` `spare_servers`"][1] == str(limits.spare_servers)
    server = sizing.Server()
    prices = (server.price, server.lifetime_years, server.overhead_per_year)
    assert rows["`[server]` `price`, `lifetime_years`, `overhead_per_year`"][1] == ", ".join(
        f"{price:g}" for price in prices
    )
    runs = (default_of(sizing.Plan, "requests"), default_of(sizing.Plan, "seeds"))
    assert rows["`requests`, `seeds`"][1] == f"{runs[0]:,}, {runs[1]}"
    keys = {name for row in rows for name in re.findall(r"\w+", row)}
    assert {attribute.name for attribute in fields(sizing.Plan)} <= keys


def test_keys_of_a_search() -> None:
    heading = "| key | meaning | default |"
    value = table("docs/studies.md", heading, "`least`")
    assert value["`most_seeds`"][-1] == str(default_of(Question, "most_seeds"))
    assert named(value) == ["least", "most", "range", "system", "limits", "most_seeds"]
    assert set(LIMITS) <= set(named(value["`limits`"]))
    design = table("docs/studies.md", heading, "`minimize`")
    trials, seed = (default_of(Goal, name) for name in ("trials", "seed"))
    assert design["`trials`, `seed`"][-1] == f"{trials}, {seed}"
    assert set(named(design["`minimize`"])) == {*COSTS, *named(design["`minimize`"][-1:])}


def test_designs_of_a_study() -> None:
    rows = table("docs/studies.md", "| key | meaning | default |", "`schema`")
    assert set(KINDS) <= set(named(rows["`[design]` `kind`"]))
    assert rows["`[design]` `points`, `seed`"][-1] == f"required, {default_of(Study, 'draw')}"
    assert f"`points` ({default_of(Range, 'points')})" in prose("docs/studies.md")


def test_exit_codes_are_those_of_the_command_line() -> None:
    rows = table("docs/command-line.md", "| exit code | means |")
    assert [int(code) for code in rows] == [
        OK,
        FAILED,
        WRONG_USE,
        INTERRUPTED,
        BROKEN_PIPE,
        TERMINATED,
    ]


def test_loads_of_a_report() -> None:
    *first, last = (f"{load:g}" for load in REPORT_LOADS)
    assert f"at {', '.join(first)} and {last} times the rates" in prose("docs/report.md")


def test_fields_of_a_flow_and_experiments_of_arcus() -> None:
    schema = json.loads(plan_schema())
    flow = set(schema["properties"]["flow"]["items"]["properties"])
    text = PAGES["docs/arcus.md"]
    rows = table("docs/arcus.md", "| field | meaning |")
    assert flow == set(named(rows)) | {"sizes"}  # named beside `message_bytes`
    (listed,) = re.findall(r"The experiments are ([^;]*);", " ".join(text.split()))
    assert set(named([listed])) == {*arcus.experiments()}


def test_keys_of_a_service_and_a_chain() -> None:
    words = {word for span in spans("docs/workloads.md") for word in re.findall(r"\w+", span)}
    assert {attribute.name for attribute in fields(Service)} <= words
    assert {*Chain.__annotations__, *ChainOptions.__annotations__} <= words


def test_keys_of_a_kernel() -> None:
    rows = table("docs/accelerometer.md", "| key of `[[kernels]]` | paper | |")
    known = {attribute.name for attribute in fields(Kernel)}
    elsewhere = {"name", "latency_thread_switches"}
    written = {"queue", "histogram", "measured", "shared"}  # forms that a file has beside them
    assert known - elsewhere <= set(named(rows)) | {"queue_cycles"}
    assert set(named(rows)) - known <= written | {"offloads", "cycles", "lucrative", "all"}
