//! The output dispatcher, which moves an execution from one accelerator to the next.
//!
//! "The output dispatcher performs multiple operations": it resolves branches, transforms the
//! payload, reads the next trace from the trace memory, moves the entry to the input queue of the
//! next accelerator, or notifies a core (AccelFlow, section V.2 and Fig. 8). The worker that put
//! the entry into the output queue runs the dispatcher. A dispatcher never blocks.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::{Limits, transform};
use accelflow_trace::{Accel, Fault, Field, Transform, Visit};

use super::cursor::{Cursor, Next};
use super::flow::{Called, Flow, Standing, Turn, fail, pass};
use super::hub::{Hub, Parked};
use crate::caller::ERROR_TRACES;
use crate::error::Cause;
use crate::execution::read_fact;
use crate::guard::guard;
use crate::peer::{PeerError, Reply};

/// An output dispatcher: its state apart from the execution.
pub(super) struct Dispatcher {
    pub(super) hub: Arc<Hub>,
    pub(super) limits: Limits,
}

/// Executions to move on, in the boxes that travel from queue to queue.
#[allow(
    clippy::vec_box,
    reason = "executions keep their boxes from queue to queue"
)]
type Ready = Vec<Box<Flow>>;

impl Dispatcher {
    /// Moves an execution on until it is in a queue, waits or has ended. Does the same for
    /// executions that it forks or passes its turn to.
    pub(super) fn dispatch(&self, flow: Box<Flow>) {
        let mut ready = vec![flow];
        while let Some(flow) = ready.pop() {
            self.advance(flow, &mut ready);
        }
    }

    fn advance(&self, flow: Box<Flow>, ready: &mut Ready) {
        let Some(mut flow) = flow.look_for_turn() else {
            return;
        };
        if let Some(call) = flow.call.take()
            && let Err(cause) = flow.note_call(call)
        {
            return flow.fail_here(cause);
        }
        loop {
            let job = &flow.execution.job;
            let read = RefCell::default();
            let facts = |field: Field<'_>| read_fact(job, field, &read);
            let next = flow.cursor.next(&flow.run.image, &facts);
            if matches!(flow.standing, Standing::Ahead { .. })
                && (needs_turn(&flow, &next) || flow.is_far_ahead())
            {
                // The next element does not change during the wait.
                match flow.wait_for_turn() {
                    Some(now_in_turn) => flow = now_in_turn,
                    None => return,
                }
            }
            flow.note_facts(read.into_inner());
            let (next, behind) = match next {
                Ok(next) => next,
                Err(fault) => return flow.fault(fault),
            };
            match self.follow(flow, next, behind, ready) {
                Some(same) => flow = same,
                None => return,
            }
        }
    }

    /// Performs the next element of the trace. Returns the execution unless it has moved elsewhere
    /// or ended.
    fn follow(
        &self,
        mut flow: Box<Flow>,
        next: Next,
        behind: Cursor,
        ready: &mut Ready,
    ) -> Option<Box<Flow>> {
        if matches!(next, Next::Join) && flow.execution.join_arm.is_none() {
            flow.fault(Fault::NoJoin);
            return None;
        }
        if let Err(failed) = flow.visit(visit(&flow, next, behind)) {
            flow.fail(failed);
            return None;
        }
        if !matches!(next, Next::Enter) {
            flow.cursor = behind;
        }
        let done = match next {
            Next::Enter => self.enter(&mut flow, behind),
            Next::Call { accel, receives } => return self.call(flow, accel, receives),
            Next::Transform(change) => self.transform(&mut flow, change),
            Next::Fork { arm, scatter } => {
                ready.push(flow.fork(arm, scatter));
                Ok(())
            }
            Next::Join => return meet(flow, ready),
            Next::Notify => {
                notify(flow, ready);
                return None;
            }
        };
        match done {
            Ok(()) => Some(flow),
            Err(cause) => {
                flow.fail_here(cause);
                None
            }
        }
    }

    fn enter(&self, flow: &mut Flow, behind: Cursor) -> Result<(), Cause> {
        if let Standing::InTurn(turn) = &mut flow.standing {
            let name = behind.trace(&flow.run.image);
            turn.book.enter(name, &mut flow.execution)?;
        }
        flow.cursor = behind;
        Ok(())
    }

    fn transform(&self, flow: &mut Flow, change: Transform) -> Result<(), Cause> {
        if let Standing::InTurn(turn) = &mut flow.standing {
            turn.book.outcome.lend(&flow.execution);
        }
        guard(|| transform::run(&mut flow.execution.job, change, &self.limits))
    }

    /// Moves the execution to an accelerator, or parks it until its response has arrived.
    fn call(&self, mut flow: Box<Flow>, accel: Accel, receives: bool) -> Option<Box<Flow>> {
        flow.call = Some(Called {
            accel,
            receives,
            queued: Instant::now(),
            input_bytes: flow.execution.job.bytes.len(),
            done: Ok(()),
            took: Duration::ZERO,
            worked: Duration::ZERO,
        });
        if receives && flow.execution.sent {
            self.park(flow);
            return None;
        }
        if let Standing::InTurn(turn) = &mut flow.standing {
            turn.book.outcome.lend(&flow.execution);
            let prepared = flow.execution.prepare(accel, receives, &mut turn.book.peer);
            if let Err(cause) = prepared {
                flow.fail_here(cause.at(accel));
                return None;
            }
        }
        self.hub.push(flow, accel);
        None
    }

    /// Sends the execution's message to its peer, and parks the execution until the response
    /// arrives.
    fn park(&self, mut flow: Box<Flow>) {
        let parked = Arc::<Parked>::default();
        let (hub, place) = (self.hub.clone(), parked.clone());
        let reply = Reply::new(move |response| {
            if let Some((flow, response)) = place.offer(response) {
                resume(&hub, flow, response);
            }
        });
        self.hub.park(&parked);
        if let Standing::InTurn(turn) = &mut flow.standing {
            let job = &flow.execution.job;
            turn.book.peer.begin_exchange(&job.call, &job.bytes, reply);
        }
        if let Some((flow, response)) = parked.wait(flow) {
            resume(&self.hub, flow, response);
        }
    }
}

/// Moves an execution on after its response has arrived. An error instead of a response ends the
/// run.
pub(super) fn resume(hub: &Hub, mut flow: Box<Flow>, response: Result<Vec<u8>, PeerError>) {
    let response = match response {
        Ok(response) => response,
        Err(error) => return flow.fail_here(Cause::from(error).at(Accel::Tcp)),
    };
    if let Standing::InTurn(turn) = &mut flow.standing {
        turn.book.respond(&mut flow.execution, response);
    }
    if let Some(call) = &mut flow.call {
        call.input_bytes = flow.execution.job.bytes.len();
        // The time that a trace spends parked is not charged to any accelerator.
        call.queued = Instant::now();
    }
    hub.push(flow, Accel::Tcp);
}

/// Whether an arm must wait for its turn before the next element. Only the arm that has the turn
/// may use connections, notify the core, or report errors.
fn needs_turn(flow: &Flow, next: &Result<(Next, Cursor), Fault>) -> bool {
    match next {
        Err(_) | Ok((Next::Join | Next::Notify, _)) => true,
        Ok((Next::Enter, behind)) => ERROR_TRACES.contains(&behind.trace(&flow.run.image)),
        Ok((Next::Call { accel, receives }, _)) => {
            *receives || matches!(*accel, Accel::Tcp | Accel::Encr)
        }
        Ok((Next::Transform(_) | Next::Fork { .. }, _)) => false,
    }
}

/// The visit to record. It does not yet say whether the execution waits at a join.
fn visit(flow: &Flow, next: Next, behind: Cursor) -> Visit {
    match next {
        Next::Enter => Visit::Enter(behind.trace(&flow.run.image).to_owned()),
        Next::Call { accel, receives } => Visit::Call { accel, receives },
        Next::Transform(change) => Visit::Transform(change),
        Next::Fork { scatter: false, .. } => Visit::Fork,
        Next::Fork { scatter: true, .. } => Visit::Scatter,
        Next::Join => Visit::Wait,
        Next::Notify => Visit::Notify,
    }
}

/// Handles the arrival of the execution at a join. The last execution to arrive continues; the
/// others wait.
fn meet(flow: Box<Flow>, ready: &mut Ready) -> Option<Box<Flow>> {
    let Flow {
        run,
        execution,
        cursor,
        standing,
        pace,
        call,
    } = *flow;
    let Standing::InTurn(mut turn) = standing else {
        return None;
    };
    match turn.book.meet(execution) {
        Ok(Some(execution)) => {
            turn.book.note_join();
            Some(Box::new(Flow {
                run,
                execution,
                cursor,
                standing: Standing::InTurn(turn),
                pace,
                call,
            }))
        }
        Ok(None) => {
            ready.extend(pass(turn));
            None
        }
        Err(cause) => {
            turn.book.note_join();
            let step = turn.book.visited().saturating_sub(1);
            fail(&run, turn, None, cursor, (cause, step));
            None
        }
    }
}

/// Ends the execution and notifies the core.
fn notify(flow: Box<Flow>, ready: &mut Ready) {
    let Flow {
        run,
        execution,
        cursor,
        standing,
        pace,
        ..
    } = *flow;
    let Standing::InTurn(mut turn) = standing else {
        return;
    };
    let Turn { book, work, .. } = &mut *turn;
    *work = (*work).max(pace.work());
    let arrival = book.arrive(execution, cursor.trace(&run.image));
    match run.early {
        true => run.shared.arrive(arrival),
        false => book.outcome.arrivals.push(arrival),
    }
    ready.extend(pass(turn));
}
