//! Panics on threads that a test does not run on, such as those of a server's connections.

use std::panic;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

static FOUND: LazyLock<Mutex<Vec<String>>> = LazyLock::new(|| {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !on_test_thread() {
            found().push(panic.to_string());
        }
        before(panic);
    }));
    Mutex::default()
});

fn found() -> MutexGuard<'static, Vec<String>> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the test runner gave this thread its name: that of a test, or `main` if it has one
/// thread.
fn on_test_thread() -> bool {
    let thread = thread::current();
    thread
        .name()
        .is_some_and(|name| name == "main" || name.contains("::"))
}

const ON_PURPOSE: &str = "a panic on purpose";

/// Starts to notice panics on other threads.
pub(crate) fn watch() {
    LazyLock::force(&FOUND);
}

/// Fails if a thread of a target has panicked.
pub(crate) fn check() {
    let found = found();
    let first = found.iter().find(|panic| !panic.contains(ON_PURPOSE));
    assert_eq!(first, None, "another thread panicked");
}

#[test]
fn a_panic_on_another_thread_is_noticed() {
    watch();
    thread::spawn(|| panic!("{ON_PURPOSE}"))
        .join()
        .expect_err("it panics");
    assert!(found().iter().any(|panic| panic.contains(ON_PURPOSE)));
}
