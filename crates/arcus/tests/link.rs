//! PCIe: what framing and credits leave of a link, in closed form and packet by packet.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::{
    Accelerator, Arrivals, Curve, Direction, Flow, Generation, Mechanism, Packet, Path, PcieConfig,
    Platform, Settings, Transfer, simulate,
};
use accelflow_units::{Bandwidth, Bytes, Time};

fn write(tag: u32, left: u64) -> Transfer {
    let (packet, left) = (Packet::Write, Bytes(left));
    Transfer { tag, packet, left }
}

#[test]
fn a_gen_3_x8_has_57_9_gbit_per_s_for_packets_and_doubles_with_the_generation() {
    let gbit = |generation| {
        let config = PcieConfig {
            generation,
            ..PcieConfig::default()
        };
        config.bandwidth().as_bytes_per_s() as f64 * 8.0 / 1e9
    };
    assert!((gbit(Generation::Gen3) - 57.97).abs() < 0.01);
    assert!((gbit(Generation::Gen2) - 32.0 * 0.92).abs() < 0.001);
    assert!((gbit(Generation::Gen1) * 2.0 - gbit(Generation::Gen2)).abs() < 0.001);
    assert!((gbit(Generation::Gen4) - 2.0 * gbit(Generation::Gen3)).abs() < 0.001);
    assert!((gbit(Generation::Gen5) - 4.0 * gbit(Generation::Gen3)).abs() < 0.001);
}

#[test]
fn framing_is_by_packet() {
    let config = PcieConfig::default();
    assert_eq!(config.wire_bytes(Packet::Write, Bytes(64)), Bytes(88));
    assert_eq!(config.wire_bytes(Packet::Write, Bytes(256)), Bytes(280));
    assert_eq!(
        config.wire_bytes(Packet::Write, Bytes(257)),
        Bytes(257 + 48)
    );
    assert_eq!(
        config.wire_bytes(Packet::Completion, Bytes(4_096)),
        Bytes(4_096 + 16 * 20)
    );
    assert_eq!(
        config.wire_bytes(Packet::ReadRequest, Bytes(4_096)),
        Bytes(8 * 24)
    );
}

/// Writes of one size as fast as they go, in bytes a second.
fn measured(pcie: PcieConfig, size: u64) -> f64 {
    let peak = Bandwidth::from_bytes_per_s(1_000_000_000_000).unwrap();
    let setup = Time::ZERO;
    let sink = Accelerator::new("sink", Curve::Saturating { setup, peak });
    let mut platform = Platform::prototype(vec![sink]);
    platform.pcie = pcie;
    let flow = Flow::new(0, Path::InlineRx, Bytes(size), Arrivals::Backlogged);
    let settings = Settings::lasting(Time::from_us(200));
    let result = simulate(&platform, &[flow], &Mechanism::NoShaping, &settings).unwrap();
    result.gbit_per_s(0) * 1e9 / 8.0
}

#[test]
fn simulated_writes_reach_the_closed_form_at_every_payload() {
    for size in [64, 65, 255, 256, 257, 512, 1_500, 4_096] {
        let config = PcieConfig::default();
        let expected = config.write_bytes_per_s(Bytes(size));
        let ours = measured(config, size);
        assert!(
            (ours / expected - 1.0).abs() < 2e-3,
            "{size}: {ours} for {expected}"
        );
    }
}

#[test]
fn few_credits_limit_small_writes_to_credits_a_round_trip() {
    for posted_headers in [4, 5, 8] {
        let config = PcieConfig {
            posted_headers,
            ..PcieConfig::default()
        };
        let expected = config.write_bytes_per_s(Bytes(64));
        assert!(expected < PcieConfig::default().write_bytes_per_s(Bytes(64)) / 2.0);
        let ours = measured(config, 64);
        assert!(
            (ours / expected - 1.0).abs() < 5e-3,
            "{posted_headers}: {ours} for {expected}"
        );
    }
    let config = PcieConfig {
        posted_data: Bytes(512),
        ..PcieConfig::default()
    };
    let (ours, expected) = (measured(config, 256), config.write_bytes_per_s(Bytes(256)));
    assert!(
        (ours / expected - 1.0).abs() < 5e-3,
        "{ours} for {expected}"
    );
}

#[test]
fn sources_take_turns_packet_by_packet_and_a_transfer_ends_with_its_last() {
    let mut up = Direction::new(&PcieConfig::default(), 2);
    up.push(0, write(1, 600));
    up.push(1, write(2, 64));
    up.push(1, write(3, 64));
    let mut order = Vec::new();
    while let Some(sent) = up.start() {
        assert_eq!(up.start(), None, "the wire takes one packet at a time");
        order.push((sent.tag, sent.size.get(), sent.last));
        up.release();
    }
    let expected = [
        (1, 256, false),
        (2, 64, true),
        (1, 256, false),
        (3, 64, true),
        (1, 88, true),
    ];
    assert_eq!(order, expected);
    assert_eq!(up.wire_bytes(), Bytes(600 + 128 + 5 * 24));
}

#[test]
fn a_write_waits_for_its_credits_and_a_read_does_not_wait_for_those() {
    let config = PcieConfig {
        posted_headers: 1,
        ..PcieConfig::default()
    };
    let mut up = Direction::new(&config, 2);
    up.push(0, write(1, 64));
    up.push(0, write(2, 64));
    assert_eq!(up.start().map(|sent| sent.tag), Some(1));
    up.release();
    assert_eq!(up.start(), None, "its only credit is at the host");
    let packet = Packet::ReadRequest;
    up.push(
        1,
        Transfer {
            tag: 3,
            packet,
            left: Bytes(513),
        },
    );
    let sent = up.start().unwrap();
    assert_eq!((sent.tag, sent.size, sent.last), (3, Bytes(512), false));
    assert_eq!(
        sent.wire,
        config.bandwidth().transfer(Bytes(24)),
        "a request carries no payload"
    );
    up.release();
    up.return_credits(Packet::Write, Bytes(64));
    assert_eq!(up.start().map(|sent| sent.tag), Some(2));
}

#[test]
fn a_link_that_cannot_be_is_refused() {
    let refused = |config: PcieConfig| config.check().unwrap_err().to_string();
    let good = PcieConfig::default();
    assert_eq!(good.check(), Ok(()));
    assert_eq!(
        refused(PcieConfig { lanes: 3, ..good }),
        "pcie.lanes = 3: must be 1, 2, 4, 8 or 16"
    );
    let text = refused(PcieConfig {
        link_layer_share: 1.0,
        ..good
    });
    assert_eq!(text, "pcie.link_layer_share = 1: must be from 0 to below 1");
    assert!(
        refused(PcieConfig {
            max_payload: Bytes(100),
            ..good
        })
        .contains("max_payload_bytes = 100")
    );
    assert!(
        refused(PcieConfig {
            posted_headers: 0,
            ..good
        })
        .contains("credits for PCIe headers")
    );
    assert!(
        refused(PcieConfig {
            posted_data: Bytes(255),
            ..good
        })
        .contains("posted_data_bytes = 255")
    );
}

#[test]
fn the_table_of_parameters_has_the_values_that_are_used() {
    use accelflow_arcus::parameters::PARAMETERS;
    let prototype = || Platform::prototype(Vec::new());
    assert_eq!(PARAMETERS.faults(prototype), Vec::<String>::new());
}
