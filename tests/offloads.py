"""What tests of Accelerometer share: services, and the command."""

from click.testing import CliRunner, Result

from accelflow import InputError
from accelflow.accelerometer import Kernel, Service
from accelflow.cli import program
from conftest import ROOT

EXAMPLES = ROOT / "examples" / "accelerometer"

INFERENCE = Service(
    host_cycles_per_s=2.5e9,
    kernels=[
        Kernel(
            name="inference",
            threading="async_distinct_thread",
            placement="remote",
            kernel_share_ratio=0.52,
            offloads_per_s=10,
            setup_cycles=25e6,
            thread_switch_cycles=12_500,
            acceleration_ratio=1.0,
        )
    ],
)

COMPRESSION = Kernel(
    name="compression",
    threading="sync",
    kernel_share_ratio=0.15,
    offloads_per_s=15_008,
    transfer_cycles=2_300,
    acceleration_ratio=27,
    cycles_per_byte=5.62,
)
FEED1 = Service(host_cycles_per_s=2.3e9, kernels=[COMPRESSION])


def command(*arguments: str) -> Result:
    return CliRunner().invoke(program, ["accelerometer", *arguments])


def refusal(*arguments: str) -> str:
    found = command(*arguments).exception
    assert isinstance(found, InputError), found
    return str(found)
