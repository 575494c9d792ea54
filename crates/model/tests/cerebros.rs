//! Fig. 6 of the Cerebros paper, and its text.

use accelflow_model::cerebros::{Design, PARAMETERS, RpcLayer};

/// Section 6.1, UniqueId, to the printed digit.
#[test]
fn figures_of_section_6_1() {
    let layer = RpcLayer::default();
    let print = |value: f64, digits: usize| format!("{value:.digits$}");
    assert_eq!(print(layer.speedup(Design::PayloadOnly), 1), "1.7");
    assert_eq!(print(layer.speedup(Design::PayloadAndHeader), 1), "2.3");
    assert_eq!(print(layer.speedup(Design::Full), 0), "50");
    let full = layer.total_cycles(Design::Full);
    let over = layer.total_cycles(Design::PayloadAndHeader) / full;
    assert_eq!(print(over, 1), "21.5");
    assert_eq!(layer.offload_cycles(Design::PayloadAndHeader), 1_600.0);
    assert_eq!(layer.offload_cycles(Design::PayloadOnly), 800.0);
    assert_eq!(layer.accelerator_cycles(Design::PayloadAndHeader), 90.0);
    let reduction = layer.cycles_per_offload() / layer.coalesced_cycles_per_offload();
    assert_eq!(print(reduction, 2), "3.36");
    assert_eq!(print(layer.coalesced_cycles_per_offload(), 0), "60");
}

/// What the text says without a digit: "only 5 %" of dispatch, headers the rest, offloads up to 90
/// % of a header task, and coalescing between P+H and the private accelerator.
#[test]
fn what_the_text_says() {
    let layer = RpcLayer::default();
    assert_eq!(format!("{:.2}", layer.dispatch_share), "0.05");
    assert_eq!(format!("{:.2}", layer.header_share()), "0.35");
    let coalesced = layer.total_cycles(Design::Coalesced);
    assert!(coalesced < layer.total_cycles(Design::PayloadAndHeader));
    assert!(coalesced > layer.total_cycles(Design::Private));
    let totals = Design::ALL.map(|design| layer.total_cycles(design));
    assert!(
        totals.windows(2).all(|pair| pair[1] < pair[0]),
        "{totals:?}"
    );
}

/// The reading of the rounded text alone (dispatch 5 %, 2.3x): a layer of about 4,400 cycles.
#[test]
fn the_rounded_text_leads_to_the_same_layer() {
    let layer = RpcLayer {
        cycles: 1_690.0 / (1.0 / 2.3 - 0.05),
        dispatch_share: 0.05,
        ..RpcLayer::default()
    };
    assert_eq!(format!("{:.0}", layer.cycles / 100.0), "44");
    assert_eq!(format!("{:.1}", layer.speedup(Design::PayloadOnly)), "1.7");
    assert!((48.0..51.0).contains(&layer.speedup(Design::Full)));
}

#[test]
fn bad_layers_are_refused() {
    let good = RpcLayer::default();
    for (layer, part) in [
        (
            RpcLayer {
                cycles: 0.0,
                ..good
            },
            "rpc_cycles = 0: must be a number from 1 to 1e12 cycles",
        ),
        (
            RpcLayer {
                payload_share: 1.2,
                ..good
            },
            "payload_share_ratio = 1.2",
        ),
        (
            RpcLayer {
                dispatch_share: 0.5,
                ..good
            },
            "dispatch_share_ratio = 1.1",
        ),
        (
            RpcLayer {
                traversal_cycles: f64::NAN,
                ..good
            },
            "traversal_cycles = NaN",
        ),
    ] {
        let error = layer.check().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(good.check().is_ok());
}

#[test]
fn the_table_of_inputs_is_sound() {
    assert_eq!(PARAMETERS.faults(RpcLayer::default), Vec::<String>::new());
}
