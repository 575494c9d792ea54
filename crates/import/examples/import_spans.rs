//! Prints the workload and the report of spans: `import_spans KIND OPTIONS FILE...`.

use accelflow_import::{Kind, Options, import_spans};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let options = arguments.next().unwrap_or_default();
    let paths: Vec<String> = arguments.collect();
    let done = Kind::of_name(&kind)
        .map_err(Into::into)
        .and_then(|kind| import_spans(kind, &paths, &Options::from_json(&options)?));
    match done {
        Ok(imported) => println!("{:#}\n{:#}", imported.workload, imported.report),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}
