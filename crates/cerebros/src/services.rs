//! The five microservices of DeathStarBench that the Cerebros paper studies (sections 2.1, 5 and
//! 6).
//!
//! For each service, the paper gives the number of functions, the number of nested calls, the RPC
//! layer's share of the time and, for most services, the working set. Names and fields are those of
//! the services' interfaces. Popularities, execution cycles, and the lengths of strings and lists
//! are assumptions that agree with the paper's numbers; docs/cerebros.md has the table.

use std::borrow::Cow;
use std::ops::Range;

use crate::schema::Type::{self, Text};
use crate::schema::{Message, Value};
use accelflow_parameters::Refusal;

/// A call of a function: the function's name, its arguments and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function's name, which the headers of the call's messages contain.
    pub name: Cow<'static, str>,
    /// The payload of the request, which contains the arguments.
    pub request: Message,
    /// The payload of the response, which contains the result.
    pub response: Message,
}

/// A function of a service: its messages, its business logic and its calls to other services.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The call by which clients use this function.
    pub call: Call,
    /// The function's weight in the mix of requests, relative to the service's other functions; at
    /// least 0.
    pub popularity: f64,
    /// The cycles of the function's business logic per request if all instructions are in the
    /// instruction cache; at least 0.
    pub execute_cycles: f64,
    /// The instruction blocks that the business logic executes in order, as ranges of block
    /// indices.
    pub footprint: Vec<Range<u32>>,
    /// The number of times that a request runs through the blocks of `footprint`.
    pub passes: u32,
    /// The nested calls: the calls to other services that a request makes, one after another.
    pub nested: Vec<Call>,
}

/// A microservice: its functions, and the size of the code of its RPC layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// The paper's abbreviation of the service's name, such as `UID`, or the name of a user-defined
    /// service.
    pub name: Cow<'static, str>,
    /// The largest number of cores that the service can use; at least 1.
    pub most_cores: usize,
    /// The size of the RPC layer's instructions, in blocks. The layer has the block indices from 0
    /// on; the functions' blocks follow.
    pub rpc_blocks: u32,
    /// The functions of the service.
    pub functions: Vec<Function>,
}

/// Blocks of 64 bytes in a kilobyte.
pub(crate) const KB: u32 = 16;

impl Service {
    /// Returns the five services of the paper, in the order of the paper's figures: UID (unique
    /// ids), USR (users), URL (short URLs), SG (social graph) and CP (compose post). Their code
    /// sizes are in cache blocks of 64 bytes.
    pub fn all() -> [Service; 5] {
        [
            unique_id(),
            user(),
            url_shorten(),
            social_graph(),
            compose_post(),
        ]
    }

    /// Converts the service's code sizes, which must be in cache blocks of 64 bytes, to blocks of
    /// `block_bytes` bytes.
    #[must_use]
    pub fn in_blocks_of(mut self, block_bytes: f64) -> Service {
        let scale = f64::from(1024 / KB) / block_bytes;
        let first = |block: u32| (f64::from(block) * scale) as u32;
        let end = |block: u32| (f64::from(block) * scale).ceil() as u32;
        self.rpc_blocks = end(self.rpc_blocks);
        for function in &mut self.functions {
            for range in &mut function.footprint {
                *range = first(range.start)..end(range.end);
            }
        }
        self
    }

    /// Returns the paper's service with the abbreviation `name`: UID, USR, URL, SG or CP. The
    /// service's code sizes are in cache blocks of 64 bytes.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown abbreviation.
    pub fn named(name: &str) -> Result<Service, Refusal> {
        let found = Service::all()
            .into_iter()
            .find(|service| service.name == name);
        found.ok_or_else(|| Refusal::new("service", name, "must be UID, USR, URL, SG or CP"))
    }

    /// Restricts the service's requests to the functions with these names. The popularities of
    /// these functions stay as they are; those of all others become 0.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown function, and if no function with a popularity above 0 is left.
    pub fn keep(&mut self, functions: &[String]) -> Result<(), Refusal> {
        let known: Vec<&str> = self.functions.iter().map(|f| &*f.call.name).collect();
        if let Some(name) = functions
            .iter()
            .find(|name| !known.contains(&name.as_str()))
        {
            return Err(Refusal::unknown("function", name, known));
        }
        for function in &mut self.functions {
            if !functions.iter().any(|name| *name == *function.call.name) {
                function.popularity = 0.0;
            }
        }
        self.check()
    }

    /// The size of the service's instructions in kilobytes: first with the RPC layer, then without
    /// it. Holds only for code sizes in cache blocks of 64 bytes ([`Service::in_blocks_of`]).
    pub fn working_sets_kb(&self) -> (f64, f64) {
        let mut seen = std::collections::BTreeSet::new();
        for function in &self.functions {
            seen.extend(function.footprint.iter().cloned().flatten());
        }
        let functions = seen.len() as f64 / f64::from(KB);
        (
            functions + f64::from(self.rpc_blocks) / f64::from(KB),
            functions,
        )
    }

    /// Checks that every value of the service is allowed.
    ///
    /// # Errors
    /// [`Refusal`] for a service without functions or cores, for a popularity or number of cycles
    /// that is not a number of at least 0, and if all popularities are 0.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.functions.is_empty() || self.most_cores == 0 {
            let what = if self.functions.is_empty() {
                "functions"
            } else {
                "cores"
            };
            let place = format!("service {}: number of {what}", self.name);
            return Err(Refusal::new(place, 0, "must be at least 1"));
        }
        for function in &self.functions {
            for (what, value) in [
                ("popularity", function.popularity),
                ("execute_cycles", function.execute_cycles),
            ] {
                if !(value.is_finite() && value >= 0.0) {
                    let place = format!("{}.{what}", function.call.name);
                    return Err(Refusal::new(place, value, "must be a number, 0 or more"));
                }
            }
        }
        let all: f64 = self.functions.iter().map(|f| f.popularity).sum();
        if all <= 0.0 {
            let place = format!("service {}: sum of popularities", self.name);
            return Err(Refusal::new(place, all, "must be above 0"));
        }
        Ok(())
    }
}

/// The tracing context that every call of DeathStarBench carries.
fn carrier() -> Value {
    Value::Map(Text, Text, vec![(Value::Text(13), Value::Text(8))])
}

/// Identities are random numbers of 62 bits.
const ID: Value = Value::I64(0x2123_4567_89ab_cdef);

fn text(length: u64) -> Value {
    Value::Text(length)
}

fn list(element: Value, count: usize) -> Value {
    Value::List(element.kind(), vec![element; count])
}

fn object(fields: &[Value]) -> Value {
    Value::Struct(fields.to_vec())
}

/// A call whose arguments begin with the request's identity and end with the tracing context.
fn call(name: &'static str, arguments: &[Value], response: &[Value]) -> Call {
    let mut request = vec![ID];
    request.extend_from_slice(arguments);
    request.push(carrier());
    Call {
        name: Cow::Borrowed(name),
        request: Message::new(request),
        response: Message::new(response.to_vec()),
    }
}

fn unique_id() -> Service {
    let rpc_blocks = 26 * KB;
    let post = || Value::I32(1);
    Service {
        name: Cow::Borrowed("UID"),
        most_cores: 4,
        rpc_blocks,
        functions: vec![Function {
            call: call("UploadUniqueId", &[post()], &[]),
            popularity: 1.0,
            execute_cycles: 6_100.0,
            footprint: vec![region(rpc_blocks, 0, 43)],
            passes: 1,
            nested: vec![call("UploadUniqueId", &[ID, post()], &[])],
        }],
    }
}

/// A region of `kilobytes` of instructions, `from` kilobytes after those of the RPC layer.
fn region(rpc_blocks: u32, from: u32, kilobytes: u32) -> Range<u32> {
    rpc_blocks + from * KB..rpc_blocks + (from + kilobytes) * KB
}

/// The instructions of USR's six functions. F0 and F1, which register users, have more than 90 KB
/// each: a shared driver of 9 KB, the hashing that F2 consists of, and code of F3 or F4. F2 alone
/// fills most of a cache, so the other functions find little of their code after it. Together the
/// six have 140 KB.
fn user_footprints(rpc_blocks: u32) -> [Vec<Range<u32>>; 6] {
    let at = |from, kilobytes| region(rpc_blocks, from, kilobytes);
    let (driver, own0, own1) = (at(0, 9), at(9, 4), at(13, 4));
    let (hashing, code3, code4, code5) = (at(17, 56), at(73, 22), at(95, 22), at(117, 23));
    [
        vec![driver.clone(), own0, hashing.clone(), code3.clone()],
        vec![driver, own1, hashing.clone(), code4.clone()],
        vec![hashing],
        vec![code3],
        vec![code4],
        vec![code5],
    ]
}

/// The calls of USR's six functions, and their nested calls.
fn user_calls() -> [(Call, Vec<Call>); 6] {
    let person = [text(10), text(10), text(16), text(16)];
    let stored = call("StoreUser", &[object(&person), ID, text(32), text(64)], &[]);
    let inserted = call("InsertUser", &[ID], &[]);
    let found = call("FindUser", &[text(16)], &[ID, text(32), text(64)]);
    let uploaded = call("UploadCreator", &[object(&[ID, text(16)])], &[]);
    let identity = call("FindUserId", &[text(16)], &[ID]);
    let registration = vec![found.clone(), stored, inserted];
    let name = [text(16)];
    [
        (call("RegisterUser", &person, &[]), registration.clone()),
        (
            call("RegisterUserWithId", &[&person[..], &[ID]].concat(), &[]),
            registration,
        ),
        (
            call("Login", &[text(16), text(16)], &[text(120)]),
            vec![found],
        ),
        (
            call("UploadCreatorWithUserId", &[ID, text(16)], &[]),
            vec![uploaded.clone()],
        ),
        (
            call("UploadCreatorWithUsername", &name, &[]),
            vec![identity.clone(), uploaded],
        ),
        (call("GetUserId", &name, &[ID]), vec![identity]),
    ]
}

fn user() -> Service {
    let rpc_blocks = 52 * KB;
    // Share of the requests, cycles of execution, and passes through the instructions.
    let weights = [
        (0.015, 94e3, 22),
        (0.015, 94e3, 22),
        (0.27, 6_600.0, 1),
        (0.24, 520.0, 1),
        (0.23, 545.0, 1),
        (0.23, 495.0, 1),
    ];
    let calls = user_calls().into_iter().zip(user_footprints(rpc_blocks));
    let functions = calls
        .zip(weights)
        .map(|(((call, nested), footprint), weights)| {
            let (popularity, execute_cycles, passes) = weights;
            Function {
                call,
                popularity,
                execute_cycles,
                footprint,
                passes,
                nested,
            }
        });
    Service {
        name: Cow::Borrowed("USR"),
        most_cores: usize::MAX,
        rpc_blocks,
        functions: functions.collect(),
    }
}

fn url_shorten() -> Service {
    let rpc_blocks = 33 * KB;
    let urls = || list(object(&[text(25), text(80)]), 4);
    Service {
        name: Cow::Borrowed("URL"),
        most_cores: usize::MAX,
        rpc_blocks,
        functions: vec![Function {
            call: call("UploadUrls", &[list(text(80), 4)], &[]),
            popularity: 1.0,
            execute_cycles: 9_000.0,
            footprint: vec![region(rpc_blocks, 0, 40)],
            passes: 1,
            nested: vec![
                call("StoreUrls", &[urls()], &[]),
                call("UploadUrls", &[urls()], &[]),
            ],
        }],
    }
}

fn social_graph() -> Service {
    let rpc_blocks = 50 * KB;
    let edges = |count| list(object(&[ID, ID, text(16)]), count);
    let get = |name, kept: usize| {
        let (cached, stored, refill) = (
            call("ReadCache", &[ID], &[edges(kept)]),
            call("FindEdges", &[ID], &[edges(kept)]),
            call("WriteCache", &[ID, edges(kept)], &[]),
        );
        (
            call(name, &[ID], &[list(ID, kept)]),
            vec![cached, stored, refill],
        )
    };
    let update = |name, arguments: &[Value], lookups: usize| {
        let mut nested = vec![call("FindUserId", &[text(16)], &[ID]); lookups];
        nested.push(call("UpdateFollowers", &[ID, edges(5)], &[]));
        nested.push(call("UpdateFollowees", &[ID, edges(5)], &[]));
        nested.push(call("WriteCache", &[ID, edges(5)], &[]));
        (call(name, arguments, &[]), nested)
    };
    let names = [text(16), text(16)];
    let calls = [
        (0.30, get("GetFollowers", 8)),
        (0.20, get("GetFollowees", 8)),
        (0.15, update("Follow", &[ID, ID], 0)),
        (0.10, update("Unfollow", &[ID, ID], 0)),
        (0.10, update("FollowWithUsername", &names, 2)),
        (0.05, update("UnfollowWithUsername", &names, 2)),
        (0.10, update("InsertUser", &[ID], 0)),
    ];
    let functions = (0..)
        .zip(calls)
        .map(|(n, (popularity, (call, nested)))| Function {
            call,
            popularity,
            execute_cycles: 900.0,
            // Each function has a kilobyte of its own after 23 shared ones.
            footprint: vec![region(rpc_blocks, 0, 23), region(rpc_blocks, 23 + n, 1)],
            passes: 1,
            nested,
        });
    Service {
        name: Cow::Borrowed("SG"),
        most_cores: usize::MAX,
        rpc_blocks,
        functions: functions.collect(),
    }
}

fn creator() -> Value {
    object(&[ID, text(16)])
}

fn mentions() -> Value {
    list(creator(), 3)
}

fn media() -> Value {
    list(object(&[ID, text(5)]), 3)
}

fn urls() -> Value {
    list(object(&[text(25), text(60)]), 3)
}

fn post() -> Value {
    let reference = object(&[ID, Value::I32(1), ID]);
    object(&[
        ID,
        creator(),
        text(200),
        mentions(),
        media(),
        urls(),
        reference,
    ])
}

/// The nested calls that add one part of a post.
fn add_part(value: Value) -> Vec<Call> {
    vec![
        call("SetPart", &[text(8), value], &[Value::I64(1)]),
        call("CountParts", &[text(13)], &[Value::I64(3)]),
    ]
}

/// The nested calls of the last part: it reads all others, and sends the post to storage and
/// timelines.
fn add_last_part() -> Vec<Call> {
    let mut nested = add_part(text(200));
    let others = [
        creator(),
        text(200),
        media(),
        ID,
        urls(),
        mentions(),
        Value::I32(1),
    ];
    nested.extend(others.map(|part| call("GetPart", &[text(8)], &[part])));
    nested.push(call("DeleteParts", &[text(8)], &[Value::I64(7)]));
    nested.push(call("StorePost", &[post()], &[]));
    nested.push(call("WriteUserTimeline", &[ID, ID, ID], &[]));
    nested.push(call("FanoutHomeTimelines", &[ID, ID, list(ID, 2)], &[]));
    nested
}

fn compose_post() -> Service {
    let rpc_blocks = 60 * KB;
    let parts = [
        ("UploadText", text(200), add_last_part()),
        ("UploadCreator", creator(), add_part(creator())),
        ("UploadMedia", media(), add_part(media())),
        ("UploadUniqueId", ID, add_part(ID)),
        ("UploadUrls", urls(), add_part(urls())),
        ("UploadUserMentions", mentions(), add_part(mentions())),
    ];
    let functions = (0..).zip(parts).map(|(n, (name, part, nested))| Function {
        call: call(name, &[part], &[]),
        popularity: 1.0,
        execute_cycles: 200.0 * (nested.len() + 1) as f64,
        footprint: vec![region(rpc_blocks, 0, 16), region(rpc_blocks, 16 + 2 * n, 2)],
        passes: 1,
        nested,
    });
    Service {
        name: Cow::Borrowed("CP"),
        most_cores: usize::MAX,
        rpc_blocks,
        functions: functions.collect(),
    }
}

/// A message that does not match the schema of `message`.
pub(crate) fn first_field_replaced(message: &Message) -> Message {
    let mut fields = message.fields.clone();
    if let Some(first) = fields.first_mut() {
        *first = match first.kind() {
            Type::Double => Value::I64(0),
            _ => Value::Double(0.0),
        };
    }
    Message::new(fields)
}
