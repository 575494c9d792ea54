//! The import of files of spans, which makes a workload and a report.

use std::fs::File;
use std::io::Read;

use serde_json::{Value, json};

use crate::analyse::Analysis;
use crate::collect::{Collector, Sampling};
use crate::error::ImportError;
use crate::options::Options;
use crate::read::source::Source;
use crate::read::{jaeger, otlp_json, otlp_protobuf};
use crate::report::{Findings, Sure};
use crate::write::{Origin, document};
use accelflow_parameters::Refusal;

/// The format of a file of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Jaeger's JSON: as its user interface or API writes it, or one span per line as exported by
    /// Elasticsearch.
    Jaeger,
    /// OpenTelemetry's OTLP, as JSON or as protocol buffers; the first bytes of a file show which.
    Otlp,
}

/// A workload that was derived from spans, and a report on the import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The content of a workload file (schema `accelflow.workload/1`), as a JSON object.
    pub workload: Value,
    /// The report on the import, as a JSON object. `understood` (the files state it), `guessed`
    /// (the files do not state it, or state something impossible) and `dropped` (it is not in the
    /// workload) are lists of findings: `what` was found, its `count` and `places`, and what was
    /// `done` about it. `coverage` has a row for each operation of a service, except for those that
    /// are left out since a workload has at most 1,000 services. `share_of_requests` is the share
    /// of the operation's requests whose sequence of calls is in the workload. `share_of_rate` is
    /// the share of the operation's rate of requests from outside that the workload has (see
    /// [`Options::shapes`] and [`Options::whole_rates`]); 1 without such requests. `traces` has a
    /// row for each accelerator trace that begins a chain. `times` has a row for each service of
    /// the workload, with the mean and the 99th percentile of the durations of its requests in the
    /// spans.
    pub report: Value,
}

impl Kind {
    /// Returns the format called `name`: `jaeger` or `otlp`.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown name.
    pub fn of_name(name: &str) -> Result<Kind, Refusal> {
        match name {
            "jaeger" => Ok(Kind::Jaeger),
            "otlp" => Ok(Kind::Otlp),
            _ => Err(Refusal::unknown("kind", name, ["jaeger", "otlp"])),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Jaeger => "jaeger",
            Kind::Otlp => "otlp",
        }
    }
}

/// Derives a workload (services with their calls and waits) from the spans in the files at `paths`,
/// which may be compressed by gzip. The memory used does not grow with the size of the files.
///
/// # Errors
/// [`ImportError`] if `paths` is empty, and for files that cannot be read, are not of `kind`, are
/// malformed, end too early or contain no request; with [`Options::strict`] also for anything that
/// the import would guess or leave out.
pub fn import_spans(
    kind: Kind,
    paths: &[String],
    options: &Options,
) -> Result<Imported, ImportError> {
    let open = |path: &String| {
        let file = File::open(path).map_err(|error| ImportError::Read {
            file: path.clone(),
            error,
        })?;
        Ok((path.clone(), file))
    };
    import_streams(kind, paths.iter().map(open), options)
}

/// Derives a workload as [`import_spans`] does, but from open `files`: pairs of a name for error
/// messages and a reader.
///
/// # Errors
/// The errors of [`import_spans`], and the first error in `files`.
pub fn import_streams<R: Read + 'static>(
    kind: Kind,
    files: impl IntoIterator<Item = Result<(String, R), ImportError>>,
    options: &Options,
) -> Result<Imported, ImportError> {
    let mut analysis = Analysis::default();
    let mut collector = Collector::new(options, &mut analysis);
    let mut origin = Origin {
        kind: kind.name().to_owned(),
        files: Vec::new(),
    };
    for file in files {
        let (name, bytes) = file?;
        let digest = read(kind, &name, bytes, &mut collector)?;
        origin.files.push((name, digest));
    }
    if origin.files.is_empty() {
        let allowed = "must name at least one file";
        return Err(Refusal::new("files", "none", allowed).into());
    }
    let (names, mut findings, sampling) = collector.finish()?;
    if analysis.operations.is_empty() {
        return Err(nothing(&origin, &findings));
    }
    let (analysis, names) = analysis.settled(&names, &mut findings)?;
    let share = sampling_share(sampling, options, &mut findings);
    say_assumptions(options, &mut findings);
    let mut made = document(analysis, &names, &mut findings, options, share)?;
    if made.workload["services"] == json!([]) {
        return Err(nothing(&origin, &findings));
    }
    made.workload["origin"] = origin.table(&findings);
    let report = json!({
        "understood": findings.list(Sure::Understood),
        "guessed": findings.list(Sure::Guessed),
        "dropped": findings.list(Sure::Dropped),
        "coverage": made.coverage,
        "traces": made.traces,
        "times": made.times,
    });
    Ok(Imported {
        workload: made.workload,
        report,
    })
}

/// Reads the spans of a file into `collector`. Returns the SHA-256 hash of the file's bytes, in
/// hexadecimal.
pub(crate) fn read(
    kind: Kind,
    path: &str,
    bytes: impl Read + 'static,
    collector: &mut Collector,
) -> Result<String, ImportError> {
    let (mut source, digest) = Source::of(bytes, path)?;
    collector.begin_file(path);
    let first = source.peek().map_err(|error| ImportError::Read {
        file: path.to_owned(),
        error,
    })?;
    let json = looks_like_json(first);
    match kind {
        Kind::Jaeger => jaeger::read(source, path, collector)?,
        Kind::Otlp if json => otlp_json::read(source, path, collector)?,
        Kind::Otlp => otlp_protobuf::read(source, path, collector)?,
    }
    Ok(digest.hex())
}

/// Whether `bytes`, the first of a file of OTLP, begin JSON. The length of a binary message may
/// look like a bracket or a line break, but the byte after it differs from what follows in JSON.
fn looks_like_json(bytes: &[u8]) -> bool {
    let mut text = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    let bracket = text.next().is_some_and(|first| b"{[".contains(first));
    bracket && text.next().is_none_or(|next| b"\"{}[]".contains(next))
}

fn nothing(origin: &Origin, findings: &Findings) -> ImportError {
    let why = match findings.first_loss() {
        Some((topic, count)) => format!("{count} {}: {}", topic.what, topic.done),
        None => format!("the files have no {} spans", origin.kind),
    };
    let files: Vec<&str> = origin.files.iter().map(|(name, _)| name.as_str()).collect();
    ImportError::NoRequests {
        files: files.join(", "),
        why,
    }
}

/// The share of requests whose spans were kept.
fn sampling_share(sampling: Sampling, options: &Options, findings: &mut Findings) -> f64 {
    let (share, what, done) = match (options.sampling, sampling.range) {
        (Some(share), _) => (share, "sampling", "as the option `sampling` says"),
        (None, Some((least, most))) if least == most => {
            (least, "sampling", "as the attribute `sampler.param` says")
        }
        (None, Some(_)) => (
            1.0,
            "sampling with several rates in `sampler.param`",
            "rates are those of the requests in the files: give `sampling`",
        ),
        (None, None) if sampling.limited => (
            1.0,
            "sampling that keeps no certain share (`sampler.type`)",
            "rates are those of the requests in the files: give `sampling`",
        ),
        (None, None) => (
            1.0,
            "sampling, which the spans do not show",
            "rates are those of the requests in the files: give `sampling` if there was any",
        ),
    };
    findings.say(Sure::Understood, what, 1, done);
    if options.sampling.is_none() && sampling.limited && sampling.range.is_some() {
        let what = "sampling of some spans keeps no certain share (`sampler.type`)";
        let done = "the share that others state is taken for all: give `sampling` if it differs";
        findings.say(Sure::Guessed, what, 1, done);
    }
    share
}

/// Adds the assumptions of every import of spans to the findings.
fn say_assumptions(options: &Options, findings: &mut Findings) {
    let app = match options.app_share < 1.0 {
        true => "the time of a service's own spans without its calls, times `app_share`",
        false => {
            "the time of a service's own spans without its calls, including its datacenter tax and \
             its waits for a core, so `app_share` should be below 1"
        }
    };
    findings.say(Sure::Understood, "application time", 1, app);
    let waits = match options.simulate_calls {
        true => {
            "the time of client spans; where the files have the server span, the answering service \
             is simulated, and the difference between the two spans is left out"
        }
        false => "the time of client spans, including the network and the answering service",
    };
    findings.say(Sure::Understood, "waits", 1, waits);
}
