"""From one call in Python to numbers: `accelflow.compare`, `accelflow.simulate`, and results."""

import dataclasses
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_type_hints

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib.figure import Figure

import accelflow
from accelflow import simulation
from accelflow.errors import InputError
from accelflow.report import Comparison, write_json
from accelflow.report.results import ORCHESTRATORS
from accelflow.scenario import Fields, document
from accelflow.workload import load_workload, new_workload

#: The 97.5 % quantile of Student's t with two degrees of freedom, as printed in tables.
T_2 = 4.302653

PARTS = (
    "cpu_us",
    "accelerator_us",
    "dispatcher_us",
    "manager_us",
    "cores_us",
    "communication_us",
    "remote_us",
    "queueing_us",
)


def small(**changes: Any) -> dict[str, Any]:
    """The arguments of a comparison that is over in a moment."""
    return {
        "profile": "paper",
        "rates": "equal",
        "requests": 400,
        "services": ["UniqId", "Login"],
        "orchestrators": ["relief", "accelflow"],
        **changes,
    }


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return accelflow.compare("socialnetwork", **small())


@pytest.fixture(scope="module")
def sampled() -> Comparison:
    return accelflow.compare("socialnetwork", **small(samples=True))


@pytest.fixture(scope="module")
def replicated() -> Comparison:
    return accelflow.compare("socialnetwork", **small(seeds=3, seed=5, samples=10))


# What is asked.


def test_results_are_those_of_the_scenario(compared: Comparison) -> None:
    asked = accelflow.Scenario(workload="socialnetwork", **small())
    document = simulation.run(asked)
    assert compared == accelflow.compare(asked)
    assert compared.source == document
    assert compared["relief"]["Login"].p99_us == document["systems"][0]["services"][0]["p99_us"]


def test_fields_replace_those_of_a_scenario(compared: Comparison) -> None:
    asked = accelflow.Scenario(workload="hotelreservation", seed=9, **small(services=()))
    results = accelflow.compare(asked, seed=3, orchestrators=["ideal"])
    assert (results.workload, results.seed, list(results)) == ("hotelreservation", 3, ["ideal"])


def test_the_fields_of_a_scenario_are_typed() -> None:
    ours = get_type_hints(accelflow.Scenario)
    assert get_type_hints(Fields) == {
        name: kind for name, kind in ours.items() if name not in ("workload", "orchestrators")
    }


def test_one_system_is_simulated(compared: Comparison) -> None:
    fields = small()
    del fields["orchestrators"]
    result = accelflow.simulate("socialnetwork", "RELIEF", **fields)
    assert dataclasses.replace(result, source={}) == dataclasses.replace(
        compared["relief"], source={}
    )
    assert accelflow.simulate("socialnetwork", **fields).orchestrator == "accelflow"
    asked = accelflow.Scenario(orchestrators=["ideal"], **fields)
    assert accelflow.simulate(asked).orchestrator == "ideal"
    assert accelflow.simulate(asked, "relief").orchestrator == "relief"


def test_a_workload_is_a_name_a_path_or_an_object(tmp_path: Path) -> None:
    class Shop:
        def to_document(self) -> dict[str, Any]:
            return {"name": "shop", "services": [{"name": "Cart"}]}

    def asked(workload: Any) -> object:
        return json.loads(document(accelflow.Scenario(workload=workload)))["workload"]

    shop = tmp_path / "shop.toml"
    shop.write_text(new_workload("shop"))
    assert asked("socialnetwork") == "socialnetwork"
    assert asked(shop) == asked(str(shop)) == load_workload(shop)
    assert asked(Shop()) == Shop().to_document()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"request": 5}, r"keyword argument = 'request': must be .*, did you mean requests"),
        ({"requests": 5}, r"^requests = 5: must be "),
        ({"workload": "socialnet"}, r"^workload = 'socialnet': must be .*socialnetwork"),
        ({"workload": 7}, r"^workload = 7: must be "),
        ({"seeds": 0}, r"^seeds = 0: must be a whole number from 1 to 1000"),
        ({"seeds": True}, r"^seeds = True: must be a whole number"),
        ({"samples": -1}, r"^samples = -1: must be a whole number"),
        ({"samples": "all"}, r"^samples = 'all': must be a whole number"),
        ({"threads": 0}, r"^threads = 0: must be"),
        ({"progress": 1}, r"^progress = 1: must be a function"),
        (
            {"seed": 2**64 - 1, "seeds": 2},
            r"^seed = 18446744073709551615: must be at most 18446744073709551614 with 2 seeds$",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        accelflow.compare(**small(**arguments))


def test_simulate_refuses_several_systems() -> None:
    with pytest.raises(
        InputError, match=r"^orchestrators = .*: must be left out: simulate takes one orchestrator"
    ):
        accelflow.simulate("socialnetwork", **small())
    several = accelflow.Scenario(**small())
    with pytest.raises(InputError, match="must name one system"):
        accelflow.simulate(several)
    with pytest.raises(InputError, match=r"^orchestrator = 5: must be a string"):
        accelflow.simulate("socialnetwork", 5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean accelflow"):
        accelflow.simulate("hotelreservation", "acelflow", requests=100)


def test_progress_counts_the_requests_of_all_seeds() -> None:
    seen: list[tuple[int, int]] = []
    accelflow.compare(
        **small(seeds=2), progress=lambda done, every: seen.append((done, every)), threads=1
    )
    assert seen == sorted(seen)
    assert {every for _, every in seen} == {2 * 2 * 2 * 400}
    assert max(done for done, _ in seen) == 2 * 2 * 2 * 400


def test_a_program_that_does_not_simulate_does_not_wait_for_it() -> None:
    heavy = ["pyarrow", "matplotlib", "rich", "accelflow.simulation", "asyncio"]
    program = (
        "import sys, accelflow\n"
        f"heavy = {heavy!r}\n"
        "assert not [name for name in heavy if name in sys.modules]\n"
        "result = accelflow.simulate('hotelreservation', requests=100)\n"
        "print(result)\n"
        "assert not [name for name in heavy[:3] if name in sys.modules]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# What comes back.


def test_results_are_mappings(compared: Comparison) -> None:
    assert list(compared) == ["relief", "accelflow"]
    assert list(compared["accelflow"]) == ["Login", "UniqId"]
    assert "ideal" not in compared
    assert compared.get("ideal") is None
    assert {name: len(system) for name, system in compared.items()} == {
        "relief": 2,
        "accelflow": 2,
    }
    with pytest.raises(KeyError) as missing:
        compared["acelflow"]
    assert isinstance(missing.value, InputError)
    assert str(missing.value).startswith("system = 'acelflow': must be relief or accelflow, did")
    with pytest.raises(InputError, match=r"^service = 'uniqid': must be .*UniqId"):
        compared["relief"]["uniqid"]


def test_a_system_is_the_mean_of_its_services(compared: Comparison) -> None:
    for system in compared.values():
        services = list(system.values())
        for name in ("mean_us", "p50_us", "p99_us", "p999_us"):
            assert getattr(system, name) == pytest.approx(
                statistics.fmean(getattr(service, name) for service in services), rel=1e-12
            )
        assert system.throughput_rps == sum(service.throughput_rps for service in services)
        assert system.slo_missed_share is not None
        assert 0 <= system.slo_missed_share <= 1
        assert system.saturated is None


class OnlyArrow:
    """An object that has the PyCapsule interface and nothing else, as other libraries see it."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._whole.__arrow_c_stream__(requested_schema)


def test_results_are_tables_for_other_libraries(compared: Comparison) -> None:
    table = pa.table(OnlyArrow(compared))
    assert pa.schema(compared) == table.schema
    rows = table.to_pylist()
    assert [(row["system"], row["service"]) for row in rows] == [
        (system, service) for system in compared for service in compared[system]
    ]
    for row in rows:
        result = compared[row["system"]][row["service"]]
        assert row["p99_us"] == result.p99_us
        assert row["spent_queueing_us"] == result.spent_us["queueing"]
        assert "p99_us_low" not in row
    alone = pa.table(OnlyArrow(compared["relief"]))
    assert alone.to_pylist() == rows[:2]
    # polars takes a Mapping for one of columns, and does not ask it for its stream.
    assert not isinstance(compared, Mapping)
    assert "arrow_array_stream" in repr(compared.__arrow_c_stream__())
    assert "arrow_schema" in repr(compared.__arrow_c_schema__())


def test_a_reader_can_ask_for_other_types(compared: Comparison) -> None:
    single = pa.schema(
        [
            field.with_type(pa.float32()) if field.name == "p99_us" else field
            for field in pa.schema(compared)
        ]
    )
    read = pa.RecordBatchReader.from_stream(compared, schema=single).read_all()
    assert read.schema.field("p99_us").type == pa.float32()


# Single requests.


def test_samples_are_what_statistics_are_of(sampled: Comparison, compared: Comparison) -> None:
    assert sampled.source == compared.source
    table = sampled.samples
    assert table is not None
    assert table.column_names == [
        *("system", "service", "seed", "request", "arrival_us", "response_us"),
        *PARTS,
    ]
    assert table.num_rows == 2 * 2 * 360
    for system in sampled.values():
        assert system.samples is not None
        for service, result in system.items():
            ours = pc.equal(system.samples["service"].cast(pa.string()), service)
            rows = system.samples.filter(ours)
            times = np.sort(rows["response_us"].to_numpy())
            assert len(times) == result.completed
            assert times[math.ceil(0.99 * len(times)) - 1] == result.p99_us
            assert times.mean() == pytest.approx(result.mean_us, abs=1e-6)
            parts = np.sum([rows[part].to_numpy() for part in PARTS], axis=0)
            assert parts == pytest.approx(rows["response_us"].to_numpy(), abs=1e-6)
            for part in PARTS:
                mean = rows[part].to_numpy().mean()
                assert mean == pytest.approx(result.spent_us[part.removesuffix("_us")], abs=1e-5)
    assert compared.samples is None


def test_systems_can_be_compared_request_by_request(sampled: Comparison) -> None:
    keys = ["service", "request", "arrival_us"]
    relief, ours = (
        sorted(map(tuple, (row.values() for row in system.samples.select(keys).to_pylist())))
        for system in sampled.values()
    )
    assert relief == ours


def test_samples_are_not_copied(sampled: Comparison) -> None:
    assert sampled.samples is not None
    passed = pa.table(OnlyArrow(sampled.samples))
    for name in ("request", "response_us", "queueing_us"):
        for ours, theirs in zip(sampled.samples[name].chunks, passed[name].chunks, strict=True):
            assert ours.buffers()[1].address == theirs.buffers()[1].address


def test_samples_are_as_many_as_asked_for(sampled: Comparison) -> None:
    few = accelflow.compare("socialnetwork", **small(samples=50))["accelflow"]
    assert few.samples is not None
    every = few.samples.to_pylist()
    by_service = [[row for row in every if row["service"] == name] for name in few]
    assert [len(rows) for rows in by_service] == [45, 45]
    assert sampled.samples is not None
    known = sampled["accelflow"].samples.to_pylist()
    assert all(row in known for row in every)
    none = accelflow.compare(**small(samples=0))
    assert none.samples is None


def test_too_many_samples_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"^samples = all: must be at most 41666 per service"):
        accelflow.compare("socialnetwork", profile="paper", requests=1_000_000, samples=True)


# Several seeds.


def test_several_seeds_give_means_with_intervals(replicated: Comparison) -> None:
    runs = [accelflow.compare("socialnetwork", **small(seed=seed)) for seed in (5, 6, 7)]
    assert replicated.seeds == (5, 6, 7)
    assert replicated.seed == 5
    for system in replicated.values():
        for result in system.values():
            alone = [run[system.orchestrator][result.service] for run in runs]
            for name in ("mean_us", "p50_us", "p99_us", "p999_us", "throughput_rps"):
                values = [getattr(each, name) for each in alone]
                half = T_2 * statistics.stdev(values) / math.sqrt(3)
                interval = result.intervals[name]
                assert getattr(result, name) == pytest.approx(statistics.fmean(values))
                assert interval.half_width == pytest.approx(half, rel=1e-6)
                assert (interval.low + interval.high) / 2 == pytest.approx(getattr(result, name))
            assert result.completed == sum(each.completed for each in alone) == 3 * 360
            assert result.slo_us == alone[0].slo_us
            queueing = [each.spent_us["queueing"] for each in alone]
            assert result.spent_us["queueing"] == pytest.approx(statistics.fmean(queueing))
            assert "spent_us.queueing" in result.intervals
        values = [run[system.orchestrator].p99_us for run in runs]
        assert system.p99_us == pytest.approx(statistics.fmean(v for v in values if v is not None))
        half = T_2 * statistics.stdev(v for v in values if v is not None) / math.sqrt(3)
        assert system.intervals["p99_us"].half_width == pytest.approx(half, rel=1e-6)
    assert runs[0]["relief"].intervals == {}
    assert runs[0]["relief"]["UniqId"].intervals == {}


def test_intervals_are_in_tables_and_files(replicated: Comparison, tmp_path: Path) -> None:
    for row in pa.table(replicated).to_pylist():
        interval = replicated[row["system"]][row["service"]].intervals["p99_us"]
        assert (row["p99_us_low"], row["p99_us_high"]) == interval
        assert row["spent_cpu_us_low"] <= row["spent_cpu_us"] <= row["spent_cpu_us_high"]
    write_json(replicated, tmp_path / "r.json")
    read = Comparison.from_dict(json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))
    assert read == dataclasses.replace(
        replicated,
        samples=None,
        systems=tuple(dataclasses.replace(s, samples=None) for s in replicated.systems),
    )


def test_samples_say_their_seed(replicated: Comparison) -> None:
    assert replicated.samples is not None
    assert set(replicated.samples["seed"].to_pylist()) == {5, 6, 7}
    assert replicated.samples.num_rows == 3 * 2 * 2 * 10


def test_one_seed_of_several_that_is_saturated_is_named(made_up_results: dict[str, Any]) -> None:
    from accelflow.report.replications import pooled  # noqa: PLC0415

    other = json.loads(json.dumps(made_up_results))
    other["seed"] = 2
    first, second = (tree["systems"][0]["services"][0] for tree in (made_up_results, other))
    second |= {"saturated": "cores", "p999_us": None}
    first["tenant"] = {"number": 3, "peak_running_traces": 4, "waiting_us": 1.5}
    second["tenant"] = {"number": 3, "peak_running_traces": 9, "waiting_us": 2.0}
    both = pooled([made_up_results, other])
    found = both["systems"][0]["services"][0]
    assert found["saturated"] == "cores"
    assert found["p999_us"] is None
    assert "p999_us" not in found["intervals"]
    assert found["tenant"] == {"number": 3, "peak_running_traces": 9, "waiting_us": 3.5}
    assert found["fallbacks"] == {"overflow_full": 6, "enqueue_denied": 8}
    assert found["intervals"]["p99_us"] == [first["p99_us"]] * 2
    assert Comparison.from_dict(both)["non_acc"].p999_us is None
    assert pooled([made_up_results]) == made_up_results


@pytest.mark.parametrize("ends", [[1.0], [2.0, 1.0], [1.0, math.inf], ["a", "b"]])
def test_an_interval_of_a_file_is_checked(ends: list[Any], made_up_results: dict[str, Any]) -> None:
    made_up_results["systems"][0]["services"][0]["intervals"] = {"p99_us": ends}
    place = r"results\.systems\[0\]\.services\[0\]\.intervals\.p99_us"
    allowed = "must be two finite numbers, the smaller first"
    with pytest.raises(InputError, match=f"^{place} = .*: {allowed}"):
        Comparison.from_dict(made_up_results)


# What is shown.


def large(made_up_results: dict[str, Any]) -> Comparison:
    """Results with every system, 40 services with long names, intervals and saturation."""
    for system in made_up_results["systems"]:
        first = system["services"][0] | {
            "mean_us": 123_456.7,
            "p99_us": 987_654.3,
            "throughput_rps": 1_234_567.8,
            "intervals": {
                "mean_us": [100_000.0, 146_913.4],
                "p99_us": [900_000.0, 1_075_308.6],
                "throughput_rps": [1_222_000.0, 1_247_135.6],
            },
        }
        system["services"] = [
            {**first, "service": f"a-service-with-a-rather-long-name-{number}"}
            for number in range(40)
        ]
        system["intervals"] = first["intervals"]
    system = made_up_results["systems"][0]
    made_up_results["systems"] = [{**system, "orchestrator": name} for name in ORCHESTRATORS]
    made_up_results["systems"][0]["services"][0]["saturated"] = "cores"
    made_up_results |= {"workload": "w" * 100, "seeds": [1, 2, 3]}
    return Comparison.from_dict(made_up_results)


def test_a_repr_fits_a_screen(made_up_results: dict[str, Any], replicated: Comparison) -> None:
    big = large(made_up_results)
    shown = [big, *big.values(), big["relief"]["a-service-with-a-rather-long-name-0"]]
    for result in [*shown, replicated, *replicated.values()]:
        lines = repr(result).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert not any(line.startswith("a-service") and line[-1] == "." for line in lines)
    assert "... and 24 more" in repr(big["relief"])
    assert "accelflow_deadline" in repr(big)


def test_a_repr_has_the_numbers(compared: Comparison, replicated: Comparison) -> None:
    (line,) = [line for line in repr(compared).splitlines() if line.startswith("accelflow ")]
    assert f"{compared['accelflow'].p99_us:,.1f}" in line.split()
    (line,) = [
        line for line in repr(replicated["relief"]).splitlines() if line.startswith("UniqId ")
    ]
    result = replicated["relief"]["UniqId"]
    assert result.p99_us is not None
    share = 100 * result.intervals["p99_us"].half_width / result.p99_us
    assert f"{result.p99_us:,.1f} \N{PLUS-MINUS SIGN}{share:.1f}%" in line
    assert f"p99_us {result.p99_us:,.1f}" in repr(result)
    assert "seeds 5 to 7" in repr(replicated)
    assert "seed 1" in repr(compared)


class Tags(HTMLParser):
    """Whether tags close as they open, and what stands between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert {name for name, _ in attrs} <= {"style", "scope", "class", "data-key"}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_is_whole_and_escaped(made_up_results: dict[str, Any]) -> None:
    made_up_results["workload"] = "<script>alert(1)</script>"
    made_up_results["systems"][0]["services"][0]["service"] = "a&b<i>"
    results = Comparison.from_dict(made_up_results)
    for result in (results, results["non_acc"]):
        page = result._repr_html_()
        tags = Tags(page)
        assert tags.open == []
        assert not tags.seen & {"script", "i", "link", "img", "a"}
        assert "a&b<i>" in tags.texts
        assert "http" not in page
    assert "details" in Tags(results._repr_html_()).seen


def test_results_are_drawn(sampled: Comparison, replicated: Comparison) -> None:
    for kind in ("latency", "parts", "tail"):
        for result in (sampled, sampled["accelflow"]):
            figure = result.plot(kind)
            assert isinstance(figure, Figure)
            assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"^kind = 'part': must be .*did you mean parts"):
        sampled.plot("part")
    with pytest.raises(InputError, match=r"^kind = 'tail': must be latency or parts; for tail"):
        dataclasses.replace(sampled, samples=None).plot("tail")
    captions = [results.plot().axes[0].get_xlabel() for results in (sampled, replicated)]
    assert [text[-12:] for text in captions] == ["aper, seed 1", "seeds 5 to 7"]
    # One line for each interval, and none without intervals.
    lines = [len(results.plot().axes[0].lines) for results in (sampled, replicated)]
    assert lines == [0, 4]


def test_an_interval_stands_at_its_bar(made_up_results: dict[str, Any]) -> None:
    first, second, *_ = made_up_results["systems"]
    made_up_results["systems"] = [first, {**second, "services": second["services"][::-1]}]
    for system in made_up_results["systems"]:
        for service in system["services"]:
            service["intervals"] = {"p99_us": [0.9 * service["p99_us"], 1.1 * service["p99_us"]]}
    axes = Comparison.from_dict(made_up_results).plot().axes[0]
    bars = {
        round(bar.get_x() + bar.get_width() / 2, 6): bar.get_height()
        for bar in axes.patches
        if isinstance(bar, mpl.patches.Rectangle)
    }
    assert len(axes.lines) == len(bars) == 2 * 8
    for line in axes.lines:
        (place, _), ends = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert ends.mean() == pytest.approx(bars[round(float(place), 6)])


def test_a_drawn_part_is_its_mean(compared: Comparison) -> None:
    axes = compared.plot("parts").axes[0]
    widths: dict[int, float] = {}
    for bar in (patch for patch in axes.patches if isinstance(patch, mpl.patches.Rectangle)):
        place = round(bar.get_y() + bar.get_height() / 2)
        widths[place] = widths.get(place, 0.0) + bar.get_width()
    assert list(widths.values()) == pytest.approx([system.mean_us for system in compared.values()])


# Chips.


def test_a_chip_is_compared_on() -> None:
    chip = accelflow.Chip(name="slow", config={"accelerator.pes": 1, "core.balancing": "random"})
    asked = small(orchestrators=["accelflow"])
    on_chip = accelflow.compare(**asked, chips=[chip])
    assert on_chip == accelflow.compare(**asked, config=chip.config)
    assert on_chip != accelflow.compare(**asked)


def test_several_chips_stand_side_by_side() -> None:
    found = accelflow.compare(
        **small(orchestrators=["accelflow", "relief"]),
        chips={"paper": {}, "slow": {"accelerator.pes": 1}},
    )
    assert set(found) == {
        "accelflow on paper",
        "relief on paper",
        "accelflow on slow",
        "relief on slow",
    }
    assert found["accelflow on slow"].mean_us > found["accelflow on paper"].mean_us


def test_samples_of_several_chips_are_kept_apart() -> None:
    asked = small(orchestrators=["accelflow"])
    found = accelflow.compare(**asked, chips={"paper": {}, "slow": {"core.count": 8}}, samples=True)
    alone = accelflow.compare(**asked, config={"core.count": 8}, samples=True)
    of_slow = found["accelflow on slow"].samples.drop_columns("system")
    assert of_slow == alone["accelflow"].samples.drop_columns("system")
