"""What the form of a workload's file demands of what importers write."""

import math
import re
from typing import Any

from accelflow.workload import workload_text

SERVICE_KEYS = {"name", "method", "rate_rps", "app_us", "arrivals", "costs", "path"}
CHAIN_KEYS = {"trace", "times", "facts", "waits"}
OPERATIONS = {"TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB"}


def check_workload(tree: Any, companions: dict[str, list[str]]) -> None:
    """Fail unless `tree` is a workload, with `companions` by name."""
    assert set(tree) <= {"schema", "name", "services", "origin"}
    assert tree["schema"] == "accelflow.workload/1"
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tree["name"])
    names = [service["name"] for service in tree["services"]]
    assert 1 <= len(names) == len(set(names)) <= 1_000
    for service in tree["services"]:
        check_service(service, companions)


def check_service(service: Any, companions: dict[str, list[str]]) -> None:
    assert set(service) <= SERVICE_KEYS
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", service["name"])
    assert 0.001 <= service["rate_rps"] <= 1e9
    assert 0 <= service["app_us"] <= 1e9
    if "arrivals" in service:
        lines = companions[service["arrivals"]["file"]]
        check_arrivals(service["arrivals"]["process"], lines)
        if service["arrivals"]["process"] == "rates":
            check_mean(service["rate_rps"], lines)
    path = service["path"]
    assert 1 <= len(path) <= 1_000
    assert "trace" in path[0]
    assert path[-1] == {"trace": "T2"}
    for phase in path:
        chains = phase.get("parallel", [phase] if "trace" in phase else [])
        assert sum(chain.get("times", 1) for chain in chains) <= 64
        for chain in chains:
            assert set(chain) <= CHAIN_KEYS
            for wait in chain.get("waits", {}).values():
                check_wait(wait)


def check_mean(rate_rps: float, lines: list[str]) -> None:
    """Fail unless accelflow takes `rate_rps` for the mean of the table of rates in `lines`."""
    rates = [[float(cell) for cell in row.split(",")] for row in lines[1:]]
    arrivals = {"process": "rates", "rates": rates}
    path = [{"trace": "T1", "facts": {"T1": {"compressed": 0}}}, {"trace": "T2"}]
    service = {"name": "s", "rate_rps": rate_rps, "app_us": 1, "arrivals": arrivals, "path": path}
    # It refuses another rate in a workload.
    workload_text({"schema": "accelflow.workload/1", "name": "w", "services": [service]})


def check_arrivals(process: str, lines: list[str]) -> None:
    """A file of arrivals: ascending times from 0, or rates of which the last is above 0."""
    header, *rows = lines
    assert rows
    values = [[float(cell) for cell in row.split(",")] for row in rows]
    times = [row[0] for row in values]
    assert times == sorted(times)
    assert times[0] == 0
    assert times[-1] <= 1e12
    if process == "times":
        assert header == "time_us"
    else:
        assert header == "start_us,rate_rps"
        assert len(set(times)) == len(times)
        assert all(0 <= rate <= 1e9 for _, rate in values)
        assert values[-1][1] > 0


def check_wait(wait: dict[str, Any]) -> None:
    if "constant_us" in wait:
        assert 0 <= wait["constant_us"] <= 1e9
        return
    pairs = wait["quantiles_us"]
    assert (pairs[0][0], pairs[-1][0]) == (0, 1)
    assert pairs == sorted(pairs)
    times = [time for _, time in pairs]
    assert times == sorted(times)
    assert all(0 <= time <= 1e9 for time in times)


def check_costs(costs: dict[str, Any]) -> None:
    assert costs["source"] == "operations"
    tables = {name: table for name, table in costs.items() if name != "source"}
    assert tables
    assert set(tables) <= OPERATIONS
    for table in tables.values():
        assert 0 < table["ns"] <= 1e12
        assert 0 < table["relative_error"] <= 1
        assert math.isfinite(table["ns"])
