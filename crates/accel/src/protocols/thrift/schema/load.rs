//! Reads Thrift schemas from interface files, from texts, and from the embedded interfaces.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::build::build;
use super::types::Schema;
use crate::protocols::thrift::idl::{self, IdlError, InterfaceError};

static SOCIAL_NETWORK: LazyLock<Arc<Schema>> =
    LazyLock::new(|| embedded(include_str!("../../../../idl/social_network.thrift")));
static STORAGE: LazyLock<Arc<Schema>> =
    LazyLock::new(|| embedded(include_str!("../../../../idl/storage.thrift")));

fn embedded(text: &str) -> Arc<Schema> {
    Arc::new(Schema::parse(text).expect("the embedded interfaces are constants that tests parse"))
}

impl Schema {
    /// Reads a Thrift interface from `text`, which must not include files.
    ///
    /// # Errors
    /// [`IdlError`] for the first part of the text that is malformed or not supported.
    pub fn parse(text: &str) -> Result<Schema, IdlError> {
        build(&[idl::single(text)?])
    }

    /// Reads a Thrift interface from a file and the files that it includes. Included files are
    /// searched in the folder of the including file, then in the folders of `search` in order.
    ///
    /// The schema has the functions of the services in `path` itself, including inherited
    /// functions. A name that an included file declares is prefixed with the name of that file, as
    /// in `shared.Item`.
    ///
    /// # Errors
    /// [`InterfaceError`] for a file that cannot be read, or for the first malformed or unsupported
    /// text in a file.
    pub fn load(path: &Path, search: &[PathBuf]) -> Result<Schema, InterfaceError> {
        Ok(build(&idl::load(path, search)?)?)
    }

    /// Returns the interface of DeathStarBench's SocialNetwork (`idl/social_network.thrift`).
    pub fn social_network() -> Arc<Schema> {
        SOCIAL_NETWORK.clone()
    }

    /// Returns the interface that declares the messages to and from the database cache and the
    /// database (`idl/storage.thrift`).
    pub fn storage() -> Arc<Schema> {
        STORAGE.clone()
    }
}
