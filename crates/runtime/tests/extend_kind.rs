//! A custom accelerator: a kernel of RELIEF's vision pipeline and a checksum, on bytes. What they
//! cost in time is in `tests/test_kinds.py`.

#![allow(clippy::unwrap_used)]

// quoted: begin
use accelflow_accel::{AccelError, CustomBody, Fact, Input, Output};
use accelflow_trace::{Directions, FactType, Format, Kind, KindError};

/// Makes a grey image of a coloured one, as the first accelerator of RELIEF's vision pipelines. A
/// payload is width and height in two bytes each, then three bytes for each pixel.
struct Grayscale {
    kind: Kind,
}

impl Grayscale {
    fn new() -> Result<Grayscale, KindError> {
        let sizes = ["width", "height"].map(|fact| (fact.to_owned(), FactType::Number));
        let kind = Kind::new("Grayscale", Directions::Both, sizes.to_vec())?;
        Ok(Grayscale { kind })
    }
}

impl CustomBody for Grayscale {
    fn kind(&self) -> &Kind {
        &self.kind
    }

    fn run(&mut self, input: &Input<'_>) -> Result<Output, AccelError> {
        let refuse = |why: &str| AccelError::custom(self.kind.name(), why);
        let (size, pixels) = input
            .bytes
            .split_first_chunk::<4>()
            .ok_or_else(|| refuse("the image must begin with its size, in 4 bytes"))?;
        let [width, height] = [0, 2].map(|at| u16::from_be_bytes([size[at], size[at + 1]]));
        if pixels.len() != 3 * usize::from(width) * usize::from(height) {
            return Err(refuse("the image must have 3 bytes for each pixel"));
        }
        // ITU-R BT.601, in parts of 256.
        let luma = |rgb: &[u8]| {
            let weighted = [77, 150, 29].into_iter().zip(rgb);
            let sum: u32 = weighted.map(|(part, value)| part * u32::from(*value)).sum();
            (sum >> 8) as u8
        };
        let mut bytes = size.to_vec();
        bytes.extend(pixels.chunks_exact(3).map(luma));
        let facts = [("width", width), ("height", height)];
        let facts = facts.map(|(name, value)| (name.to_owned(), Fact::Number(value.into())));
        Ok(Output {
            payload: Some((bytes, Format::Str)),
            facts: facts.to_vec(),
        })
    }
}
// quoted: end

use accelflow_accel::Ensemble;
use accelflow_accel::compress::Dcmp;
use accelflow_accel::{Accelerator, Job, Limits};
use accelflow_runtime::{Answers, Bodies, Executor, Message, Outcome, PoolSettings, Pools, demo};
use accelflow_trace::source::{branch, seq};
use accelflow_trace::{Accel, Library, Node, Nodes};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The CRC-32 of a payload, which stays as it is.
struct Crc32 {
    kind: Kind,
}

impl Crc32 {
    fn new() -> Crc32 {
        let yields = vec![("crc".to_owned(), FactType::Number)];
        let kind = Kind::new("CRC32", Directions::Both, yields).unwrap();
        Crc32 { kind }
    }
}

impl CustomBody for Crc32 {
    fn kind(&self) -> &Kind {
        &self.kind
    }

    fn run(&mut self, input: &Input<'_>) -> Result<Output, AccelError> {
        let crc = crc32fast::hash(input.bytes);
        Ok(Output {
            payload: None,
            facts: vec![("crc".to_owned(), Fact::Number(crc.into()))],
        })
    }
}

/// A body of `kind` that does what a function says.
struct Odd<F>(Kind, F);

impl<F: FnMut() -> Result<Output, AccelError> + Send> CustomBody for Odd<F> {
    fn kind(&self) -> &Kind {
        &self.0
    }

    fn run(&mut self, _: &Input<'_>) -> Result<Output, AccelError> {
        (self.1)()
    }
}

fn node(body: &dyn CustomBody) -> Node {
    Node::Kind(Arc::new(body.kind().clone()))
}

/// Grayscale, then a checksum of images that are wider than a pixel, and Cmp.
fn trace() -> Nodes {
    let checked = vec![node(&Crc32::new())];
    let mut nodes = vec![node(&Grayscale::new().unwrap())];
    nodes.push(branch("width > 1 and out[3] == height", checked, vec![]).unwrap());
    nodes.extend(seq(&["Cmp"]).unwrap());
    nodes
}

fn library() -> Library {
    let mut library = Library::new();
    library.register("image", trace()).unwrap();
    library
}

fn ensemble() -> Result<Ensemble, AccelError> {
    let mut ensemble = Ensemble::with_cores(4)?;
    ensemble.add(Box::new(Grayscale::new().unwrap()));
    ensemble.add(Box::new(Crc32::new()));
    Ok(ensemble)
}

fn executor() -> Executor {
    Executor::new(library().link().unwrap(), ensemble().unwrap())
}

fn run<B: Bodies>(executor: &mut Executor<B>, payload: &[u8]) -> Result<Outcome, String> {
    let message = Message::received(payload);
    let done = demo::run_trace_as(executor, "image", &message, Answers::default());
    done.map_err(|failure| format!("{}: {}", failure.error.reason, failure.error))
}

/// Two pixels, red and white.
const IMAGE: [u8; 10] = [0, 2, 0, 1, 255, 0, 0, 255, 255, 255];
const GREY: [u8; 6] = [0, 2, 0, 1, 76, 255];

#[test]
fn a_trace_calls_accelerators_beside_the_nine_on_bytes() {
    let mut executor = executor();
    let outcome = run(&mut executor, &IMAGE).unwrap();
    let names: Vec<&str> = outcome.steps.iter().map(|step| step.name()).collect();
    assert_eq!(names, ["Grayscale", "CRC32", "Cmp"]);
    let job = &outcome.result().unwrap().job;
    assert_eq!(job.facts.get("width"), Some(2));
    assert_eq!(job.facts.get("crc"), Some(crc32fast::hash(&GREY).into()));
    let mut whole = Job::default();
    (whole.bytes, whole.packed, whole.format) = (job.bytes.clone(), job.packed, job.format);
    Dcmp::new(Limits::default()).run(&mut whole).unwrap();
    assert_eq!(whole.bytes, GREY);

    let narrow = [0, 1, 0, 1, 0, 0, 0];
    let outcome = run(&mut executor, &narrow).unwrap();
    assert_eq!(outcome.steps.len(), 2, "without CRC32");
}

#[test]
fn the_ensemble_runs_them_on_a_core_with_the_same_bytes() {
    let pools = Pools::start(PoolSettings::default(), ensemble).unwrap();
    let image = Arc::new(library().link().unwrap());
    let message = Message::received(&IMAGE);
    let request = demo::trace_request("image", &message, Answers::default()).unwrap();
    let handle = pools.enqueue(&image, request).unwrap();
    let outcome = handle.wait().result.unwrap();
    let inline = run(&mut executor(), &IMAGE).unwrap();
    let ends = [&outcome, &inline].map(|outcome| &outcome.result().unwrap().job);
    assert_eq!(ends[0].bytes, ends[1].bytes);
    assert_eq!(outcome.visits, inline.visits);
    assert_eq!(
        format!("{:?}", outcome.steps),
        format!("{:?}", inline.steps)
    );
    // Cmp is an accelerator with a queue, the others have none.
    let counters = pools.counters();
    assert_eq!(counters[Accel::Cmp.index()].done, 1);
    assert_eq!(
        counters
            .iter()
            .map(|counters| counters.done + counters.full)
            .sum::<u64>(),
        1
    );
}

#[test]
fn cores_take_bodies_that_are_added_later() {
    let known = Arc::new(AtomicBool::new(false));
    let asked = known.clone();
    let make = move || match asked.load(Ordering::Relaxed) {
        true => ensemble(),
        false => Ensemble::with_cores(4),
    };
    let pools = Pools::start(PoolSettings::default(), make).unwrap();
    let image = Arc::new(library().link().unwrap());
    let run = || {
        let message = Message::received(&IMAGE);
        let request = demo::trace_request("image", &message, Answers::default()).unwrap();
        pools.enqueue(&image, request).unwrap().wait().result
    };
    assert_eq!(run().unwrap_err().error.reason, "no_body");
    known.store(true, Ordering::Relaxed);
    pools.renew_cores();
    assert_eq!(run().unwrap().steps.len(), 3);
}

#[test]
fn a_body_that_fails_makes_the_trace_fall_back() {
    let mut executor = executor();
    let refused = run(&mut executor, b"ab").unwrap_err();
    assert_eq!(
        refused,
        "body_failed: trace image, step 1: Grayscale: the image must begin with its size, in 4 \
         bytes"
    );
    let kind = || Grayscale::new().unwrap().kind;
    let number = |name: &str| (name.to_owned(), Fact::Number(1));
    let output = |facts: &[&str]| Output {
        payload: Some((vec![1], Format::Str)),
        facts: facts.iter().map(|name| number(name)).collect(),
    };
    let few = output(&["width"]);
    let twice = output(&["width", "width"]);
    let mut texts = output(&["width", "height"]);
    texts.facts[0].1 = Fact::Text("2".to_owned());
    for (wrong, said) in [
        (
            few,
            "output = 'width number': must be those of its declaration 'kind Grayscale yields",
        ),
        (twice, "output = 'width number, width number'"),
        (texts, "output = 'width text, height number'"),
    ] {
        let body = Odd(kind(), move || Ok(wrong.clone()));
        executor.bodies_mut().add(Box::new(body));
        let refused = run(&mut executor, &IMAGE).unwrap_err();
        assert!(
            refused.starts_with("wrong_facts: ") && refused.contains(said),
            "{refused}"
        );
    }
    let huge = Odd(kind(), || {
        let payload = Some((vec![0; (16 << 20) + 1], Format::Str));
        Ok(Output {
            payload,
            ..Output::default()
        })
    });
    executor.bodies_mut().add(Box::new(huge));
    assert!(
        run(&mut executor, &IMAGE)
            .unwrap_err()
            .starts_with("too_large")
    );

    let panics = Odd(kind(), || panic!("on fire"));
    executor.bodies_mut().add(Box::new(panics));
    let refused = run(&mut executor, &IMAGE).unwrap_err();
    assert!(
        refused.starts_with("panic: ") && refused.contains("on fire"),
        "{refused}"
    );
    // The executor lives, and a body that works takes the place of the other.
    executor
        .bodies_mut()
        .add(Box::new(Grayscale::new().unwrap()));
    assert!(run(&mut executor, &IMAGE).is_ok());
}

#[test]
fn bodies_that_do_not_fit_the_trace_are_refused() {
    let with = |body: Box<dyn CustomBody>| {
        let mut ensemble = Ensemble::with_cores(4).unwrap();
        ensemble.add(body);
        let mut executor = Executor::new(library().link().unwrap(), ensemble);
        run(&mut executor, &IMAGE).unwrap_err()
    };
    let missing = with(Box::new(Crc32::new()));
    assert!(
        missing.starts_with("no_body: ")
            && missing.ends_with("Grayscale: no body is registered for this accelerator"),
        "{missing}"
    );
    let other = Kind::new("Grayscale", Directions::Both, vec![]).unwrap();
    let other = with(Box::new(Odd(other, || Ok(Output::default()))));
    assert!(
        other.contains(
            "the trace declares 'kind Grayscale yields width number, height number', \
         but its body declares 'kind Grayscale'"
        ),
        "{other}"
    );
}

/// A direction that the trace alone does not tell is checked when it runs.
#[test]
fn a_direction_that_a_declaration_excludes_is_refused() {
    let kind = Kind::new("Inbound", Directions::Receives, vec![]).unwrap();
    let mut library = Library::new();
    let nodes = vec![Node::Kind(Arc::new(kind.clone()))];
    library.register("image", nodes).unwrap();
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    ensemble.add(Box::new(Odd(kind, || Ok(Output::default()))));
    let mut executor = Executor::new(library.link().unwrap(), ensemble);
    let refused = run(&mut executor, b"x").unwrap_err();
    assert!(refused.starts_with("wrong_direction: "), "{refused}");
}
