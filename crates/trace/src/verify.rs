//! Verification of trace memories from files. Only memories that the linker can make are accepted.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::PredicateTable;
use crate::check::{Role, check, is_name, is_part_name};
use crate::image::{Edge, Image};
use crate::kind::{Kind, shown};
use crate::link::{link, trace_of};
use crate::link_error::LinkError;
use crate::word::{MAX_WORDS, Word};

impl Image {
    /// Creates a trace memory from the contents of a trace file, after checking them. `words` are
    /// the compiled traces, `predicates` the compiled branch conditions, `names` the names of the
    /// words in the same order, and `kinds` the declarations of custom accelerators.
    ///
    /// # Errors
    /// [`LinkError`] for contents that [`Library::link`](crate::Library::link) cannot have made.
    pub fn from_raw(
        words: Vec<Word>,
        predicates: PredicateTable,
        names: Vec<String>,
        kinds: Vec<Arc<Kind>>,
    ) -> Result<Image, LinkError> {
        if words.len() > MAX_WORDS {
            return Err(LinkError::MemoryFull(words.len()));
        }
        if words.len() != names.len() {
            let (words, names) = (words.len(), names.len());
            return Err(LinkError::NameCount { words, names });
        }
        let image = Image::new(words, predicates, names, kinds);
        image.check_names()?;
        image.check_words()?;
        image.check_cycles()?;
        image.check_canonical()?;
        Ok(image)
    }

    fn check_names(&self) -> Result<(), LinkError> {
        let fault = |name: &String, message: &str| {
            Err(LinkError::Memory {
                word: shown(name),
                message: message.to_owned(),
            })
        };
        let mut seen = BTreeSet::new();
        for name in self.names() {
            if !is_name(name) && !is_part_name(name) {
                return fault(
                    name,
                    "must be a trace's name, or NAME.1, NAME.2 ... for the further words of the \
                     trace NAME",
                );
            }
            if !seen.insert(name) {
                return fault(name, "the name must be that of one word only");
            }
        }
        Ok(())
    }

    fn check_words(&self) -> Result<(), LinkError> {
        for (i, name) in self.names().iter().enumerate() {
            let part = self.disassemble_word(i)?;
            let role = if is_name(name) {
                Role::Trace
            } else {
                Role::Part
            };
            for (link, to) in self.links(i)? {
                let message = match self.words().get(to.index()) {
                    None => format!(
                        "address = {to}: must be inside the memory of {} words",
                        self.words().len()
                    ),
                    Some(_) if link == Edge::Next && self.is_entry(to) => continue,
                    Some(_) if link == Edge::Next => format!(
                        "tail = {to}, '{}': must lead to the beginning of a trace",
                        self.name(to)
                    ),
                    Some(_) if !self.is_entry(to) && trace_of(self.name(to)) == trace_of(name) => {
                        continue;
                    }
                    Some(_) => format!(
                        "continuation = {to}, '{}': must lead to a further word of the same trace",
                        self.name(to)
                    ),
                };
                return Err(LinkError::Memory {
                    word: name.clone(),
                    message,
                });
            }
            check(&part.nodes, role).map_err(|error| LinkError::Check {
                word: name.clone(),
                error,
            })?;
        }
        Ok(())
    }

    /// Checks that each word has the compiler's encoding, so that each program has only one form.
    fn check_canonical(&self) -> Result<(), LinkError> {
        let again = link(self.disassemble()?).map_err(|error| match error {
            LinkError::PartTooLong(word) => LinkError::Memory {
                word,
                message: "must be what the compiler makes of the same source, which needs more \
                          than a word"
                    .to_owned(),
            },
            other => other,
        })?;
        let pairs = self.words().iter().zip(again.words()).zip(self.names());
        let table = |table, needed| LinkError::Table { table, needed };
        match pairs
            .into_iter()
            .find(|((found, written), _)| found != written)
        {
            Some(((found, written), name)) => Err(LinkError::Memory {
                word: name.to_owned(),
                message: format!(
                    "is {found}: must be {written}, which the compiler makes of the same source"
                ),
            }),
            None if again.kinds() != self.kinds() => Err(table("custom accelerators", "call")),
            None if again != *self => Err(table("branch conditions", "test")),
            None => Ok(()),
        }
    }
}
