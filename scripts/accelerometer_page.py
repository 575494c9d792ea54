"""Write docs/results/accelerometer/validation.md, .json and .png: where the closed form holds.

.venv/bin/python scripts/accelerometer_page.py            # all that is simulated anew
.venv/bin/python scripts/accelerometer_page.py --chains   # only the simulated chains anew
.venv/bin/python scripts/accelerometer_page.py --machine  # only the trial on this machine anew
.venv/bin/python scripts/accelerometer_page.py --benchmarks     # only its micro-benchmarks of
    # instructions, switches and io_uring
.venv/bin/python scripts/accelerometer_page.py --server FILE    # only what FILE has, the output of
    # cargo run --profile extension -p accelflow-storage --example live_chains >FILE
.venv/bin/python scripts/accelerometer_page.py --ensemble FILE  # likewise, the output of
    # cargo run --profile extension -p accelflow-runtime --example ensemble_offload >FILE
.venv/bin/python scripts/accelerometer_page.py --check    # only write the page of validation.json
"""

import json
import sys
from pathlib import Path
from typing import Any

from accelerometer_parts import chains, ensemble, machine, picture, server, simulated

from accelflow.accelerometer import validation
from accelflow.files import write_whole

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "accelerometer"
JSON, PAGE, PICTURE = FOLDER / "validation.json", FOLDER / "validation.md", FOLDER / "validation"

HEAD = """\
# Where the equations hold, and where they break

Written by `scripts/accelerometer_page.py`; not edited by hand.
[accelerometer.md](../../accelerometer.md) introduces the model.

The equations add up means. Here the same offloads are executed, event by event: threads on cores,
an interface, an accelerator and its queue. The kernel is the compression of the paper's Feed1
(alpha 0.15, 15,008 offloads a second, L 2,300 and o1 5,750 cycles, A 27, all offloaded), unless a
row says otherwise. *Equations* and *simulated* are gains in per cent; the error is in points,
equations less simulated, as the paper states its errors (1.1 to 3.7 points in production). The last
sections measure offloads of this project's server, of its runtime, and of the processor.

![Where the closed form holds, and where it breaks](validation.png)
"""


def main() -> None:
    """Run the simulations and measurements that the arguments ask for, and write the page."""
    result: dict[str, Any] = json.loads(JSON.read_text()) if JSON.exists() else {}
    match sys.argv[1:]:
        case []:
            result |= validation.grid() | {"chains": chains.chains()}
        case ["--chains"]:
            result["chains"] = chains.chains()
        case ["--machine"]:
            result["machine"] = machine.on_this_machine()
        case ["--benchmarks"]:
            result["machine"] |= machine.benchmarks()
        case ["--server", file]:
            result["server"] = server.measured_chains(Path(file))
        case ["--ensemble", file]:
            result["ensemble"] = ensemble.measured_offloads(Path(file))
        case ["--check"]:
            pass
        case _:
            sys.exit(__doc__)
    write_whole(JSON, lambda file: file.write_text(json.dumps(result, indent=1) + "\n"))
    write_whole(PAGE, lambda file: file.write_text(page(result)))
    picture.write(result, PICTURE)


def page(result: dict[str, Any]) -> str:
    """Return the page of the results as Markdown."""
    lines = [HEAD, *simulated.summary(result), *simulated.sections(result)]
    lines += chains.lines(result["chains"])
    for name, section in (
        ("server", server.lines),
        ("ensemble", ensemble.lines),
        ("machine", machine.lines),
    ):
        if name in result:
            lines += section(result[name])
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
