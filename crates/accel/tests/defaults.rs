//! Constants and default values, and interfaces of several files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use accelflow_accel::thrift::{
    InterfaceError, Protocol, Schema, Ty, struct_from_json, struct_to_json,
};
use accelflow_accel::{AccelError, Accelerator, Call, Dser, Job, Limits, rpc};
use serde_json::{Value, json};

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

/// The JSON of an empty struct; an empty object is checked to be written the same way.
fn defaults(schema: &Schema, name: &str) -> Value {
    let (id, limits) = (schema.struct_id(name).unwrap(), Limits::default());
    let [one, other] = BOTH.map(|protocol| {
        let read = struct_to_json(schema, id, protocol, &[0], &limits).unwrap();
        let written = struct_from_json(schema, id, protocol, b"{}", &limits).unwrap();
        let explicit = struct_from_json(schema, id, protocol, &read, &limits).unwrap();
        assert_eq!(written, explicit, "{name}");
        serde_json::from_slice::<Value>(&read).unwrap()
    });
    assert_eq!(one, other, "{name}");
    one
}

#[test]
fn absent_fields_have_their_default_values() {
    let schema = Schema::parse(
        r#"
        enum Colour { RED = 1, GREEN, BLUE = 7 }
        const Colour BEST = Colour.GREEN
        const i32 DOZEN = 12
        const list<i32> PAIR = [DOZEN, 0x10,]
        const map<string, list<i32>> PAIRS = {"one": PAIR; "none": []}
        struct Point { 1: double x = 1, 2: double y = -.5e1, 3: optional string label }
        struct All {
            1: bool yes = true, 2: bool no = 0,
            3: i8 tiny = -128, 4: i16 small = +5, 5: Colour colour = BEST, 6: i64 large = -0x10,
            7: string text = 'say "hi"\n', 8: binary blob = "\\x",
            9: set<string> names = ["a" "b"], 10: set<i32> none = {}, 11: map<i32, string> empty = [],
            12: map<Colour, bool> shades = {Colour.BLUE: true, 1: false},
            13: map<string, list<i32>> pairs = PAIRS,
            14: Point origin = {"label": "o", "x": 0}, 15: list<Point> path = [{}, {'y': 2.5}],
            16: string given
        }"#,
    )
    .unwrap();
    let expected = json!({
        "yes": true, "no": false, "tiny": -128, "small": 5, "colour": 2, "large": -16,
        "text": "say \"hi\"\n", "blob": "XHg=", "names": ["a", "b"], "none": [], "empty": [],
        "shades": [[7, true], [1, false]], "pairs": {"one": [12, 16], "none": []},
        "origin": {"label": "o", "x": 0.0, "y": -5.0},
        "path": [{"x": 1.0, "y": -5.0}, {"x": 1.0, "y": 2.5}],
    });
    assert_eq!(defaults(&schema, "All"), expected);
}

#[test]
fn present_fields_override_defaults_and_null_omits_them() {
    let schema = Schema::parse(
        "struct S { 1: optional i32 a = 1, 2: required i32 b = 2, 3: i32 c }
         struct T { 1: S s, 2: list<S> all }",
    )
    .unwrap();
    let (id, limits) = (schema.struct_id("T").unwrap(), Limits::default());
    for protocol in BOTH {
        let write = |json: &str| struct_from_json(&schema, id, protocol, json.as_bytes(), &limits);
        let read = |bytes: &[u8]| {
            let json = struct_to_json(&schema, id, protocol, bytes, &limits);
            json.map(|json| serde_json::from_slice::<Value>(&json).unwrap())
        };
        let wire = write(r#"{"s": {"a": 5}, "all": [{"c": 3}, {}]}"#).unwrap();
        let expected =
            json!({"s": {"a": 5, "b": 2}, "all": [{"c": 3, "a": 1, "b": 2}, {"a": 1, "b": 2}]});
        assert_eq!(read(&wire).unwrap(), expected);
        // `null` is not written, and so is read as the default value. Required fields cannot be
        // `null`.
        let left_out = write(r#"{"s": {"a": null, "b": 7}}"#).unwrap();
        let kept = write(r#"{"s": {"a": 1, "b": 7}}"#).unwrap();
        assert!(left_out.len() < kept.len());
        assert_eq!(read(&left_out).unwrap(), json!({"s": {"b": 7, "a": 1}}));
        let refused = write(r#"{"s": {"b": null}}"#).unwrap_err();
        assert_eq!(refused.reason(), "missing_field");
    }
    // A default value does not replace a required field on the wire.
    let s = schema.struct_id("S").unwrap();
    let refused = struct_to_json(&schema, s, Protocol::Binary, &[0], &limits);
    assert!(
        matches!(refused, Err(AccelError::MissingField { .. })),
        "{refused:?}"
    );
}

#[test]
fn default_arguments_are_facts_like_those_sent() {
    let text = "service S { void f(1: i32 hit = 1, 2: bool found = true, 3: i32 other) }";
    let schema = std::sync::Arc::new(Schema::parse(text).unwrap());
    let limits = Limits::default();
    let call = rpc::ThriftCall::request(&schema, "f", Protocol::Compact, 1).unwrap();
    let mut job = Job {
        bytes: vec![0],
        call: Call::Thrift(call),
        ..Job::default()
    };
    Dser::new(schema, limits).run(&mut job).unwrap();
    let facts: Vec<_> = ["hit", "found", "other"]
        .map(|name| job.facts.get(name))
        .into();
    assert_eq!(facts, [Some(1), Some(1), None]);
    let body: Value = serde_json::from_slice(&job.bytes).unwrap();
    assert_eq!(body, json!({"hit": 1, "found": true}));
}

/// Interface texts, the column of the error, and a part of its message.
const REFUSED: &[(&str, usize, &str)] = &[
    (
        "const i8 A = 128",
        14,
        "128: must be of type i8, -128 to 127",
    ),
    ("const bool A = 2", 16, "must be of type bool, 0 to 1"),
    (
        "const i32 A = 1.5",
        15,
        "a number with a fraction: must be of type i32",
    ),
    ("const string A = 1", 18, "1: must be of type string"),
    ("const i32 A = 'x'", 15, "a string: must be of type i32"),
    (
        "const list<i32> A = {1: 2}",
        21,
        "a map: must be of type list",
    ),
    (
        "const list<i32> A = [1, x]",
        25,
        "constant 'x' is not declared",
    ),
    (
        "enum E { A } const E B = A",
        26,
        "constant 'A' is not declared",
    ),
    ("enum E { A } const E B = E.C", 26, "constant 'E.C' is not"),
    ("const i32 A = B const i32 B = A", 31, "refer to themselves"),
    ("const map<i32, i32> A = {1: 2, 1: 3}", 32, "duplicate key"),
    (
        "struct S { 1: i32 a } const S A = {'b': 1}",
        36,
        "field = 'b': must be a field of 'S'",
    ),
    (
        "struct S { 1: i32 a } const S A = {1: 1}",
        36,
        "expected a field name in quotes",
    ),
    ("struct S { 1: required i32 a } const S A = {}", 44, "'a'"),
    ("union U { 1: i32 a, 2: i32 b } const U A = {}", 44, "U"),
    ("union U { 1: i32 a = 5 }", 22, "union's fields"),
    ("struct S { 1: S s = {} }", 21, "'S' contains itself"),
    (
        "struct S { 1: T t = {} } struct T { 1: S s = {} }",
        46,
        "contains itself",
    ),
    (
        "exception X {} service S { void f() throws (1: X x = {}) }",
        54,
        "cannot have a default value",
    ),
    ("const i32 A = 1 const i32 A = 1", 27, "declared twice"),
    ("const i32 A = [1", 17, "expected a constant, found the end"),
];

#[test]
fn constants_that_do_not_fit_are_refused_with_their_place() {
    for &(text, column, why) in REFUSED {
        let error = Schema::parse(text).unwrap_err();
        assert_eq!((error.line, error.column), (1, column), "{text}: {error}");
        assert!(error.why.contains(why), "{text}: {error}");
    }
    let deep = format!("const i32 A = {}1{}", "[".repeat(40), "]".repeat(40));
    assert!(
        Schema::parse(&deep)
            .unwrap_err()
            .why
            .contains("nested at most")
    );
    let doubling: String = (1..40)
        .map(|n| format!("const list<T> C{n} = [C{}, C{}]\n", n - 1, n - 1))
        .collect();
    let laughs = format!("typedef i32 T\nconst list<T> C0 = [1]\n{doubling}");
    // The types do not fit; but lists of lists that do fit are refused before they fill the memory.
    assert!(Schema::parse(&laughs).is_err());
    let nested: String = (1..30)
        .map(|n| {
            format!(
                "struct S{n} {{ 1: S{0} a = {{}}, 2: S{0} b = {{}} }}\n",
                n - 1
            )
        })
        .collect();
    let laughs = format!("struct S0 {{ 1: string a = 'ha' }}\n{nested}");
    let why = Schema::parse(&laughs).unwrap_err().why;
    assert!(why.contains("at most 1048576 bytes"), "{why}");
}

/// A temporary folder with files, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let unique = format!("accelflow-accel-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(unique);
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Folder(folder)
    }

    fn load(&self, file: &str, search: &[&str]) -> Result<Schema, InterfaceError> {
        let search: Vec<PathBuf> = search.iter().map(|folder| self.0.join(folder)).collect();
        Schema::load(&self.0.join(file), &search)
    }

    fn refusal(&self, file: &str) -> String {
        let text = self.load(file, &[]).unwrap_err().to_string();
        text.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn interfaces_of_several_files() {
    let folder = Folder::new(
        "files",
        &[
            (
                "app/main.thrift",
                "include 'types.thrift'
                 include \"base.thrift\"
                 typedef types.Ids Ids
                 struct Post { 1: types.Ids ids = types.FIRST, 2: types.Kind kind = types.Kind.TEXT,
                               3: base.Info info = {'host': base.HOST}, 4: Ids more }
                 service Posts extends base.Health {
                     Post read(1: Ids ids) throws (1: base.Missing missing) }",
            ),
            (
                "app/types.thrift",
                "include '../common/ids.thrift'
                 typedef list<ids.Id> Ids
                 const Ids FIRST = [ids.ZERO, 1]
                 enum Kind { TEXT = 3, IMAGE }",
            ),
            ("common/ids.thrift", "typedef i64 Id const Id ZERO = 0"),
            (
                "search/base.thrift",
                "include 'ids.thrift'
                 const string HOST = 'here'
                 struct Info { 1: string host, 2: ids.Id id = ids.ZERO }
                 exception Missing { 1: Info info }
                 service Ping { bool ping() }
                 service Health extends Ping { i64 uptime() }
                 service Unused { void never() }",
            ),
        ],
    );
    let schema = folder
        .load("app/main.thrift", &["search", "common"])
        .unwrap();
    let expected = json!({"ids": [0, 1], "kind": 3, "info": {"host": "here", "id": 0}});
    assert_eq!(defaults(&schema, "Post"), expected);
    assert!(schema.struct_id("base.Info").is_some());
    assert!(schema.struct_id("Info").is_none());
    let read = schema.function(schema.find("Posts:read").unwrap()).unwrap();
    let (_, ids) = schema.get(read.arguments).field_by_name("ids").unwrap();
    assert_eq!(ids.ty, Ty::List(Box::new(Ty::I64)));
    // Inherited functions are found by either service's name; services of included files that
    // nothing extends are not served.
    let ping = schema.find("ping").unwrap();
    assert_eq!(schema.find_in("Posts", "ping").unwrap(), ping);
    assert_eq!(schema.find_in("base.Ping", "ping").unwrap(), ping);
    assert_eq!(schema.functions().len(), 3);
    assert!(schema.find("never").is_err());
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new(
        "refusals",
        &[
            ("type.thrift", "include 'bad.thrift'"),
            ("bad.thrift", "\n struct S { 1: i33 a }"),
            ("none.thrift", "struct S {}\n include 'missing.thrift'"),
            ("self.thrift", "include 'self.thrift'"),
            ("one.thrift", "include 'two.thrift'"),
            ("two.thrift", "include 'one.thrift'"),
            (
                "far.thrift",
                "include 'near.thrift' struct S { 1: deep.T t }",
            ),
            ("near.thrift", "include 'deep.thrift'"),
            ("deep.thrift", "struct T {}"),
            (
                "names.thrift",
                "include 'deep.thrift' include 'x/deep.thrift'",
            ),
            ("x/deep.thrift", "struct T {}"),
            ("folder.thrift", "include 'x'"),
        ],
    );
    for (file, expected) in [
        ("type.thrift", "bad.thrift:2:16: type 'i33' is not declared"),
        (
            "none.thrift",
            "none.thrift:2:10: include 'missing.thrift': must be in one of the folders searched: ",
        ),
        (
            "self.thrift",
            "self.thrift:1:9: include 'self.thrift': a file must not include itself",
        ),
        (
            "one.thrift",
            "two.thrift:1:9: include 'one.thrift': a file must not include itself",
        ),
        (
            "far.thrift",
            "far.thrift:1:37: type 'deep.T' is not declared",
        ),
        (
            "names.thrift",
            "names.thrift:1:31: include 'deep': two included files",
        ),
        ("folder.thrift", "folder.thrift:1:9: 'x': Is a directory"),
        ("gone.thrift", "gone.thrift: No such file"),
    ] {
        let refusal = folder.refusal(file);
        assert!(refusal.starts_with(expected), "{file}: {refusal}");
    }
    let binary = folder.0.join("binary.thrift");
    fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(folder.refusal("binary.thrift").contains("valid UTF-8"));
    assert!(Schema::load(Path::new("/"), &[]).is_err());
}
