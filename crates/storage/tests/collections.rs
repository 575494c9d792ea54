//! Settings of collections that are refused.

use accelflow_storage::{Collections, Kind};

use crate::common::collection;

#[test]
fn wrong_and_repeated_names_are_told_apart() {
    let refused = |names: [&str; 2]| {
        let list = names.map(|name| collection(name, Kind::Lists, false));
        let made = Collections::new(list.to_vec());
        made.err().map(|error| error.to_string())
    };
    let wrong = "collection name = 'a b': must be 1 to 64 letters, digits, '-' and '_'";
    assert_eq!(refused(["a", "a b"]).as_deref(), Some(wrong));
    let twice = "collection name = 'a': must differ from the names of the other collections";
    assert_eq!(refused(["a", "a"]).as_deref(), Some(twice));
    assert_eq!(refused(["a", "b"]), None);
}
