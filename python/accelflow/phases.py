"""The types of a workload's tree: phases of paths, and the values that services and chains have.

They have the fields of a workload's file (docs/workloads.md), so a type checker finds misspelt and
missing fields. The allowed values are checked when the workload is read.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypeAlias, TypedDict

__all__ = [
    "Arrivals",
    "Chain",
    "ChainOptions",
    "Costs",
    "Cpu",
    "Defaults",
    "Facts",
    "LogNormalBytes",
    "LogNormalTime",
    "Odds",
    "OperationCost",
    "Parallel",
    "Phase",
    "Retry",
    "Sizes",
    "Times",
    "Traces",
]


class LogNormalTime(TypedDict):
    """The median of log-normal times, and `sigma`, the standard deviation of their logarithm."""

    median_us: float
    sigma: float


class ConstantTime(TypedDict):
    """A time that is the same for all requests."""

    constant_us: float


class LogNormalTimes(TypedDict):
    """A log-normal distribution of times."""

    log_normal: LogNormalTime


class QuantileTimes(TypedDict):
    """A distribution as pairs of probability (0 to 1) and time in us, interpolated linearly."""

    quantiles_us: Sequence[tuple[float, float] | Sequence[float]]


class CountedTimesFile(TypedDict):
    """A distribution of times in a CSV file with the columns time_us and count."""

    histogram_file: str


class CountedTimes(TypedDict):
    """A distribution as pairs of a time in us and how often it occurs, by ascending time."""

    histogram_us: Sequence[tuple[float, int] | Sequence[float]]


#: The duration of a remote answer, application logic, or a message on the network.
Times: TypeAlias = ConstantTime | LogNormalTimes | QuantileTimes | CountedTimesFile | CountedTimes


class LogNormalBytes(TypedDict):
    """The median of log-normal sizes, and `sigma`, the standard deviation of their logarithm."""

    median_bytes: float
    sigma: float


class FixedSize(TypedDict):
    """The same size for all messages."""

    fixed_bytes: int


class LogNormalSizes(TypedDict):
    """A log-normal distribution of sizes."""

    log_normal: LogNormalBytes


class QuantileSizes(TypedDict):
    """A distribution as pairs of probability (0 to 1) and size in bytes, interpolated linearly."""

    quantiles: Sequence[tuple[float, int] | Sequence[float]]


class CountedSizesFile(TypedDict):
    """A distribution of sizes in a CSV file with the columns size_bytes and count."""

    histogram_file: str


class CountedSizes(TypedDict):
    """A distribution as pairs of a size in bytes and how often it occurs, by ascending size."""

    histogram: Sequence[tuple[int, int] | Sequence[int]]


class PresetSizes(TypedDict):
    """Payload sizes of a data set that comes with accelflow, by its name."""

    preset: Literal["socialnetwork", "fleet", "fleet_whole", "hypercompressbench"]


#: Sizes of messages before compression.
Sizes: TypeAlias = (
    FixedSize | LogNormalSizes | QuantileSizes | CountedSizesFile | CountedSizes | PresetSizes
)


class PoissonArrivals(TypedDict):
    """Poisson arrivals: requests arrive independently of each other."""

    process: Literal["poisson"]


class ModulatedArrivals(TypedDict):
    """Arrivals whose rate changes between states.

    Each state is (relative rate, weight). A new state is drawn by weight after `dwell_us` on
    average.
    """

    process: Literal["modulated"]
    states: Sequence[tuple[float, float] | Sequence[float]]
    dwell_us: float


class PresetArrivals(TypedDict):
    """Arrivals in bursts: a model, fitted to published data, that comes with accelflow."""

    process: Literal["preset"]
    preset: Literal["alibaba", "azure", "short_bursts"]


class GivenArrivals(TypedDict, total=False):
    """Arrivals at given times in us: in a CSV `file`, or as a list `times_us`."""

    process: Required[Literal["times"]]
    file: str
    times_us: Sequence[float]


class RateArrivals(TypedDict, total=False):
    """Poisson arrivals at a rate that changes at given times.

    The rates are in a CSV `file`, or in `rates` as pairs of a start in us and requests per second.
    """

    process: Required[Literal["rates"]]
    file: str
    rates: Sequence[tuple[float, float] | Sequence[float]]


#: The process by which requests arrive.
Arrivals: TypeAlias = (
    PoissonArrivals | ModulatedArrivals | PresetArrivals | GivenArrivals | RateArrivals
)


class OperationCost(TypedDict, total=False):
    """The core time of an operation: `ns` for each message, and `ns_per_byte` before compression.

    `relative_error` is the standard error of this cost, as a share of it.
    """

    ns: float
    ns_per_byte: float
    relative_error: float


class PaperCosts(TypedDict, total=False):
    """The paper's costs of operations, in proportion to `tcp_cost_ns`, the cost of TCP."""

    source: Required[Literal["paper"]]
    tcp_cost_ns: float


class RecordedCosts(TypedDict, total=False):
    """Costs from a recording of real messages: the path of its `file`, or its `text`."""

    source: Required[Literal["recording"]]
    file: str
    text: str


class OperationCosts(TypedDict, total=False):
    """The core time of each operation. A workload must not use an operation without one."""

    source: Required[Literal["operations"]]
    TCP: OperationCost
    Encr: OperationCost
    Decr: OperationCost
    RPC: OperationCost
    Ser: OperationCost
    Dser: OperationCost
    Cmp: OperationCost
    Dcmp: OperationCost
    LdB: OperationCost


class MeasuredCosts(TypedDict):
    """Costs measured on this machine; only for SocialNetwork's own messages."""

    source: Literal["measured"]


#: The source of costs: the core time of each operation without accelerators.
Costs: TypeAlias = PaperCosts | RecordedCosts | OperationCosts | MeasuredCosts

#: Values of the payload fields that branches test, on the most common path, by trace and field.
Facts: TypeAlias = Mapping[str, Mapping[str, int]]

#: The probability that a payload field that a branch tests is 1, by trace and field.
Odds: TypeAlias = Mapping[str, Mapping[str, float]]


class Retry(TypedDict):
    """Retries of a chain.

    Each attempt fails with the probability `odds`. There are at most `attempts` in total, with a
    pause of `backoff_us` before each further one.
    """

    odds: float
    attempts: int
    backoff_us: float


class ChainOptions(TypedDict, total=False):
    """The optional fields of a chain.

    `times` equal chains run in parallel. `facts`, `odds` and `sizes` are those of the chain's
    payloads. `waits` maps each trace that receives a remote answer to the time until it arrives.
    `calls` is the service that answers, over the `network` if it runs on another server. The
    request does not wait for a `detached` chain. A chain that fails is repeated by `retry`.
    """

    times: int
    facts: Facts
    odds: Odds
    sizes: Sizes | Sequence[Sizes]
    waits: Mapping[str, Times]
    calls: str
    network: Times
    detached: bool
    retry: Retry


class Chain(ChainOptions):
    """A phase that runs `trace`, and then each next trace that a tail names (docs/glossary.md)."""

    trace: Required[str]


class Parallel(TypedDict):
    """Different chains in parallel; the phase ends with the last of them."""

    parallel: Sequence[Chain]


class Timed(TypedDict):
    """Application logic that takes `cpu_us` microseconds of a core."""

    cpu_us: float


class Cpu(TypedDict):
    """Application logic with a random time, or with a time that is set elsewhere (True)."""

    cpu: Literal[True] | Times


#: A phase of a service's path.
Phase: TypeAlias = Chain | Parallel | Timed | Cpu


class Defaults(TypedDict, total=False):
    """The values of fields that a service leaves out."""

    rate_rps: float
    rates: str
    slo_us: float
    slo_factor: float
    arrivals: Arrivals
    sizes: Sizes
    costs: Costs
    waits: Mapping[str, Times]
    network: Times


class TracesSource(TypedDict):
    """Additional traces of a workload, as `source` text."""

    source: str


class TracesFile(TypedDict):
    """Additional traces of a workload, in a `file`: their text, or a trace file."""

    file: str


class TracesModule(TypedDict):
    """Additional traces of a workload, registered by the Python `module` at this path."""

    module: str


#: The source of a workload's additional traces: their text, a file, or a Python module.
Traces: TypeAlias = TracesSource | TracesFile | TracesModule
