//! A token bucket that is simulated in clock cycles.

use std::collections::VecDeque;

use accelflow_units::Cycles;

use crate::{Registers, ShapingError};

/// A token bucket that a timer refills, simulated in clock cycles (ARCUS, section 4.2).
///
/// Every cycle has three steps, in this order. First, registers that were written for this cycle
/// take effect, and tokens beyond the new bucket size are lost. Second, the timer counts; when the
/// timer reaches the interval, it restarts, and the refill is added, as far as the bucket has room.
/// Third, tokens may be spent.
///
/// Writing registers does not restart the timer, so frequent writes do not prevent refills. A
/// bucket starts full (assumed, as usual for token buckets).
///
/// Any number of cycles is simulated in constant time, except for changes of registers. A call of
/// [`TokenBucket::take`], [`TokenBucket::charge`] or [`TokenBucket::give_back`] for a cycle makes
/// all earlier cycles final: no later call can change the tokens in them.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    level: Level,
    writes: VecDeque<(u64, Registers)>,
}

impl TokenBucket {
    /// Creates a full bucket whose timer starts in cycle `at`. The first refill is one interval
    /// later.
    pub fn new(registers: Registers, at: Cycles) -> TokenBucket {
        TokenBucket {
            level: Level {
                registers,
                tokens: u64::from(registers.bucket()),
                debt: 0,
                refilled: at.0,
                settled: at.0,
            },
            writes: VecDeque::new(),
        }
    }

    /// Returns the registers in effect in the cycle of the latest call of [`TokenBucket::take`],
    /// [`TokenBucket::charge`] or [`TokenBucket::give_back`].
    pub fn registers(&self) -> Registers {
        self.level.registers
    }

    /// Returns the registers in effect, then the registers that are written but not yet in effect.
    pub fn coming_registers(&self) -> impl Iterator<Item = Registers> + '_ {
        let coming = self.writes.iter().map(|&(_, registers)| registers);
        std::iter::once(self.level.registers).chain(coming)
    }

    /// Returns the number of tokens that may be spent in cycle `at`. A cycle before that of the
    /// latest `take`, `charge` or `give_back` counts as the cycle of that call.
    pub fn tokens(&self, at: Cycles) -> u64 {
        self.level_at(at).tokens
    }

    /// Returns the first cycle, at or after `from`, in which the bucket has `cost` tokens and no
    /// debt.
    ///
    /// `None` if there is no such cycle: the bucket size in the registers written last is below
    /// `cost`, and the bucket does not have `cost` tokens before these registers take effect. Also
    /// `None` if the cycle does not fit 64 bits.
    pub fn ready(&self, cost: u64, from: Cycles) -> Option<Cycles> {
        let mut level = self.level;
        for &(write, registers) in &self.writes {
            match level.ready(cost, from.0) {
                Some(cycle) if cycle < write => return Some(Cycles(cycle)),
                _ => level.write(write, registers),
            }
        }
        level.ready(cost, from.0).map(Cycles)
    }

    /// Spends `cost` tokens in cycle `at` if the bucket has them and no debt. Returns whether the
    /// tokens were spent.
    ///
    /// # Errors
    /// [`ShapingError::CycleRunsBackwards`] for a cycle before that of an earlier `take`, `charge`
    /// or `give_back`.
    pub fn take(&mut self, cost: u64, at: Cycles) -> Result<bool, ShapingError> {
        self.check(at)?;
        self.settle(at);
        let enough = self.level.debt == 0 && self.level.tokens >= cost;
        if enough {
            self.level.tokens -= cost;
        }
        Ok(enough)
    }

    /// Spends `cost` tokens in cycle `at`, even if the bucket has fewer. The missing tokens become
    /// a debt ([`TokenBucket::debt`]), which refills repay first. This function is for work whose
    /// cost is known only after the work is done. A cycle before that of the latest `take`,
    /// `charge` or `give_back` counts as the cycle of that call.
    pub fn charge(&mut self, cost: u64, at: Cycles) {
        self.settle(at.max(Cycles(self.level.settled)));
        let paid = self.level.tokens.min(cost);
        self.level.tokens -= paid;
        self.level.debt = self.level.debt.saturating_add(cost - paid);
    }

    /// Puts tokens back into the bucket in cycle `at`: tokens that were spent for work that was not
    /// done. The tokens first repay the debt of the bucket, then fill the bucket up to its size. A
    /// cycle before that of the latest `take`, `charge` or `give_back` counts as the cycle of that
    /// call.
    pub fn give_back(&mut self, tokens: u64, at: Cycles) {
        self.settle(at.max(Cycles(self.level.settled)));
        self.level.add(tokens);
    }

    /// Returns the debt in cycle `at`: the number of tokens that [`TokenBucket::charge`] spent
    /// although the bucket did not have them, and that are not yet repaid. A cycle before that of
    /// the latest `take`, `charge` or `give_back` counts as the cycle of that call.
    pub fn debt(&self, at: Cycles) -> u64 {
        self.level_at(at).debt
    }

    /// Replaces the registers of the bucket from cycle `at` on. The change takes effect later if a
    /// `take`, `charge` or `give_back` has already happened in cycle `at` or later, or if an
    /// earlier write takes effect after `at`.
    pub fn write(&mut self, registers: Registers, at: Cycles) {
        let last = self.writes.back().map_or(0, |(cycle, _)| *cycle);
        let cycle = at.0.max(last).max(self.level.settled.saturating_add(1));
        self.writes.push_back((cycle, registers));
    }

    /// Applies all refills and register changes that are due up to and including cycle `at`.
    pub(crate) fn settle(&mut self, at: Cycles) {
        while let Some(&(from, registers)) = self.writes.front()
            && from <= at.0
        {
            self.level.write(from, registers);
            self.writes.pop_front();
        }
        self.level.settle(at.0);
    }

    fn level_at(&self, at: Cycles) -> Level {
        let mut level = self.level;
        for &(from, registers) in self.writes.iter().take_while(|(from, _)| *from <= at.0) {
            level.write(from, registers);
        }
        level.settle(at.0);
        level
    }

    fn check(&self, at: Cycles) -> Result<(), ShapingError> {
        let now = Cycles(self.level.settled);
        if at < now {
            return Err(ShapingError::CycleRunsBackwards { at, now });
        }
        Ok(())
    }
}

/// The bucket as of cycle `settled`, under registers that do not change.
#[derive(Clone, Copy, Debug)]
struct Level {
    registers: Registers,
    tokens: u64,
    /// Owed tokens, which were spent before they were available. While some are owed, the bucket is
    /// empty.
    debt: u64,
    /// The cycle of the last refill, or of the start. The timer counts the cycles since then.
    refilled: u64,
    settled: u64,
}

impl Level {
    /// The cycle of the next refill. It is overdue only right after a write that shortens the
    /// interval.
    fn next_refill(&self) -> u64 {
        let due = self.refilled.saturating_add(self.registers.interval().0);
        due.max(self.settled.saturating_add(1))
    }

    fn settle(&mut self, at: u64) {
        let next = self.next_refill();
        if next <= at {
            let interval = self.registers.interval().0;
            let more = (at - next) / interval;
            self.refilled = next + more * interval;
            let added = (more + 1).saturating_mul(u64::from(self.registers.refill()));
            self.add(added);
        }
        self.settled = self.settled.max(at);
    }

    /// Repays owed tokens first, then adds the rest to the bucket.
    fn add(&mut self, tokens: u64) {
        let repaid = self.debt.min(tokens);
        self.debt -= repaid;
        let bucket = u64::from(self.registers.bucket());
        self.tokens = self.tokens.saturating_add(tokens - repaid).min(bucket);
    }

    /// Replaces the registers in cycle `at`, before that cycle's refill.
    fn write(&mut self, at: u64, registers: Registers) {
        self.settle(at.saturating_sub(1));
        self.registers = registers;
        self.tokens = self.tokens.min(u64::from(registers.bucket()));
    }

    fn ready(mut self, cost: u64, from: u64) -> Option<u64> {
        self.settle(from);
        let due = cost.saturating_add(self.debt);
        let Some(missing) = due.checked_sub(self.tokens).filter(|&tokens| tokens > 0) else {
            return Some(self.settled);
        };
        if cost > u64::from(self.registers.bucket()) {
            return None;
        }
        let refills = missing.div_ceil(u64::from(self.registers.refill()));
        let wait = (refills - 1).checked_mul(self.registers.interval().0)?;
        self.next_refill().checked_add(wait)
    }
}
