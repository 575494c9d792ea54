"""A function whose calls of the datacenter tax become traces and a workload."""

import json
import zlib

import accelflow


@accelflow.offload
def render(request: bytes) -> bytes:
    """Answer with the sum of the values in the page."""
    page = json.loads(zlib.decompress(request))
    page["sum"] = sum(page["values"])
    return zlib.compress(json.dumps(page).encode())


request = zlib.compress(b'{"values": [1, 2, 3]}')
for _ in range(10):
    render(request)  # does what it did, and is recorded

proposal = render.propose(rate_rps=2_000)
for name, trace in proposal.traces.items():
    print(name, *trace)
results = proposal.compare(orchestrators=["non_acc", "accelflow"], requests=300)
faster = results["accelflow"]["render"].mean_us < results["non_acc"]["render"].mean_us
print("faster with accelerators:", faster)
