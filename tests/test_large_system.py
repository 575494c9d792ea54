"""Alibaba's call graphs as the material of a large system: derived as committed, and simulable."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accelflow.scenario import Scenario
from accelflow.simulation import check, loaded

ROOT = Path(__file__).resolve().parent.parent
BENCHES = ROOT / "benches"
PUBLISHED = Path(os.environ.get("ACCELFLOW_PUBLISHED", ROOT.parent / "shared" / "data"))
ROWS = PUBLISHED / "alibaba_v2021_sample" / "Callgraph.csv"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHES)
    return pytest.importorskip("large_system")


def derived(rows: Path) -> str:
    arguments = [sys.executable, str(BENCHES / "alibaba_graphs.py"), str(rows)]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(not ROWS.exists(), reason="the rows of Alibaba's table are not here")
def test_the_committed_graphs_are_those_of_the_table():
    assert derived(ROWS) == (BENCHES / "alibaba_graphs.json").read_text()


def test_a_graph_is_derived_from_its_rows(tmp_path: Path):
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"
        "t,10,0,(?),http,front,a,20\n"
        "t,10,0.1,front,mc,cache,,0\n"
        "t,10,0.2,front,mc,cache,,0\n"
        "t,11,0.3,front,rpc,(?),b,9\n"  # the name is in the other row of the call
        "t,11,0.3,front,rpc,stock,b,-8\n"
        "t,12,0.4,front,rpc,stock,b,3\n"  # begins while 0.3 runs
        "t,30,0.5,front,rpc,stock,b,3\n"
        "t,31,0.5.1.7,lost,db,database,,1\n"  # of a caller that is not there
        "t,40,0.6,front,userDefined,x,,1\n"
        "t,41,0.7,front,mq,queue,,1\n"
    )
    found = json.loads(derived(rows))
    assert found["functions"] == [[0, ""], [0, "d"], [1, "2m 0&0 1 q"]]
    assert found["fronts"] == [2]


#: Some microservices that begin graphs are called most by others, and leave servers empty.
@pytest.mark.parametrize(("placement", "servers"), [("round_robin", 20), ("with_front", 16)])
def test_every_function_is_a_service_on_a_server(bench, placement: str, servers: int):
    graphs = json.loads((BENCHES / "alibaba_graphs.json").read_text())
    options = argparse.Namespace(graph="alibaba", copies=2, servers=20)
    made = bench.workload(options, placement)
    assert len(made.services) == 2 * len(graphs["functions"])
    assert len({service.server for service in made.services}) == servers
    fronts = [service for service in made.services if service.rate_rps]
    assert len(fronts) == 2 * len(set(graphs["fronts"]))
    asked = {"orchestrators": ["accelflow"], "requests": 100, "rate_rps": 1_000.0}
    check(loaded(Scenario(workload=made, slo_factor=None, **asked)))
