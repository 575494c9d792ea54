//! Serverless functions like those of FunctionBench (AccelFlow, section VII.A.5).
//!
//! The paper names the suite and four kinds of its functions: serving of models, and processing of
//! images, video and documents; it prints `ImgRot` as a short one. FunctionBench's functions fetch
//! their input from an object store and put their output there, so a function here is: receive the
//! invocation, GET the input by HTTP, compute, PUT the output by HTTP (functions that serve a model
//! answer with the result instead), respond.
//!
//! How long a function computes is taken from Azure's functions, not from FunctionBench, which the
//! paper does not time: the 500 functions of a day of Azure (invitro's sample of the 2019 trace),
//! sorted by median duration and cut into six parts, give six durations and six invocation rates
//! ([`AZURE_SEXTILES`]). The functions are put in the order of how much they compute (assumed).

use accelflow_units::Time;

use super::chains::{http, path, receive};
use super::error::ServiceError;
use super::service::{Phase, Service};

/// Median of the functions' median durations in ms, and invocations a minute, of each sixth of
/// Azure's functions by duration.
///
/// Provenance: derived from `500_run.csv` and `500_inv.csv` of vhive-serverless/invitro at b12de00f,
/// a sample of Azure's 2019 trace (CC-BY 4.0), by `scripts/derive_azure_functions.py`.
pub const AZURE_SEXTILES: [(f64, f64); 6] = [
    (10.0, 23.816667),
    (50.0, 79.077778),
    (219.5, 45.479167),
    (662.0, 14.462500),
    (2521.0, 17.506250),
    (14577.0, 56.529861),
];

/// The factor on Azure's durations: one thousandth.
///
/// Provenance: assumed. Azure's durations are those of whole functions in their language runtimes
/// (median 0.4 s): beside them the tax of some 0.1 ms vanishes, and with it every difference between
/// orchestrators that the paper's Fig. 16 shows. A thousandth keeps their ratios and makes the
/// shortest as short as the paper's short services.
pub const DURATION_SCALE: f64 = 1e-3;

/// Name, what it does, and whether its output goes to the object store. Shortest first.
const FUNCTIONS: [(&str, &str, bool); 6] = [
    ("ImgRot", "rotate an image", true),
    ("DocProc", "render a document", true),
    ("LRServ", "serve a regression model", false),
    ("RNNServ", "serve a text model", false),
    ("CNNServ", "serve an image model", false),
    ("VidProc", "filter a video", true),
];

/// The six functions, shortest first.
///
/// # Errors
/// None in practice; the constructor is the fallible one that users have.
pub fn serverless() -> Result<Vec<Service>, ServiceError> {
    let function = |&(name, method, stores): &(&str, &str, bool)| {
        let mut steps = vec![Phase::one(http("T11"))];
        if stores {
            steps.push(Phase::one(http("T11+Cmp")));
        }
        Service::new(name, method, path(receive(0), steps, "T2"))
    };
    FUNCTIONS.iter().map(function).collect()
}

/// The computation time of one invocation of the function called `name`, all CPU phases together.
pub fn serverless_app_time(name: &str) -> Option<Time> {
    let index = FUNCTIONS.iter().position(|function| function.0 == name)?;
    let milliseconds = AZURE_SEXTILES[index].0 * DURATION_SCALE;
    Some(Time::from_ns_f64(milliseconds * 1e6))
}

/// The invocation rate of the function called `name`, over the mean of the six.
pub fn serverless_rate_share(name: &str) -> Option<f64> {
    let index = FUNCTIONS.iter().position(|function| function.0 == name)?;
    let mean = AZURE_SEXTILES.iter().map(|part| part.1).sum::<f64>() / 6.0;
    Some(AZURE_SEXTILES[index].1 / mean)
}
