//! The tables of settings: what they say, and what servers and clients refuse.

use accelflow_serve::{
    ARENA_PARAMETERS, ArenaSettings, CLIENT_PARAMETERS, CONFIG_PARAMETERS, ClientConfig, Config,
    RPC_PARAMETERS, RpcProcessor, STEERING_PARAMETERS, Steering,
};

use crate::common::server;

#[test]
fn the_tables_describe_the_defaults_and_every_field() {
    let none = Vec::<String>::new();
    assert_eq!(CONFIG_PARAMETERS.faults(Config::default), none);
    assert_eq!(STEERING_PARAMETERS.faults(Steering::default), none);
    assert_eq!(RPC_PARAMETERS.faults(RpcProcessor::default), none);
    assert_eq!(ARENA_PARAMETERS.faults(|| ArenaSettings::of(1)), none);
    assert_eq!(CLIENT_PARAMETERS.faults(ClientConfig::default), none);
}

#[test]
fn a_server_refuses_what_its_table_does_not_allow() {
    for (key, value) in [
        ("max_connections", 0.0),
        ("max_depth", 101.0),
        ("max_concurrent_streams", 0.0),
        ("evict_after_s", 0.0),
        ("write_timeout_s", 2e9),
    ] {
        let row = CONFIG_PARAMETERS.row(key).expect("a key");
        let mut config = Config::default();
        (row.set)(&mut config, value);
        let expected = row.parameter.check(value).expect_err("not allowed");
        assert_eq!(refusal(config), expected.to_string());
    }
}

#[test]
fn no_place_for_an_address_is_not_the_default() {
    let config = Config {
        max_connections_per_address: Some(0),
        ..Config::default()
    };
    let why = refusal(config);
    let place = "max_connections_per_address = 0: must be a whole number from 1";
    assert!(why.starts_with(place), "{why}");
}

fn refusal(config: Config) -> String {
    let mut server = server();
    server.set_config(config);
    let started = server.start(([127, 0, 0, 1], 0).into());
    started.expect_err("refused").to_string()
}
