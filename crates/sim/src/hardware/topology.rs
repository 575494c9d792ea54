use accelflow_trace::Accel;

use crate::config::NetworkConfig;

/// The place of a component on the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// An instance of an accelerator.
    Accel(Accel, u16),
    /// A slice of the last-level cache, on the tile of the core with the same index.
    Slice(u16),
    /// A memory controller, at the edge of the cores' mesh.
    Controller(u16),
    /// The IOMMU of a chiplet.
    Iommu(u16),
    /// The central queue of a manager, next to the links of the chiplet that has TCP.
    Manager,
}

/// A step of a route: the index of a directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Between a router and its own tile.
    Interface(usize),
    /// To the next router of the mesh.
    Hop(usize),
    /// To another chiplet.
    Crossing(usize),
}

/// A network interface: its router, and which of the router's two interfaces it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Index of the chiplet.
    pub chiplet: usize,
    /// Column of the router in the chiplet's mesh.
    pub x: usize,
    /// Row of the router in the chiplet's mesh.
    pub y: usize,
    /// Whether this is the router's second interface. The first interface connects a core and its
    /// cache slice, or an accelerator. The second connects other components to the same router,
    /// such as a memory controller, or the accelerator LdB if it is placed among the cores.
    pub beside: bool,
}

/// The mesh of a chiplet.
#[derive(Clone, Debug)]
struct Mesh {
    width: usize,
    height: usize,
    first_link: usize,
    /// Number of columns of one instance of its accelerators.
    block: usize,
    /// The router at which the link to each other chiplet begins.
    ports: Vec<(usize, usize)>,
}

/// Chiplets, meshes and places (AccelFlow, Fig. 6, Fig. 18 and section V.3).
///
/// Chiplet 0 has the cores: a square mesh with a core and a cache slice on each tile, LdB in the
/// middle as all cores use it, memory controllers at the left and the right edge, and at one router
/// of the lower edge the link to the other chiplets, which they share: its edge does not grow with
/// their number. The accelerators of another chiplet stand around the router of its links; several
/// instances side by side. Between any two of these chiplets there is a link.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    meshes: Vec<Mesh>,
    accelerators: [Stop; Accel::MOST],
    controllers: Vec<Stop>,
    links: usize,
}

/// The accelerators in the order in which a message passes them on its way in and out, so that
/// neighbours on the way are neighbours on the chip.
const ORDER: [Accel; 8] = [
    Accel::Tcp,
    Accel::Decr,
    Accel::Rpc,
    Accel::Dser,
    Accel::Dcmp,
    Accel::Cmp,
    Accel::Ser,
    Accel::Encr,
];

/// The accelerators of each chiplet other than the cores' (section VII.C.1).
fn organization(chiplets: usize) -> Vec<Vec<Accel>> {
    use accelflow_trace::nine::{Cmp, Dcmp, Decr, Dser, Encr, Rpc, Ser, Tcp};
    match chiplets {
        1 => vec![],
        3 => vec![vec![Tcp, Decr, Encr], vec![Rpc, Dser, Dcmp, Cmp, Ser]],
        4 => vec![vec![Tcp, Decr, Encr], vec![Rpc, Dser, Ser], vec![Dcmp, Cmp]],
        6 => vec![
            vec![Tcp],
            vec![Decr, Encr],
            vec![Rpc],
            vec![Dser, Ser],
            vec![Dcmp, Cmp],
        ],
        _ => vec![ORDER.to_vec()],
    }
}

/// Width, height, router of the links, and routers of the accelerators, in their order.
type Layout = (usize, usize, (usize, usize), &'static [(usize, usize)]);

fn layout(accelerators: usize) -> Layout {
    match accelerators {
        1 => (2, 1, (0, 0), &[(1, 0)]),
        2 => (3, 1, (1, 0), &[(0, 0), (2, 0)]),
        3 => (2, 2, (0, 0), &[(1, 0), (1, 1), (0, 1)]),
        5 => (3, 2, (1, 0), &[(0, 0), (0, 1), (1, 1), (2, 1), (2, 0)]),
        _ => (
            3,
            3,
            (1, 1),
            &[
                (0, 0),
                (1, 0),
                (2, 0),
                (2, 1),
                (2, 2),
                (1, 2),
                (0, 2),
                (0, 1),
            ],
        ),
    }
}

/// Rows and columns of the eight accelerators next to the cores on a single chiplet.
const RING: (usize, usize) = (4, 2);

const INTERFACES: usize = 4;
const LINKS_OF_A_ROUTER: usize = 4 + INTERFACES;
const EAST: usize = 0;
const WEST: usize = 1;
const SOUTH: usize = 2;
const NORTH: usize = 3;

impl Topology {
    /// The package for `tiles` cores or cache slices, whichever are more, and `instances` of each
    /// accelerator, by [`Accel::index`]. A chiplet has as many blocks as its accelerator with the
    /// most instances. A chiplet other than the cores' has at least one: the manager and the links
    /// stand there also if its accelerators are absent.
    pub(crate) fn new(
        config: &NetworkConfig,
        tiles: usize,
        controllers: usize,
        instances: &[usize; Accel::COUNT],
    ) -> Topology {
        let side = (1..).find(|side| side * side >= tiles).unwrap_or(1);
        let groups = organization(config.chiplets);
        let one = groups.is_empty();
        let blocks = |group: &[Accel]| {
            let counts = group.iter().map(|accel| instances[accel.index()]);
            counts.max().unwrap_or(1)
        };
        let mut topology = Topology {
            meshes: Vec::new(),
            accelerators: [Stop {
                chiplet: 0,
                x: side / 2,
                y: side / 2,
                beside: true,
            }; Accel::MOST],
            controllers: (0..controllers)
                .map(|number| at_the_edge(number, controllers, side))
                .collect(),
            links: 0,
        };
        let (width, height) = if one {
            (side + RING.1 * blocks(&ORDER), side.max(RING.0))
        } else {
            (side, side)
        };
        let ports = vec![(side / 2, side - 1); groups.len()];
        topology.add_mesh(width, height, RING.1, ports);
        if one {
            topology.beside_the_cores(side, height);
        }
        for accelerators in &groups {
            let (width, height, port, spots) = layout(accelerators.len());
            let chiplet = topology.meshes.len();
            let width_in_all = width * blocks(accelerators).max(1);
            topology.add_mesh(width_in_all, height, width, vec![port; groups.len()]);
            for (accel, &(x, y)) in accelerators.iter().zip(spots) {
                topology.accelerators[accel.index()] = Stop {
                    chiplet,
                    x,
                    y,
                    beside: false,
                };
            }
        }
        topology.links += topology.meshes.len() * topology.meshes.len();
        topology
    }

    fn add_mesh(&mut self, width: usize, height: usize, block: usize, ports: Vec<(usize, usize)>) {
        self.meshes.push(Mesh {
            width,
            height,
            first_link: self.links,
            block,
            ports,
        });
        self.links += width * height * LINKS_OF_A_ROUTER;
    }

    /// Places the accelerators in two columns next to the cores, down the first and up the second.
    fn beside_the_cores(&mut self, side: usize, height: usize) {
        let top = (height - RING.0) / 2;
        for (n, accel) in ORDER.into_iter().enumerate() {
            let (column, row) = (n / RING.0, n % RING.0);
            let row = if column == 0 { row } else { RING.0 - 1 - row };
            self.accelerators[accel.index()] = Stop {
                chiplet: 0,
                x: side + column,
                y: top + row,
                beside: false,
            };
        }
    }

    /// Number of links, crossings included.
    pub(crate) fn links(&self) -> usize {
        self.links
    }

    /// The name of a link: its chiplet, its router (column, row) and its direction, or the two
    /// chiplets that it connects.
    pub(crate) fn link_name(&self, link: usize) -> String {
        let crossings = self.crossings();
        if link >= crossings.start {
            let (from, to) = {
                let pair = link - crossings.start;
                (pair / self.meshes.len(), pair % self.meshes.len())
            };
            return match (from, to) {
                (0, 1) => "from the cores' chiplet".to_owned(),
                (1, 0) => "to the cores' chiplet".to_owned(),
                _ => format!("chiplet {from} to {to}"),
            };
        }
        let of = |mesh: &&Mesh| mesh.first_link <= link;
        let chiplet = self.meshes.iter().take_while(of).count().saturating_sub(1);
        let mesh = &self.meshes[chiplet];
        let (router, way) = (
            (link - mesh.first_link) / LINKS_OF_A_ROUTER,
            (link - mesh.first_link) % LINKS_OF_A_ROUTER,
        );
        let ways = [
            "east",
            "west",
            "south",
            "north",
            "from tile",
            "to tile",
            "from tile 2",
            "to tile 2",
        ];
        let (x, y) = (router % mesh.width, router / mesh.width);
        format!("chiplet {chiplet} ({x}, {y}) {}", ways[way])
    }

    /// The indices of links between chiplets, which are the last.
    pub(crate) fn crossings(&self) -> std::ops::Range<usize> {
        self.links - self.meshes.len() * self.meshes.len()..self.links
    }

    pub(crate) fn chiplets(&self) -> usize {
        self.meshes.len()
    }

    pub(crate) fn stop(&self, place: Place) -> Stop {
        match place {
            Place::Accel(accel, instance) => {
                let first = self.accelerators[accel.index()];
                if accel == Accel::Ldb || accel.custom_number().is_some() {
                    // All instances serve all cores, and custom accelerators stand there.
                    return first;
                }
                let block = self.meshes[first.chiplet].block;
                Stop {
                    x: first.x + block * usize::from(instance),
                    ..first
                }
            }
            Place::Slice(number) => {
                let side = self.side();
                Stop {
                    chiplet: 0,
                    x: usize::from(number) % side,
                    y: usize::from(number) / side,
                    beside: false,
                }
            }
            Place::Controller(number) => self.controllers[usize::from(number)],
            Place::Manager => {
                let chiplet = self.accelerators[Accel::Tcp.index()].chiplet;
                self.stop(Place::Iommu(chiplet as u16))
            }
            Place::Iommu(chiplet) => {
                let chiplet = usize::from(chiplet);
                let (x, y) = match self.meshes[chiplet].ports.first() {
                    Some(&port) => port,
                    None => (self.side() - 1, 0),
                };
                Stop {
                    chiplet,
                    x,
                    y,
                    beside: true,
                }
            }
        }
    }

    /// The side length of the cores' mesh, without accelerators.
    fn side(&self) -> usize {
        let cores = &self.meshes[0];
        if self.meshes.len() == 1 {
            self.accelerators[Accel::Tcp.index()].x
        } else {
            cores.width
        }
    }

    /// The way from `from` to `to`: along the row, then along the column, in each chiplet.
    #[inline]
    pub(crate) fn route(&self, from: Stop, to: Stop, mut visit: impl FnMut(Step)) {
        visit(Step::Interface(self.interface(from, 0)));
        if from.chiplet == to.chiplet {
            self.across(from.chiplet, (from.x, from.y), (to.x, to.y), &mut visit);
        } else {
            let leave = self.port(from.chiplet, to.chiplet);
            self.across(from.chiplet, (from.x, from.y), leave, &mut visit);
            visit(Step::Crossing(self.crossing(from.chiplet, to.chiplet)));
            let enter = self.port(to.chiplet, from.chiplet);
            self.across(to.chiplet, enter, (to.x, to.y), &mut visit);
        }
        visit(Step::Interface(self.interface(to, 1)));
    }

    /// Hops and crossings on the way from `from` to `to`.
    #[inline]
    pub(crate) fn distance(&self, from: Stop, to: Stop) -> (u64, u64) {
        let hops = |a: (usize, usize), b: (usize, usize)| a.0.abs_diff(b.0) + a.1.abs_diff(b.1);
        if from.chiplet == to.chiplet {
            return (hops((from.x, from.y), (to.x, to.y)) as u64, 0);
        }
        let leave = self.port(from.chiplet, to.chiplet);
        let enter = self.port(to.chiplet, from.chiplet);
        let all = hops((from.x, from.y), leave) + hops(enter, (to.x, to.y));
        (all as u64, 1)
    }

    /// The link from one chiplet to another. The cores' chiplet has one link each way for all
    /// others.
    fn crossing(&self, from: usize, to: usize) -> usize {
        let pair = match (from, to) {
            (0, _) => 1,
            (_, 0) => self.meshes.len(),
            _ => from * self.meshes.len() + to,
        };
        self.crossings().start + pair
    }

    /// The router of the link from one chiplet to another.
    fn port(&self, of: usize, other: usize) -> (usize, usize) {
        let skipped = usize::from(other > of);
        self.meshes[of].ports[other - skipped]
    }

    fn interface(&self, stop: Stop, leaves: usize) -> usize {
        let router = self.router(stop.chiplet, (stop.x, stop.y));
        router + 4 + 2 * usize::from(stop.beside) + leaves
    }

    fn router(&self, chiplet: usize, (x, y): (usize, usize)) -> usize {
        let mesh = &self.meshes[chiplet];
        debug_assert!(x < mesh.width && y < mesh.height);
        mesh.first_link + (y * mesh.width + x) * LINKS_OF_A_ROUTER
    }

    fn across(
        &self,
        chiplet: usize,
        (mut x, mut y): (usize, usize),
        to: (usize, usize),
        visit: &mut impl FnMut(Step),
    ) {
        while x != to.0 {
            let east = to.0 > x;
            let link = self.router(chiplet, (x, y)) + if east { EAST } else { WEST };
            visit(Step::Hop(link));
            x = if east { x + 1 } else { x - 1 };
        }
        while y != to.1 {
            let south = to.1 > y;
            let link = self.router(chiplet, (x, y)) + if south { SOUTH } else { NORTH };
            visit(Step::Hop(link));
            y = if south { y + 1 } else { y - 1 };
        }
    }
}

/// Controllers alternate between the left and the right edge, evenly from top to bottom.
fn at_the_edge(number: usize, controllers: usize, side: usize) -> Stop {
    let rows = controllers.div_ceil(2);
    Stop {
        chiplet: 0,
        x: if number.is_multiple_of(2) {
            0
        } else {
            side - 1
        },
        y: (2 * (number / 2) + 1) * side / (2 * rows),
        beside: true,
    }
}

#[cfg(test)]
mod tests;
