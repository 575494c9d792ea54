//! Prediction against measurement: each service alone on a core, at several loads.

use std::path::PathBuf;
use std::time::Duration;

use accelflow_parameters::Refusal;
use clap::Args;

use crate::cluster::{Cluster, Process};
use crate::floor;
use crate::graph;
use crate::load::{Load, Measured, closed_loop, open_loop};
use crate::predict::{Prediction, predict};
use crate::recorded::Recorded;
use crate::report;
use crate::requests::{EIGHT, Kind};
use crate::run::check;
use crate::serve::{cores, pin};

type Failure = Box<dyn std::error::Error>;

/// Options of the measurement.
#[derive(Args)]
pub(crate) struct Options {
    /// Loads, as shares (above 0, at most 0.95) of the service's capacity, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [0.2, 0.5, 0.7])]
    loads: Vec<f64>,
    /// Duration of each load after its warm-up of 2 s, in seconds.
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// Repetitions of each load; the run with the median mean is reported.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Measure only this service; repeatable.
    #[arg(long = "service")]
    services: Vec<String>,
    /// The Markdown page to write.
    #[arg(long, default_value = "docs/results/socialnetwork.md")]
    out: PathBuf,
    /// Seed of the arrival times and the contents of requests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The results of a service at one load.
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) load: f64,
    pub(crate) rate_rps: f64,
    pub(crate) measured: Measured,
    /// The means of all repetitions, in microseconds.
    pub(crate) means_us: Vec<f64>,
    pub(crate) prediction: Prediction,
}

/// The results of all services.
pub(crate) struct Findings {
    pub(crate) rows: Vec<Row>,
    pub(crate) capacities_rps: Vec<(Kind, f64)>,
    /// The response time of a server that does nothing, less the processor time of its threads.
    pub(crate) floor_us: f64,
    pub(crate) seconds: f64,
    pub(crate) repeats: usize,
    /// The machine's run queue before and after, as 1-minute averages.
    pub(crate) run_queue: [String; 2],
}

/// The 1-minute average of runnable processes: the machine's other load.
fn run_queue() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

const WARM_UP: Duration = Duration::from_secs(2);

/// Requests a second at which the floor is measured.
const FLOOR_RATE_RPS: f64 = 500.0;

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    check("seconds", options.seconds, 3_600.0)?;
    check("repeats", options.repeats as f64, 1_000.0)?;
    for load in &options.loads {
        check("loads", *load, 0.95)?;
    }
    let kinds = chosen(&options.services)?;
    let cores = cores()?;
    let [subject, rest @ ..] = cores.as_slice() else {
        return Err("this process may run on no core: must have at least 2".into());
    };
    if rest.is_empty() {
        return Err("this process may run on 1 core only: must have at least 2, one for the measured service alone".into());
    }
    // Everything but the measured service stays off its core.
    pin(rest)?;
    let before = run_queue();
    let mut bench = Bench {
        options,
        cluster: Cluster::start()?,
        core: *subject,
        seeds: options.seed << 16,
    };
    let mut findings = bench.findings(&kinds)?;
    findings.run_queue = [before, run_queue()];
    let page = report::page(&findings)?;
    if let Some(folder) = options.out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&options.out, &page).map_err(|error| {
        let path = options.out.display();
        format!("--out = {path}: {error}")
    })?;
    print!("{}", report::table(&findings));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Kind>, Refusal> {
    let find = |name: &String| {
        let known = EIGHT.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| {
            let known = EIGHT.map(Kind::name).join(", ");
            Refusal::new("--service", name, format!("must be one of {known}"))
        })
    };
    match names {
        [] => Ok(EIGHT.to_vec()),
        names => names.iter().map(find).collect(),
    }
}

struct Bench<'o> {
    options: &'o Options,
    cluster: Cluster,
    core: usize,
    /// Every load has different contents, since a user can be registered only once.
    seeds: u64,
}

impl Bench<'_> {
    fn findings(&mut self, kinds: &[Kind]) -> Result<Findings, Failure> {
        eprintln!("loading users, graph and posts");
        let all = self.cluster.serve(&Cluster::all_but(""), None, false)?;
        let loaded = graph::load(&self.cluster.site, self.options.seed, graph::POSTS);
        loaded.map_err(|error| error.to_string())?;
        all.stop()?;
        let floor_us = self.floor()?;
        eprintln!("floor, what a request takes with a server that does nothing: {floor_us:.1} us");
        let mut findings = Findings {
            rows: Vec::new(),
            capacities_rps: Vec::new(),
            floor_us,
            seconds: self.options.seconds,
            repeats: self.options.repeats,
            run_queue: Default::default(),
        };
        for kind in kinds {
            let others = Cluster::all_but(kind.service());
            let others = self.cluster.serve(&others, None, false)?;
            let capacity = self.capacity(*kind)?;
            eprintln!(
                "{}: capacity {capacity:.0} requests per second",
                kind.name()
            );
            findings.capacities_rps.push((*kind, capacity));
            for load in &self.options.loads {
                let row = self.row(*kind, *load, capacity * load)?;
                eprintln!("{}", report::line(&row, floor_us));
                findings.rows.push(row);
            }
            others.stop()?;
        }
        Ok(findings)
    }

    fn subject(&self, name: &str) -> Result<Process, Failure> {
        self.cluster.serve(&[name], Some(self.core), true)
    }

    fn load<'m>(&mut self, mix: &'m [(Kind, f64)], rate_rps: f64, seconds: f64) -> Load<'m> {
        self.seeds += 1;
        Load {
            mix,
            rate_rps,
            warm_up: WARM_UP,
            duration: WARM_UP + Duration::from_secs_f64(seconds),
            connections: 32,
            seed: self.seeds,
        }
    }

    fn floor(&mut self) -> Result<f64, Failure> {
        let server = self.subject(floor::NAME)?;
        let mix = [(Kind::Floor, 1.0)];
        let load = self.load(&mix, FLOOR_RATE_RPS, self.options.seconds);
        let measured = open_loop(&self.cluster.site, &load);
        let measured = measured.map_err(|error| error.to_string())?;
        let own = server.stop()?.floor_us.ok_or(
            "the server that does nothing got no requests, so that the floor is not known",
        )?;
        Ok(measured.mean_us(Kind::Floor) - own)
    }

    fn capacity(&mut self, kind: Kind) -> Result<f64, Failure> {
        let server = self.subject(kind.service())?;
        let mix = [(kind, 1.0)];
        // More requests than can be answered in the time; they are made beforehand.
        let load = self.load(&mix, 15_000.0, 2.0);
        let capacity = closed_loop(&self.cluster.site, &load);
        server.stop()?;
        Ok(capacity.map_err(|error| error.to_string())?)
    }

    fn row(&mut self, kind: Kind, load: f64, rate_rps: f64) -> Result<Row, Failure> {
        let mut runs: Vec<(Measured, Recorded)> = Vec::new();
        for _ in 0..self.options.repeats {
            let server = self.subject(kind.service())?;
            let mix = [(kind, 1.0)];
            let load = self.load(&mix, rate_rps, self.options.seconds);
            let measured = open_loop(&self.cluster.site, &load);
            let measured = measured.map_err(|error| error.to_string())?;
            runs.push((measured, server.stop()?));
        }
        runs.sort_by(|a, b| a.0.mean_us(kind).total_cmp(&b.0.mean_us(kind)));
        let means_us = runs.iter().map(|(run, _)| run.mean_us(kind)).collect();
        let (measured, recorded) = runs.swap_remove((runs.len() - 1) / 2);
        let function = kind.function();
        let paths = recorded.functions.get(&function).map(Vec::as_slice);
        let paths = paths.filter(|paths| !paths.is_empty());
        let paths = paths.ok_or_else(|| {
            format!("{function} has no successful request, so that there is no recording of it")
        })?;
        Ok(Row {
            kind,
            load,
            rate_rps,
            measured,
            means_us,
            prediction: predict(paths, rate_rps, self.options.seed)?,
        })
    }
}
