//! The description of a storage message: the operation, whether the message is a request or a
//! response, the collection and the key.

use std::sync::Arc;

use crate::error::AccelError;
use crate::role::Role;

/// The operation of a storage message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read the data under a key from the cache.
    CacheGet = 0,
    /// Write the data under a key to the cache.
    CacheSet = 1,
    /// Find a document by its key in the database.
    DbFind = 2,
    /// Insert a document into the database.
    DbInsert = 3,
}

impl Operation {
    /// The storage operations, in the order of their codes in storage messages, 0 to 3.
    pub const ALL: [Operation; 4] = [
        Operation::CacheGet,
        Operation::CacheSet,
        Operation::DbFind,
        Operation::DbInsert,
    ];

    /// Returns the operation in plain words, such as `read from the cache`, for error messages.
    pub const fn words(self) -> &'static str {
        match self {
            Operation::CacheGet => "read from the cache",
            Operation::CacheSet => "write to the cache",
            Operation::DbFind => "find in the database",
            Operation::DbInsert => "insert into the database",
        }
    }

    /// Returns whether the operation writes data. A request for such an operation must contain the
    /// data.
    pub const fn writes(self) -> bool {
        matches!(self, Operation::CacheSet | Operation::DbInsert)
    }

    /// Returns the operation with the code `code`.
    ///
    /// # Errors
    /// `out_of_range`.
    pub(super) fn from_code(code: i64) -> Result<Operation, AccelError> {
        let known = usize::try_from(code)
            .ok()
            .and_then(|code| Operation::ALL.get(code));
        known.copied().ok_or_else(|| {
            let (field, found) = ("operation".to_owned(), code.to_string());
            AccelError::OutOfRange {
                field,
                found,
                allowed: "0 to 3",
            }
        })
    }
}

/// The description of a storage message without its data: the operation, whether the message is a
/// request or a response, the collection and the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageCall {
    /// The storage operation of the call.
    pub operation: Operation,
    /// Whether the message is a request or a response. Dser sets the role to that of the message
    /// that it has read.
    pub role: Role,
    /// The collection of the database, or the key space of the cache.
    pub collection: Arc<str>,
    /// The key that the operation reads or writes.
    pub key: Arc<str>,
}

impl StorageCall {
    /// Creates the description of a request for `operation` on `key` of `collection`.
    pub fn request(operation: Operation, collection: &str, key: &str) -> StorageCall {
        let (collection, key) = (collection.into(), key.into());
        StorageCall {
            operation,
            role: Role::Request,
            collection,
            key,
        }
    }

    /// Returns the request that Ser writes: this request, or the one that follows from a response.
    ///
    /// # Errors
    /// `no_call` after the response to a write, which no request follows.
    pub(crate) fn to_write(&self) -> Result<StorageCall, AccelError> {
        let operation = match (self.role, self.operation) {
            (Role::Request, operation) => operation,
            (Role::Response, Operation::CacheGet) => Operation::DbFind,
            (Role::Response, Operation::DbFind) => Operation::CacheSet,
            (Role::Response, Operation::CacheSet | Operation::DbInsert) => {
                let why = "no request follows the response to a write";
                return Err(AccelError::NoCall { step: "Ser", why });
            }
        };
        Ok(StorageCall {
            operation,
            role: Role::Request,
            ..self.clone()
        })
    }
}
