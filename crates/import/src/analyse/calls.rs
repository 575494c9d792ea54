//! The requests in a distributed trace, and the calls that each request makes.

use std::collections::HashMap;

use super::tree::Tree;
use crate::error::ImportError;
use crate::names::{Name, Names};
use crate::report::{Findings, Topic};
use crate::span::{Access, Facts, Kind, Method, Protocol, Span, Store};
use crate::topics;
use crate::words::{access_of_words, store_of_word};

/// The class of a call, by which its traces differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    Rpc,
    Http,
    CacheRead,
    CacheWrite,
    DatabaseRead,
    /// A statement that writes, or whose effect is not known.
    DatabaseWrite,
    /// A message to a queue.
    Send,
}

/// A call that a request makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) class: Class,
    /// The target: the operation that answers, or the client's own name for it.
    pub(super) target: Method,
    /// The client's own name for the target.
    pub(super) asked: Method,
    /// Whether `target` is an operation of the file.
    pub(super) answered: bool,
    /// Whether it is detached: nothing waits for it.
    pub(super) detached: bool,
    /// Its start in ns, limited to the time of the request.
    pub(super) start_ns: u64,
    /// Its end in ns, limited likewise; for a detached call its own end.
    pub(super) end_ns: u64,
    /// The duration of the operation that answers, if it is in the file.
    pub(super) callee_ns: Option<u64>,
    pub(super) facts: Facts,
}

/// A request of a service.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) facts: Facts,
    /// Whether it comes from outside: no request of the file has called it.
    pub(super) outside: bool,
    /// The calls, in the order of their starts.
    pub(super) calls: Vec<Call>,
    /// Start and duration in ns of spans that are marked as application logic.
    pub(super) application_ns: Vec<(u64, u64)>,
}

/// The time of a call, and whether it is detached.
struct Timed {
    start_ns: u64,
    end_ns: u64,
    detached: bool,
}

/// The operation that answers the calls of each service by each name of its own, if their server
/// spans show it; `None` if there are several.
#[derive(Debug, Default)]
pub(super) struct CalleesByName(HashMap<(Name, Method), Option<Method>>);

/// Times closer than this are equal: Jaeger cuts them to microseconds.
pub(super) const TOLERANCE_NS: u64 = 1_000;

/// The requests of the trace `tree`, which is at `place`.
///
/// # Errors
/// [`ImportError::Strict`] for a guess or a loss if the options refuse them.
pub(super) fn requests(
    tree: &Tree,
    place: &str,
    names: &Names,
    findings: &mut Findings,
    callees: &mut CalleesByName,
) -> Result<Vec<Request>, ImportError> {
    let mut finder = Finder {
        tree,
        place,
        names,
        findings,
        callees,
        called: vec![false; tree.spans.len()],
    };
    let mut found = Vec::new();
    for (i, span) in tree.spans.iter().enumerate() {
        if span.kind == Kind::Server {
            found.push((i, finder.request(i)?));
        }
    }
    let called = finder.called;
    let found = found.into_iter().map(|(i, request)| Request {
        outside: !called[i],
        ..request
    });
    Ok(found.collect())
}

struct Finder<'f> {
    tree: &'f Tree,
    place: &'f str,
    names: &'f Names,
    findings: &'f mut Findings,
    callees: &'f mut CalleesByName,
    /// By span, whether it is a server span that a call of a request has led to.
    called: Vec<bool>,
}

impl Finder<'_> {
    fn count(&mut self, topic: &'static Topic) -> Result<(), ImportError> {
        self.findings.count(topic, || self.place.to_owned())
    }

    fn request(&mut self, i: usize) -> Result<Request, ImportError> {
        let span = self.tree.spans[i];
        let mut calls = Vec::new();
        let mut application_ns = Vec::new();
        let children = |of: usize, free: bool| {
            let children = self.tree.children[of].iter();
            children.map(move |&child| (child, free))
        };
        let mut open: Vec<(usize, bool)> = children(i, false).collect();
        while let Some((child, inherited)) = open.pop() {
            let inner = &self.tree.spans[child];
            let free = inherited || inner.follows || inner.facts.detached;
            let call = match inner.kind {
                Kind::Client => self.client_call(&span, child, free)?,
                Kind::Producer => self.message(&span, inner, free)?,
                Kind::Server => self.bare_call(&span, child, free)?,
                Kind::Internal | Kind::Unknown => {
                    if inner.facts.application && !free {
                        application_ns.push((inner.start_ns, inner.duration_ns()));
                    }
                    open.extend(children(child, free));
                    continue;
                }
            };
            if free {
                self.count(&topics::FOLLOWS)?;
            }
            calls.push(call);
        }
        calls.sort_by_key(|call| (call.start_ns, call.end_ns, call.class, call.target));
        Ok(Request {
            method: (span.service, span.operation),
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            facts: span.facts,
            outside: true,
            calls,
            application_ns,
        })
    }

    /// The call of a span that sends a message and waits only for its acceptance.
    fn message(&mut self, request: &Span, span: &Span, free: bool) -> Result<Call, ImportError> {
        let Timed {
            start_ns,
            end_ns,
            detached,
        } = self.timed(request, span, free)?;
        let class = match span.facts.store {
            Some(_) => self.class(span, None)?,
            None => Class::Send,
        };
        Ok(Call {
            class,
            target: client_side(span),
            asked: client_side(span),
            answered: false,
            detached,
            start_ns,
            end_ns,
            callee_ns: None,
            facts: span.facts,
        })
    }

    /// The call of a client span.
    fn client_call(&mut self, request: &Span, i: usize, free: bool) -> Result<Call, ImportError> {
        let span = self.tree.spans[i];
        let server = self.server_below(i)?;
        let Timed {
            start_ns,
            end_ns,
            detached,
        } = self.timed(request, &span, free)?;
        if let Some(server) = server {
            self.called[server] = true;
            self.compare(&span, &self.tree.spans[server])?;
        }
        let callee = server.map(|server| self.tree.spans[server]);
        let class = self.class(&span, callee.as_ref())?;
        let seen = match class {
            Class::Rpc | Class::Http => callee.map(|callee| (callee.service, callee.operation)),
            _ => None,
        };
        let asked = client_side(&span);
        if let Some(seen) = seen {
            self.callees.record(request.service, asked, seen);
        }
        Ok(Call {
            class,
            target: seen.unwrap_or(asked),
            asked,
            answered: seen.is_some(),
            detached,
            start_ns,
            end_ns,
            callee_ns: callee.map(|callee| callee.duration_ns()),
            facts: span.facts,
        })
    }

    /// The call of a server span whose parent has no client span for it.
    fn bare_call(&mut self, request: &Span, i: usize, free: bool) -> Result<Call, ImportError> {
        let span = self.tree.spans[i];
        self.called[i] = true;
        let mut duration = span.duration_ns();
        let mut latest = request.end_ns;
        if !free {
            self.count(&topics::NO_CLIENT)?;
            duration = duration.min(request.duration_ns());
            latest -= duration;
        }
        let start_ns = span.start_ns.clamp(request.start_ns, latest);
        let shifted = start_ns.abs_diff(span.start_ns) > TOLERANCE_NS;
        if !free && (shifted || duration < span.duration_ns()) {
            self.count(&topics::SHIFTED)?;
        }
        Ok(Call {
            class: self.class(&span, Some(&span))?,
            target: (span.service, span.operation),
            asked: (span.service, span.operation),
            answered: true,
            detached: free,
            start_ns,
            end_ns: start_ns + duration,
            callee_ns: Some(span.duration_ns()),
            facts: span.facts,
        })
    }

    /// The server span that answers the client span `i`.
    fn server_below(&mut self, i: usize) -> Result<Option<usize>, ImportError> {
        let mut found = None;
        let mut open: Vec<usize> = self.tree.children[i].clone();
        while let Some(child) = open.pop() {
            match self.tree.spans[child].kind {
                Kind::Server if self.tree.spans[child].follows => {}
                Kind::Server => {
                    found = Some(found.map_or(child, |other: usize| other.min(child)));
                }
                kind => {
                    if kind == Kind::Client {
                        self.count(&topics::INNER_CLIENT)?;
                    }
                    open.extend(&self.tree.children[child]);
                }
            }
        }
        Ok(found)
    }

    /// The time of `call` within `request`. A call that is `free`, or that ends after the request,
    /// is detached.
    fn timed(&mut self, request: &Span, call: &Span, free: bool) -> Result<Timed, ImportError> {
        let late = |ns: u64| ns > request.end_ns + TOLERANCE_NS;
        match (late(call.start_ns), late(call.end_ns)) {
            _ if free => {}
            (true, _) => self.count(&topics::LATE_ASYNC)?,
            (_, true) => self.count(&topics::ASYNC)?,
            _ => {}
        }
        if call.start_ns + TOLERANCE_NS < request.start_ns {
            self.count(&topics::EARLY)?;
        }
        let inside = |ns: u64| ns.clamp(request.start_ns, request.end_ns);
        let start_ns = inside(call.start_ns);
        let detached = free || late(call.end_ns);
        Ok(Timed {
            start_ns,
            end_ns: match detached {
                true => start_ns + call.duration_ns(),
                false => inside(call.end_ns),
            },
            detached,
        })
    }

    fn compare(&mut self, client: &Span, server: &Span) -> Result<(), ImportError> {
        let early = server.start_ns + TOLERANCE_NS < client.start_ns;
        if server.duration_ns() > client.duration_ns() + TOLERANCE_NS {
            self.count(&topics::LONGER)
        } else if early || server.end_ns > client.end_ns + TOLERANCE_NS {
            self.count(&topics::SKEW)
        } else {
            Ok(())
        }
    }

    fn class(&mut self, span: &Span, callee: Option<&Span>) -> Result<Class, ImportError> {
        let name = self.names.text(span.operation);
        let named = || store_of_word(name).filter(|_| callee.is_none());
        let store = span.facts.store.or_else(named);
        if let Some(store) = store {
            let access = span.facts.access.or_else(|| access_of_words(name));
            if span.facts.store.is_none() {
                self.count(&topics::STORE)?;
            }
            if access.is_none() {
                self.count(&topics::ACCESS)?;
            }
            return Ok(match (store, access) {
                (Store::Cache, Some(Access::Write)) => Class::CacheWrite,
                (Store::Cache, _) => Class::CacheRead,
                (Store::Database, Some(Access::Read)) => Class::DatabaseRead,
                (Store::Database, _) => Class::DatabaseWrite,
            });
        }
        let other = callee.and_then(|callee| callee.facts.protocol);
        match span.facts.protocol.or(other) {
            Some(Protocol::Rpc) => Ok(Class::Rpc),
            Some(Protocol::Http) => Ok(Class::Http),
            Some(Protocol::Messaging) => Ok(Class::Send),
            None => {
                self.count(&topics::PROTOCOL)?;
                Ok(Class::Rpc)
            }
        }
    }
}

/// The target of a call as its client names it, or the client itself if it does not, and the
/// operation.
fn client_side(span: &Span) -> Method {
    match span.facts.peer {
        Name::NONE => (span.service, span.operation),
        peer => (peer, span.operation),
    }
}

impl CalleesByName {
    fn record(&mut self, caller: Name, asked: Method, answered: Method) {
        let known = self.0.entry((caller, asked)).or_insert(Some(answered));
        if *known != Some(answered) {
            *known = None;
        }
    }

    /// The only operation that answers the calls `asked` of the service `caller`.
    pub(super) fn of(&self, caller: Name, asked: Method) -> Option<Method> {
        self.0.get(&(caller, asked)).copied().flatten()
    }
}
