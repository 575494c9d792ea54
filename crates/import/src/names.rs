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

/// The new numbers of names, by their old ones.
#[derive(Debug)]
pub(crate) struct Renumbered(Vec<Name>);

impl Renumbered {
    pub(crate) fn of(&self, name: Name) -> Name {
        self.0.get(name.0 as usize).copied().unwrap_or(Name::OTHER)
    }
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

    /// The same names in the order of their texts, and the new number of each old one. Numbers are
    /// given in the order in which names are met, which the order of the files decides.
    pub(crate) fn in_order(&self) -> (Names, Renumbered) {
        let mut names = Names::new();
        let mut texts: Vec<&str> = self.texts.iter().map(|text| &**text).collect();
        texts.sort_unstable();
        for text in texts {
            names.of(text);
        }
        let new = self.texts.iter().map(|text| names.of(text)).collect();
        (names, Renumbered(new))
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", |text| text)
    }
}
