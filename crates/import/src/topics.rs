//! The kinds of findings that an import's report counts: what may be found in spans, and what the
//! import does about it.

use crate::report::{Sure, Topic};

macro_rules! topics {
    ($($(#[$about:meta])* $name:ident = $sure:ident $what:literal => $done:literal;)*) => {
        $(pub(crate) static $name: Topic = Topic { sure: Sure::$sure, what: $what, done: $done };)*
    };
}

topics! {
    SPANS = Understood "spans" => "read";
    REQUESTS = Understood "requests: spans that serve a call" => "each is a request of a service";
    INNER_CLIENT = Understood "client spans inside a client span of the same service"
        => "they are part of the outer call";
    SHARED_ID = Understood "span ids that a client and its server share, as Zipkin writes them"
        => "the server span is the child of the client span";

    STAGGER = Understood "groups of parallel calls that start one after another"
        => "the time by which this prolongs the group is application time before it";
    FOLLOWS = Understood "async children: calls that only follow from their parent (FOLLOWS_FROM)"
        => "no response waits for them (`detached`)";

    KIND = Guessed "spans without a kind"
        => "the kind is derived from parent and children, database attributes, or the name";
    PROTOCOL = Guessed "calls without attributes of RPC or HTTP" => "they are taken as RPC";
    STORE = Guessed "calls that only their names show to be of a cache or a database"
        => "taken to be what the name says";
    ACCESS = Guessed "calls of a cache or a database that do not say whether they read"
        => "calls of a cache are taken as reads, of a database as writes (traces T8 and T7)";
    CALLEE = Guessed "calls whose server span is missing, while other calls of the same name have one"
        => "they are taken to have called the same operation";
    NO_CLIENT = Guessed "calls without a client span"
        => "the duration of the server span is the wait, without the network";
    NEGATIVE = Guessed "spans with a negative duration" => "the duration is taken as 0";
    OLD = Guessed "spans that start before the year 2000"
        => "their times count as they are; Jaeger's must be in microseconds, OTLP's in nanoseconds";
    SKEW = Guessed "clock skew: server spans outside of their client spans"
        => "nothing is shifted: the durations of calls are used, and rates are those of requests from outside";
    SHIFTED = Guessed "clock skew: calls without a client span that lie outside of their parents"
        => "they are shifted into the parent";
    LONGER = Guessed "server spans longer than their client spans"
        => "the client span's duration is the wait";
    EARLY = Guessed "calls that begin before their parent"
        => "the beginning is moved to that of the parent";
    ASYNC = Guessed "async children: calls that end after their parent"
        => "no response waits for them (`detached`)";
    LATE_ASYNC = Guessed "async children: calls that begin after their parent's end"
        => "no response waits for them (`detached`); they are placed before the answer";
    PARTLY = Guessed "calls that begin after one of several parallel calls has ended, but not the last"
        => "a call is parallel if over half of it overlaps, else it follows";
    MISSING = Guessed "missing parents of server spans"
        => "they are taken as requests from outside";
    CIRCLE = Guessed "calls in a circle: services that would call themselves"
        => "the observed time is a wait instead of a simulated call";
    RATES = Guessed "rates too low for a workload" => "set to 0.001 requests per second";
    FAR = Guessed "clock skew: requests from outside that start far from nearly all others"
        => "the rates are those in the time of the others";
    SHORT_FAILURES = Guessed "failed attempts that are shorter than answered calls"
        => "each takes as long as an answered call";
    HANDLED = Guessed "errors of calls after which the caller continued"
        => "the answer counts as an ordinary answer";

    TWICE = Dropped "duplicate span ids: equal spans" => "one of them is kept";
    DUPLICATE = Dropped "duplicate span ids: different spans" => "the first is kept";
    INCOMPLETE = Dropped "spans without a trace, an id, a start or an end" => "left out";
    CYCLE = Dropped "cycles: spans that are their own ancestors" => "left out";
    ORPHANS = Dropped "missing parents of spans that serve no call"
        => "left out: they belong to no request";
    LATE = Dropped "spans that came after their trace was taken as finished"
        => "left out; a larger `window_spans` keeps traces open for longer";
    HUGE = Dropped "spans of a trace beyond its first `window_spans`" => "left out";
    MANY_CALLS = Dropped "requests with more than 256 calls" => "left out of the paths";
    WIDE = Dropped "more than 64 calls in parallel"
        => "the calls beyond 64 are left out of the path";
    LONG = Dropped "requests with more than 400 steps" => "left out of the paths";
    SERVICES = Dropped "requests of services beyond the first 1000" => "left out";
    ONE_SIZE = Dropped "calls that state the size of one of their two messages only"
        => "left out: the sizes are those of the workload";
    STANDS = Guessed "requests of called operations with less common sequences of calls (shapes)"
        => "their callers call the most common shape";
    UNCALLED = Dropped "requests of called operations whose callers are left out"
        => "left out: nothing in the workload calls them";
    RATED = Guessed "requests from outside with less common sequences of calls (shapes)"
        => "they count in the rates of the kept shapes, as `rates` asks";
    RARE = Dropped "requests from outside with less common sequences of calls (shapes)"
        => "left out; `shapes` sets how many sequences per operation are kept";
    TIME_RANGE = Dropped "spans with times of 2^63 ns (in the year 2262) or later"
        => "left out; Jaeger's times must be in microseconds, OTLP's in nanoseconds";
}
