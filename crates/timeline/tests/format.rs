//! The bytes of a small timeline, against Perfetto's documentation of its messages.

use accelflow_timeline::{Argument, Slice, Timeline};

fn small(name: &str) -> Vec<u8> {
    let mut timeline = Timeline::new(name, Vec::new());
    let written = (|| {
        let process = timeline.process("server")?;
        let core = timeline.track(process, "core 0")?;
        let queue = timeline.counter(process, "queue", "entries")?;
        let flow = [timeline.flow("request 1")];
        let slice = Slice {
            name: "work",
            category: "cores",
            flows: &flow,
            arguments: &[("request", Argument::Number(1))],
            ..Slice::default()
        };
        timeline.slice(core, (10, 20), &slice)?;
        timeline.count(queue, 20, 3)?;
        let last = Slice {
            flows: &[],
            ends: &flow,
            ..slice
        };
        timeline.instant(core, 30, &last)
    })();
    written
        .and_then(|()| timeline.finish())
        .expect("memory takes all")
}

/// The packets of a file: the field that each has, and its bytes.
fn packets(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while let [tag, rest @ ..] = bytes {
        assert_eq!(*tag, 0x0a, "a trace has nothing but packets");
        let mut length = 0_usize;
        let mut at = 0;
        loop {
            length |= usize::from(rest[at] & 0x7f) << (7 * at);
            at += 1;
            if rest[at - 1] < 0x80 {
                break;
            }
        }
        packets.push(&rest[at..at + length]);
        bytes = &rest[at + length..];
    }
    packets
}

#[test]
fn a_timeline_is_packets_and_texts_are_written_once() {
    let bytes = small("one");
    let found = packets(&bytes);
    // Three rows, a slice's two ends, a number and a moment.
    assert_eq!(found.len(), 7);
    let times = |text: &str| {
        bytes
            .windows(text.len())
            .filter(|w| *w == text.as_bytes())
            .count()
    };
    for text in ["work", "cores", "request"] {
        assert_eq!(times(text), 1, "{text}");
    }
    assert_eq!(small("one"), bytes, "equal timelines are equal bytes");
}

#[test]
fn timelines_of_different_names_share_no_number_of_a_row() {
    let [one, other] = ["one", "other"].map(small);
    // The number of the first row is the first field of its description: 60, wire type 2.
    let first_row = |bytes: &[u8]| {
        let packet = packets(bytes)[0].to_vec();
        let at = packet.windows(2).position(|pair| pair == [0xe2, 0x03]);
        packet[at.expect("a description")..][3..13].to_vec()
    };
    assert_ne!(first_row(&one), first_row(&other));
}
