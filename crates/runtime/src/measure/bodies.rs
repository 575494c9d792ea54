//! Measures the times of the software accelerators by the size of the message.

use std::hint::black_box;
use std::time::Instant;

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call, Ensemble, Job, Session, messages};
use accelflow_trace::{Accel, Format};

use super::error::MeasureError;
use crate::affinity::on_core;
use crate::connection::connection;
use crate::processor_time::nanoseconds;
use crate::record::median::median;

/// The sizes of the messages for which [`measure`](super::measure) times each accelerator, as the
/// length in bytes of the text that a message contains. The input of an accelerator is slightly
/// longer than the text, or shorter if the message is compressed.
pub const SIZES: [usize; 4] = [256, 1_024, 4_096, 16_384];

/// The method whose arguments have the text.
const METHOD: &str = "ComposeText";

/// Calls that are not counted: they warm up caches and allocators.
const WARM_UP: usize = 3;

/// The shortest time that is reported: the resolution of the clock.
const LEAST_NS: f64 = 1.0;

/// A body's input, and its time for that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timed {
    pub(super) input_bytes: usize,
    pub(super) ns: f64,
}

/// Calls on one core before the other one has its turn: what disturbs the machine for longer than
/// that disturbs both.
const AT_A_TIME: usize = 6;

/// The times of all bodies on two cores, for each of [`SIZES`] and in the order of [`Accel::ALL`]:
/// medians over `calls` on each, a few at a time in turn.
///
/// TCP and RPC are those of a message that is received.
pub(super) fn times(
    cores: [usize; 2],
    calls: usize,
) -> Result<Vec<[[Timed; Accel::COUNT]; 2]>, MeasureError> {
    let mut bodies = [Bodies::new()?, Bodies::new()?];
    let mut found = Vec::with_capacity(SIZES.len());
    for bytes in SIZES {
        let arguments = arguments(bytes)?;
        for (bodies, core) in bodies.iter_mut().zip(cores) {
            on_core(core, || bodies.messages(&arguments, WARM_UP))??;
            bodies.samples = Default::default();
        }
        let mut done = 0;
        while done < calls {
            let some = AT_A_TIME.min(calls - done);
            for (bodies, core) in bodies.iter_mut().zip(cores) {
                on_core(core, || bodies.messages(&arguments, some))??;
            }
            done += some;
        }
        found.push(bodies.each_mut().map(Bodies::medians));
    }
    Ok(found)
}

/// The arguments of a call as JSON, with a text of so many bytes.
fn arguments(bytes: usize) -> Result<Vec<u8>, MeasureError> {
    let mut arguments = messages::request(METHOD, 1, 0)?;
    let mut text = String::new();
    for number in 0.. {
        let more = messages::request(METHOD, 1, number)?;
        text += more["text"].as_str().unwrap_or("text");
        if text.len() >= bytes {
            break;
        }
    }
    // The texts are in ASCII.
    text.truncate(bytes);
    arguments["text"] = text.into();
    Ok(arguments.to_string().into_bytes())
}

struct Bodies {
    ensemble: Ensemble,
    schema: std::sync::Arc<Schema>,
    clock_ns: f64,
    input_bytes: [usize; Accel::COUNT],
    samples: [Vec<f64>; Accel::COUNT],
}

impl Bodies {
    fn new() -> Result<Bodies, AccelError> {
        Ok(Bodies {
            ensemble: Ensemble::with_cores(2)?,
            schema: Schema::social_network(),
            clock_ns: clock_ns(),
            input_bytes: [0; Accel::COUNT],
            samples: Default::default(),
        })
    }

    fn medians(&mut self) -> [Timed; Accel::COUNT] {
        Accel::ALL.map(|accel| Timed {
            input_bytes: self.input_bytes[accel.index()],
            ns: (median(&mut self.samples[accel.index()]) - self.clock_ns).max(LEAST_NS),
        })
    }

    fn messages(&mut self, arguments: &[u8], calls: usize) -> Result<(), AccelError> {
        (0..calls).try_for_each(|_| self.message(arguments))
    }

    /// Compresses and decompresses the arguments of a call, sends the call, and receives it.
    fn message(&mut self, arguments: &[u8]) -> Result<(), AccelError> {
        let send = |call, session| Job::send(arguments.to_vec(), Format::Json, call, session);
        let mut data = send(Call::None, Session::default());
        self.step(Accel::Cmp, &mut data)?;
        self.step(Accel::Dcmp, &mut data)?;
        let call = ThriftCall::request(&self.schema, METHOD, Protocol::Binary, 1)?;
        let (client, server) = connection(0)?;
        let mut job = send(Call::Thrift(call), client);
        self.step(Accel::Ser, &mut job)?;
        // Counted where the message is received.
        self.ensemble.run(Accel::Rpc, &mut job)?;
        self.step(Accel::Encr, &mut job)?;
        self.ensemble.run(Accel::Tcp, &mut job)?;
        let mut job = Job::receive(job.bytes, server);
        for accel in [Accel::Tcp, Accel::Decr, Accel::Rpc, Accel::Dser, Accel::Ldb] {
            self.step(accel, &mut job)?;
        }
        Ok(())
    }

    fn step(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        self.input_bytes[accel.index()] = job.bytes.len();
        let begun = Instant::now();
        let done = self.ensemble.run(accel, black_box(job));
        let spent = begun.elapsed();
        done?;
        self.samples[accel.index()].push(nanoseconds(spent));
        Ok(())
    }
}

/// The clock's own time: the median of many empty intervals.
fn clock_ns() -> f64 {
    let empty = || {
        let begun = Instant::now();
        black_box(());
        nanoseconds(begun.elapsed())
    };
    let mut samples: Vec<f64> = (0..1_001).map(|_| empty()).collect();
    median(&mut samples)
}
