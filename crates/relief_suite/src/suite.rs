//! The five applications of RELIEF's suite as graphs.
//!
//! Each application follows the textbook algorithm on 128 x 128 pixels: Canny's edge detector,
//! deblurring by five iterations of the Richardson-Lucy algorithm, Harris's corner detector, and
//! eight time steps of a GRU and an LSTM whose gates have element-wise weights. The numbers of
//! tasks, the kinds of accelerators and the deadlines are those of RELIEF's suite.

use accelflow_units::{Bytes, Time};

use crate::dag::Operation::{
    Add, Atan2, CannyNonMax, Convolution3, Convolution5, Div, EdgeTracking, Grayscale,
    HarrisNonMax, Isp, Mul, Sigmoid, Sqr, Sqrt, Sub, Tanh,
};
use crate::dag::{Dag, Operation, Source};

/// The time of a frame at 60 per second.
const FRAME: Time = Time::from_us(16_667);
/// The suite's deadline for the recurrent networks.
const RECURRENT: Time = Time::from_us(7_000);
const RAW: Source = Source::Memory(Bytes(130 * 130));
const MATRIX: Source = Source::Memory(Bytes::from_kib(64));
const KERNEL_3: Source = Source::Memory(Bytes(3 * 3 * 4));
const KERNEL_5: Source = Source::Memory(Bytes(5 * 5 * 4));
const SCALAR: Source = Source::Memory(Bytes(4));
/// Iterations of Richardson and Lucy.
const ITERATIONS: usize = 5;
/// Time steps of the recurrent networks.
const STEPS: usize = 8;

/// The statistics of one application that runs alone, from the artifact that RELIEF's authors
/// released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Release {
    /// The application's name.
    pub name: &'static str,
    /// The number of tasks of the application's graph.
    pub tasks: usize,
    /// The time of one run of the application under RELIEF, in microseconds.
    pub relief_us: f64,
    /// The time of one run under first come, first served (FCFS), in microseconds.
    pub fcfs_us: f64,
    /// The computing time of the busiest kind of accelerator in one run of the application, in
    /// microseconds.
    pub bottleneck_us: f64,
    /// The time for which the manager serves interrupts in one run, in microseconds.
    pub manager_us: f64,
    /// The number of task inputs of one run that came from a scratchpad instead of memory.
    pub forwards: u64,
}

const fn release(
    name: &'static str,
    tasks: usize,
    [relief_us, fcfs_us, bottleneck_us, manager_us]: [f64; 4],
    forwards: u64,
) -> Release {
    Release {
        name,
        tasks,
        relief_us,
        fcfs_us,
        bottleneck_us,
        manager_us,
        forwards,
    }
}

/// The statistics of the five applications from the artifact that RELIEF's authors released, in the
/// order of [`all`].
pub const RELEASE: [Release; 5] = [
    release("canny", 12, [3_704.0, 3_707.0, 2_820.0, 71.0], 12),
    release("deblur", 22, [16_082.0, 16_052.0, 15_456.0, 133.0], 26),
    release("gru", 120, [3_349.0, 3_965.0, 1_249.0, 536.0], 103),
    release("harris", 18, [6_328.0, 6_436.0, 5_912.0, 110.0], 18),
    release("lstm", 144, [3_850.0, 5_303.0, 1_470.0, 632.0], 119),
];

/// Returns the five applications as graphs, in the order of the paper's figures.
pub fn all() -> [Dag; 5] {
    [canny(), deblur(), gru(), harris(), lstm()]
}

/// Returns the application called `name`, such as `canny`; `None` for an unknown name.
pub fn find(name: &str) -> Option<Dag> {
    all().into_iter().find(|dag| dag.name() == name)
}

/// A graph under construction whose sources are always earlier tasks.
struct Sketch(Dag);

impl Sketch {
    fn new(name: &'static str, deadline: Time) -> Sketch {
        Sketch(Dag::new(name, deadline))
    }

    /// Adds a task and returns its result as a source. Only sources that this function returned
    /// reach it, so the graph never refuses one.
    fn add(&mut self, operation: Operation, sources: &[Source]) -> Source {
        let number = self.0.tasks().len();
        Source::Task(self.0.task(operation, sources).unwrap_or(number))
    }

    /// Adds the tasks from the sensor to a grey image.
    fn grey(&mut self) -> Source {
        let colour = self.add(Isp, &[RAW]);
        self.add(Grayscale, &[colour])
    }

    /// Adds a gate: a weighted and biased input through `function`.
    fn gate(&mut self, input: Source, function: Operation) -> Source {
        let weighted = self.add(Mul, &[input, MATRIX]);
        let biased = self.add(Add, &[weighted, MATRIX]);
        self.add(function, &[biased])
    }
}

/// Returns the graph of Canny's edge detector with its 12 tasks: conversion to grey, Gaussian
/// filter, derivatives by Sobel filters, magnitude and direction of the gradient, non-maximum
/// suppression, hysteresis.
pub fn canny() -> Dag {
    let mut s = Sketch::new("canny", FRAME);
    let grey = s.grey();
    let smooth = s.add(Convolution5, &[grey, KERNEL_5]);
    let x = s.add(Convolution3, &[smooth, KERNEL_3]);
    let y = s.add(Convolution3, &[smooth, KERNEL_3]);
    let xx = s.add(Sqr, &[x]);
    let direction = s.add(Atan2, &[x, y]);
    let yy = s.add(Sqr, &[y]);
    let sum = s.add(Add, &[xx, yy]);
    let magnitude = s.add(Sqrt, &[sum]);
    let thin = s.add(CannyNonMax, &[magnitude, direction]);
    s.add(EdgeTracking, &[thin]);
    s.0
}

/// Returns the graph of deblurring by the Richardson-Lucy algorithm, with 22 tasks. Each iteration
/// blurs the estimate, divides the observed image by the result, blurs the quotient with the
/// mirrored kernel, and multiplies the estimate by this blurred quotient.
pub fn deblur() -> Dag {
    let mut s = Sketch::new("deblur", FRAME);
    let observed = s.grey();
    let (mut blurred_from, mut estimate) = (observed, MATRIX);
    for _ in 0..ITERATIONS {
        let blurred = s.add(Convolution5, &[blurred_from, KERNEL_5]);
        let ratio = s.add(Div, &[observed, blurred]);
        let correction = s.add(Convolution5, &[ratio, KERNEL_5]);
        estimate = s.add(Mul, &[estimate, correction]);
        blurred_from = estimate;
    }
    s.0
}

/// Returns the graph of a network of gated recurrent units (GRU) with its 120 tasks. Each time step
/// has an update and a reset gate.
pub fn gru() -> Dag {
    let mut s = Sketch::new("gru", RECURRENT);
    let mut hidden = MATRIX;
    for _ in 0..STEPS {
        let state = s.add(Add, &[hidden, MATRIX]);
        let update = s.gate(state, Sigmoid);
        let kept = s.add(Mul, &[hidden, update]);
        let reset = s.gate(state, Sigmoid);
        let forgotten = s.add(Mul, &[reset, hidden]);
        let joined = s.add(Add, &[forgotten, MATRIX]);
        let candidate = s.gate(joined, Tanh);
        let new = s.add(Mul, &[update, candidate]);
        hidden = s.add(Add, &[kept, new]);
    }
    s.0
}

/// Returns the graph of Harris's corner detector with its 18 tasks: derivatives, structure tensor
/// with a Gaussian filter, the response (the determinant minus k times the squared trace),
/// non-maximum suppression.
pub fn harris() -> Dag {
    let mut s = Sketch::new("harris", FRAME);
    let grey = s.grey();
    let x = s.add(Convolution3, &[grey, KERNEL_3]);
    let y = s.add(Convolution3, &[grey, KERNEL_3]);
    let tensor = [s.add(Sqr, &[x]), s.add(Mul, &[x, y]), s.add(Sqr, &[y])];
    let [xx, xy, yy] = tensor.map(|part| s.add(Convolution5, &[part, KERNEL_5]));
    let product = s.add(Mul, &[xx, yy]);
    let mixed = s.add(Sqr, &[xy]);
    let trace = s.add(Add, &[xx, yy]);
    let determinant = s.add(Sub, &[product, mixed]);
    let squared = s.add(Sqr, &[trace]);
    let scaled = s.add(Mul, &[squared, SCALAR]);
    let response = s.add(Sub, &[determinant, scaled]);
    s.add(HarrisNonMax, &[response]);
    s.0
}

/// Returns the graph of a network of long short-term memory (LSTM) with its 144 tasks. Each time
/// step has a forget, an input and an output gate.
pub fn lstm() -> Dag {
    let mut s = Sketch::new("lstm", RECURRENT);
    let (mut cell, mut hidden) = (MATRIX, MATRIX);
    for _ in 0..STEPS {
        let input = s.add(Add, &[hidden, MATRIX]);
        let forget = s.gate(input, Sigmoid);
        let kept = s.add(Mul, &[cell, forget]);
        let admit = s.gate(input, Sigmoid);
        let candidate = s.gate(input, Tanh);
        let new = s.add(Mul, &[admit, candidate]);
        cell = s.add(Add, &[kept, new]);
        let output = s.gate(input, Sigmoid);
        let squashed = s.add(Tanh, &[cell]);
        hidden = s.add(Mul, &[squashed, output]);
    }
    s.0
}
