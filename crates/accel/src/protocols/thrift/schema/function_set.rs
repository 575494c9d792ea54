//! Sets of functions of a Thrift schema.

use std::sync::Arc;

use super::types::FunctionId;

/// A set of functions of a Thrift schema, such as the functions that get their arguments as records
/// (checked messages in their wire form) instead of JSON. For a gRPC schema, the set has the
/// indices of methods.
#[derive(Clone, Debug, Default)]
pub struct FunctionSet(Arc<[bool]>);

impl FunctionSet {
    /// Returns whether the set contains `function`.
    pub fn contains(&self, function: FunctionId) -> bool {
        self.0.get(function.0).copied().unwrap_or(false)
    }
}

impl FromIterator<FunctionId> for FunctionSet {
    fn from_iter<I: IntoIterator<Item = FunctionId>>(functions: I) -> FunctionSet {
        let mut members = Vec::new();
        for FunctionId(index) in functions {
            if members.len() <= index {
                members.resize(index + 1, false);
            }
            members[index] = true;
        }
        FunctionSet(members.into())
    }
}
