//! Generates tonic's code from the interface; protox takes the place of `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../server/bench.proto");
    let files = protox::compile(["bench.proto"], ["../server"])?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
