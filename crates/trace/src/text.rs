//! The text form of traces: for each trace, a line with its name, and below it the listing that
//! [`crate::source::listing`] prints.
//!
//! ```text
//! trace receive:
//!     TCP Decr RPC Dser
//!     branch out['compressed'] == 1   (expected: true)
//!       on true:
//!         trans JSON>str
//!         Dcmp
//!     LdB
//! ```
//!
//! Custom accelerators are declared before the traces that call them, with the directions of their
//! messages (default: both) and the facts that they yield:
//!
//! ```text
//! kind Thumbnail sends yields width number, format text
//! ```
//!
//! A line has accelerators, `trans FROM>TO`, `branch CONDITION`, `fork`, `join`, `tail NAME` or
//! `notify`. The arms of branches (`on true:`, `on false:`), forks and joins (`arm 1:`, `arm 2:`
//! ...) follow on lines with more indentation. A `#` begins a comment. `continue PART` and `meet`
//! occur only in parts of traces that the compiler has split.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::accelerator::UnknownAccelerator;
use crate::kind::{Directions, FactType, Kind, KindError};
use crate::kinds::{self, KindsError};
use crate::source::{self, Node, Nodes, SourceError};

/// The largest number of lines in a text that describes traces.
pub const MAX_TEXT_LINES: usize = 100_000;

/// The longest part of a line that messages show, in characters.
const MAX_SHOWN: usize = 100;

/// The deepest nesting of branches, forks and joins.
const MAX_DEPTH: usize = 64;

/// The error of a text that does not describe traces: the number of the first invalid line, and the
/// reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct TextError {
    /// The number of the invalid line in the text, counted from 1.
    pub line: usize,
    /// The reason why the line is invalid.
    pub cause: TextCause,
}

/// The reason why a line in a text that describes traces is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextCause {
    /// The line belongs to no trace: it is not indented below a line `trace NAME:`, and neither
    /// begins a trace nor declares an accelerator. Holds the line.
    #[error(
        "statement = '{0}': must be 'trace NAME:', 'kind NAME', or indented below the line \
         'trace NAME:' of its trace"
    )]
    NoTrace(String),
    /// The line is a malformed declaration of a custom accelerator. Holds the line.
    #[error(
        "statement = '{0}': must be 'kind NAME', then optionally 'receives', 'sends' or 'both' \
         (the default), then optionally 'yields' and facts such as 'size number, digest text'"
    )]
    Declaration(String),
    /// The line declares a custom accelerator with an invalid name or invalid facts.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// The line declares a custom accelerator that an earlier line declares in another way.
    #[error(transparent)]
    Kinds(#[from] KindsError),
    /// The line calls an accelerator that is neither one of the paper's nine nor declared earlier
    /// in the text.
    #[error("{error}, or be declared before as 'kind {}'{}", .error.0, listed(.declared))]
    Undeclared {
        /// The error that holds the unknown name.
        error: UnknownAccelerator,
        /// The names of the custom accelerators that are declared earlier.
        declared: Vec<String>,
    },
    /// The line is not a statement. Holds the line.
    #[error(
        "statement = '{0}': must be accelerators, 'branch CONDITION', 'fork', 'join', 'meet', \
         'trans FROM>TO', 'tail TRACE', 'continue PART' or 'notify'"
    )]
    Unknown(String),
    /// The line is not indented like the statements before it in the same trace or arm, and is no
    /// arm of a branch, fork or join. Holds the line.
    #[error(
        "statement = '{0}': must be indented like the statement before it; only the arms of \
         branch, fork and join are indented more"
    )]
    Indented(String),
    /// A branch ends with a hint that is neither `(expected: true)` nor `(expected: false)`. Holds
    /// the line of the branch.
    #[error("statement = '{0}': must end with (expected: true), (expected: false) or no hint")]
    Hint(String),
    /// The line below a branch is neither `on true:` nor `on false:`, or repeats one of them. Holds
    /// the line.
    #[error("statement = '{0}': must be 'on true:' or 'on false:', each once below a branch")]
    BranchArm(String),
    /// The line below a fork or join is not `arm N:` with the number of the next arm.
    #[error("statement = '{found}': must be 'arm {number}:', the next arm of the {kind}")]
    Arm {
        /// The invalid line.
        found: String,
        /// The number of the next arm, counted from 1.
        number: usize,
        /// The keyword of the statement above the line: `fork` or `join`.
        kind: &'static str,
    },
    /// A branch, fork or join has no arms below it. Holds its keyword.
    #[error("statement = {0}: must have arms below it, indented more")]
    NoArms(&'static str),
    /// Branches, forks and joins nest more than 64 levels deep in the text. The check of the trace
    /// language allows fewer levels: [`crate::limits::MAX_DEPTH`].
    #[error("branches, forks and joins: must nest at most {MAX_DEPTH} levels deep")]
    Deep,
    /// The text has more than [`MAX_TEXT_LINES`] lines.
    #[error("text of traces: must have at most {MAX_TEXT_LINES} lines")]
    Long,
    /// The line has an unknown data format, a transformation between equal formats, or an invalid
    /// condition.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// A line of the text, without its comment.
struct Line<'t> {
    number: usize,
    indent: usize,
    text: &'t str,
}

/// Parses a text that describes traces, and returns the name and the source of each trace. Checks
/// only the syntax; [`check_trace`](crate::check_trace()) checks the rules of the trace language.
///
/// # Errors
/// [`TextError`] for the first invalid line.
pub fn parse(text: &str) -> Result<Vec<(String, Nodes)>, TextError> {
    let lines = lines(text)?;
    let mut traces = Vec::new();
    let mut kinds = Kinds::default();
    let mut rest = lines.as_slice();
    while let Some((head, below)) = rest.split_first() {
        let (word, after) = head.first_word();
        if word == "kind" {
            let kind = declaration(head, after)?;
            kinds.declare(kind).map_err(|error| head.error(error))?;
            rest = below;
            continue;
        }
        let name = after.strip_suffix(':').filter(|_| word == "trace");
        let Some(name) = name.map(str::trim) else {
            return Err(head.error(TextCause::NoTrace(head.shown())));
        };
        let (body, others) = indented(below, head.indent);
        traces.push((name.to_owned(), nodes(body, 0, &kinds)?));
        rest = others;
    }
    Ok(traces)
}

/// The custom accelerators that texts have declared so far, by name in lower case.
#[derive(Default)]
struct Kinds(BTreeMap<String, Arc<Kind>>);

impl Kinds {
    /// Adds a declaration, which may repeat an earlier one. Names that differ in case are the same.
    fn declare(&mut self, kind: Kind) -> Result<(), KindsError> {
        let key = kind.name().to_ascii_lowercase();
        let known = self.0.entry(key).or_insert_with(|| Arc::new(kind.clone()));
        match **known == kind {
            true => Ok(()),
            false => Err(KindsError::differ(known, &kind)),
        }
    }

    fn call(&self, name: &str) -> Result<Node, TextCause> {
        if let Some(kind) = self.0.get(&name.to_ascii_lowercase()) {
            return Ok(Node::Kind(kind.clone()));
        }
        name.parse().map(Node::Accel).map_err(|error| {
            let kinds = self.0.values();
            let declared = kinds.map(|kind| kind.name().to_owned()).collect();
            TextCause::Undeclared { error, declared }
        })
    }
}

/// Returns the part of a message that lists the names in `declared`; empty without names.
fn listed(declared: &[String]) -> String {
    match declared.is_empty() {
        true => String::new(),
        false => format!("; declared: {}", declared.join(", ")),
    }
}

/// Parses a declaration. `text` is the rest of the line after `kind`.
fn declaration(line: &Line<'_>, text: &str) -> Result<Kind, TextError> {
    let wrong = || line.error(TextCause::Declaration(line.shown()));
    let (head, yields) = match text.split_once(" yields ") {
        Some((head, yields)) => (head, yields.split(',').collect()),
        None => (text, Vec::new()),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let (name, directions) = match words[..] {
        [name] => (name, Some(Directions::Both)),
        [name, direction] => {
            let mut all = Directions::ALL.into_iter();
            (name, all.find(|known| known.name() == direction))
        }
        _ => return Err(wrong()),
    };
    let fact = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, of] = words[..] else {
            return None;
        };
        let of = FactType::ALL.into_iter().find(|known| known.name() == of)?;
        Some((name.to_owned(), of))
    };
    let yields: Option<Vec<_>> = yields.into_iter().map(fact).collect();
    let (Some(directions), Some(yields)) = (directions, yields) else {
        return Err(wrong());
    };
    Kind::new(name, directions, yields).map_err(|error| line.error(error))
}

/// Returns the text that declares the custom accelerators that `traces` call: one line `kind NAME
/// ...` for each accelerator, as [`parse`] reads it. `traces` are the sources of traces.
///
/// # Errors
/// [`KindsError`] for conflicting declarations, and for too many custom accelerators.
pub fn declarations<'n>(
    traces: impl IntoIterator<Item = &'n [Node]>,
) -> Result<String, KindsError> {
    let mut kinds = Vec::new();
    for nodes in traces {
        kinds::collect(nodes, &mut kinds)?;
    }
    Ok(kinds.iter().map(|kind| format!("{kind}\n")).collect())
}

/// Returns a trace as text in the form that [`parse`] reads. `name` is the trace's name, and
/// `nodes` its source. Custom accelerators that the trace calls must be declared before this text
/// ([`declarations`]).
pub fn text(name: &str, nodes: &[Node]) -> String {
    let mut text = format!("trace {name}:\n");
    for line in source::listing(nodes).lines() {
        text += &format!("    {line}\n");
    }
    text
}

/// Returns whether `nodes` are one part of a trace that the compiler has split: whether `nodes`
/// continue in another part, or contain the meeting point of a join that begins in another part.
pub fn has_parts(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Continue(_) | Node::Meet => true,
        Node::Branch {
            on_true, on_false, ..
        } => has_parts(on_true) || has_parts(on_false),
        Node::Fork(arms) | Node::Join(arms) => arms.iter().any(|arm| has_parts(arm)),
        Node::Accel(_) | Node::Kind(_) | Node::Transform(_) | Node::Tail(_) | Node::Notify => false,
    })
}

fn lines(text: &str) -> Result<Vec<Line<'_>>, TextError> {
    let mut lines = Vec::new();
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, whole) in text.lines().enumerate() {
        let number = index + 1;
        let content = without_comment(whole);
        let indent = content.len() - content.trim_start().len();
        let line = Line {
            number,
            indent,
            text: content.trim(),
        };
        if number > MAX_TEXT_LINES {
            return Err(line.error(TextCause::Long));
        }
        if !line.text.is_empty() {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Returns `line` without its comment. A comment begins at a `#` outside quotes.
fn without_comment(line: &str) -> &str {
    let end = outside_quotes(line).find(|(_, c)| *c == '#');
    &line[..end.map_or(line.len(), |(at, _)| at)]
}

/// The characters of `line` outside quotes, each with its place.
fn outside_quotes(line: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    line.char_indices().filter(move |(_, c)| match quote {
        Some(open) => {
            if *c == open {
                quote = None;
            }
            false
        }
        None => {
            if matches!(c, '\'' | '"') {
                quote = Some(*c);
            }
            true
        }
    })
}

/// Splits `text` into its condition and the hint `(expected: ...)`, if there is one.
fn split_hint(text: &str) -> (&str, Option<&str>) {
    const HINT: &str = "(expected:";
    let starts = outside_quotes(text).filter(|(at, _)| text[*at..].starts_with(HINT));
    match starts.last() {
        Some((at, _)) => (&text[..at], Some(&text[at + HINT.len()..])),
        None => (text, None),
    }
}

impl<'t> Line<'t> {
    /// The first word, and the rest without the space around it.
    fn first_word(&self) -> (&'t str, &'t str) {
        let split = self.text.split_once(char::is_whitespace);
        let (word, rest) = split.unwrap_or((self.text, ""));
        (word, rest.trim())
    }

    /// The line for messages, cut off if it is long.
    fn shown(&self) -> String {
        match self.text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}...", &self.text[..end]),
            None => self.text.to_owned(),
        }
    }

    fn error(&self, cause: impl Into<TextCause>) -> TextError {
        TextError {
            line: self.number,
            cause: cause.into(),
        }
    }
}

/// Splits `lines` after the first ones that are indented more than `indent`.
fn indented<'l, 't>(lines: &'l [Line<'t>], indent: usize) -> (&'l [Line<'t>], &'l [Line<'t>]) {
    let ends = lines.iter().position(|line| line.indent <= indent);
    lines.split_at(ends.unwrap_or(lines.len()))
}

fn nodes(lines: &[Line<'_>], depth: usize, kinds: &Kinds) -> Result<Nodes, TextError> {
    let mut found = Nodes::new();
    let mut rest = lines;
    let indent = lines.first().map_or(0, |line| line.indent);
    while let Some((line, below)) = rest.split_first() {
        if depth > MAX_DEPTH {
            return Err(line.error(TextCause::Deep));
        }
        if line.indent != indent {
            return Err(line.error(TextCause::Indented(line.shown())));
        }
        let (word, after) = line.first_word();
        let (arms, others) = indented(below, line.indent);
        let mut has_arms = true;
        match word {
            "branch" => found.push(branch(line, after, arms, depth, kinds)?),
            "fork" if after.is_empty() => {
                found.push(source::fork(numbered_arms(
                    line, "fork", arms, depth, kinds,
                )?));
            }
            "join" if after.is_empty() => {
                found.push(source::join(numbered_arms(
                    line, "join", arms, depth, kinds,
                )?));
            }
            _ => {
                has_arms = false;
                found.extend(plain(line, word, after, kinds)?);
            }
        }
        rest = if has_arms { others } else { below };
    }
    Ok(found)
}

/// The nodes of a line that has no arms.
fn plain(line: &Line<'_>, word: &str, after: &str, kinds: &Kinds) -> Result<Nodes, TextError> {
    let unknown = || line.error(TextCause::Unknown(line.shown()));
    let one_word = !after.is_empty() && !after.contains(char::is_whitespace);
    match word {
        "notify" if after.is_empty() => Ok(vec![Node::Notify]),
        "meet" if after.is_empty() => Ok(vec![Node::Meet]),
        "tail" if one_word => Ok(vec![source::tail(after)]),
        "continue" if one_word => Ok(vec![Node::Continue(after.to_owned())]),
        "trans" => {
            let (from, to) = after.split_once('>').ok_or_else(unknown)?;
            let changed = source::trans(from.trim(), to.trim());
            Ok(vec![changed.map_err(|error| line.error(error))?])
        }
        _ => {
            let names: Vec<&str> = line.text.split_whitespace().collect();
            let looks_alike = names
                .iter()
                .all(|name| name.chars().all(char::is_alphanumeric));
            if !looks_alike {
                return Err(unknown());
            }
            let calls = names.into_iter().map(|name| kinds.call(name));
            calls
                .collect::<Result<_, _>>()
                .map_err(|error| line.error(error))
        }
    }
}

fn branch(
    line: &Line<'_>,
    condition: &str,
    lines: &[Line<'_>],
    depth: usize,
    kinds: &Kinds,
) -> Result<Node, TextError> {
    let (condition, hint) = split_hint(condition);
    let expected = match hint.map(str::trim) {
        Some("true)") => Some(true),
        Some("false)") => Some(false),
        Some(_) => return Err(line.error(TextCause::Hint(line.shown()))),
        None => None,
    };
    let condition = condition.trim();
    let [mut on_true, mut on_false] = [None, None];
    let mut rest = lines;
    while let Some((head, below)) = rest.split_first() {
        let arm = match head.text {
            "on true:" => &mut on_true,
            "on false:" => &mut on_false,
            _ => return Err(head.error(TextCause::BranchArm(head.shown()))),
        };
        let (body, others) = indented(below, head.indent);
        if arm.is_some() {
            return Err(head.error(TextCause::BranchArm(head.shown())));
        }
        *arm = Some(nodes(body, depth + 1, kinds)?);
        rest = others;
    }
    if on_true.is_none() && on_false.is_none() {
        return Err(line.error(TextCause::NoArms("branch")));
    }
    let arms = [on_true, on_false].map(Option::unwrap_or_default);
    let [on_true, on_false] = arms;
    let made = source::branch(condition, on_true, on_false).map_err(|error| line.error(error))?;
    Ok(match expected {
        Some(outcome) => made.expecting(outcome),
        None => made,
    })
}

fn numbered_arms(
    line: &Line<'_>,
    kind: &'static str,
    lines: &[Line<'_>],
    depth: usize,
    kinds: &Kinds,
) -> Result<Vec<Nodes>, TextError> {
    let mut arms = Vec::new();
    let mut rest = lines;
    while let Some((head, below)) = rest.split_first() {
        let number = arms.len() + 1;
        if head.text != format!("arm {number}:") {
            let found = head.shown();
            return Err(head.error(TextCause::Arm {
                found,
                number,
                kind,
            }));
        }
        let (body, others) = indented(below, head.indent);
        arms.push(nodes(body, depth + 1, kinds)?);
        rest = others;
    }
    match arms.is_empty() {
        true => Err(line.error(TextCause::NoArms(kind))),
        false => Ok(arms),
    }
}
