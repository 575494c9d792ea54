"""Types of the dicts that describe a workload: phases of a path, and fields of services and chains.

The dicts have the fields of a workload's file (docs/workloads.md), so a type checker finds misspelt
and missing fields. The allowed values are checked when the workload is read.
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
    """The parameters of a log-normal distribution of times: the median in us, and `sigma`.

    `sigma` is the standard deviation of the time's natural logarithm.
    """

    median_us: float
    sigma: float


class ConstantTime(TypedDict):
    """A time in us that is the same for all requests."""

    constant_us: float


class LogNormalTimes(TypedDict):
    """A log-normal distribution of times, with the parameters in `log_normal`."""

    log_normal: LogNormalTime


class QuantileTimes(TypedDict):
    """A distribution of times: pairs of probability (0 to 1) and time in us, linear in between."""

    quantiles_us: Sequence[tuple[float, float] | Sequence[float]]


class CountedTimesFile(TypedDict):
    """A distribution of times: a CSV file, `histogram_file`, with the columns time_us and count."""

    histogram_file: str


class CountedTimes(TypedDict):
    """A distribution of times: pairs (time in us, count), by ascending time; no others occur."""

    histogram_us: Sequence[tuple[float, int] | Sequence[float]]


#: A distribution of times in us: of waits for other servers, of application logic, or of messages
#: on the network.
Times: TypeAlias = ConstantTime | LogNormalTimes | QuantileTimes | CountedTimesFile | CountedTimes


class LogNormalBytes(TypedDict):
    """The parameters of a log-normal distribution of sizes: the median in bytes, and `sigma`.

    `sigma` is the standard deviation of the size's natural logarithm.
    """

    median_bytes: float
    sigma: float


class FixedSize(TypedDict):
    """A size in bytes that is the same for all messages."""

    fixed_bytes: int


class LogNormalSizes(TypedDict):
    """A log-normal distribution of sizes."""

    log_normal: LogNormalBytes


class QuantileSizes(TypedDict):
    """A distribution of sizes: pairs of probability (0 to 1) and bytes, linear in between."""

    quantiles: Sequence[tuple[float, int] | Sequence[float]]


class CountedSizesFile(TypedDict):
    """A distribution of sizes: a CSV file, `histogram_file`, with columns size_bytes and count."""

    histogram_file: str


class CountedSizes(TypedDict):
    """A distribution of sizes: pairs (size in bytes, count), by ascending size; no others occur."""

    histogram: Sequence[tuple[int, int] | Sequence[int]]


class PresetSizes(TypedDict):
    """Message sizes of the data set `preset`; ``socialnetwork`` is for SocialNetwork's services."""

    preset: Literal["socialnetwork", "fleet", "fleet_whole", "hypercompressbench"]


#: A distribution of message sizes in bytes, before compression.
Sizes: TypeAlias = (
    FixedSize | LogNormalSizes | QuantileSizes | CountedSizesFile | CountedSizes | PresetSizes
)


class PoissonArrivals(TypedDict):
    """Poisson arrivals: requests arrive independently of each other."""

    process: Literal["poisson"]


class ModulatedArrivals(TypedDict):
    """Arrivals whose rate changes at random between states.

    Each of `states` is a pair (rate divided by the mean rate, weight); the weighted mean of these
    rates must be 1. A state is drawn, with a probability in proportion to its weight, every
    `dwell_us` on average.
    """

    process: Literal["modulated"]
    states: Sequence[tuple[float, float] | Sequence[float]]
    dwell_us: float


class PresetArrivals(TypedDict):
    """Bursty arrivals with parameters fitted to the data set `preset`."""

    process: Literal["preset"]
    preset: Literal["alibaba", "azure", "short_bursts"]


class GivenArrivals(TypedDict, total=False):
    """Arrivals of requests at given times: the list `times_us`, or the column time_us of a `file`.

    The times are in us and do not decrease; the file is a CSV file.
    """

    process: Required[Literal["times"]]
    file: str
    times_us: Sequence[float]


class RateArrivals(TypedDict, total=False):
    """Poisson arrivals at a rate that changes over time.

    Each of `rates` is a pair (start in us, requests per second); the rate holds until the next
    start, and the last rate for good. Before the first start, nothing arrives. Instead of `rates`,
    `file` may be a CSV file with the columns start_us and rate_rps. The simulation begins at the
    time `from_us` of the table, 0 by default.
    """

    process: Required[Literal["rates"]]
    file: str
    rates: Sequence[tuple[float, float] | Sequence[float]]
    from_us: float


#: The process by which requests arrive.
Arrivals: TypeAlias = (
    PoissonArrivals | ModulatedArrivals | PresetArrivals | GivenArrivals | RateArrivals
)


class OperationCost(TypedDict, total=False):
    """The core time of an operation: `ns` plus `ns_per_byte` for each byte of its message.

    The message's bytes are counted before compression. `relative_error` is the standard error of
    the mean, if it was measured, as a share of the mean.
    """

    ns: float
    ns_per_byte: float
    relative_error: float


class PaperCosts(TypedDict, total=False):
    """The paper's shares of core time, scaled so that one TCP operation takes `tcp_cost_ns`."""

    source: Required[Literal["paper"]]
    tcp_cost_ns: float


class RecordedCosts(TypedDict, total=False):
    """Costs from a recording: its `file`, or its `text`."""

    source: Required[Literal["recording"]]
    file: str
    text: str


class OperationCosts(TypedDict, total=False):
    """The core time of each operation. The workload must execute no operation without a cost."""

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
    """Costs measured on this machine; only SocialNetwork's services can be measured."""

    source: Literal["measured"]


#: The source of the core time of each operation.
Costs: TypeAlias = PaperCosts | RecordedCosts | OperationCosts | MeasuredCosts

#: Values of payload fields that branches test, such as ``{'T5': {'hit': 1}}``, on the most common
#: path, by trace and field. Other things that a condition tests have its words as their names, such
#: as ``flags[3]``.
Facts: TypeAlias = Mapping[str, Mapping[str, int]]

#: The probability that a payload field is 1, such as ``{'T5': {'hit': 0.93}}``, by trace and field.
#: A condition such as ``method == 'Login'`` may be in the place of a field.
Odds: TypeAlias = Mapping[str, Mapping[str, float]]


class Retry(TypedDict):
    """Retries of a chain of traces: each attempt fails with the probability `odds`.

    There are up to `attempts` attempts in total, with pauses of `backoff_us` in between. After the
    last failed attempt, the request is answered with an error.
    """

    odds: float
    attempts: int
    backoff_us: float


class ChainOptions(TypedDict, total=False):
    """The optional fields of a chain of traces in a service's path.

    `times` equal chains run in parallel. `facts` are the values of payload fields that the chain's
    branches test, and `odds` the probabilities that such fields are 1. `sizes` are the sizes of the
    chain's messages. `waits` maps each trace that receives the answer of another server to the time
    until this answer comes. With `calls`, these waits are simulated: `calls` names a service of the
    workload that gives the answer. If this service runs on another server, each message takes the
    time `network`. If `detached`, the request does not wait for the chain. `retry` repeats failed
    attempts.
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
    """A phase that runs a chain of traces: `trace`, and all traces that follow it."""

    trace: Required[str]


class Parallel(TypedDict):
    """A phase that runs several chains of traces in parallel, and ends with the last of them."""

    parallel: Sequence[Chain]


class Timed(TypedDict):
    """Application logic that takes `cpu_us` microseconds of a core."""

    cpu_us: float


class Cpu(TypedDict):
    """A phase of application logic on a core: `cpu` is the distribution of its time, or True.

    Phases with True share the service's `app_us` equally; without `app_us`, the application time in
    the service's costs.
    """

    cpu: Literal[True] | Times


#: A phase of a service's path.
Phase: TypeAlias = Chain | Parallel | Timed | Cpu


class Defaults(TypedDict, total=False):
    """A workload's values for fields that its services leave out.

    Most have the meaning of the fields of the same names in :class:`accelflow.services.Service`.
    `rates` names the rule by which the services share the mean rate, and `network` is the time of a
    message between two servers.
    """

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
    """The workload's own traces, as text in `source`."""

    source: str


class TracesFile(TypedDict):
    """The workload's own traces in `file`: their text, or a compiled trace file."""

    file: str


class TracesModule(TypedDict):
    """The workload's own traces, registered by the Python module at the path `module`."""

    module: str


#: A workload's own traces: as text, in a file, or registered by a Python module.
Traces: TypeAlias = TracesSource | TracesFile | TracesModule
