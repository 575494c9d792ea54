//! Numbers for the names of services and operations, which take less memory than texts.

use std::collections::HashMap;

/// A name that a [`Names`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u32);

/// All names met so far. The number of names is bounded, so memory is.
#[derive(Debug)]
pub(crate) struct Names {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

/// The largest number of names: operations with an identifier in their name would otherwise fill
/// memory.
const MOST: usize = 65_536;
/// The longest name, in bytes.
const LONGEST: usize = 200;

impl Name {
    /// No name.
    pub(crate) const NONE: Name = Name(0);
    /// The common number of all names beyond the largest number.
    pub(crate) const OTHER: Name = Name(1);
}

impl Names {
    pub(crate) fn new() -> Names {
        let mut names = Names {
            numbers: HashMap::new(),
            texts: Vec::new(),
        };
        names.of("");
        names.of("(other)");
        names
    }

    /// The number of `text`, cut to 200 bytes; [`Name::OTHER`] beyond the largest number of names.
    pub(crate) fn of(&mut self, text: &str) -> Name {
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        if let Some(&number) = self.numbers.get(text) {
            return Name(number);
        }
        if self.texts.len() >= MOST {
            return Name::OTHER;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        Name(number)
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", |text| text)
    }
}
