//! Schemas from interface files, and the embedded ones.

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
    /// Reads an interface from one text, which must not include files.
    ///
    /// # Errors
    /// [`IdlError`] for the first part that this crate's subset of the language does not allow.
    pub fn parse(text: &str) -> Result<Schema, IdlError> {
        build(&[idl::single(text)?])
    }

    /// Reads an interface from a file and the files that it includes. Included files are searched
    /// in the folder of the including file, then in the folders of `search` in order.
    ///
    /// The functions are those of the services in `path` itself, including inherited functions.
    /// Names of an included file are prefixed with the name of that file, as in `shared.Item`.
    ///
    /// # Errors
    /// [`InterfaceError`] for a file that cannot be read, or the first part that is not allowed.
    pub fn load(path: &Path, search: &[PathBuf]) -> Result<Schema, InterfaceError> {
        Ok(build(&idl::load(path, search)?)?)
    }

    /// The interface of DeathStarBench's SocialNetwork (`idl/social_network.thrift`).
    pub fn social_network() -> Arc<Schema> {
        SOCIAL_NETWORK.clone()
    }

    /// The messages of the database cache and the database (`idl/storage.thrift`).
    pub fn storage() -> Arc<Schema> {
        STORAGE.clone()
    }
}
