//! Private Redis and PostgreSQL servers for tests and demonstrations, on loopback ports. Their
//! files are in temporary folders, which are removed when the servers end.
//!
//! Other Redis and PostgreSQL servers on the machine are not touched. Servers started by root run
//! as the user `nobody`.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The error of a local Redis or PostgreSQL server that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// A program of Redis or PostgreSQL is not installed.
    #[error("the program {program} is not installed; scripts/install-storage installs it")]
    Missing {
        /// The name of the program.
        program: &'static str,
    },
    /// A program failed, or did not start in time.
    #[error("{program}: {why}")]
    Failed {
        /// The name of the program.
        program: &'static str,
        /// What failed, with the last lines of the program's output.
        why: String,
    },
    /// A file or a process cannot be created.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How long a daemon may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const REDIS: &str = "redis-server";
const POSTGRES: &str = "postgres";

/// The user of the database.
const USER: &str = "accelflow";

/// The running daemons of this process, and their folders.
static RUNNING: Mutex<Vec<(Pid, PathBuf)>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<(Pid, PathBuf)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all Redis and PostgreSQL servers that this process has started ([`Redis`], [`Postgres`]),
/// and removes their folders. Call this function when a signal ends the process, since the servers'
/// values are not dropped in this case.
pub fn end_all() {
    for (pid, folder) in running().drain(..) {
        let backends = children(pid.as_raw_nonzero().get().unsigned_abs());
        for process in backends.into_iter().chain([pid]) {
            let _ = kill_process(process, Signal::KILL);
        }
        let _ = fs::remove_dir_all(folder);
    }
}

/// A daemon that is killed when it is dropped.
#[derive(Debug)]
struct Daemon {
    child: Child,
    stop: Signal,
}

impl Daemon {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    fn end(&mut self, signal: Signal) {
        self.signal(signal);
        let _ = self.child.wait();
        running().retain(|(pid, _)| pid.as_raw_nonzero().get().unsigned_abs() != self.child.id());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // A stopped process hears of nothing else.
            self.signal(Signal::CONT);
            self.end(self.stop);
        }
    }
}

/// A private Redis server on a loopback port, for tests and demonstrations. Dropping the value ends
/// the server and removes its files.
#[derive(Debug)]
pub struct Redis {
    daemon: Option<Daemon>,
    folder: TempDir,
    port: u16,
    password: String,
}

impl Redis {
    /// Starts a private Redis server that uses at most `max_memory_mib` MiB of memory and then
    /// evicts the least recently used keys. With 0, its memory has no limit.
    ///
    /// # Errors
    /// [`LocalError`] if Redis is not installed or does not start.
    pub fn start(max_memory_mib: u32) -> Result<Redis, LocalError> {
        find(REDIS)?;
        let (folder, port, password) = (folder()?, free_port()?, password()?);
        let settings = format!(
            "bind 127.0.0.1\nport {port}\nrequirepass {password}\ndir {}\nsave \"\"\n\
             appendonly no\nmaxmemory {max_memory_mib}mb\nmaxmemory-policy allkeys-lru\n",
            folder.path().display()
        );
        private_file(&folder.path().join("redis.conf"), &settings)?;
        let mut redis = Redis {
            daemon: None,
            folder,
            port,
            password,
        };
        redis.resume()?;
        Ok(redis)
    }

    /// Starts the Redis server again after [`Redis::kill`], without its former data.
    ///
    /// # Errors
    /// [`LocalError`] if the server does not start.
    pub fn resume(&mut self) -> Result<(), LocalError> {
        let mut command = Command::new(find(REDIS)?);
        command.arg(self.folder.path().join("redis.conf"));
        let log = self.folder.path().join("redis.log");
        self.daemon = Some(spawn(REDIS, command, &log, Signal::KILL)?);
        Ok(())
    }

    /// Kills the Redis server without notice (`SIGKILL`).
    pub fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.end(Signal::KILL);
        }
    }

    /// Returns the URL at which clients connect to the Redis server, including the password.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}/", self.password, self.port)
    }

    /// Returns the process ID of the Redis server; `None` after [`Redis::kill`].
    pub fn process(&self) -> Option<u32> {
        self.daemon.as_ref().map(|daemon| daemon.child.id())
    }
}

/// A private PostgreSQL server on a loopback port, for tests and demonstrations. Dropping the value
/// ends the server and removes its files.
#[derive(Debug)]
pub struct Postgres {
    daemon: Option<Daemon>,
    folder: TempDir,
    port: u16,
    password: String,
}

impl Postgres {
    /// Creates a private PostgreSQL database cluster and starts its server. The server confirms a
    /// commit only after it has written the commit to the disk.
    ///
    /// # Errors
    /// [`LocalError`] if PostgreSQL is not installed or does not start.
    pub fn start() -> Result<Postgres, LocalError> {
        let initdb = find("initdb")?;
        find(POSTGRES)?;
        let (folder, port, password) = (folder()?, free_port()?, password()?);
        let secret = folder.path().join("password");
        private_file(&secret, &password)?;
        let mut command = Command::new(initdb);
        command
            .args(["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"])
            .args(["--no-sync", "--username", USER, "--pgdata"])
            .arg(folder.path().join("cluster"))
            .arg("--pwfile")
            .arg(&secret);
        unprivileged(&mut command)?;
        let made = command.current_dir(folder.path()).output()?;
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            let program = "initdb";
            return Err(LocalError::Failed { program, why });
        }
        let mut postgres = Postgres {
            daemon: None,
            folder,
            port,
            password,
        };
        postgres.resume()?;
        Ok(postgres)
    }

    /// Starts the PostgreSQL server again after [`Postgres::kill`], with all committed data.
    ///
    /// # Errors
    /// [`LocalError`] if the server does not start.
    pub fn resume(&mut self) -> Result<(), LocalError> {
        let folder = self.folder.path();
        let mut command = Command::new(find(POSTGRES)?);
        command
            .arg("-D")
            .arg(folder.join("cluster"))
            .args(["-h", "127.0.0.1", "-p"])
            .arg(self.port.to_string())
            .arg("-k")
            .arg(folder);
        let log = folder.join("postgres.log");
        // An immediate shutdown: the cluster goes with it.
        let stop = Signal::QUIT;
        self.daemon = Some(spawn(POSTGRES, command, &log, stop)?);
        Ok(())
    }

    /// Kills all processes of the PostgreSQL server without notice (`SIGKILL`).
    pub fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let backends = children(daemon.child.id());
            daemon.end(Signal::KILL);
            for pid in backends {
                let _ = kill_process(pid, Signal::KILL);
            }
            // The next server must not find this one's lock.
            let _ = fs::remove_file(self.folder.path().join("cluster/postmaster.pid"));
        }
    }

    /// Suspends the processes of the PostgreSQL server (`SIGSTOP`), as if the server hung: clients
    /// can still connect, but get no answers.
    pub fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Resumes the processes of the PostgreSQL server after [`Postgres::freeze`].
    pub fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, signal: Signal) {
        if let Some(daemon) = &self.daemon {
            daemon.signal(signal);
            for pid in children(daemon.child.id()) {
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Returns the connection string for clients of the PostgreSQL server, in `key=value` form,
    /// including the password.
    pub fn url(&self) -> String {
        format!(
            "host=127.0.0.1 port={} user={USER} password={} dbname=postgres",
            self.port, self.password
        )
    }

    /// Returns the process ID of the main process of the PostgreSQL server; `None` after
    /// [`Postgres::kill`].
    pub fn process(&self) -> Option<u32> {
        self.daemon.as_ref().map(|daemon| daemon.child.id())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.thaw();
    }
}

/// The processes that a process has started.
fn children(pid: u32) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let text = text.unwrap_or_default();
    let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

/// Finds a program: on the path, or where Debian keeps those of PostgreSQL.
fn find(name: &'static str) -> Result<PathBuf, LocalError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.path().join("bin"))
                .collect()
        })
        .unwrap_or_default();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    let found = folders.into_iter().map(|folder| folder.join(name));
    let mut found = found.filter(|file| file.is_file());
    found.next().ok_or(LocalError::Missing { program: name })
}

/// Checks that Redis and PostgreSQL are installed on this machine.
///
/// # Errors
/// [`LocalError::Missing`] for the first program that is not installed.
pub fn installed() -> Result<(), LocalError> {
    for program in [REDIS, POSTGRES, "initdb"] {
        find(program)?;
    }
    Ok(())
}

/// User and group of `nobody`, if this process runs as root.
fn nobody() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("nobody:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn unprivileged(command: &mut Command) -> Result<(), LocalError> {
    if let Some((user, group)) = nobody() {
        command.uid(user).gid(group);
    }
    Ok(())
}

/// Makes a folder that only the daemon's user can access.
fn folder() -> Result<TempDir, LocalError> {
    let folder = tempfile::Builder::new().prefix("accelflow-").tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    give(folder.path())?;
    Ok(folder)
}

fn give(path: &Path) -> io::Result<()> {
    match nobody() {
        Some((user, group)) => chown(path, Some(user), Some(group)),
        None => Ok(()),
    }
}

fn private_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    give(path)
}

fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn password() -> io::Result<String> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Starts a daemon and waits until it serves.
fn spawn(
    program: &'static str,
    mut command: Command,
    log: &Path,
    stop: Signal,
) -> Result<Daemon, LocalError> {
    let output = File::options().create(true).append(true).open(log)?;
    let before = output.metadata()?.len();
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        // An interrupt at the terminal is for the parent process.
        .process_group(0);
    if let Some(folder) = log.parent() {
        command.current_dir(folder);
    }
    unprivileged(&mut command)?;
    let child = command.spawn()?;
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        running().push((pid, log.parent().map(Path::to_owned).unwrap_or_default()));
    }
    let mut daemon = Daemon { child, stop };
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let ended = daemon.child.try_wait()?;
        let said = said_since(log, before)?;
        if said.to_lowercase().contains(READY) {
            return Ok(daemon);
        }
        if ended.is_some() || Instant::now() > deadline {
            let lines: Vec<&str> = said.lines().collect();
            let last = &lines[lines.len().saturating_sub(3)..];
            let why = format!("does not start: {}", last.join("; "));
            return Err(LocalError::Failed { program, why });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The text that both daemons log once they serve. Before that they may listen and refuse
/// connections.
const READY: &str = "ready to accept connections";

fn said_since(log: &Path, before: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(before))?;
    let mut said = Vec::new();
    file.read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}
