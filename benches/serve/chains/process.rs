//! The process of a measured server, and the way to it.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_runtime::affinity::{pin, usable_cores};
use accelflow_runtime::{Notification, record};
use accelflow_serve::{
    Client, ClientConfig, Compression, Config, Execution, HandlerError, HandlerResult,
    PoolSettings, Request, Running, Server, TlsIdentity, TlsTrust,
};
use accelflow_storage::{Storage, StorageConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Failed, host};

/// The functions of all servers here.
pub(crate) const INTERFACE: &str = "service Chains { string Echo(1: string text) \
     string Call(1: string text) string Read(1: string key) }";

/// The collection that `Read` reads.
pub(crate) const COLLECTION: &str = "plain";

/// Who executes the traces of a server, and how its threads wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// The thread of the connection: no accelerator.
    Inline,
    /// The ensemble, for which the thread spins.
    Sync,
    /// The ensemble, which wakes the thread.
    SyncOs,
}

impl Way {
    pub(crate) const ALL: [Way; 3] = [Way::Inline, Way::Sync, Way::SyncOs];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Inline => "inline",
            Way::Sync => "sync",
            Way::SyncOs => "sync_os",
        }
    }

    fn execution(self) -> Execution {
        let notification = match self {
            Way::Inline => return Execution::Inline,
            Way::Sync => Notification::Poll,
            Way::SyncOs => Notification::Wake,
        };
        Execution::Ensemble(PoolSettings {
            notification,
            ..PoolSettings::default()
        })
    }
}

/// What a server's process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) way: Way,
    pub(crate) record: bool,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// The service that `Call` calls, and the gateway from which `Read` reads.
    pub(crate) callee: SocketAddr,
    pub(crate) gateway: SocketAddr,
}

/// Serves on the host's core, until the input ends. Answers a line `FUNCTION NAME` with a
/// recording.
pub(crate) fn serve(settings: &str) -> Result<(), Failed> {
    let settings: Settings = serde_json::from_str(settings)?;
    let [host_core, workers, ..] = usable_cores()?[..] else {
        return Err("the host and the workers need a core each".into());
    };
    pin(host_core)?;
    let trust = TlsTrust::from_pem_file(&settings.certificate, "localhost")?;
    let running = start(&settings, trust)?;
    host::bind_workers(workers)?;
    println!("{}", json!({ "port": running.address().port() }));
    for line in std::io::stdin().lines() {
        let line = line?;
        let Some((function, name)) = line.split_once(' ') else {
            break;
        };
        let found = running.recording(&[(function, name)], &record::machine(), "2000-01-01")?;
        println!("{}", serde_json::to_string(&found)?);
    }
    running.stop(Duration::from_secs(1));
    Ok(())
}

fn start(settings: &Settings, trust: TlsTrust) -> Result<Running, Failed> {
    let execution = settings.way.execution();
    let mut server = Server::new(Schema::parse(INTERFACE)?.into());
    server.set_config(Config {
        execution,
        compression: Compression::LikeRequest,
        ..Config::default()
    });
    server.set_tls(TlsIdentity::from_pem_files(
        &settings.certificate,
        &settings.key,
    )?);
    server.set_recording(settings.record);
    let callee = client(settings.callee, trust, false, execution)?;
    let storage = Storage::new(&StorageConfig {
        address: settings.gateway,
        server_name: "localhost".to_owned(),
        roots: settings.certificate.clone(),
        connections: 16,
        timeout: Duration::from_secs(20),
        execution,
    })?;
    server.handle("Chains.Echo", echo)?;
    server.handle("Chains.Call", move |request: &Request<'_>| {
        let answer = callee.call("Echo", request.arguments);
        answer.map_err(|error| HandlerError::Internal(error.to_string()))
    })?;
    server.handle("Chains.Read", move |request: &Request<'_>| {
        let key = argument(request, "key")?;
        let found = storage.read(COLLECTION, &key);
        let document = found.map_err(|error| HandlerError::Internal(error.to_string()))?;
        Ok(json!(String::from_utf8_lossy(&document))
            .to_string()
            .into_bytes())
    })?;
    Ok(server.start(([127, 0, 0, 1], 0).into())?)
}

/// Returns the text of a request.
pub(crate) fn echo(request: &Request<'_>) -> HandlerResult {
    Ok(json!(argument(request, "text")?).to_string().into_bytes())
}

fn argument(request: &Request<'_>, name: &str) -> Result<String, HandlerError> {
    let arguments: Value = serde_json::from_slice(request.arguments)
        .map_err(|error| HandlerError::Internal(error.to_string()))?;
    let text = arguments[name].as_str().unwrap_or_default();
    Ok(text.to_owned())
}

/// A client of one of the servers.
pub(crate) fn client(
    address: SocketAddr,
    trust: TlsTrust,
    compress: bool,
    execution: Execution,
) -> Result<Client, Failed> {
    let settings = accelflow_accel::Settings {
        schema: Schema::parse(INTERFACE)?.into(),
        ..accelflow_accel::Settings::default()
    };
    let config = ClientConfig {
        compress,
        execution,
        idle_timeout: Duration::from_secs(3_600),
        timeout: Duration::from_secs(20),
        ..ClientConfig::default()
    };
    Ok(Client::new(
        address,
        settings,
        Protocol::Binary,
        Some(trust),
        config,
    )?)
}

/// A server's process, which ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl Process {
    pub(crate) fn start(settings: &Settings) -> Result<Process, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", &serde_json::to_string(settings)?])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line)?;
        let port = told["port"].as_u64().and_then(|port| port.try_into().ok());
        Ok(Process {
            child,
            input,
            output,
            address: ([127, 0, 0, 1], port.ok_or("the server told no port")?).into(),
        })
    }

    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// The recording of `function` as the service `name`.
    pub(crate) fn recording(&mut self, function: &str, name: &str) -> Result<Value, Failed> {
        writeln!(self.input, "{function} {name}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The empty line ends it; it may have ended by itself.
        let _ = writeln!(self.input);
        let _ = self.child.wait();
    }
}
