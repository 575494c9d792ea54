//! How many of each thing an accelerator has: a number for all types, or one of its own.

use accelflow_trace::Accel;

use super::AcceleratorConfig;

/// What one type of accelerator has in place of the number for all types; 0 where it has that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSizes {
    /// Instances.
    pub instances: usize,
    /// Processing elements of each instance.
    pub pes: usize,
    /// Entries of each input queue.
    pub input_entries: usize,
    /// Entries of each output queue.
    pub output_entries: usize,
}

impl AcceleratorConfig {
    /// Instances of `accel`.
    pub fn instances_of(&self, accel: Accel) -> usize {
        own_or(self.own[accel.index()].instances, self.instances)
    }

    /// Processing elements of each instance of `accel`.
    pub fn pes_of(&self, accel: Accel) -> usize {
        own_or(self.own[accel.index()].pes, self.pes)
    }

    /// Entries of each input queue of `accel`.
    pub fn input_entries_of(&self, accel: Accel) -> usize {
        own_or(self.own[accel.index()].input_entries, self.input_entries)
    }

    /// Entries of each output queue of `accel`.
    pub fn output_entries_of(&self, accel: Accel) -> usize {
        own_or(self.own[accel.index()].output_entries, self.output_entries)
    }
}

fn own_or(own: usize, common: usize) -> usize {
    if own == 0 { common } else { own }
}
