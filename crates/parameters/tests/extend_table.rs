//! The worked example of a parameter in CONTRIBUTING.md.

#![allow(clippy::unwrap_used)]

// quoted: begin
use accelflow_parameters::{Kind, Parameter, Provenance, Refusal, Row, Table};

struct Server {
    cores: usize,
}

const PARAMETERS: Table<Server> = Table::new(&[&[Row {
    parameter: Parameter {
        key: "core.count",
        unit: "cores",
        kind: Kind::whole(1.0, 1024.0),
        default: 36.0,
        provenance: Provenance::Paper,
        source: "AccelFlow, Table III",
        why: "",
    },
    get: |server| server.cores as f64,
    set: |server, value| server.cores = value as usize,
}]]);

fn server_with(cores: f64) -> Result<Server, Refusal> {
    let mut server = Server { cores: 36 };
    PARAMETERS.set(&mut server, "core.count", cores)?;
    Ok(server)
}
// quoted: end

#[test]
fn a_row_is_all_that_a_parameter_needs() {
    assert_eq!(server_with(4.0).unwrap().cores, 4);
    let refusal = server_with(4.5).err().unwrap();
    assert_eq!(
        refusal.to_string(),
        "core.count = 4.5: must be a whole number from 1 to 1024 cores"
    );
    let faults = PARAMETERS.faults(|| Server { cores: 36 });
    assert_eq!(faults, Vec::<String>::new());
}
