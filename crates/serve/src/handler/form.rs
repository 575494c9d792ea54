//! The form in which a function's result is written when it is not JSON text.

use std::sync::Arc;

use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{AccelError, Record};
use serde::Serialize;

use crate::memory::room::ResponseBudget;

/// What the result of a function becomes, if that is not JSON.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// What the result may take, if the connection's results wait for the client.
    pub(crate) budget: Option<&'a Arc<ResponseBudget>>,
}

impl Form<'_> {
    /// Of a result that is made when the handler has returned: whoever makes it must not wait for room.
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

    /// Writes the record of the function's result in the place of what is in `bytes`; `None` if there
    /// is no room for one that is as large.
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
