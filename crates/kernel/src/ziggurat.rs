//! The ziggurat method, which draws exponentially distributed random numbers from tables.

use std::sync::LazyLock;

use rand_core::Rng;

use crate::attribute::unit;

const LAYERS: usize = 256;
/// The start of the tail, and the common area of the layers, for 256 layers (Marsaglia and Tsang,
/// "The Ziggurat Method for Generating Random Variables", section 3).
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 3.949_659_822_581_557e-3;

/// The right edges of the layers and the density there.
#[derive(Debug)]
pub(crate) struct Exponential {
    edge: [f64; LAYERS + 1],
    density: [f64; LAYERS + 1],
}

impl Exponential {
    /// The one set of tables, computed at first use.
    pub(crate) fn tables() -> &'static Exponential {
        static TABLES: LazyLock<Exponential> = LazyLock::new(Exponential::compute);
        &TABLES
    }

    fn compute() -> Exponential {
        let mut edge = [0.0; LAYERS + 1];
        // The base layer is as wide as a rectangle of its area, tail included.
        edge[0] = AREA * libm::exp(TAIL);
        edge[1] = TAIL;
        for layer in 2..LAYERS {
            let below = edge[layer - 1];
            edge[layer] = -libm::log(AREA / below + libm::exp(-below));
        }
        Exponential {
            edge,
            density: edge.map(|x| libm::exp(-x)),
        }
    }

    #[inline]
    pub(crate) fn sample(&self, generator: &mut impl Rng) -> f64 {
        loop {
            let bits = generator.next_u64();
            // The layer takes the low 8 bits, the position the high 53: none is used twice.
            let layer = (bits % LAYERS as u64) as usize;
            let x = unit(bits) * self.edge[layer];
            if x < self.edge[layer + 1] {
                return x;
            }
            if let Some(x) = self.edge_case(layer, x, generator) {
                return x;
            }
        }
    }

    #[cold]
    fn edge_case(&self, layer: usize, x: f64, generator: &mut impl Rng) -> Option<f64> {
        let u = unit(generator.next_u64());
        if layer == 0 {
            return Some(TAIL - libm::log(1.0 - u));
        }
        let (low, high) = (self.density[layer], self.density[layer + 1]);
        (low + (high - low) * u < libm::exp(-x)).then_some(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layers_have_the_same_area() {
        let tables = Exponential::tables();
        for layer in 1..LAYERS {
            let height = tables.density[layer + 1] - tables.density[layer];
            assert!(
                (tables.edge[layer] * height / AREA - 1.0).abs() < 1e-9,
                "layer {layer}"
            );
        }
        let base = tables.edge[1] * tables.density[1] + libm::exp(-TAIL);
        assert!((base / AREA - 1.0).abs() < 1e-12);
    }
}
