//! How long a trace that begins with a receiving TCP waits for its message.

use accelflow_units::Time;

use super::{Parameter, Provenance};

/// The time between a request's departure and the response's arrival, by the trace that receives
/// the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteWaits {
    by_trace: Vec<(String, Time)>,
    other: Time,
    provenance: Provenance,
    note: &'static str,
}

impl RemoteWaits {
    /// 5 us for everything: remote sides on the same rack that do next to nothing.
    ///
    /// Provenance: assumed. The paper prints no remote times, and its shares of tax and logic add
    /// up to the whole execution, so they leave remote time out.
    pub fn short() -> RemoteWaits {
        let note = "a remote side in the same rack; the paper prints no remote times";
        RemoteWaits {
            by_trace: Vec::new(),
            other: Time::from_us(5),
            provenance: Provenance::Assumed,
            note,
        }
    }

    /// Medians of the spans in DeathStarBench's own Jaeger capture of 20 compose-post requests
    /// (socialNetwork, delimitrou/DeathStarBench at 6ecb0970).
    ///
    /// T5: a get from redis (social_graph_redis_get, 72 us). T6: a find in MongoDB
    /// (social_graph_mongo_find, 276 us). T7: an insert into MongoDB (post_storage_mongo_insert,
    /// 242 us). T10: the median of the medians of the seven servers that ComposePost calls
    /// (6, 7, 13, 269, 452, 542 and 1,434 us). Others, as T12, of which there is no measurement:
    /// as T10. The spans include the remote side's own datacenter tax.
    pub fn social_network() -> RemoteWaits {
        let rpc = Time::from_us(269);
        RemoteWaits {
            by_trace: [("T5", 72), ("T6", 276), ("T7", 242)]
                .map(|(trace, us)| (trace.to_owned(), Time::from_us(us)))
                .to_vec(),
            other: rpc,
            provenance: Provenance::Measured,
            note: "median span in the Jaeger capture of DeathStarBench's SocialNetwork",
        }
    }

    /// `time` for everything: an assumption of the caller's.
    pub fn constant(time: Time) -> RemoteWaits {
        RemoteWaits {
            by_trace: Vec::new(),
            other: time,
            provenance: Provenance::Assumed,
            note: "given by the user",
        }
    }

    /// The same, where the trace called `trace` waits for `time`.
    pub fn with(mut self, trace: &str, time: Time) -> RemoteWaits {
        self.by_trace.retain(|(name, _)| name != trace);
        self.by_trace.push((trace.to_owned(), time));
        self
    }

    /// How long the trace called `trace` waits.
    pub fn of(&self, trace: &str) -> Time {
        self.by_trace
            .iter()
            .find(|(name, _)| name == trace)
            .map_or(self.other, |(_, time)| *time)
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = Parameter> + '_ {
        let named = self
            .by_trace
            .iter()
            .map(|(name, time)| (name.as_str(), *time));
        named
            .chain([("other", self.other)])
            .map(|(trace, time)| Parameter {
                name: format!("remote_wait.{trace}_ns"),
                value: time.as_ns_f64(),
                provenance: self.provenance,
                note: self.note.to_owned(),
            })
    }
}
