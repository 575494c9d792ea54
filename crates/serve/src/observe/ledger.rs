//! A ledger for HTTP/2 connections, where several messages can share a TLS record: it divides the
//! costs of the records among the messages.

use std::time::Duration;

use accelflow_runtime::Step;
use accelflow_trace::Accel;

use super::run::{TraceRun, nanoseconds};

/// The costs of a connection's records in one direction that are not charged to any message yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// The bytes of the records.
    pub(crate) sealed: f64,
    /// The bytes of their plaintext.
    pub(crate) plain: f64,
    /// The time of TCP in ns, including the operating system's part.
    pub(crate) tcp_ns: f64,
    /// The time of Encr or Decr in ns.
    pub(crate) cipher_ns: f64,
}

impl Tally {
    /// Adds the run of a trace on records.
    fn add(&mut self, run: &TraceRun, sealed: usize, plain: usize) {
        self.sealed += sealed as f64;
        self.plain += plain as f64;
        for (step, cost) in run.outcome.steps.iter().zip(&run.costs_ns) {
            match step.accel {
                Accel::Tcp => self.tcp_ns += cost,
                _ => self.cipher_ns += cost,
            }
        }
    }

    /// Takes a part of the costs, from 0 to 1.
    fn take(&mut self, part: f64) -> Tally {
        let scaled = |part: f64| Tally {
            sealed: self.sealed * part,
            plain: self.plain * part,
            tcp_ns: self.tcp_ns * part,
            cipher_ns: self.cipher_ns * part,
        };
        let (taken, rest) = (scaled(part), scaled(1.0 - part));
        *self = rest;
        taken
    }

    /// Returns a trace's steps on records, which precede or follow those on messages. Without TLS
    /// there is only TCP's. Their bytes are rounded to whole numbers.
    fn steps(&self, trace: &str, receives: bool, secure: bool) -> (Vec<Step>, Vec<f64>) {
        let direction = match receives {
            true => accelflow_accel::Direction::Receive,
            false => accelflow_accel::Direction::Send,
        };
        let bytes = |value: f64| value.round() as usize;
        let step = |accel, input, output| Step {
            own: None,
            trace: trace.to_owned(),
            accel,
            receives: receives && accel == Accel::Tcp,
            direction,
            arm: 0,
            input_bytes: bytes(input),
            output_bytes: bytes(output),
            facts: Vec::new(),
        };
        let tcp = (step(Accel::Tcp, self.sealed, self.sealed), self.tcp_ns);
        let mut steps = match (receives, secure) {
            (_, false) => Vec::new(),
            (true, true) => vec![(step(Accel::Decr, self.sealed, self.plain), self.cipher_ns)],
            (false, true) => vec![(step(Accel::Encr, self.plain, self.sealed), self.cipher_ns)],
        };
        steps.insert(if receives { 0 } else { steps.len() }, tcp);
        steps.into_iter().unzip()
    }
}

/// The account of a connection, which charges messages for the records that they share.
///
/// A record can have frames of several requests, or of none. A complete message is charged a share
/// of the costs so far: its bytes divided by those of all messages in progress. So all costs are
/// charged, and a single message is charged all of them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    received: Tally,
    sent: Tally,
    /// The bytes of messages in progress that are being received.
    receiving: usize,
    sending: usize,
}

impl Ledger {
    pub(crate) fn add_received(&mut self, run: &TraceRun, sealed: usize, plain: usize) {
        self.received.add(run, sealed, plain);
    }

    pub(crate) fn add_sent(&mut self, run: &TraceRun, plain: usize, sealed: usize) {
        self.sent.add(run, sealed, plain);
    }

    pub(crate) fn add_recv_call(&mut self, spent: Duration) {
        self.received.tcp_ns += nanoseconds(spent);
    }

    /// Adds the time of a system call that sent bytes.
    pub(crate) fn add_send_call(&mut self, spent: Duration) {
        self.sent.tcp_ns += nanoseconds(spent);
    }

    pub(crate) fn add_sent_plain(&mut self, bytes: usize) {
        self.sent.sealed += bytes as f64;
        self.sent.plain += bytes as f64;
    }

    /// Records that bytes of a message have been received.
    pub(crate) fn receives(&mut self, bytes: usize) {
        self.receiving += bytes;
    }

    /// Records that a message of `bytes` is being sent.
    pub(crate) fn sends(&mut self, bytes: usize) {
        self.sending += bytes;
    }

    /// Charges a received message of `bytes`.
    pub(crate) fn charge_received(&mut self, bytes: usize) -> Tally {
        let part = share(bytes, self.receiving);
        self.receiving = self.receiving.saturating_sub(bytes);
        self.received.take(part)
    }

    /// Drops a message from the account without a charge.
    pub(crate) fn forget_received(&mut self, bytes: usize) {
        self.receiving = self.receiving.saturating_sub(bytes);
    }

    /// Whether at least this many uncharged bytes have been sent.
    pub(crate) fn has_sent(&self, bytes: usize) -> bool {
        self.sent.plain >= bytes as f64
    }

    /// Charges a sent message of `bytes`.
    pub(crate) fn charge_sent(&mut self, bytes: usize) -> Tally {
        let part = share(bytes, self.sending);
        self.sending = self.sending.saturating_sub(bytes);
        self.sent.take(part)
    }

    pub(crate) fn forget_sent(&mut self, bytes: usize) {
        self.sending = self.sending.saturating_sub(bytes);
    }
}

fn share(of: usize, all: usize) -> f64 {
    match of < all {
        true => of as f64 / all as f64,
        false => 1.0,
    }
}

/// Returns the steps of a gRPC message in the order of the paper's trace `name`. Includes steps on
/// records and on messages, with Dcmp after Dser and Cmp before Ser.
pub(crate) fn whole_steps(
    name: &str,
    receives: bool,
    secure: bool,
    records: &Tally,
    message: (&[Step], &[f64]),
) -> (Vec<Step>, Vec<f64>) {
    let renamed = |step: &Step| Step {
        trace: name.to_owned(),
        ..step.clone()
    };
    let mut steps: Vec<Step> = message.0.iter().map(renamed).collect();
    let mut costs = message.1.to_vec();
    let paper =
        |pair: [Accel; 2]| matches!(pair, [Accel::Dcmp, Accel::Dser] | [Accel::Ser, Accel::Cmp]);
    for at in 1..steps.len().min(costs.len()) {
        if paper([steps[at - 1].accel, steps[at].accel]) {
            steps.swap(at - 1, at);
            costs.swap(at - 1, at);
        }
    }
    let (mut outer, mut outer_costs) = records.steps(name, receives, secure);
    match receives {
        true => {
            outer.extend(steps);
            outer_costs.extend(costs);
            (outer, outer_costs)
        }
        false => {
            steps.append(&mut outer);
            costs.append(&mut outer_costs);
            (steps, costs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(plain: f64) -> Tally {
        Tally {
            sealed: 2.0 * plain,
            plain,
            tcp_ns: 10.0 * plain,
            cipher_ns: plain,
        }
    }

    #[test]
    fn all_that_was_spent_is_charged_by_size() {
        let mut ledger = Ledger {
            received: tally(120.0),
            ..Ledger::default()
        };
        // Two messages of 20 and 60 bytes in records that also hold 40 bytes of frames.
        ledger.receives(20);
        ledger.receives(60);
        assert_eq!(ledger.charge_received(20), tally(30.0));
        assert_eq!(ledger.charge_received(60), tally(90.0));
        assert_eq!(ledger.received, tally(0.0));
        // One that is given up leaves its share to the others.
        ledger.sent = tally(64.0);
        ledger.sends(32);
        ledger.sends(96);
        ledger.forget_sent(96);
        assert_eq!(ledger.charge_sent(32), tally(64.0));
        assert_eq!(ledger.charge_sent(0), tally(0.0));
    }

    #[test]
    fn steps_are_in_the_order_of_the_papers_traces() {
        let step = |accel| Step {
            own: None,
            trace: "T1_grpc".to_owned(),
            accel,
            receives: false,
            direction: accelflow_accel::Direction::Receive,
            arm: 0,
            input_bytes: 1,
            output_bytes: 1,
            facts: Vec::new(),
        };
        let names = |name, receives, secure, of: &[Accel]| {
            let steps: Vec<Step> = of.iter().map(|accel| step(*accel)).collect();
            let costs: Vec<f64> = (0..of.len()).map(|at| at as f64).collect();
            let message = (&*steps, &*costs);
            let (steps, costs) = whole_steps(name, receives, secure, &tally(8.0), message);
            assert_eq!(steps.len(), costs.len());
            assert!(steps.iter().all(|step| step.trace == name));
            let names: Vec<&str> = steps.iter().map(|step| step.accel.name()).collect();
            names.join(" ")
        };
        use accelflow_trace::nine::{Cmp, Dcmp, Dser, Ldb, Rpc, Ser};
        assert_eq!(
            names("T1", true, true, &[Rpc, Dser, Ldb]),
            "TCP Decr RPC Dser LdB"
        );
        assert_eq!(
            names("T1", true, true, &[Rpc, Dcmp, Dser, Ldb]),
            "TCP Decr RPC Dser Dcmp LdB"
        );
        assert_eq!(names("T2", false, true, &[Ser, Rpc]), "Ser RPC Encr TCP");
        assert_eq!(
            names("T3", false, true, &[Ser, Cmp, Rpc]),
            "Cmp Ser RPC Encr TCP"
        );
        assert_eq!(names("T2_plain", false, false, &[Ser, Rpc]), "Ser RPC TCP");
        assert_eq!(names("T1_plain", true, false, &[Rpc, Dser]), "TCP RPC Dser");
    }
}
