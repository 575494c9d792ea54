//! Requests for more data than a response may have.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use accelflow_storage::{GatewayConfig, Storage, StorageConfig};

use crate::common::{World, world};

const DOCUMENT_BYTES: usize = 3 << 20;

/// The command in a process of its own.
struct Process(Child);

impl Process {
    fn start(world: &World) -> (Process, Storage) {
        let config = GatewayConfig {
            listen: "127.0.0.1:0".parse().expect("an address"),
            ..world.config.clone()
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("gateway.json");
        std::fs::write(&file, serde_json::to_string(&config).expect("JSON")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_accelflow-storage-gateway"));
        let mut child = command
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut line = String::new();
        let output = child.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("listening on ");
        let address = address.and_then(|text| text.parse().ok());
        let storage = Storage::new(&StorageConfig {
            address: address.unwrap_or_else(|| panic!("{line}")),
            ..world.storage_config()
        });
        (Process(child), storage.expect("a certificate"))
    }

    /// The largest memory that it has had, in bytes.
    fn peak(&self) -> usize {
        let status = format!("/proc/{}/status", self.0.id());
        let status = std::fs::read_to_string(status).expect("Linux");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
        let kib: usize = kib.and_then(|kib| kib.parse().ok()).expect("a number");
        kib * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn documents_that_are_too_large_together_are_refused_before_they_are_read() {
    let Some(world) = world() else { return };
    let (gateway, storage) = Process::start(&world);
    let document = format!(r#""{}""#, "x".repeat(DOCUMENT_BYTES - 2));
    for collection in ["plain", "packed"] {
        for key in ["a", "b", "c"] {
            let written = match collection {
                "packed" => storage.write_compressed(collection, key, document.as_bytes()),
                _ => storage.write(collection, key, document.as_bytes()),
            };
            written.expect("written");
        }
        let three = storage.read(collection, "a,b,c").expect("fits");
        assert_eq!(three.len(), 3 * DOCUMENT_BYTES + 4);
        let before = gateway.peak();
        let error = storage.read(collection, &["a"; 100].join(","));
        let error = error.expect_err("of 300 MiB").to_string();
        assert!(error.contains("bytes of the documents = "), "{error}");
        assert!(error.contains(": must be at most 16777216"), "{error}");
        let more = gateway.peak() - before;
        assert!(more < 30 * DOCUMENT_BYTES, "{more} bytes");
    }
}
