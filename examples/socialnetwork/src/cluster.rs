//! Starts and stops the daemons and servers of a run, each in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use accelflow_storage::local::{Postgres, Redis};
use tempfile::TempDir;

use crate::recorded::Recorded;
use crate::services::SERVICES;
use crate::site::Site;

type Failure = Box<dyn std::error::Error>;

/// Memory limit of Redis, in MiB.
const CACHE_MIB: u32 = 256;

/// Redis, PostgreSQL and the gateway. Dropping it stops all of them.
pub(crate) struct Cluster {
    pub(crate) site: Site,
    site_file: PathBuf,
    _gateway: Process,
    _redis: Redis,
    _postgres: Postgres,
    _folder: TempDir,
}

impl Cluster {
    pub(crate) fn start() -> Result<Cluster, Failure> {
        let folder = tempfile::tempdir()?;
        let site = Site::new(folder.path())?;
        let (redis, postgres) = (Redis::start(CACHE_MIB)?, Postgres::start()?);
        let config = site.gateway_config(redis.url(), postgres.url());
        let file = folder.path().join("gateway.json");
        std::fs::write(&file, serde_json::to_vec(&config)?)?;
        let site_file = folder.path().join("site.json");
        site.save(&site_file)?;
        let gateway = Process::start(&["gateway".to_owned(), file.display().to_string()])?;
        Ok(Cluster {
            site,
            site_file,
            _gateway: gateway,
            _redis: redis,
            _postgres: postgres,
            _folder: folder,
        })
    }

    /// Starts a process with the servers of `services`, on one core if it is given.
    pub(crate) fn serve(
        &self,
        services: &[&str],
        core: Option<usize>,
        records: bool,
    ) -> Result<Process, Failure> {
        let mut arguments = vec!["serve".to_owned(), self.site_file.display().to_string()];
        arguments.extend(services.iter().map(|name| (*name).to_owned()));
        if let Some(core) = core {
            arguments.extend(["--core".to_owned(), core.to_string()]);
        }
        if records {
            arguments.push("--record".to_owned());
        }
        Process::start(&arguments)
    }

    /// All services but one.
    pub(crate) fn all_but(subject: &str) -> Vec<&'static str> {
        let names = SERVICES.iter().map(|(name, _)| *name);
        names.filter(|name| *name != subject).collect()
    }
}

/// A process of this program that prints `ready` and ends when its standard input ends.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
}

impl Process {
    fn start(arguments: &[String]) -> Result<Process, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let mut process = Process { child, input };
        let output = process.child.stdout.take();
        let mut output = BufReader::with_capacity(
            1,
            output.ok_or("a process was started without its standard output")?,
        );
        let mut line = String::new();
        output.read_line(&mut line)?;
        if line != "ready\n" {
            let what = arguments.first().cloned().unwrap_or_default();
            return Err(format!("the process '{what}' did not start").into());
        }
        process.child.stdout = Some(output.into_inner());
        Ok(process)
    }

    /// Ends the process and returns its recording.
    pub(crate) fn stop(mut self) -> Result<Recorded, Failure> {
        drop(self.input.take());
        let mut text = Vec::new();
        if let Some(output) = &mut self.child.stdout {
            output.read_to_end(&mut text)?;
        }
        self.child.wait()?;
        Ok(serde_json::from_slice(&text)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.input.take().is_some() {
            // It ends with its input; killing it would leave no time for what it owns. It must not
            // wait for a reader either.
            if let Some(output) = &mut self.child.stdout {
                let _ = output.read_to_end(&mut Vec::new());
            }
            let _ = self.child.wait();
        }
    }
}
