//! The options of an import.

use accelflow_parameters::{Refusal, quoted};
use serde_json::{Map, Value};

use crate::error::ImportError;

/// The options of an import of spans.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The name of the derived workload: 1 to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// The fraction of requests whose spans were recorded, above 0 and at most 1. `None`, the
    /// default, means the fraction that the spans state, or 1 if they state none or several.
    pub sampling: Option<f64>,
    /// The share of application logic in the time that a server span spends outside of its calls;
    /// the rest is datacenter tax. Above 0 and at most 1, by default 1. It has no effect on a shape
    /// whose requests all have spans that mark application logic (`accelflow.application`).
    pub app_share: f64,
    /// The largest number of workload services that one observed operation may become, from 1 to
    /// 64; by default 3. The operation's most common sequence of calls (shape) becomes a service,
    /// and so do the next most common shapes of requests from outside, which no service in the
    /// files has sent. Without `simulate_calls`, all requests count as requests from outside.
    pub shapes: usize,
    /// Whether the rates of an operation's kept shapes add up to the rate of all its requests from
    /// outside (see `shapes`), including those of shapes that are not kept. By default, each kept
    /// shape has the rate of its own requests from outside.
    pub whole_rates: bool,
    /// The form in which the workload describes waits for remote sides; by default quantiles.
    pub waits: Waits,
    /// Whether calls between services in the files become simulated calls (the default); otherwise
    /// the observed times of these calls become waits.
    pub simulate_calls: bool,
    /// Whether each observed service gets its own server; by default all services share one.
    pub server_each: bool,
    /// The largest number of spans of unfinished distributed traces kept in memory, from 100 to
    /// 100,000,000; by default 200,000.
    pub window_spans: usize,
    /// Whether the import fails instead of guessing or leaving something out; by default false.
    pub strict: bool,
}

/// The form in which a workload describes the observed waits for a remote side (a cache, a database
/// or another service).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// A table of quantiles of the observed times.
    Quantiles,
    /// A log-normal distribution. The logarithms of its values have the mean and the standard
    /// deviation (at most 4) of the logarithms of the observed times.
    LogNormal,
    /// A constant time: the mean of the observed times.
    Constant,
}

/// The names of all options, as they are written.
const NAMES: [&str; 10] = [
    "name",
    "sampling",
    "app_share",
    "shapes",
    "rates",
    "waits",
    "calls",
    "servers",
    "window_spans",
    "strict",
];

/// The most spans that may be kept in memory.
const MAX_WINDOW: u64 = 100_000_000;
/// The most services that one operation may become.
const MAX_SHAPES: u64 = 64;

impl Default for Options {
    fn default() -> Options {
        Options {
            name: "imported".to_owned(),
            sampling: None,
            app_share: 1.0,
            shapes: 3,
            whole_rates: false,
            waits: Waits::Quantiles,
            simulate_calls: true,
            server_each: false,
            window_spans: 200_000,
            strict: false,
        }
    }
}

impl Options {
    /// Reads import options from `text`, a JSON object. Options that are left out have their
    /// defaults.
    ///
    /// The names are those of the fields, except for `rates` (`shapes` or, for `whole_rates`,
    /// `operation`), `calls` (`simulate` or, without `simulate_calls`, `fit`) and `servers` (`one`
    /// or, for `server_each`, `by-service`). The values of `waits` are `quantiles`, `log-normal`
    /// and `constant`.
    ///
    /// # Errors
    /// [`ImportError::Option`] for text that is not a JSON object, an unknown name or a value that
    /// is not allowed.
    pub fn from_json(text: &str) -> Result<Options, ImportError> {
        let refused = || Refusal::new("options", quoted(text), "must be a JSON object");
        let given: Map<String, Value> = serde_json::from_str(text).map_err(|_| refused())?;
        let mut options = Options::default();
        for (name, value) in &given {
            options.set(name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), Refusal> {
        match name {
            "name" => self.name = workload_name(value)?,
            "sampling" => self.sampling = Some(share(name, value)?),
            "app_share" => self.app_share = share(name, value)?,
            "shapes" => self.shapes = count(name, value, 1, MAX_SHAPES)?,
            "window_spans" => self.window_spans = count(name, value, 100, MAX_WINDOW)?,
            "waits" => {
                let known = ["quantiles", "log-normal", "constant"];
                let all = [Waits::Quantiles, Waits::LogNormal, Waits::Constant];
                self.waits = all[choice(name, value, &known)?];
            }
            "rates" => self.whole_rates = choice(name, value, &["shapes", "operation"])? == 1,
            "calls" => self.simulate_calls = choice(name, value, &["simulate", "fit"])? == 0,
            "servers" => self.server_each = choice(name, value, &["one", "by-service"])? == 1,
            "strict" => {
                let wrong = || Refusal::new(name, value, "must be true or false");
                self.strict = value.as_bool().ok_or_else(wrong)?;
            }
            _ => return Err(Refusal::unknown("option", name, NAMES)),
        }
        Ok(())
    }
}

fn workload_name(value: &Value) -> Result<String, Refusal> {
    let valid = |name: &&str| {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !name.is_empty() && name.len() <= 64 && name.chars().all(letters)
    };
    let allowed = "must be 1 to 64 letters, digits, '-' and '_'";
    let wrong = || Refusal::new("name", value, allowed);
    let name = value.as_str().filter(valid).ok_or_else(wrong)?;
    Ok(name.to_owned())
}

fn share(name: &str, value: &Value) -> Result<f64, Refusal> {
    let valid = |share: &f64| *share > 0.0 && *share <= 1.0;
    let wrong = || Refusal::new(name, value, "must be above 0 and at most 1");
    value.as_f64().filter(valid).ok_or_else(wrong)
}

fn count(name: &str, value: &Value, least: u64, most: u64) -> Result<usize, Refusal> {
    let allowed = format!("must be a whole number from {least} to {most}");
    let found = value.as_u64().filter(|n| (least..=most).contains(n));
    let found = found.and_then(|n| usize::try_from(n).ok());
    found.ok_or_else(|| Refusal::new(name, value, allowed))
}

fn choice(name: &str, value: &Value, known: &[&str]) -> Result<usize, Refusal> {
    let Some(text) = value.as_str() else {
        let allowed = format!("must be {}", accelflow_parameters::any_of(known));
        return Err(Refusal::new(name, value, allowed));
    };
    let found = known.iter().position(|known| *known == text);
    found.ok_or_else(|| Refusal::unknown(name, text, known.iter().copied()))
}
