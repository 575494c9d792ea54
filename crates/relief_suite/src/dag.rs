//! Applications as directed acyclic graphs of tasks, and the operations of tasks.

use accelflow_parameters::Refusal;
use accelflow_units::{Bytes, Time};

/// A kind of accelerator in RELIEF's system-on-chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Non-maximum suppression of Canny's edge detector.
    CannyNonMax,
    /// Convolution with a kernel of up to 5 x 5.
    Convolution,
    /// Edge tracking by hysteresis, the last step of Canny's edge detector.
    EdgeTracking,
    /// Element-wise operations on one or two matrices.
    ElementWise,
    /// Conversion from colour to grey.
    Grayscale,
    /// Non-maximum suppression of Harris's corner detector.
    HarrisNonMax,
    /// The image signal processor, which turns raw sensor data into colour.
    Isp,
}

impl Kind {
    /// The number of kinds of accelerators.
    pub const COUNT: usize = 7;
    /// The kinds of accelerators, in the order of [`Kind::index`].
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::CannyNonMax,
        Kind::Convolution,
        Kind::EdgeTracking,
        Kind::ElementWise,
        Kind::Grayscale,
        Kind::HarrisNonMax,
        Kind::Isp,
    ];

    /// The kind's index in [`Kind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The kind's name in results, such as `convolution`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::CannyNonMax => "canny_non_max",
            Kind::Convolution => "convolution",
            Kind::EdgeTracking => "edge_tracking",
            Kind::ElementWise => "element_wise",
            Kind::Grayscale => "grayscale",
            Kind::HarrisNonMax => "harris_non_max",
            Kind::Isp => "isp",
        }
    }
}

/// The operation that a task performs on an image or matrix of 128 x 128 elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Non-maximum suppression of gradients along their direction.
    CannyNonMax,
    /// Convolution with a 3 x 3 kernel.
    Convolution3,
    /// Convolution with a 5 x 5 kernel.
    Convolution5,
    /// Double threshold and edge tracking.
    EdgeTracking,
    /// The sum of two matrices.
    Add,
    /// The difference of two matrices.
    Sub,
    /// The element-wise product of two matrices.
    Mul,
    /// The element-wise quotient of two matrices.
    Div,
    /// The element-wise `atan2` of two matrices: the angle whose tangent is the quotient.
    Atan2,
    /// The square of each element.
    Sqr,
    /// The square root of each element.
    Sqrt,
    /// The hyperbolic tangent of each element.
    Tanh,
    /// The logistic function of each element.
    Sigmoid,
    /// Conversion from colour to grey.
    Grayscale,
    /// Non-maximum suppression of the response of Harris's corner detector.
    HarrisNonMax,
    /// Conversion of raw sensor data to colour.
    Isp,
}

impl Operation {
    /// The kind of accelerator that performs the operation.
    pub const fn kind(self) -> Kind {
        match self {
            Operation::CannyNonMax => Kind::CannyNonMax,
            Operation::Convolution3 | Operation::Convolution5 => Kind::Convolution,
            Operation::EdgeTracking => Kind::EdgeTracking,
            Operation::Grayscale => Kind::Grayscale,
            Operation::HarrisNonMax => Kind::HarrisNonMax,
            Operation::Isp => Kind::Isp,
            _ => Kind::ElementWise,
        }
    }

    /// The time that an accelerator takes to compute the operation, from the artifact that RELIEF's
    /// authors released.
    ///
    /// The release rounds four of the times to microseconds (637, 1,546, 11 and 8 us). It also
    /// gives the total for the busiest kind of accelerator of each application (2,820, 15,456,
    /// 1,249, 5,912 and 1,470 us). The decimals of the four times are derived from these totals:
    /// each time is the middle of the range that agrees with all five totals.
    pub const fn compute(self) -> Time {
        let ns = match self {
            Operation::CannyNonMax => 400_000,
            Operation::Convolution3 => 637_400,
            Operation::Convolution5 => 1_545_600,
            Operation::EdgeTracking => 220_000,
            Operation::Add
            | Operation::Sub
            | Operation::Mul
            | Operation::Div
            | Operation::Atan2 => 10_920,
            Operation::Sqr | Operation::Sqrt | Operation::Tanh | Operation::Sigmoid => 8_350,
            Operation::Grayscale => 10_000,
            Operation::HarrisNonMax => 105_000,
            Operation::Isp => 35_000,
        };
        Time::from_ns(ns)
    }

    /// The size of the operation's result. An element takes one byte in the masks of edge tracking
    /// and Harris's non-maximum suppression, three bytes in colour images, and four otherwise.
    pub const fn output(self) -> Bytes {
        match self {
            Operation::EdgeTracking | Operation::HarrisNonMax => Bytes::from_kib(16),
            Operation::Isp => Bytes::from_kib(48),
            _ => Bytes::from_kib(64),
        }
    }
}

/// The origin of a task's input: memory, or another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Data of this size in memory: raw data, weights or a convolution kernel.
    Memory(Bytes),
    /// The result of the task with this index.
    Task(usize),
}

/// A task of an application: one operation on one or two inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The operation that the task performs.
    pub operation: Operation,
    /// The origins of the task's inputs, in the order in which they are loaded.
    pub sources: Vec<Source>,
}

impl Task {
    /// The number of the task's inputs that are results of other tasks.
    pub fn parents(&self) -> usize {
        let of_task = |source: &&Source| matches!(source, Source::Task(_));
        self.sources.iter().filter(of_task).count()
    }
}

/// An application as a directed acyclic graph of tasks, with a deadline. A task uses only results
/// of earlier tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dag {
    name: &'static str,
    deadline: Time,
    tasks: Vec<Task>,
    children: Vec<Vec<usize>>,
}

impl Dag {
    /// Creates an application without tasks. `deadline` is the longest time allowed from the
    /// arrival of a run to its end.
    pub fn new(name: &'static str, deadline: Time) -> Dag {
        Dag {
            name,
            deadline,
            tasks: Vec::new(),
            children: Vec::new(),
        }
    }

    /// Adds a task with one or two inputs, and returns the task's index.
    ///
    /// # Errors
    /// [`Refusal`] for fewer than one or more than two sources, and for a source that is not an
    /// earlier task. So the graph has no cycles.
    pub fn task(&mut self, operation: Operation, sources: &[Source]) -> Result<usize, Refusal> {
        let number = self.tasks.len();
        if !(1..=2).contains(&sources.len()) {
            return Err(Refusal::new(
                "number of inputs of a task",
                sources.len(),
                "must be 1 or 2",
            ));
        }
        for source in sources {
            if let Source::Task(from) = *source
                && from >= number
            {
                let allowed = format!("must be below {number}, the index of the task that uses it");
                return Err(Refusal::new(
                    "index of a task that provides an input",
                    from,
                    allowed,
                ));
            }
        }
        for source in sources {
            if let Source::Task(from) = *source {
                self.children[from].push(number);
            }
        }
        self.tasks.push(Task {
            operation,
            sources: sources.to_vec(),
        });
        self.children.push(Vec::new());
        Ok(number)
    }

    /// The application's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The longest time allowed from the arrival of a run of the application to its end.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The tasks of the application, by index.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The indices of the tasks that use the result of the task with the index `task`. A task that
    /// uses the result twice is listed twice.
    pub fn children(&self, task: usize) -> &[usize] {
        &self.children[task]
    }

    /// The number of edges of the graph: task inputs that are results of other tasks.
    pub fn edges(&self) -> usize {
        self.children.iter().map(Vec::len).sum()
    }

    /// The size of the task input that comes from `source`.
    pub fn bytes(&self, source: Source) -> Bytes {
        match source {
            Source::Memory(bytes) => bytes,
            Source::Task(task) => self.tasks[task].operation.output(),
        }
    }

    /// The total computing time of all accelerators of `kind` in one run of the application.
    pub fn compute_of(&self, kind: Kind) -> Time {
        let of_kind = |task: &&Task| task.operation.kind() == kind;
        let tasks = self.tasks.iter().filter(of_kind);
        tasks.map(|task| task.operation.compute()).sum()
    }

    /// The kind of accelerator with the longest total computing time in one run of the application;
    /// of equal ones, the last in [`Kind::ALL`].
    pub fn bottleneck(&self) -> Kind {
        Kind::ALL
            .into_iter()
            .max_by_key(|kind| self.compute_of(*kind))
            .unwrap_or(Kind::Isp)
    }
}
