//! CSV files that a workload names: refusals of what they have name the file, the line and the
//! column.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use accelflow_workload::file::read;

/// The error of a workload whose only service has `own`, which names the file `all.csv` with
/// `text`.
fn refusal(own: &str, text: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(own.replace(|c: char| !c.is_alphanumeric(), "_"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("all.csv"), text).unwrap();
    let cpu = match own.strip_prefix("cpu ") {
        Some(cpu) => format!("{{ cpu {cpu} }}, "),
        None => String::new(),
    };
    let own = if cpu.is_empty() { own } else { "" };
    let toml = format!(
        "schema = \"accelflow.workload/1\"\nname = \"shop\"\n[[services]]\nname = \"A\"\nrate_rps = 900\n\
         {own}\npath = [{{ trace = \"T1\" }}, {cpu}{{ trace = \"T2\" }}]\n"
    );
    let inlined = read(&toml, "shop.toml")
        .unwrap()
        .inlined(&folder, &BTreeMap::new());
    let error = inlined.unwrap_err();
    // The name of the file, in its line.
    let (line, column) = toml
        .lines()
        .zip(1..)
        .find_map(|(text, line)| Some((line, text.find("\"all.csv")? + 1)))
        .unwrap();
    let at = format!("shop.toml:{line}:{column}: ");
    let text = error.to_string();
    text.strip_prefix(&at).unwrap_or(&text).to_owned()
}

#[test]
fn times_and_rates_are_named_by_line_and_column() {
    let times = "arrivals = { process = \"times\", file = \"all.csv\" }";
    let place = "services[0].arrivals.file";
    assert_eq!(
        refusal(times, "id,time_us\n1,5\n\n2,7\n3,6\n"),
        format!(
            "{place}: time_us in line 5 of all.csv = 6: must be from 7 to 1e12 us: times must not \
             decrease"
        )
    );
    let rates = "arrivals = { process = \"rates\", file = \"all.csv\" }";
    let refused = |text: &str| refusal(rates, &format!("rate_rps,start_us\n{text}"));
    assert_eq!(
        refused("10,0\n\n\n20,0\n"),
        format!(
            "{place}: start_us in line 5 of all.csv = 0: must be a start time in us from 0 to 1e12, \
             later than the one before it"
        )
    );
    assert_eq!(
        refused("10,0\n-1,50\n5,60\n"),
        format!(
            "{place}: rate_rps in line 3 of all.csv = -1: must be a rate from 0 to 1e9 requests per \
             second"
        )
    );
    assert!(refused("10,0\n0,50\n").starts_with(&format!(
        "{place}: rate_rps in line 3 of all.csv = 0: must be at least 0.001"
    )),);
}

#[test]
fn histograms_are_named_by_line_and_column() {
    let sizes = "sizes = { histogram_file = \"all.csv\" }";
    let waits = "waits = { T5 = { histogram_file = \"all.csv\" } }";
    let cpu = "cpu = { histogram_file = \"all.csv\" }";
    for (own, place, column) in [
        (sizes, "services[0].sizes.histogram_file", "size_bytes"),
        (waits, "services[0].waits.T5.histogram_file", "time_us"),
        (cpu, "services[0].path[1].cpu.histogram_file", "time_us"),
    ] {
        let refused = |text: &str| refusal(own, &format!("{column},count\n{text}"));
        let count = refused("8,1\n9,1.5\n");
        let cell = format!("{place}: count in line 3 of all.csv = 1.5: must be a ");
        assert!(count.starts_with(&cell), "{count}");
        let order = refused("8,1\n\n8,1\n");
        let cell = format!("{place}: {column} in line 4 of all.csv = 8: must be l");
        assert!(order.starts_with(&cell), "{order}");
        assert_eq!(
            refused("8,0\n"),
            format!("{place} = 'all.csv': must have at least one count above 0")
        );
    }
}
