"""The answer that a terminal shows first: verdict, systems, bottleneck, where the time goes."""

import copy
import io
from typing import Any

import pytest
from rich.console import Console

from accelflow.report import Comparison, print_comparison
from accelflow.report.binding import binding_of, parts_of
from accelflow.report.figures import use_figure
from accelflow.report.replications import pooled
from accelflow.report.verdict import verdict, within_slo
from conftest import SLOWNESS

#: The share of each part of the engine in the mean latency, by system.
SPENT = {
    "non_acc": {"cpu": 0.5, "queueing": 0.5},
    "cpu_centric": {"cpu": 0.3, "cores": 0.6, "dispatcher": 0.1},
    "relief": {"cpu": 0.3, "accelerator": 0.2, "manager": 0.5},
    "cohort": {"cpu": 0.4, "accelerator": 0.2, "communication": 0.4},
    "accelflow": {"cpu": 0.5, "accelerator": 0.4, "dispatcher": 0.1 / 2, "remote": 0.1 / 2},
    "ideal": {"cpu": 0.4, "accelerator": 0.5, "remote": 0.1},
}


@pytest.fixture
def results(made_up_results: dict[str, Any]) -> dict[str, Any]:
    """Results that say what the time was spent on, and in which every system keeps up."""
    for system in made_up_results["systems"]:
        for service in system["services"]:
            service["saturated"] = None
            service["spent_us"] = {
                part: share * service["mean_us"]
                for part, share in SPENT[system["orchestrator"]].items()
            }
            service["slo"] = {"us": 500.0, "requests": 1_000, "missed": 10}
    return made_up_results


def answer(results: dict[str, Any], width: int = 100, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    print_comparison(Comparison.from_dict(results), Console(width=width, file=file))
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return [line.rstrip() for line in buffer.getvalue().decode(encoding).splitlines()]


def of_system(results: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (system,) = [row for row in results["systems"] if row["orchestrator"] == name]
    services: list[dict[str, Any]] = system["services"]
    return services


def test_the_first_line_is_the_answer(results: dict[str, Any]) -> None:
    # P99 of the made-up results: 2 (1.5 + ln 2) of AccelFlow, 4 (1.5 + ln 4) of Cohort, and so on.
    first = answer(results)[0]
    assert first == (
        "AccelFlow cuts P99 by 62 % against Cohort and 78 % against RELIEF and has a P99 39 %"
        " above Ideal's. Its bottleneck is the work itself: application logic, 50 % of its time."
    )


def test_every_system_has_one_row_and_one_bar(results: dict[str, Any]) -> None:
    lines = answer(results)
    for name in ("Non-acc", "CPU-Centric", "RELIEF", "Cohort", "AccelFlow", "Ideal"):
        assert len([line for line in lines if line.startswith(f"{name}  ")]) == 2, name
    assert not any("CPost" in line for line in lines)
    ours, bar = [line for line in lines if line.startswith("AccelFlow  ")]
    # The means over the services of 2 x their table, and of that x (1.5 + ln 2).
    assert ours.split("  ")[0] == "AccelFlow"
    assert ours.split()[1:] == [
        "61.2",
        "134.3",
        *("106.1", "99.0%"),
        "5%",
        *("TCP", "30%"),
        *("application", "logic"),
    ]
    assert bar.split()[-6:] == ["50%", "40%", "5%", "0%", "0%", "5%"]


def test_bars_are_as_long_as_the_mean_latency(results: dict[str, Any]) -> None:
    lines = answer(results)
    lengths = {
        name: sum(line.count(glyph) for glyph in "█▓▒░▚·")
        for name, line in ((line.split("  ")[0], line) for line in lines[12:])
        if "█" in line and "Where" not in line
    }
    longest = lengths["Non-acc"]
    for name, label in (("cohort", "Cohort"), ("accelflow", "AccelFlow"), ("relief", "RELIEF")):
        share = SLOWNESS[name] / SLOWNESS["non_acc"]
        assert lengths[label] == pytest.approx(share * longest, abs=1)


@pytest.mark.parametrize(
    ("system", "kind", "resource", "share"),
    [
        ("non_acc", "queueing", "cores", 0.5),
        ("cpu_centric", "orchestration", "cores", 0.7),
        ("relief", "orchestration", "manager", 0.5),
        ("cohort", "communication", "transfers", 0.4),
        ("accelflow", "work", "application logic", 0.5),
        ("ideal", "work", "accelerators' work", 0.5),
    ],
)
def test_the_bottleneck_is_what_took_the_time(
    results: dict[str, Any], system: str, kind: str, resource: str, share: float
) -> None:
    bound = binding_of(Comparison.from_dict(results)[system])
    assert bound is not None
    assert (bound.kind, bound.resource) == (kind, resource)
    assert bound.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("used", "fallen", "resource"),
    [
        ({"TCP": 0.2}, {}, "application logic"),
        ({"TCP": 0.0, "Ser": 0.0}, {}, "cores' work"),
        ({"TCP": 0.2}, {"no_accelerator": 99}, "application logic"),
        ({"TCP": 0.2}, {"no_accelerator": 60, "enqueue_denied": 40}, "cores' work"),
        ({"TCP": 0.2}, {"exception": 500, "timed_out": 400}, "application logic"),
    ],
)
def test_traces_that_cores_execute_are_no_application_logic(
    results: dict[str, Any], used: dict[str, float], fallen: dict[str, int], resource: str
) -> None:
    for service in of_system(results, "accelflow"):
        service |= {
            "responded": 1_000,
            "completed": 900,
            "accelerator_utilization": used,
            "fallbacks": fallen,
        }
    system = Comparison.from_dict(results)["accelflow"]
    for result in (system, next(iter(system.values()))):
        bound = binding_of(result)
        assert bound is not None
        assert (bound.kind, bound.resource) == ("work", resource)


def test_a_queue_is_explained_by_what_is_used_most(results: dict[str, Any]) -> None:
    comparison = Comparison.from_dict(results)
    assert binding_of(comparison["non_acc"]).short == "cores, 75% used"  # type: ignore[union-attr]
    for service in of_system(results, "non_acc"):
        service["manager_utilization"] = 0.9
    bound = binding_of(Comparison.from_dict(results)["non_acc"])
    assert bound is not None
    assert bound.short == "manager, 90% used"
    # A resource that is idle most of the time explains no queue.
    for service in of_system(results, "non_acc"):
        service["manager_utilization"] = 0.2
        service["core_utilization"] = 0.49
    bound = binding_of(Comparison.from_dict(results)["non_acc"])
    assert bound is not None
    assert bound.short == "queueing"
    assert bound.sentence == "queueing, 50 % of its time (no resource above 49 %)"


def test_denials_come_before_waits_and_overload_before_both(results: dict[str, Any]) -> None:
    for service in of_system(results, "cohort"):
        service["accelerator_denied"] = {"TCP": 0.009, "Ser": 0.002}
    bound = binding_of(Comparison.from_dict(results)["cohort"])
    assert bound is not None
    assert bound.kind == "communication"
    for service in of_system(results, "cohort"):
        service["accelerator_denied"] = {"TCP": 0.01, "Ser": 0.04}
    bound = binding_of(Comparison.from_dict(results)["cohort"])
    assert bound is not None
    assert (bound.short, bound.share) == ("Ser, full queue", pytest.approx(0.04))
    of_system(results, "cohort")[3]["saturated"] = "manager"
    bound = binding_of(Comparison.from_dict(results)["cohort"])
    assert bound is not None
    assert bound.short == "manager, overloaded"


def two_servers(results: dict[str, Any], system: str, *, placement: str = "colocated") -> None:
    """Give the first service of `results` a busy server, and let the others share an idle one."""
    first, *others = of_system(results, system)
    for service in others:
        service |= {"core_utilization": 0.05, "accelerator_utilization": {"TCP": 0.02}}
    first |= {"core_utilization": 0.88, "accelerator_utilization": {"TCP": 0.1}}
    results["placement"] = placement
    if placement == "colocated":
        results["servers"] = [[first["service"]], [service["service"] for service in others]]


@pytest.mark.parametrize("placement", ["colocated", "isolated"])
def test_the_busiest_of_several_servers_explains_a_queue(
    results: dict[str, Any], placement: str
) -> None:
    two_servers(results, "non_acc", placement=placement)
    comparison = Comparison.from_dict(results)
    name = comparison["non_acc"].services[0].service
    bound = binding_of(comparison["non_acc"])
    assert bound is not None
    assert bound.sentence == (
        f"queueing, 50 % of its time (most used: cores on the server of {name}, 88 %)"
    )
    (row,) = [line for line in answer(results) if line.startswith("Non-acc") and "used" in line]
    assert row.split()[5:] == ["88%", "TCP", "10%", "cores,", "88%", "used"]
    assert use_figure(comparison).data["value"][:2] == [0.88, 0.1]


def test_results_without_servers_tell_them_by_their_utilisation(results: dict[str, Any]) -> None:
    two_servers(results, "non_acc")
    del results["servers"]
    bound = binding_of(Comparison.from_dict(results)["non_acc"])
    assert bound is not None
    assert bound.used == pytest.approx(0.88)


def test_a_full_queue_is_that_of_one_server(results: dict[str, Any]) -> None:
    two_servers(results, "cohort")
    two_servers(results, "relief")
    first, *others = [service["service"] for service in of_system(results, "cohort")]
    for service in of_system(results, "cohort"):
        service["accelerator_denied"] = {"TCP": 0.0}
    of_system(results, "cohort")[0]["accelerator_denied"] = {"TCP": 0.057}
    bound = binding_of(Comparison.from_dict(results)["cohort"])
    assert bound is not None
    assert bound.sentence == (
        f"TCP on the server of {first}, whose full queue turns away 6 % of its operations"
    )
    # RELIEF: 100 of 2,000 operations on the idle server of the others, and none of 19,000.
    counts = {"responded": 0, "completed": 0, "timed_out": 0, "operations_per_request": 19.0}
    for service in of_system(results, "relief"):
        service.update(counts, fallbacks={"enqueue_denied": 0})
    of_system(results, "relief")[0] |= {"responded": 1_000, "completed": 900}
    of_system(results, "relief")[1] |= {
        "responded": 100,
        "completed": 90,
        "fallbacks": {"overflow_full": 100},
    }
    bound = binding_of(Comparison.from_dict(results)["relief"])
    assert bound is not None
    assert bound.sentence == (
        f"the manager's queue on the server of {others[0]}, {others[1]} and {len(others) - 2}"
        " others, which is full and turns away 5 % of all operations"
    )


def test_refusals_by_reliefs_only_queue_are_not_those_of_an_accelerator(
    results: dict[str, Any],
) -> None:
    results["placement"] = "colocated"
    for service in of_system(results, "relief"):
        service |= {
            "responded": 900,
            "completed": 800,
            "timed_out": 100,
            "operations_per_request": 19.0,
        }
        service["accelerator_denied"] = {"TCP": 0.0, "Cmp": 0.65}
        service["accelerator_utilization"] = {"TCP": 0.4, "Cmp": 0.02}
        service["fallbacks"] = {"enqueue_denied": 30, "overflow_full": 100, "timed_out": 500}

    def found() -> tuple[str, str]:
        bound = binding_of(Comparison.from_dict(results)["relief"])
        assert bound is not None
        return bound.short, bound.sentence

    # Few operations are denied, though most of those of Cmp: 130 of 19,130 are 0.7 %.
    assert found()[0] == "orchestration, manager"
    for service in of_system(results, "relief"):
        service["fallbacks"]["enqueue_denied"] = 900
    full = "the manager's queue, which is full and turns away 5 % of all operations"
    assert found() == ("manager's queue, full", full)
    # The queue fills behind a busy accelerator.
    for service in of_system(results, "relief"):
        service["accelerator_utilization"]["TCP"] = 0.57
    behind = (
        "TCP, 57 % used: the manager's queue fills behind it and turns away 5 % of all operations"
    )
    assert found() == ("TCP, 57% used", behind)
    # A system in Python that is like RELIEF has the same queue.
    results["python_systems"] = [{"orchestrator": "mine", "like": "relief", "classes": {}}]
    for system in results["systems"]:
        if system["orchestrator"] == "relief":
            system["orchestrator"] = "mine"
    bound = binding_of(Comparison.from_dict(results)["mine"])
    assert bound is not None
    assert bound.sentence == behind
    # So has one that states it, whatever it is based on.
    for like, queueing in (("accelflow", "central"), ("relief", "per_accelerator")):
        row = {"orchestrator": "mine", "like": like, "queueing": queueing, "classes": {}}
        results["python_systems"] = [row]
        assert Comparison.from_dict(results)["mine"].has_central_queue == (queueing == "central")


def test_parts_add_up_to_the_mean_latency(results: dict[str, Any]) -> None:
    for system in Comparison.from_dict(results).systems:
        assert system.mean_us is not None
        assert sum(parts_of(system).values()) == pytest.approx(system.mean_us)


def test_results_that_do_not_say_are_not_guessed(made_up_results: dict[str, Any]) -> None:
    comparison = Comparison.from_dict(made_up_results)
    assert binding_of(comparison["accelflow"]) is None
    assert within_slo(comparison["accelflow"]) is None
    lines = answer(made_up_results)
    assert not any("Where the time goes" in line or "Within SLO" in line for line in lines)
    assert "bottleneck" not in lines[0]


def test_an_overloaded_rival_has_no_percentage(results: dict[str, Any]) -> None:
    of_system(results, "relief")[0]["saturated"] = "manager"
    text = verdict(Comparison.from_dict(results))
    assert "keeps up where RELIEF cannot" in text
    assert "against RELIEF" not in text
    of_system(results, "accelflow")[0]["saturated"] = "TCP"
    # Each service has a server of its own.
    text = verdict(Comparison.from_dict(results))
    server = "'TCP' of the server of CPost was overloaded during the run."
    assert text == f"AccelFlow cannot keep up: {server}"
    lines = answer(results)
    assert any(line.startswith("AccelFlow") and line.endswith("TCP, overloaded") for line in lines)
    assert sum(line.startswith("* The system cannot keep up") for line in lines) == 1
    for system in results["systems"]:
        for service in system["services"]:
            service["core_utilization"] = 0.5
            service["accelerator_utilization"] = {"TCP": 1.0}
    results["placement"] = "colocated"
    text = verdict(Comparison.from_dict(results))
    assert text == "AccelFlow cannot keep up: 'TCP' was overloaded during the run."


def test_a_slower_subject_is_said_to_be_slower(results: dict[str, Any]) -> None:
    for service in of_system(results, "accelflow"):
        service["p99_us"] *= 10
    text = verdict(Comparison.from_dict(results))
    # 20 (1.5 + ln 2) over 4 (1.5 + ln 4), and over 6 (1.5 + ln 6). CPU-Centric is faster, too, but
    # nobody would choose it: the answer names the fastest.
    assert "raises P99 by 280 % against Cohort and 122 % against RELIEF" in text
    assert "cuts P99 by 70 % against Non-acc" in text
    assert "CPU-Centric" not in text


def test_a_p99_below_ideals_is_said_to_be_below(results: dict[str, Any]) -> None:
    for ours, ideal in zip(
        of_system(results, "accelflow"), of_system(results, "ideal"), strict=True
    ):
        ours["p99_us"] = 0.27 * ideal["p99_us"]
    text = verdict(Comparison.from_dict(results))
    assert "has a P99 73 % below Ideal's, which is no lower bound here." in text
    for ours, ideal in zip(
        of_system(results, "accelflow"), of_system(results, "ideal"), strict=True
    ):
        ours["p99_us"] = 0.998 * ideal["p99_us"]
    assert "comes within 1 % of Ideal." in verdict(Comparison.from_dict(results))


def test_a_change_of_zero_percent_is_no_change(results: dict[str, Any]) -> None:
    for ours, theirs in zip(
        of_system(results, "accelflow"), of_system(results, "non_acc"), strict=True
    ):
        ours["p99_us"] = 1.004 * theirs["p99_us"]
    text = verdict(Comparison.from_dict(results))
    assert "has the same P99 as Non-acc and has" in text
    assert "by 0 %" not in text


def test_without_accelflow_the_fastest_real_system_is_the_subject(results: dict[str, Any]) -> None:
    results["systems"] = [
        system for system in results["systems"] if system["orchestrator"] != "accelflow"
    ]
    assert verdict(Comparison.from_dict(results)).startswith("Cohort cuts P99 by")
    results["systems"] = results["systems"][:1]
    text = verdict(Comparison.from_dict(results))
    assert text.startswith("Non-acc: P99 4.50 ms, mean 918.8 us. Its bottleneck is queueing")


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
def test_the_answer_fits_its_terminal(results: dict[str, Any], width: int) -> None:
    lines = answer(results, width)
    # The verdict and the notes are paragraphs, which the terminal wraps.
    systems = lines[4 : lines.index("", 4)]
    assert len(systems) >= 2 + len(SLOWNESS)
    assert max(map(len, systems)) <= width
    assert all(any(name in line for line in systems) for name in ("Non-acc", "Ideal"))
    assert not any("…" in line for line in lines)
    bars = [line for line in lines if line.startswith("AccelFlow") and "█" in line]
    assert bars
    assert len(bars[0]) <= width


def test_a_terminal_without_unicode_has_bars_too(results: dict[str, Any]) -> None:
    lines = answer(results, encoding="ascii")
    (_, bar) = [line for line in lines if line.startswith("AccelFlow  ")]
    assert "##=" in bar


def test_names_are_not_markup(results: dict[str, Any]) -> None:
    results["workload"] = "[bold]shop[/nonsense]"
    results["systems"][4]["chip"] = "[red]"
    assert any("[bold]shop[/nonsense]" in line for line in answer(results))
    assert any("AccelFlow on [red]" in line for line in answer(results, 140))


def test_several_chips_have_a_sentence_each(results: dict[str, Any]) -> None:
    small = [{**system, "chip": "small"} for system in results["systems"]]
    results["systems"] = [{**system, "chip": "paper"} for system in results["systems"]] + small
    text = verdict(Comparison.from_dict(results))
    assert text.startswith("On paper, AccelFlow cuts P99 by 62 %")
    assert " On small, AccelFlow cuts P99 by 62 %" in text


def lose(service: dict[str, Any], lost: int) -> None:
    """Leave `lost` of 1,000 requests without a response."""
    answered = 1_000 - lost
    service |= {"responded": answered, "completed": answered, "timed_out": lost}
    service["slo"] = {"us": 500.0, "requests": 1_000, "missed": min(10 + lost, 1_000)}
    if not answered:
        service |= dict.fromkeys(("mean_us", "p50_us", "p99_us", "p999_us", "spent_us"))
        service |= {"spent_us": {}, "throughput_rps": 0.0}


def test_latencies_of_survivors_are_said_to_be_theirs(results: dict[str, Any]) -> None:
    for system in results["systems"]:
        for service in system["services"]:
            lose(service, 995 if service["service"] == "CPost" else 0)
    lines = answer(results)
    # 995 of 8,000 requests of each system.
    beginning = "Among answered requests alone (12 % have no response), AccelFlow cuts P99 by 62 %"
    assert lines[0].startswith(beginning)
    (ours, _) = [line for line in lines if line.startswith("AccelFlow  ")]
    assert ours.split()[1:3] == ["61.2a", "134.3a"]
    note = (
        "a Latencies are those of answered requests alone. Without a response: 12 % under every"
        " system. By service, at most: CPost 99.5 %."
    )
    assert note in lines
    assert "Some requests have no response" in repr(Comparison.from_dict(results))
    # Systems may differ in what they answer.
    for service in of_system(results, "relief"):
        lose(service, 0)
    lines = answer(results)
    assert "(0 % to 12 % have no response, depending on the system)" in lines[0]
    assert any("12 % under Cohort" in line and "0 % under RELIEF" in line for line in lines)


def test_few_requests_without_a_response_change_no_answer(results: dict[str, Any]) -> None:
    for system in results["systems"]:
        for service in system["services"]:
            lose(service, 0)
    silent = answer(results)
    for system in results["systems"]:
        for service in system["services"]:
            service["timed_out"] = 1
    # Neither the answer changes nor is there a note.
    lines = answer(results)
    assert (lines[0], len(lines)) == (silent[0], len(silent))
    # A single request makes a note if the systems differ.
    of_system(results, "relief")[0]["timed_out"] = 0
    lines = answer(results)
    assert lines[0] == silent[0]
    assert any("0.08 % under RELIEF" in line for line in lines)


def test_a_service_that_the_idle_server_never_answers_is_late(results: dict[str, Any]) -> None:
    late_slo = {"us": None, "requests": 1_000, "missed": 1_000, "idle_unanswered": True}
    for system in results["systems"]:
        for service in system["services"]:
            lose(service, 1_000 if service["service"] == "CPost" else 0)
            if service["service"] == "CPost":
                service["slo"] = late_slo
    comparison = Comparison.from_dict(results)
    ours = comparison["accelflow"]
    assert ours["CPost"].slo_missed_share == 1.0
    assert [result.service for result in ours.services if result.idle_unanswered] == ["CPost"]
    # 1,000 of CPost, and 10 of each of the other seven.
    assert ours.slo_missed_share == pytest.approx(1_070 / 8_000)
    lines = answer(results)
    others = "Of ReadH, StoreP, Follow, Login, ..., AccelFlow cuts P99 by"
    assert lines[0].startswith(f"AccelFlow answers no request of CPost. {others}")
    late = (
        "CPost has no response on the idle server, whose times set the SLO: all of its requests"
        " count as late."
    )
    assert late in lines
    assert any(line.startswith("AccelFlow") and "86.6%" in line for line in lines)
    file = io.StringIO()
    print_comparison(comparison, Console(width=200, file=file), by_service=True)
    assert (
        "The reductions against Non-acc, CPU-Centric, RELIEF, Cohort are means over ReadH, StoreP,"
        " Follow, Login, ... alone: one of the two systems answers no request of CPost."
    ) in file.getvalue()
    # With several seeds, it is late with all of them.
    pair = pooled([results, {**results, "seed": 2}])
    slo = next(row["slo"] for row in of_system(pair, "ideal") if row["service"] == "CPost")
    assert slo == {**late_slo, "requests": 2_000, "missed": 2_000}


def test_an_answer_for_the_other_services_names_those_that_clients_call(
    results: dict[str, Any],
) -> None:
    called = {"completed": 900, "requests": 1_000, "mean_us": 5.0, "p50_us": 5.0, "p99_us": 9.0}
    for system in results["systems"]:
        for service in system["services"]:
            lose(service, 1_000 if service["service"] == "CPost" else 0)
            if service["service"] != "Login":
                continue
            service.update({"completed": 0, "responded": 0, "called": {**called, "p999_us": 9.0}})
            service.update(dict.fromkeys(("mean_us", "p50_us", "p99_us", "p999_us")))
    said = answer(results)[0]
    assert said.startswith("AccelFlow answers no request of CPost. Of ReadH, StoreP, Follow, CUrls")
    for system in results["systems"]:
        for service in system["services"]:
            if service["service"] != "Login":
                lose(service, 1_000)
    assert answer(results)[0].endswith("answers no request of CPost, ReadH, StoreP, Follow, ....")


def test_seeds_may_differ_in_whether_a_service_was_called(results: dict[str, Any]) -> None:
    first, second = results, copy.deepcopy(results) | {"seed": 2}
    times = {"mean_us": 5.0, "p50_us": 4.0, "p99_us": 9.0, "p999_us": None}
    called = {"completed": 2, **times}
    of_system(second, "ideal")[0]["called"] = called
    of_system(second, "ideal")[1]["called"] = called
    of_system(first, "ideal")[1]["called"] = called
    rows = of_system(pooled([first, second]), "ideal")
    assert rows[0].get("called") is None
    assert rows[1]["called"] == {"completed": 4, **times}
    assert pooled([second, first])["systems"] == pooled([first, second])["systems"]


def test_a_system_that_answers_what_another_does_not(results: dict[str, Any]) -> None:
    for system in results["systems"]:
        for service in system["services"]:
            lost = system["orchestrator"] == "cohort" and service["service"] == "Login"
            lose(service, 1_000 if lost else 0)
    text = verdict(Comparison.from_dict(results))
    assert "answers requests of Login, as Cohort does not" in text
    assert "against Cohort" not in text


def test_the_name_of_a_system_in_python_stays_as_it_is(results: dict[str, Any]) -> None:
    results["python_systems"] = [{"orchestrator": "mine", "like": "cohort", "classes": {}}]
    results["systems"] = [{**results["systems"][3], "orchestrator": "mine"}]
    assert verdict(Comparison.from_dict(results)).startswith("mine: P99 ")
