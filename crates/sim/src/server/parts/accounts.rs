//! Accounts of the accelerator time of traces, for tenants with a limit on accelerator time. A
//! trace pays for its predicted time when it starts. When it has ended, it pays for time beyond the
//! prediction or gets back the tokens of unused time.

use accelflow_shaping::{CostTable, Registers, TokenBucket};
use accelflow_units::{Bytes, Cycles, Time};

use crate::server::state::JobId;

/// A tenant's limit on accelerator time. A token is a nanosecond of a processing element.
#[derive(Clone, Debug)]
pub(super) struct TimeLimit {
    bucket: TokenBucket,
    costs: CostTable,
    /// What the first trace in line has to pay.
    bill: Option<Bill>,
    /// Time that was spent beyond whole nanoseconds.
    rest: Time,
}

/// What a trace is predicted to take, and how much of it has yet to be paid, in tokens.
#[derive(Clone, Copy, Debug)]
struct Bill {
    predicted: u64,
    left: u64,
}

impl TimeLimit {
    /// A full bucket, and nothing learned.
    pub(super) fn new(registers: Registers) -> TimeLimit {
        TimeLimit {
            bucket: TokenBucket::new(registers, Cycles(0)),
            costs: CostTable::default(),
            bill: None,
            rest: Time::ZERO,
        }
    }

    /// Pays as much as the bucket allows of what the first trace in line is predicted to take: what
    /// traces with inputs of its size took before, nothing for the first of all. Returns the tokens
    /// once all of them are paid.
    pub(super) fn pay(&mut self, input: Bytes, cycle: Cycles) -> Option<u64> {
        let predicted = self.costs.predict(input).map_or(0, whole_ns);
        let new = Bill {
            predicted,
            left: predicted,
        };
        let mut bill = *self.bill.get_or_insert(new);
        // Tokens are paid as they come. If the first trace waited for a full bucket, tokens that
        // others give back meanwhile would not fit and be lost.
        let part = bill.left.min(self.bucket.tokens(cycle));
        // Nothing passes while tokens are owed.
        let pays = self.bucket.take(part, cycle) == Ok(true);
        bill.left -= if pays { part } else { 0 };
        let paid = pays && bill.left == 0;
        self.bill = (!paid).then_some(bill);
        paid.then_some(bill.predicted)
    }

    /// The first cycle, at or after `cycle`, in which the first trace in line can pay the rest of
    /// its bill, or a bucket of it; `None` if nothing is to be paid.
    pub(super) fn ready(&self, cycle: Cycles) -> Option<Cycles> {
        let most = u64::from(self.bucket.registers().bucket());
        let next = self.bill?.left.min(most);
        Some(self.bucket.ready(next, cycle).unwrap_or(Cycles(u64::MAX)))
    }

    /// Pays what a trace took beyond the tokens that it has paid, or returns those that it did not
    /// need.
    pub(super) fn settle(&mut self, account: &Account, cycle: Cycles) {
        if account.spent > Time::ZERO {
            self.costs.learn(account.input, account.spent);
        }
        let spent = account.spent + self.rest;
        let tokens = spent.as_ps() / 1_000;
        self.rest = Time::from_ps(spent.as_ps() % 1_000);
        match tokens.checked_sub(account.paid) {
            Some(more) => self.bucket.charge(more, cycle),
            None => self.bucket.give_back(account.paid - tokens, cycle),
        }
    }
}

/// The accounts of the running traces whose tenants are limited in accelerator time.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    /// By job: 0, or one more than the index of its account.
    of_jobs: Vec<u32>,
    accounts: Vec<Account>,
    /// Indices of closed accounts.
    closed: Vec<u32>,
}

/// The account of a trace, which it shares with the arms of its forks.
///
/// A trace pays for the time that its operations take on idle elements. It does not pay for delays
/// by other tenants: wiping their scratchpads, and waiting for memory that they use. So a promise
/// in accelerator time pays for the same requests with any neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    /// The number of the tenant's queue.
    pub(super) queue: usize,
    /// The size of the first operation's input.
    input: Bytes,
    /// Tokens that were paid when it started.
    paid: u64,
    spent: Time,
    /// Jobs that share it.
    holders: u32,
}

impl Accounts {
    /// Opens the account of a trace that has paid `paid` tokens to the tenant of `queue`.
    pub(super) fn open(&mut self, job: JobId, queue: usize, input: Bytes, paid: u64) {
        let account = Account {
            queue,
            input,
            paid,
            spent: Time::ZERO,
            holders: 1,
        };
        let index = match self.closed.pop() {
            Some(index) => {
                self.accounts[index as usize] = account;
                index
            }
            None => {
                self.accounts.push(account);
                self.accounts.len() as u32 - 1
            }
        };
        self.assign(job, index + 1);
    }

    /// Lets an arm share the account of its trace, if that has one.
    pub(super) fn share(&mut self, trace: JobId, arm: JobId) {
        if let Some(index) = self.of(trace) {
            self.accounts[index].holders += 1;
            self.assign(arm, index as u32 + 1);
        }
    }

    /// Adds the time of an operation on an idle element. Returns the queue of the tenant that it is
    /// accounted to.
    pub(super) fn spend(&mut self, job: JobId, time: Time) -> Option<usize> {
        let index = self.of(job)?;
        let account = &mut self.accounts[index];
        account.spent += time;
        Some(account.queue)
    }

    /// Ends the share of a job in its account. Returns the account once nobody shares it any more.
    pub(super) fn close(&mut self, job: JobId) -> Option<Account> {
        let index = self.of(job)?;
        self.of_jobs[job as usize] = 0;
        let account = &mut self.accounts[index];
        account.holders -= 1;
        if account.holders > 0 {
            return None;
        }
        self.closed.push(index as u32);
        Some(*account)
    }

    fn of(&self, job: JobId) -> Option<usize> {
        let index = self.of_jobs.get(job as usize).copied().unwrap_or(0);
        index.checked_sub(1).map(|index| index as usize)
    }

    fn assign(&mut self, job: JobId, number: u32) {
        let job = job as usize;
        if job >= self.of_jobs.len() {
            self.of_jobs.resize(job + 1, 0);
        }
        self.of_jobs[job] = number;
    }
}

/// A time in whole nanoseconds, rounded up.
fn whole_ns(time: Time) -> u64 {
    time.as_ps().div_ceil(1_000)
}
