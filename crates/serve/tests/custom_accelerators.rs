//! What recordings and metrics show of custom accelerators.

use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Config, Execution, PoolSettings, Request};

use crate::common::shout::{SHOUT, Shout};
use crate::common::*;
use crate::custom_traces::{await_paths, recording, steps, traces};

#[test]
fn recordings_and_metrics_name_custom_accelerators() {
    let own =
        "trace own_receive:\n    TCP RPC Dser Shout LdB\ntrace own_respond:\n    Ser RPC TCP\n";
    let text = [SHOUT, own].concat();
    for execution in [
        Execution::Inline,
        Execution::Ensemble(PoolSettings::default()),
    ] {
        let mut server = server();
        server.set_config(Config {
            execution,
            ..verbose()
        });
        let reply = |_: &Request<'_>| Ok(br#"{"text":"reply"}"#.to_vec());
        server.handle("Test.echo", reply).expect("known");
        let mut given = traces(&text);
        given.source = given.source.with_bodies(Shout::bodies("quiet", "LOUD!"));
        let running = recording(server, given);
        let mut client = connect(&running);
        for _ in 0..3 {
            let arguments = r#"{"value":{"text":"quiet"}}"#;
            let (kind, _) = call(&mut client, "echo", Protocol::Compact, arguments);
            assert_eq!(kind, MessageType::Reply);
        }
        await_paths(&running, "Test.echo", &[&["own_receive", "own_respond"]]);
        let path = &steps(&running, "Test.echo")[0];
        let names: Vec<&str> = path.iter().map(|(_, name)| name.as_str()).collect();
        let expected = ["TCP", "RPC", "Dser", "Shout", "LdB", "Ser", "RPC", "TCP"];
        assert_eq!(names, expected);
        let metrics = running.metrics();
        let count = r#"step_seconds_count{accelerator="Shout"} 3"#;
        assert!(metrics.contains(count), "{metrics}");
    }
}
