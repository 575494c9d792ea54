//! The writer of timelines, packet by packet.

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;

use crate::messages::{
    ChildOrdering, CounterDescriptor, DebugAnnotation, EventType, Interned, InternedData,
    ProcessDescriptor, TracePacket, TrackDescriptor, TrackEvent,
};

/// A writer of a timeline (rows of events along a time axis) in the file format of the Perfetto
/// trace viewer. The file is written to the output `W`.
///
/// The identifiers of rows (tracks) and of flows (arrows between events) are hashes that include
/// the timeline's name. So the files of timelines with different names may be concatenated, and the
/// viewer shows all of them.
#[derive(Debug)]
pub struct Timeline<W> {
    out: W,
    name: String,
    sequence: u32,
    begun: bool,
    tracks: u64,
    ranks: HashMap<u64, i32>,
    names: Texts,
    categories: Texts,
    arguments: Texts,
    buffer: Vec<u8>,
}

/// The identifier of a row (track) of a [`Timeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(u64);

/// The description of a slice (an interval of time on a row) or of an instant (a point in time on a
/// row): its name, category, flows (arrows to other slices) and arguments (named values).
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice<'s> {
    /// The text that the viewer shows on the slice.
    pub name: &'s str,
    /// The category by which users can search for the slice; empty for none.
    pub category: &'s str,
    /// The identifiers of flows that pass through the slice ([`Timeline::flow`]). For each flow,
    /// the viewer draws an arrow from the flow's previous slice to this slice, and one from this
    /// slice to the flow's next slice.
    pub flows: &'s [u64],
    /// The identifiers of flows that end at the slice ([`Timeline::flow`]).
    pub ends: &'s [u64],
    /// Pairs of a name and a value that the viewer lists with the slice.
    pub arguments: &'s [(&'s str, Argument<'s>)],
}

/// The value of one of the named arguments of a slice ([`Slice::arguments`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'s> {
    /// A value that is text.
    Text(&'s str),
    /// A value that is a whole number.
    Number(u64),
    /// A value that is a floating-point number.
    Real(f64),
    /// A value that is true or false.
    Truth(bool),
}

/// Texts that have numbers.
#[derive(Debug, Default)]
struct Texts {
    numbers: HashMap<String, u64>,
    /// Texts that no packet has contained yet.
    new: Vec<Interned>,
}

/// The sequence's state begins here: earlier texts are not valid any more
/// (`SEQ_INCREMENTAL_STATE_CLEARED`).
const CLEARED: u32 = 1;
/// The packet needs the texts of earlier ones (`SEQ_NEEDS_INCREMENTAL_STATE`).
const NEEDS_STATE: u32 = 2;
/// The field of packets in a trace, with the wire type of messages.
const PACKET: u8 = 1 << 3 | 2;

impl<W: Write> Timeline<W> {
    /// Creates a timeline called `name` whose file is written to `out`.
    pub fn new(name: &str, out: W) -> Timeline<W> {
        Timeline {
            out,
            name: name.to_owned(),
            sequence: (mixed(name.as_bytes()) >> 33) as u32 | 1,
            begun: false,
            tracks: 0,
            ranks: HashMap::new(),
            names: Texts::default(),
            categories: Texts::default(),
            arguments: Texts::default(),
            buffer: Vec::new(),
        }
    }

    /// Adds a top-level group of rows called `name`, which the viewer can collapse. Returns the
    /// group's identifier.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn process(&mut self, name: &str) -> io::Result<Track> {
        let (track, pid) = self.new_track(name);
        self.describe(TrackDescriptor {
            uuid: track.0,
            process: Some(ProcessDescriptor {
                pid,
                process_name: name.to_owned(),
            }),
            child_ordering: Some(ChildOrdering::Explicit as i32),
            ..TrackDescriptor::default()
        })?;
        Ok(track)
    }

    /// Adds a row called `name` to the group or row `parent`, below the rows that `parent` already
    /// has. Returns the new row's identifier, which may be the `parent` of further rows.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn track(&mut self, parent: Track, name: &str) -> io::Result<Track> {
        self.below(parent, name, None)
    }

    /// Adds a row called `name` to the group or row `parent`. The row plots numbers over time, in
    /// the unit `unit`; [`Timeline::count`] writes the numbers. Returns the row's identifier.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn counter(&mut self, parent: Track, name: &str, unit: &str) -> io::Result<Track> {
        let unit_name = unit.to_owned();
        self.below(parent, name, Some(CounterDescriptor { unit_name }))
    }

    fn below(
        &mut self,
        parent: Track,
        name: &str,
        counter: Option<CounterDescriptor>,
    ) -> io::Result<Track> {
        let (track, _) = self.new_track(name);
        let next = self.ranks.entry(parent.0).or_default();
        let rank = *next;
        *next += 1;
        self.describe(TrackDescriptor {
            uuid: track.0,
            name: Some(name.to_owned()),
            parent_uuid: Some(parent.0),
            counter,
            child_ordering: Some(ChildOrdering::Explicit as i32),
            sibling_order_rank: Some(rank),
            ..TrackDescriptor::default()
        })?;
        Ok(track)
    }

    /// Writes a slice on row `track` from `from_ns` to `until_ns`. Slices of a row must be written
    /// in the order of time and must not overlap. But a slice opened with [`Timeline::begin`] may
    /// contain other slices.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn slice(
        &mut self,
        track: Track,
        (from_ns, until_ns): (u64, u64),
        slice: &Slice<'_>,
    ) -> io::Result<()> {
        self.begin(track, from_ns, slice)?;
        self.end(track, until_ns)
    }

    /// Begins a slice on row `track` at time `at_ns`; [`Timeline::end`] ends the slice.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn begin(&mut self, track: Track, at_ns: u64, slice: &Slice<'_>) -> io::Result<()> {
        self.event(track, at_ns, EventType::SliceBegin, slice)
    }

    /// Ends the innermost open slice on row `track` at time `at_ns`: the one that
    /// [`Timeline::begin`] has begun last among those that have not ended.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn end(&mut self, track: Track, at_ns: u64) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(TrackEvent {
                r#type: EventType::SliceEnd as i32,
                track_uuid: track.0,
                ..TrackEvent::default()
            }),
            ..TracePacket::default()
        })
    }

    /// Writes an instant on row `track`: an event at time `at_ns` without a duration. `slice`
    /// describes the event for the viewer.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn instant(&mut self, track: Track, at_ns: u64, slice: &Slice<'_>) -> io::Result<()> {
        self.event(track, at_ns, EventType::Instant, slice)
    }

    /// Writes a value of the plot on row `track`, which [`Timeline::counter`] has added. The row
    /// shows `value` from time `at_ns` on.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn count(&mut self, track: Track, at_ns: u64, value: i64) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(TrackEvent {
                r#type: EventType::Counter as i32,
                track_uuid: track.0,
                counter_value: Some(value),
                ..TrackEvent::default()
            }),
            ..TracePacket::default()
        })
    }

    /// Returns the identifier of the flow called `key` in this timeline, for [`Slice::flows`] and
    /// [`Slice::ends`]. The viewer draws a flow as arrows from slice to slice.
    pub fn flow(&self, key: &str) -> u64 {
        mixed(format!("{}\0flow\0{key}", self.name).as_bytes())
    }

    /// Flushes the timeline's output and returns the output.
    ///
    /// # Errors
    /// An error of writing to the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn new_track(&mut self, name: &str) -> (Track, i32) {
        self.tracks += 1;
        let key = format!("{}\0{}\0{name}", self.name, self.tracks);
        let number = mixed(key.as_bytes());
        // Numbers of processes are positive.
        (Track(number | 1), (number >> 33) as i32 | 1)
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })
    }

    fn event(
        &mut self,
        track: Track,
        at_ns: u64,
        r#type: EventType,
        slice: &Slice<'_>,
    ) -> io::Result<()> {
        let annotations = slice.arguments.iter();
        let annotations: Vec<DebugAnnotation> = annotations
            .map(|(name, value)| value.annotation(self.arguments.number(name)))
            .collect();
        let event = TrackEvent {
            category_iids: match slice.category {
                "" => Vec::new(),
                category => vec![self.categories.number(category)],
            },
            debug_annotations: annotations,
            r#type: r#type as i32,
            name_iid: Some(self.names.number(slice.name)),
            track_uuid: track.0,
            counter_value: None,
            flow_ids: slice.flows.to_vec(),
            terminating_flow_ids: slice.ends.to_vec(),
        };
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let new = InternedData {
            event_categories: std::mem::take(&mut self.categories.new),
            event_names: std::mem::take(&mut self.names.new),
            debug_annotation_names: std::mem::take(&mut self.arguments.new),
        };
        let begins = !std::mem::replace(&mut self.begun, true);
        let packet = TracePacket {
            trusted_packet_sequence_id: self.sequence,
            sequence_flags: if begins { CLEARED } else { NEEDS_STATE },
            interned_data: (new != InternedData::default()).then_some(new),
            ..packet
        };
        self.buffer.clear();
        self.buffer.push(PACKET);
        packet
            .encode_length_delimited(&mut self.buffer)
            .map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }
}

impl Argument<'_> {
    fn annotation(self, name_iid: u64) -> DebugAnnotation {
        let named = DebugAnnotation {
            name_iid,
            ..DebugAnnotation::default()
        };
        match self {
            Argument::Text(text) => DebugAnnotation {
                string_value: Some(text.to_owned()),
                ..named
            },
            Argument::Number(number) => DebugAnnotation {
                uint_value: Some(number),
                ..named
            },
            Argument::Real(number) => DebugAnnotation {
                double_value: Some(number),
                ..named
            },
            Argument::Truth(truth) => DebugAnnotation {
                bool_value: Some(truth),
                ..named
            },
        }
    }
}

impl Texts {
    /// The number of `text`, from 1. The next packet contains the text if it is new.
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let iid = self.numbers.len() as u64 + 1;
        self.numbers.insert(text.to_owned(), iid);
        self.new.push(Interned {
            iid,
            name: text.to_owned(),
        });
        iid
    }
}

/// A hash of `bytes`: FNV-1a with a final step that spreads it over all bits.
fn mixed(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}
