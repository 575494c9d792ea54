//! Complete published corpora, in the folder that `ACCELFLOW_PUBLISHED` names or in `shared/data`
//! beside the project. Without them these tests print that they were skipped; `golden.rs` tests a
//! small part of the same corpora everywhere.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use accelflow_accel::compress::{Cmp, Dcmp};
use accelflow_accel::thrift::Schema;
use accelflow_accel::{Codec, Limits, transform};
use accelflow_trace::{Format, Transform};
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use serde_json::Value;

/// A file or folder of the corpora.
fn published(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("ACCELFLOW_PUBLISHED").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("left out: there is no {}", path.display());
    None
}

/// The output of a command: the corpora are packed with programs of every Debian.
fn output(program: &str, arguments: &[&str], file: &Path) -> Vec<u8> {
    let done = Command::new(program).args(arguments).arg(file).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{program} {}", file.display());
    done.stdout
}

/// The files of a packed archive.
fn unpacked(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let stem = archive.file_name().unwrap().to_string_lossy().into_owned();
    let folder = std::env::temp_dir().join(format!("accelflow-{stem}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let into = ["-C", folder.to_str().unwrap(), "-xzf"];
    output("tar", &into, archive);
    let files = files(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    files
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn numbers(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap()
}

/// The cases with the sizes of TLS, by the library that Encr and Decr call.
#[test]
fn wycheproof_aes_gcm() {
    let Some(file) = published("wycheproof/aes_gcm_test.json.gz") else {
        return;
    };
    let vectors = numbers(&output("gzip", &["-dc"], &file));
    let (mut valid, mut invalid) = (0, 0);
    for group in vectors["testGroups"].as_array().unwrap() {
        let algorithm = match (&group["keySize"], &group["ivSize"], &group["tagSize"]) {
            (key, iv, tag) if *key == 128 && *iv == 96 && *tag == 128 => &AES_128_GCM,
            (key, iv, tag) if *key == 256 && *iv == 96 && *tag == 128 => &AES_256_GCM,
            _ => continue,
        };
        for case in group["tests"].as_array().unwrap() {
            let key = UnboundKey::new(algorithm, &hex(&case["key"])).unwrap();
            let key = LessSafeKey::new(key);
            let nonce = || Nonce::try_assume_unique_for_key(&hex(&case["iv"])).unwrap();
            let aad = || Aad::from(hex(&case["aad"]));
            let sealed = [hex(&case["ct"]), hex(&case["tag"])].concat();
            let mut opened = sealed.clone();
            let outcome = key.open_in_place(nonce(), aad(), &mut opened);
            if case["result"] == "invalid" {
                assert!(outcome.is_err(), "{}", case["tcId"]);
                invalid += 1;
                continue;
            }
            let message = hex(&case["msg"]);
            assert_eq!(outcome.unwrap(), message, "{}", case["tcId"]);
            let mut made = message;
            key.seal_in_place_append_tag(nonce(), aad(), &mut made)
                .unwrap();
            assert_eq!(made, sealed, "{}", case["tcId"]);
            valid += 1;
        }
    }
    assert!(
        valid > 50 && invalid > 20,
        "{valid} valid, {invalid} invalid"
    );
}

#[test]
fn bson_corpus() {
    let Some(folder) = published("bson_corpus") else {
        return;
    };
    let step = Transform {
        src: Format::Bson,
        dst: Format::Json,
    };
    let convert = |case: &Value, member: &str| {
        transform::convert(&hex(&case[member]), step, &Limits::default())
    };
    let (mut same, mut refused) = (0, 0);
    for (name, text) in files(&folder) {
        if !name.ends_with(".json") {
            continue;
        }
        let file = numbers(&text);
        let none = Vec::new();
        for case in file["valid"].as_array().unwrap_or(&none) {
            let what = format!("{name}: {}", case["description"]);
            let json = convert(case, "canonical_bson");
            let json = json.unwrap_or_else(|error| panic!("{what}: {error}"));
            // Where the corpus has no relaxed form, as for numbers in some files, it is not
            // compared.
            let relaxed = case["relaxed_extjson"].as_str();
            let canonical = case["canonical_extjson"].as_str();
            let plain = canonical.filter(|text| !text.contains("$number"));
            if let Some(expected) = relaxed.or(plain) {
                let expected: Value = serde_json::from_str(expected).unwrap();
                assert_eq!(numbers(&json), expected, "{what}");
                same += 1;
            }
        }
        for case in file["decodeErrors"].as_array().unwrap_or(&none) {
            let error = convert(case, "bson").unwrap_err();
            assert_eq!(
                error.reason(),
                "bad_bson",
                "{name}: {}",
                case["description"]
            );
            refused += 1;
        }
    }
    assert!(
        same > 100 && refused > 50,
        "{same} valid, {refused} refused"
    );
}

#[test]
fn json_test_suite() {
    let Some(archive) = published("json/JSONTestSuite_test_parsing.tgz") else {
        return;
    };
    let step = Transform {
        src: Format::Str,
        dst: Format::Json,
    };
    let cases = unpacked(&archive);
    assert!(cases.len() > 300, "{} cases", cases.len());
    for (name, text) in cases {
        let outcome = transform::convert(&text, step, &Limits::default());
        match name.as_bytes()[0] {
            b'y' => assert!(outcome.is_ok(), "{name}: {outcome:?}"),
            b'n' => assert!(outcome.is_err(), "{name}"),
            // Both outcomes are allowed: a value, or an error with a reason.
            _ => assert!(
                !outcome.is_err_and(|error| error.to_string().is_empty()),
                "{name}"
            ),
        }
    }
}

#[test]
fn snappy_and_zstd_corpora() {
    let (Some(snappy), Some(golang), Some(canterbury)) = (
        published("corpora/snappy"),
        published("corpora/golang-snappy"),
        published("corpora/canterbury.tgz"),
    ) else {
        return;
    };
    let limits = Limits::default();
    let mut dcmp = Dcmp::new(limits);
    let mut texts = files(&snappy);
    for damaged in ["baddata1.snappy", "baddata2.snappy", "baddata3.snappy"] {
        let data = texts.remove(damaged).unwrap();
        let error = dcmp.decompress(Codec::Snappy, &data).unwrap_err();
        assert_eq!(error.reason(), "corrupt_data", "{damaged}: {error}");
    }
    let golang = files(&golang);
    let text = &golang["Isaac.Newton-Opticks.txt"];
    let packed = &golang["Isaac.Newton-Opticks.txt.rawsnappy"];
    assert_eq!(&dcmp.decompress(Codec::Snappy, packed).unwrap(), text);
    texts.extend(unpacked(&canterbury));
    assert!(texts.len() > 15, "{:?}", texts.keys());
    for (name, text) in texts {
        for (codec, level) in [(Codec::Snappy, 1), (Codec::Zstd, 1), (Codec::Zstd, 19)] {
            let mut cmp = Cmp::new(codec, level, limits).unwrap();
            let packed = cmp.compress(&text).unwrap();
            let again = dcmp.decompress(codec, &packed).unwrap();
            assert!(again == text, "{name}, {codec:?}, level {level}");
        }
    }
}

/// Apache Thrift's own interface for tests between its languages.
#[test]
fn thrift_test_interface() {
    let Some(file) = published("thrift/ThriftTest.thrift") else {
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let refused = Schema::parse(&text).unwrap_err();
    assert!(refused.why.contains("'uuid' is not supported"), "{refused}");
    let schema = Schema::parse(&text.replace(" uuid ", " binary ")).unwrap();
    let services: Vec<&str> = schema.services().collect();
    assert_eq!(services, ["ThriftTest", "SecondService"]);
    assert_eq!(schema.functions().len(), 24);
    let defaults = schema.get(schema.struct_id("BoolTest").unwrap());
    let texts: Vec<_> = defaults
        .fields
        .iter()
        .filter_map(|field| field.default.as_ref())
        .collect();
    assert_eq!(
        (&*texts[0].json, &*texts[1].json),
        (&b"true"[..], &b"\"true\""[..])
    );
}
