//! Encodes the results of functions as records (messages in their wire form), or as JSON text that
//! has the numbers of records.

use std::sync::Arc;

use accelflow_accel::json::may_have_float_texts;
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{AccelError, Record};
use serde::Serialize;

use crate::memory::room::ResponseBudget;
use crate::memory::wipe::wipe_all;

/// The form of a function's result.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// Whether the result is to be JSON text.
    pub(crate) is_text: bool,
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
            is_text: self.is_text,
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

impl Form<'_> {
    /// The JSON text of a value whose numbers may be NaN or infinite, which `json`, the text that
    /// serde writes, has as null. Returns `json` itself if there are no such numbers.
    ///
    /// # Errors
    /// [`AccelError::NotFinite`] for such a number where the interface has no `double`.
    pub(crate) fn with_floats<T: Serialize + ?Sized>(
        &self,
        value: &T,
        json: Vec<u8>,
    ) -> Result<Vec<u8>, AccelError> {
        if !json.windows(4).any(|found| found == b"null") {
            return Ok(json);
        }
        let mut bytes = Vec::new();
        let written = self.record.result(self.function, value, &mut bytes);
        if let Err(error @ AccelError::NotFinite { .. }) = written {
            return Err(error);
        }
        // Another value that does not fit is refused later, or passes unchanged in a compressed
        // body.
        let result = written.and_then(|record| record.to_json(&bytes));
        wipe_all(&mut bytes);
        let result = result.unwrap_or_default();
        let success = result
            .strip_prefix(br#"{"success":"#)
            .and_then(|rest| rest.strip_suffix(b"}"));
        Ok(
            match success.filter(|success| may_have_float_texts(success)) {
                Some(success) => success.to_vec(),
                None => json,
            },
        )
    }

    /// Checks that the member `field` of the function's result may be `value`.
    pub(crate) fn check<T: Serialize + ?Sized>(
        &self,
        field: &str,
        value: &T,
    ) -> Result<(), AccelError> {
        let Record::Thrift(record) = self.record else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        let checked = record.check_result(self.function, field, value, &mut bytes);
        wipe_all(&mut bytes);
        checked
    }
}

/// A [`Form`] that outlives the request's call.
pub(crate) struct LaterForm {
    record: Record,
    function: FunctionId,
    is_text: bool,
    budget: Option<Arc<ResponseBudget>>,
}

impl LaterForm {
    pub(crate) fn form(&self) -> Form<'_> {
        Form {
            record: &self.record,
            function: self.function,
            is_text: self.is_text,
            budget: self.budget.as_ref(),
        }
    }
}
