//! Encodes the results of functions as records (messages in their wire form) instead of JSON text.

use std::sync::Arc;

use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{AccelError, Record};
use serde::Serialize;

use crate::memory::room::ResponseBudget;

/// The form of a function's result that is not JSON text.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// The memory for the result, on connections that limit it.
    pub(crate) budget: Option<&'a Arc<ResponseBudget>>,
}

impl Form<'_> {
    /// Returns the form of a result that is produced after the handler has returned. The producing
    /// thread does not wait for memory.
    pub(crate) fn later(&self) -> LaterForm {
        if let Some(budget) = self.budget {
            budget.refuse_to_wait();
        }
        LaterForm {
            record: self.record.clone(),
            function: self.function,
            budget: self.budget.cloned(),
        }
    }

    /// Writes the function's result as a record that replaces `bytes`. Returns `None` if there is
    /// no memory for a result of that size.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        value: &T,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<Record>, AccelError> {
        let (record, function) = (self.record, self.function);
        let Some(budget) = self.budget else {
            return record.result(function, value, bytes).map(Some);
        };
        match record.result_within(function, value, budget.expected(), bytes) {
            Err(AccelError::TooLarge { .. }) if budget.expected() < budget.largest => {
                if !budget.extend_to_largest() {
                    return Ok(None);
                }
                record
                    .result_within(function, value, budget.largest, bytes)
                    .map(Some)
            }
            written => written.map(Some),
        }
    }
}

/// A [`Form`] that outlives the request's call.
pub(crate) struct LaterForm {
    record: Record,
    function: FunctionId,
    budget: Option<Arc<ResponseBudget>>,
}

impl LaterForm {
    pub(crate) fn form(&self) -> Form<'_> {
        Form {
            record: &self.record,
            function: self.function,
            budget: self.budget.as_ref(),
        }
    }
}
