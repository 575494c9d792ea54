//! The work that NIC, pipelines and core do for a request under a design of the RPC layer (section
//! 6.1).

use std::ops::Range;

use accelflow_model::cerebros::{Design, RpcLayer};
use accelflow_units::{Bytes, Time};

use crate::schema::{TypeSchema, header, header_wire};
use crate::services::{Call, Function, Service, first_field_replaced};
use crate::{Message, Platform};
use accelflow_parameters::Refusal;

/// The kind of a request: whether Cerebros can process it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A valid call of a function in the schema map. Cerebros processes request and response, or a
    /// core does if the request does not fit in the memory reserved for it ([`Platform::fits`]).
    Known,
    /// A call of a function that is not in the schema map. A core processes request and response.
    Unknown,
    /// A request whose payload does not follow the function's schema. A core detects this and
    /// answers with an exception. A request without fields is never malformed: it counts as valid.
    Malformed,
}

/// One step of a core's work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A part of the RPC layer in software, with its time and its instruction blocks.
    Software(Time, Range<u32>),
    /// The total time of an offload's traversals of the chip's network, before or after the task.
    Offload(Time),
    /// A task of the core's own accelerator.
    Private(Time),
    /// A task of the shared pipelines.
    Shared(Time),
    /// Waiting for the called service of a nested call.
    Away(Time),
    /// The response of a nested call arrives at the NIC, which reserves this much memory for it.
    Arrival(Bytes),
    /// The execution of a part of the function: the part's index, counted from 0, and the number of
    /// parts.
    Function(u32, u32),
}

/// The steps of a request of one function and kind.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The memory that the NIC reserves for the request.
    pub(crate) reserve: Bytes,
    /// The pipelines' work before a core is chosen.
    pub(crate) received: Option<Time>,
    /// The core's work.
    pub(crate) steps: Vec<Step>,
    /// The pipelines' work after the core is done.
    pub(crate) sent: Option<Time>,
    /// Whether a core processes a message in software because Cerebros cannot.
    pub(crate) fallback: bool,
}

/// Costs of single tasks.
pub(crate) struct Costs<'p> {
    platform: &'p Platform,
}

impl Costs<'_> {
    pub(crate) fn new(platform: &Platform) -> Costs<'_> {
        Costs { platform }
    }

    fn software_payload(&self, message: &Message) -> f64 {
        if let Some(measured) = message.software_cycles {
            return measured;
        }
        let (p, work) = (self.platform, message.work());
        p.software_payload_cycles
            + p.software_field_cycles * work.fields as f64
            + p.software_word_cycles * work.text_words as f64
    }

    /// Cycles of a pipeline for a header or payload (section 5: the fields, and one access).
    pub(crate) fn task(&self, message: &Message) -> f64 {
        let fields = message.pipeline_cycles(self.platform.field_units as usize);
        self.platform.cache_access_cycles + fields as f64
    }
}

/// One message of a request's life.
struct Transfer<'f> {
    name: &'f str,
    payload: &'f Message,
    /// Whether the message is incoming; otherwise it is outgoing.
    incoming: bool,
}

/// All messages in order: the request, the nested calls, the response.
fn transfers(function: &Function) -> Vec<Transfer<'_>> {
    fn half<'f>(call: &'f Call, payload: &'f Message, incoming: bool) -> Transfer<'f> {
        Transfer {
            name: &call.name,
            payload,
            incoming,
        }
    }
    let call = &function.call;
    let mut all = vec![half(call, &call.request, true)];
    for nested in &function.nested {
        all.push(half(nested, &nested.request, false));
        all.push(half(nested, &nested.response, true));
    }
    all.push(half(call, &call.response, false));
    all
}

/// Returns the inputs of the analytic model (section 5) for `function`: its tasks, and their costs
/// on `platform`.
pub fn analytic(platform: &Platform, function: &Function) -> RpcLayer {
    let costs = Costs::new(platform);
    let all = transfers(function);
    let parts = breakdown(platform, function);
    let cycles = parts.header_cycles + parts.dispatch_cycles + parts.payload_cycles;
    let hardware = |t: &Transfer<'_>| costs.task(&header(t.name)) + costs.task(t.payload);
    // A layer without cost has no parts.
    let share = |part: f64| if cycles > 0.0 { part / cycles } else { 0.0 };
    RpcLayer {
        cycles,
        payload_share: share(parts.payload_cycles),
        dispatch_share: share(parts.dispatch_cycles),
        header_tasks: all.len() as u32,
        payload_tasks: all.len() as u32,
        accelerator_cycles: all.iter().map(hardware).sum(),
        ..platform.layer()
    }
}

/// The cycles that each module of the RPC layer takes for one request if a core does the layer in
/// software (Fig. 2b), and how many of these cycles nested calls cause (Fig. 2a).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Breakdown {
    /// The cycles for reading and writing the headers of messages.
    pub header_cycles: f64,
    /// The cycles for dispatch: for finding and calling the function that a message names.
    pub dispatch_cycles: f64,
    /// The cycles for transforming payloads between their form on the wire and their form in
    /// memory.
    pub payload_cycles: f64,
    /// The cycles that nested calls (calls to other services) cause. They are included in
    /// `header_cycles`, `dispatch_cycles` and `payload_cycles`.
    pub nested_cycles: f64,
}

/// Returns the cycles of the RPC layer for one request to `function` if a core does the whole layer
/// in software.
pub fn breakdown(platform: &Platform, function: &Function) -> Breakdown {
    let costs = Costs::new(platform);
    let all = transfers(function);
    let (mut parts, last) = (Breakdown::default(), all.len() - 1);
    for (n, transfer) in all.iter().enumerate() {
        let payload = costs.software_payload(transfer.payload);
        let (header, dispatch) = (
            platform.software_header_cycles,
            platform.software_dispatch_cycles,
        );
        parts.header_cycles += header;
        parts.dispatch_cycles += dispatch;
        parts.payload_cycles += payload;
        if n != 0 && n != last {
            parts.nested_cycles += header + dispatch + payload;
        }
    }
    parts
}

/// Builds the programs of requests: the platform and design, and the instruction blocks of the
/// layer's parts.
pub(crate) struct Builder<'p> {
    pub(crate) platform: &'p Platform,
    pub(crate) design: Design,
    pub(crate) rpc_blocks: u32,
}

impl Builder<'_> {
    pub(crate) fn of<'p>(platform: &'p Platform, design: Design, service: &Service) -> Builder<'p> {
        Builder {
            platform,
            design,
            rpc_blocks: service.rpc_blocks,
        }
    }

    /// # Errors
    /// [`Refusal`] if a function's own messages do not match its schema.
    pub(crate) fn program(&self, f: &Function, kind: Kind) -> Result<Program, Refusal> {
        let schema = TypeSchema::of(&f.call.request);
        schema.check(&f.call.request)?;
        let broken;
        let mut request = &f.call.request;
        if kind == Kind::Malformed {
            broken = first_field_replaced(request);
            request = &broken;
        }
        let own = Transfer {
            name: &f.call.name,
            payload: request,
            incoming: true,
        };
        let (reserve, fits) = (self.reservation(&own), self.fits(&own));
        let matches = schema.check(request).is_ok();
        let full = self.design == Design::Full;
        let own_fallback = full && (kind == Kind::Unknown || !matches || !fits);
        let all = transfers(f);
        let nested = &all[1..all.len() - 1];
        let outgrown = matches && nested.iter().any(|call| call.incoming && !self.fits(call));
        let fallback = own_fallback || full && outgrown;
        let received = full.then(|| {
            let payload = if kind == Kind::Unknown {
                None
            } else {
                Some(request)
            };
            self.message_time(&f.call.name, payload, true)
        });
        let sent = (full && !own_fallback)
            .then(|| self.message_time(&f.call.name, Some(&f.call.response), false));
        Ok(Program {
            reserve,
            received,
            steps: self.steps(&all, own_fallback, matches),
            sent,
            fallback,
        })
    }

    /// The core's steps from the request to the response. A message that does not match its schema
    /// is answered at once.
    fn steps(&self, all: &[Transfer<'_>], fallback: bool, matches: bool) -> Vec<Step> {
        let (mut steps, last) = (Vec::new(), all.len() - 1);
        let parts = (all.len() / 2) as u32;
        for (n, transfer) in all.iter().enumerate() {
            let own = n == 0 || n == last;
            if !matches && !own {
                continue;
            }
            let blocks = self.payload_blocks(n, all.len());
            if transfer.incoming && !own {
                if self.platform.nested_latency_ns > 0.0 {
                    let latency = Time::from_ns_f64(self.platform.nested_latency_ns);
                    steps.push(Step::Away(latency));
                }
                steps.push(Step::Arrival(self.reservation(transfer)));
            }
            match (self.design, own) {
                (Design::Full, true) if fallback => self.software(&mut steps, transfer, blocks),
                (Design::Full, true) => {}
                (Design::Full, false) if transfer.incoming && !self.fits(transfer) => {
                    self.software(&mut steps, transfer, blocks);
                }
                (Design::Full, false) => {
                    let payload = Some(transfer.payload);
                    let time = self.message_time(transfer.name, payload, transfer.incoming);
                    steps.push(Step::Shared(time));
                }
                (Design::None, _) => self.software(&mut steps, transfer, blocks),
                _ => self.offloaded(&mut steps, transfer),
            }
            if transfer.incoming && matches {
                steps.push(Step::Function((n / 2) as u32, parts));
            }
        }
        steps
    }

    /// The memory that the NIC reserves for an incoming message: for its header and payload, and
    /// for the deserialized payload.
    fn reservation(&self, transfer: &Transfer<'_>) -> Bytes {
        let wire = header_wire(transfer.name) + transfer.payload.wire();
        self.platform.reservation(wire)
    }

    fn fits(&self, transfer: &Transfer<'_>) -> bool {
        self.platform.fits(transfer.name, transfer.payload)
    }

    /// Cerebros's time for a message: header, dispatch if it comes in, and payload if its schema
    /// is known.
    fn message_time(&self, name: &str, payload: Option<&Message>, incoming: bool) -> Time {
        let costs = Costs::new(self.platform);
        let dispatch = if incoming {
            self.platform.schema_map_cycles
        } else {
            0.0
        };
        let payload = payload.map_or(0.0, |message| costs.task(message));
        self.platform
            .time(costs.task(&header(name)) + dispatch + payload)
    }

    fn dispatch(&self) -> Step {
        let time = self.platform.time(self.platform.software_dispatch_cycles);
        Step::Software(time, self.header_blocks().end..self.dispatch_end())
    }

    fn software(&self, steps: &mut Vec<Step>, transfer: &Transfer<'_>, blocks: Range<u32>) {
        let header = self.platform.time(self.platform.software_header_cycles);
        let payload = Costs::new(self.platform).software_payload(transfer.payload);
        steps.push(Step::Software(header, self.header_blocks()));
        steps.push(self.dispatch());
        steps.push(Step::Software(self.platform.time(payload), blocks));
    }

    /// Adds the steps of a message whose dispatch stays on the core while the rest goes to an
    /// accelerator.
    fn offloaded(&self, steps: &mut Vec<Step>, transfer: &Transfer<'_>) {
        let costs = Costs::new(self.platform);
        if self.design == Design::PayloadOnly {
            let time = self.platform.time(self.platform.software_header_cycles);
            steps.push(Step::Software(time, self.header_blocks()));
        } else {
            self.task(steps, costs.task(&header(transfer.name)));
        }
        steps.push(self.dispatch());
        self.task(steps, costs.task(transfer.payload));
    }

    /// Adds a task of an accelerator, and the steps to offload it.
    fn task(&self, steps: &mut Vec<Step>, cycles: f64) {
        let p = self.platform;
        let (before, each) = match self.design {
            Design::Private => {
                steps.push(Step::Private(p.time(cycles)));
                return;
            }
            Design::Coalesced => (p.coalesced_traversals_before, p.low_diameter_cycles),
            _ => (p.offload_traversals_before, p.traversal_cycles),
        };
        steps.push(Step::Offload(p.time(before * each)));
        steps.push(Step::Shared(p.time(cycles)));
        steps.push(Step::Offload(p.time(p.offload_traversals_after * each)));
    }

    fn share(&self, ratio: f64) -> u32 {
        (f64::from(self.rpc_blocks) * ratio) as u32
    }

    fn header_blocks(&self) -> Range<u32> {
        0..self.share(self.platform.header_code_ratio)
    }

    fn dispatch_end(&self) -> u32 {
        self.share(self.platform.header_code_ratio + self.platform.dispatch_code_ratio)
    }

    /// The instructions for message `n` of `count`.
    fn payload_blocks(&self, n: usize, count: usize) -> Range<u32> {
        let first = self.dispatch_end();
        let at = |n: usize| first + ((self.rpc_blocks - first) as usize * n / count) as u32;
        at(n)..at(n + 1)
    }
}
