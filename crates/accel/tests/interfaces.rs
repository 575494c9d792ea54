//! The interface language and the embedded interfaces.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::Limits;
use accelflow_accel::thrift::{IdlError, Protocol, Schema, Ty, struct_from_json};

#[test]
fn embedded_interfaces() {
    let social = Schema::social_network();
    assert_eq!(social.services().count(), 11);
    assert_eq!(social.functions().len(), 27);
    let login = social.function(social.find("Login").unwrap()).unwrap();
    assert_eq!(
        (&*login.service, &*login.name, login.oneway),
        ("UserService", "Login", false)
    );
    let arguments = social.get(login.arguments);
    let (_, carrier) = arguments.field_by_name("carrier").unwrap();
    assert_eq!((carrier.id, carrier.ty.name()), (4, "map"));
    let (_, thrown) = social.get(login.result).field_by_id(1).unwrap();
    assert_eq!((&*thrown.name, thrown.ty.name()), ("se", "struct"));
    let storage = Schema::storage();
    assert!(storage.get(storage.struct_id("Message").unwrap()).is_union);
}

#[test]
fn the_language() {
    let schema = Schema::parse(
        "namespace * demo
         namespace xsd demo (uri = 'x')
         cpp_include \"demo.h\"
         /* block */ # hash
         // line
         enum E { A = 0x10, B; C (note = 'x') }
         typedef list<map cpp_type 'm' <string, set<E> cpp_type 's'>> Deep (alias = \"yes\", plain)
         struct S { 1: required Deep deep (a = \"b\"); 5: optional S & self }
         service Base { oneway void ping(); i32 add(1: i32 a, 2: i32 b) throws (1: X x) }
         service Derived extends Base { S echo(1: S s) }
         exception X { 1: string why }",
    )
    .unwrap();
    let s = schema.get(schema.struct_id("S").unwrap());
    let (_, deep) = s.field_by_name("deep").unwrap();
    assert!(deep.required);
    let sets = Ty::Map(Box::new((Ty::String, Ty::Set(Box::new(Ty::I32)))));
    assert_eq!(deep.ty, Ty::List(Box::new(sets)));
    assert_eq!(s.field_by_id(5).map(|(place, _)| place), Some(1));
    assert!(
        schema
            .function(schema.find("ping").unwrap())
            .unwrap()
            .oneway
    );
    assert_eq!(
        schema.find("Derived:add").unwrap(),
        schema.find("add").unwrap()
    );
}

fn refusal(text: &str) -> IdlError {
    Schema::parse(text).unwrap_err()
}

/// Interface texts, the line and the column of the error, and a part of its message.
const REFUSED: &[(&str, usize, usize, &str)] = &[
    (
        "struct S {\n  1: Missing m\n}",
        2,
        6,
        "'Missing' is not declared",
    ),
    (
        "struct S {\n  1: i32 a,\n  1: i32 b\n}",
        3,
        3,
        "must differ from those of field 1 'a'",
    ),
    ("struct S { 0: i32 a }", 1, 12, "must be 1 to 32767"),
    (
        "include \"other.thrift\"",
        1,
        9,
        "must not occur in an interface given as text",
    ),
    ("struct S { 1: list<i32 a }", 1, 24, "expected '>'"),
    ("struct S {", 1, 11, "the end of the text"),
    (
        "typedef A B\ntypedef B A\nstruct S { 1: A a }",
        1,
        9,
        "refers to itself",
    ),
    ("service S extends T { }", 1, 19, "must be declared before"),
    ("struct S { } struct S { }", 1, 21, "declared twice"),
    ("struct S { } enum S { A }", 1, 19, "declared twice"),
    ("service S { } service S { }", 1, 23, "declared twice"),
    (
        "service S { void f() } service T extends S { void f() }",
        1,
        51,
        "declared twice",
    ),
    ("struct S.T { }", 1, 8, "a declared name cannot have dots"),
    (
        "senum S { \"a\" }",
        1,
        1,
        "'senum' is not supported; write an enum",
    ),
    ("struct S { 1: slist a }", 1, 15, "write 'string'"),
    ("struct S { 1: uuid a }", 1, 15, "'uuid' is not supported"),
    ("service S { async void f() }", 1, 13, "write 'oneway'"),
    ("struct S xsd_all { }", 1, 10, "leave it out"),
    (
        "struct S { 1: i32 a xsd_optional }",
        1,
        21,
        "write 'optional'",
    ),
    ("php_namespace x", 1, 1, "write 'namespace php'"),
    ("struct S { i32 a }", 1, 12, "expected a field number"),
    ("enum E { A = 0x80000000 }", 1, 12, "must fit 32 bits"),
    ("enum E { A, A }", 1, 13, "enum value 'A' occurs twice"),
    ("enum E { A = 2147483647, B }", 1, 28, "must fit 32 bits"),
    ("service S { oneway i32 f() }", 1, 20, "must return void"),
    (
        "exception X {} service S { oneway void f() throws (1: X x) }",
        1,
        44,
        "cannot declare exceptions",
    ),
    (
        "struct S { 1: i32 a (b = ",
        1,
        26,
        "expected the annotation's value in quotes",
    ),
    ("const string A = \"\\q\"", 1, 19, "this escape"),
    (
        "const i64 A = 9223372036854775808",
        1,
        15,
        "must be a 64-bit number",
    ),
    ("const double A = 1e999", 1, 18, "must be a 64-bit number"),
    ("const double A = inf", 1, 18, "'inf' is not declared"),
    ("/* open", 1, 1, "comment is not closed"),
    ("struct S { 1: i32 a @ }", 1, 21, "unexpected character '@'"),
    ("namespace py \"x", 1, 14, "string is not closed"),
];

#[test]
fn refusals_name_line_and_column() {
    for &(text, line, column, why) in REFUSED {
        let error = refusal(text);
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text}: {error}"
        );
        assert!(error.why.contains(why), "{text}: {error}");
    }
    let nested = format!(
        "struct S {{ 1: {}i32{} a }}",
        "list<".repeat(40),
        ">".repeat(40)
    );
    assert!(refusal(&nested).why.contains("nested at most"));
    let fields: String = (1..=128).map(|id| format!("{id}: i32 f{id}, ")).collect();
    assert!(
        refusal(&format!("struct S {{ {fields} }}"))
            .why
            .contains("at most 127")
    );
}

#[test]
fn typedefs_that_double_are_refused() {
    let doubling: String = (1..60)
        .map(|n| format!("typedef map<T{}, T{}> T{n}\n", n - 1, n - 1))
        .collect();
    for text in [
        format!("typedef i32 T0\n{doubling}struct S {{ 1: T59 a }}"),
        "typedef map<A, A> A\nstruct S { 1: A a }".to_owned(),
    ] {
        let why = refusal(&text).why;
        assert!(
            why.contains("more than 1024 types") || why.contains("refers to itself"),
            "{why}"
        );
    }
    // Each field counts for itself.
    let fields: String = (1..=100).map(|id| format!("{id}: T6 f{id}, ")).collect();
    Schema::parse(&format!(
        "typedef i32 T0\n{doubling}struct S {{ {fields} }}"
    ))
    .unwrap();
}

#[test]
fn refusals_of_unknown_names_say_if_there_are_none() {
    let schema =
        Schema::parse("struct Empty {} struct One { 1: i32 key } service None {}").unwrap();
    let said = |name: &str| {
        let id = schema.struct_id(name).unwrap();
        let limits = Limits::default();
        let json = br#"{"zz": 1}"#;
        let written = struct_from_json(&schema, id, Protocol::Binary, json, &limits);
        written.unwrap_err().to_string()
    };
    assert!(
        said("Empty").contains("field = 'zz': must be left out: the struct has no fields"),
        "{}",
        said("Empty")
    );
    assert!(
        said("One").contains("field = 'zz': must be key"),
        "{}",
        said("One")
    );
    let unknown = |schema: &Schema, name: &str| schema.find(name).unwrap_err().to_string();
    assert_eq!(
        unknown(&schema, "get"),
        "method = 'get': must be a function of the interface, which has none"
    );
    assert_eq!(
        unknown(&schema, "None:get"),
        "method = 'get': must be a function of the service, which has none"
    );
    let nothing = Schema::parse("struct S {}").unwrap();
    assert_eq!(
        unknown(&nothing, "Any:get"),
        "service = 'Any': must be a service of the interface, which has none"
    );
}
