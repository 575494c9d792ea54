//! What traces cost beside the work that they order, in one run:
//!
//! 1. nanoseconds an operation (accelerator call) of T1 and T2 over bodies that do nothing;
//! 2. T1 and then T2 on a request and its reply of three sizes, against the libraries behind the
//!    same accelerators called one by one by hand, as a ratio.
//!
//!     cargo run --profile extension -p accelflow-runtime --example trace_overhead
//!
//! Outcomes tell results alone, as those of a server that records nothing. Rounds of the two sides
//! alternate and medians are compared: what else runs on the machine disturbs both alike.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use accelflow_accel::rpc::{self, ThriftCall};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json, struct_to_json};
use accelflow_accel::{
    AccelError, Call, Ensemble, Job, Limits, Session, Settings, balance, tcp, tls,
};
use accelflow_runtime::{Bodies, Conversation, Detail, Executor, Message, NoPeer, demo};
use accelflow_trace::{Accel, Format, Transform, templates};

const ROUNDS: usize = 41;

/// TCP, Decr, RPC, Dser and LdB; Ser, RPC, Encr and TCP.
const OPERATIONS: f64 = 9.0;

/// Bodies that only say what T1 and T2 need to go on.
struct Nothing;

impl Bodies for Nothing {
    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        if accel == Accel::Dser {
            job.facts.set("compressed", 0);
        }
        Ok(())
    }

    fn transform(&mut self, _: Transform, _: &mut Job) -> Result<(), AccelError> {
        Ok(())
    }
}

/// The interface and one message of it.
struct Case {
    settings: Settings,
    /// The reply's body, and what makes a message of it.
    json: Vec<u8>,
    reply: ThriftCall,
    /// The packets of the request.
    packets: Vec<u8>,
}

impl Case {
    fn new(text_bytes: usize) -> Result<Case, Box<dyn Error>> {
        let interface = "struct Item { 1: string text, 2: list<i64> numbers }
                         service Bench { Item echo(1: Item value) }";
        let settings = Settings {
            schema: Schema::parse(interface)?.into(),
            ..Settings::default()
        };
        let text = "x".repeat(text_bytes);
        let item = format!("{{\"text\":\"{text}\",\"numbers\":[0,1,2,3,4,5,6,7]}}");
        let call = ThriftCall::request(&settings.schema, "echo", Protocol::Binary, 1)?;
        let reply = call.reply();
        let (client, _) = demo::connection(0)?;
        let arguments = format!("{{\"value\":{item}}}").into_bytes();
        let mut job = Job::send(arguments, Format::Json, Call::Thrift(call), client);
        let mut ensemble = ensemble(&settings)?;
        for step in [Accel::Ser, Accel::Rpc, Accel::Encr, Accel::Tcp] {
            ensemble.run(step, &mut job)?;
        }
        Ok(Case {
            json: format!("{{\"success\":{item}}}").into_bytes(),
            packets: job.bytes,
            settings,
            reply,
        })
    }
}

fn ensemble(settings: &Settings) -> Result<Ensemble, AccelError> {
    let policy = Box::new(balance::RoundRobin::default());
    Ensemble::software(settings, policy, balance::CoreLoads::idle(2))
}

/// Begins the connection anew, so that every run finds the same records and segments.
fn rewind(session: &mut Session, start: &tcp::TcpSession) {
    session.tcp = Some(start.clone());
    if let Some(tls) = &mut session.tls {
        tls.read.resume_at(0);
        tls.write.resume_at(0);
    }
}

/// T1 and T2, inline.
fn by_traces(
    executor: &mut Executor,
    case: &Case,
    conversation: &mut Conversation,
) -> Result<usize, Box<dyn Error>> {
    let request = Message::received(&case.packets);
    let received = executor.run("T1", &request, conversation, &mut NoPeer)?;
    let reply = Message::json(&case.json, Call::Thrift(case.reply.clone()));
    let sent = executor.run("T2", &reply, conversation, &mut NoPeer)?;
    Ok(black_box(received.arrivals.len() + sent.sent.len()))
}

/// The same work without traces, jobs, facts and outcomes.
fn by_hand(
    case: &Case,
    session: &mut Session,
    turn: &mut usize,
    limits: &Limits,
) -> Result<usize, Box<dyn Error>> {
    let (Some(tcp), Some(tls)) = (&mut session.tcp, &mut session.tls) else {
        return Err("the demo's connection has both sessions".into());
    };
    let schema = &case.settings.schema;
    let records = tcp::receive(tcp, &case.packets, limits)?;
    let frame = tls::open(&mut tls.read, &records, limits)?;
    let (call, body) = rpc::read_message(schema, &frame, limits)?;
    let function = schema.function(call.function).ok_or("it was found")?;
    let struct_bytes = &frame[body..];
    let json = struct_to_json(
        schema,
        function.arguments,
        call.protocol,
        struct_bytes,
        limits,
    )?;
    *turn = (*turn + 1) % 2;
    black_box((json, &turn));
    let result = struct_from_json(
        schema,
        function.result,
        case.reply.protocol,
        &case.json,
        limits,
    )?;
    let message = rpc::write_message(&case.reply, &result, limits)?;
    let records = tls::seal(&mut tls.write, &message, limits)?;
    Ok(black_box(tcp::send(tcp, &records, limits)?).len())
}

/// Nanoseconds that one of `repetitions` takes.
fn time(
    repetitions: usize,
    mut once: impl FnMut() -> Result<usize, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    for _ in 0..repetitions {
        black_box(once()?);
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / repetitions as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn overhead() -> Result<(), Box<dyn Error>> {
    let mut executor = Executor::new(templates()?.link()?, Nothing);
    executor.set_detail(Detail::Results);
    let (_, session) = demo::connection(0)?;
    let mut conversation = Conversation {
        session,
        caller: None,
    };
    let case = Case::new(64)?;
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        costs.push(time(2_000, || {
            let request = Message::received(&[]);
            let received = executor.run("T1", &request, &mut conversation, &mut NoPeer)?;
            let reply = Message::json(&[], Call::Thrift(case.reply.clone()));
            let sent = executor.run("T2", &reply, &mut conversation, &mut NoPeer)?;
            Ok(black_box(received.arrivals.len() + sent.sent.len()))
        })?);
    }
    let each = median(costs) / OPERATIONS;
    println!("T1 and T2 over bodies that do nothing: {each:.0} ns an operation of {OPERATIONS}");
    Ok(())
}

fn against_hand(text_bytes: usize) -> Result<(), Box<dyn Error>> {
    let case = Case::new(text_bytes)?;
    let limits = case.settings.limits;
    let mut executor = Executor::new(templates()?.link()?, ensemble(&case.settings)?);
    executor.set_detail(Detail::Results);
    let (_, mut session) = demo::connection(0)?;
    let start = session.tcp.clone().ok_or("the demo's connection has TCP")?;
    let mut conversation = Conversation::default();
    let repetitions = 2_000_000 / (text_bytes + 2_000);
    let (mut traces, mut hand, mut ratios, mut turn) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        std::mem::swap(&mut conversation.session, &mut session);
        let ours = time(repetitions, || {
            rewind(&mut conversation.session, &start);
            by_traces(&mut executor, &case, &mut conversation)
        })?;
        std::mem::swap(&mut conversation.session, &mut session);
        let theirs = time(repetitions, || {
            rewind(&mut session, &start);
            by_hand(&case, &mut session, &mut turn, &limits)
        })?;
        traces.push(ours);
        hand.push(theirs);
        ratios.push(ours / theirs);
    }
    let (traces, hand, ratio) = (median(traces), median(hand), median(ratios));
    println!(
        "{text_bytes:>6} bytes: traces {traces:.0} ns, by hand {hand:.0} ns, ratio {ratio:.3}, \
         {:.0} ns an operation",
        (traces - hand) / OPERATIONS
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    overhead()?;
    for text_bytes in [256, 4_096, 65_536] {
        against_hand(text_bytes)?;
    }
    Ok(())
}
