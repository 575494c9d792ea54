//! Inlining: replaces the names of files in a workload by the contents of these files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use accelflow_parameters::{Refusal, quoted};
use accelflow_trace::{Image, MAGIC, TEMPLATES, text};

use super::check;
use super::document::Document;
use super::error::FileError;
use super::tables::{Source, Table};
use super::tree::{Chain, Cpu, CpuTime, Phase, Traces, Workload};
use super::values::{Arrivals, Costs, Duration, MessageSizes, Size, Sizes, Wait};

/// The largest size, in bytes, of a file that a workload file names, such as a recording or a CSV
/// file.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

impl Document {
    /// Returns the document with the contents of files in place of their names, for traces,
    /// recordings and CSV files. File names are relative to `folder`. `modules` maps the path of
    /// each Python module, as the workload states it, to the text of the traces that the module
    /// registers.
    ///
    /// # Errors
    /// [`FileError`] for a file that cannot be read, has more than [`MAX_FILE_BYTES`] or has other
    /// contents than expected, for a module that `modules` does not have, and the errors of
    /// [`Document::check`].
    pub fn inlined(
        mut self,
        folder: &Path,
        modules: &BTreeMap<String, String>,
    ) -> Result<Document, FileError> {
        let mut workload = self.workload.clone();
        let files = Files {
            folder,
            modules,
            sources: RefCell::default(),
        };
        inline(&mut workload, &files).map_err(|refusal| self.locate(refusal))?;
        self.workload = workload;
        check::workload(&self.workload).map_err(|refusal| self.locate(files.named(refusal)))?;
        Ok(self)
    }
}

fn inline(workload: &mut Workload, files: &Files<'_>) -> Result<(), Refusal> {
    for (index, traces) in workload.traces.iter_mut().enumerate() {
        *traces = Traces::Source(files.traces(traces, &format!("traces[{index}]"))?);
    }
    let defaults = &mut workload.defaults;
    files.arrivals(defaults.arrivals.as_mut(), "defaults")?;
    files.costs(defaults.costs.as_mut(), "defaults")?;
    files.sizes(defaults.sizes.as_mut(), "defaults.sizes")?;
    files.waits(&mut defaults.waits, "defaults")?;
    files.times(defaults.network.as_mut(), "defaults.network")?;
    for (index, service) in workload.services.iter_mut().enumerate() {
        let place = format!("services[{index}]");
        files.arrivals(service.arrivals.as_mut(), &place)?;
        files.costs(service.costs.as_mut(), &place)?;
        files.sizes(service.sizes.as_mut(), &format!("{place}.sizes"))?;
        files.waits(&mut service.waits, &place)?;
        for (number, phase) in service.path.iter_mut().enumerate() {
            let place = format!("{place}.path[{number}]");
            if let Phase::Cpu(Cpu {
                cpu: CpuTime::Drawn(times),
            }) = phase
            {
                files.times(Some(times), &format!("{place}.cpu"))?;
            }
            let places = (0..phase.chains().len()).map(|number| phase.place_of(&place, number));
            let places: Vec<String> = places.collect();
            for (chain, place) in phase.chains_mut().iter_mut().zip(&places) {
                files.chain(chain, place)?;
            }
        }
    }
    Ok(())
}

/// Reads the files that a workload names.
struct Files<'f> {
    folder: &'f Path,
    modules: &'f BTreeMap<String, String>,
    /// The CSV files whose rows the workload has, by the place of the rows.
    sources: RefCell<Vec<(String, Source)>>,
}

impl Files<'_> {
    fn read(&self, file: &str, place: &str) -> Result<Vec<u8>, Refusal> {
        let refuse = |why: String| {
            let allowed = format!("must be a file that can be read: {why}");
            Refusal::new(place, quoted(file), allowed)
        };
        let path = self.folder.join(file);
        let opened = std::fs::File::open(&path).map_err(|error| refuse(error.to_string()))?;
        let mut bytes = Vec::new();
        let mut limited = opened.take(MAX_FILE_BYTES + 1);
        let read = limited.read_to_end(&mut bytes);
        read.map_err(|error| refuse(error.to_string()))?;
        match bytes.len() as u64 > MAX_FILE_BYTES {
            true => Err(refuse(format!(
                "the file has more than {MAX_FILE_BYTES} bytes, the largest size allowed"
            ))),
            false => Ok(bytes),
        }
    }

    fn text(&self, file: &str, place: &str) -> Result<String, Refusal> {
        let bytes = self.read(file, place)?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let allowed = format!("must be text in UTF-8; byte {at} of the file is not");
            Refusal::new(place, quoted(file), allowed)
        })
    }

    fn traces(&self, traces: &Traces, place: &str) -> Result<String, Refusal> {
        match traces {
            Traces::Source(source) => Ok(source.clone()),
            Traces::Module(file) => {
                let found = self.modules.get(file).cloned();
                let allowed =
                    "must be left out here: only the Python package can run a Python module";
                found.ok_or_else(|| Refusal::new(format!("{place}.module"), quoted(file), allowed))
            }
            Traces::File(file) => {
                let place = format!("{place}.file");
                let bytes = self.read(file, &place)?;
                match bytes.starts_with(&MAGIC) {
                    true => stored(&bytes, file, &place),
                    false => {
                        let source = self.text(file, &place)?;
                        text::parse(&source).map_err(|error| {
                            let (line, cause) = (error.line, error.cause);
                            let allowed =
                                format!("must be the text of traces: line {line}: {cause}");
                            Refusal::new(place, quoted(file), allowed)
                        })?;
                        Ok(source)
                    }
                }
            }
        }
    }

    fn arrivals(&self, arrivals: Option<&mut Arrivals>, place: &str) -> Result<(), Refusal> {
        let (given, place) = (
            format!("{place}.arrivals.file"),
            format!("{place}.arrivals"),
        );
        match arrivals {
            Some(Arrivals::Times { file, times_us }) => {
                if let Some(file) = file.take() {
                    let table = self.table(&file, &given, ["time_us"])?;
                    let rows = self.rows(table, format!("{place}.times_us"));
                    *times_us = Some(rows.into_iter().map(|[time]| time).collect());
                }
            }
            Some(Arrivals::Rates { file, rates, .. }) => {
                if let Some(file) = file.take() {
                    let table = self.table(&file, &given, ["start_us", "rate_rps"])?;
                    let rows = self.rows(table, format!("{place}.rates"));
                    *rates = Some(
                        rows.into_iter()
                            .map(|[start, rate]| (start, rate))
                            .collect(),
                    );
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn costs(&self, costs: Option<&mut Costs>, place: &str) -> Result<(), Refusal> {
        if let Some(Costs::Recording { file, text }) = costs
            && let Some(file) = file.take()
        {
            *text = Some(self.text(&file, &format!("{place}.costs.file"))?);
        }
        Ok(())
    }

    fn chain(&self, chain: &mut Chain, place: &str) -> Result<(), Refusal> {
        self.waits(&mut chain.waits, place)?;
        self.times(chain.network.as_mut(), &format!("{place}.network"))?;
        match &mut chain.sizes {
            Some(MessageSizes::All(sizes)) => self.sizes(Some(sizes), &format!("{place}.sizes")),
            Some(MessageSizes::Each(each)) => {
                let mut each = each.iter_mut().enumerate();
                each.try_for_each(|(index, sizes)| {
                    self.sizes(Some(sizes), &format!("{place}.sizes[{index}]"))
                })
            }
            None => Ok(()),
        }
    }

    fn waits(&self, waits: &mut BTreeMap<String, Wait>, place: &str) -> Result<(), Refusal> {
        let mut each = waits.iter_mut();
        each.try_for_each(|(trace, wait)| self.times(Some(wait), &format!("{place}.waits.{trace}")))
    }

    fn times(&self, times: Option<&mut Wait>, place: &str) -> Result<(), Refusal> {
        let Some(times) = times else { return Ok(()) };
        let Wait::HistogramFile(file) = times else {
            return Ok(());
        };
        let table = self.table(
            file,
            &format!("{place}.histogram_file"),
            ["time_us", "count"],
        )?;
        let allowed = "must be a count: a whole number from 0 to below 1e15";
        table.check_counts(1, allowed)?;
        let rows = self.rows(table, format!("{place}.histogram_us"));
        let row = |[time, count]: [f64; 2]| (Duration(time), count as u64);
        *times = Wait::HistogramUs(rows.into_iter().map(row).collect());
        Ok(())
    }

    fn sizes(&self, sizes: Option<&mut Sizes>, place: &str) -> Result<(), Refusal> {
        let Some(sizes) = sizes else { return Ok(()) };
        let Sizes::HistogramFile(file) = sizes else {
            return Ok(());
        };
        let table = self.table(
            file,
            &format!("{place}.histogram_file"),
            ["size_bytes", "count"],
        )?;
        let allowed = "must be a whole number from 0 to below 1e15";
        table.check_counts(0, allowed)?;
        let rows = self.rows(table, format!("{place}.histogram"));
        let row = |[size, count]: [f64; 2]| (Size(size as u64), count as u64);
        *sizes = Sizes::Histogram(rows.into_iter().map(row).collect());
        Ok(())
    }

    /// The columns called `names` of the CSV file called `file`; others are ignored.
    fn table<const N: usize>(
        &self,
        file: &str,
        place: &str,
        names: [&'static str; N],
    ) -> Result<Table<N>, Refusal> {
        Table::read(&self.text(file, place)?, file, place, names)
    }

    /// The rows of `table`, which the workload has at `place` from now on.
    fn rows<const N: usize>(&self, table: Table<N>, place: String) -> Vec<[f64; N]> {
        let (rows, source) = table.into_parts();
        self.sources.borrow_mut().push((place, source));
        rows
    }

    /// Makes a refusal of a value that comes from a CSV file name its line and column.
    fn named(&self, refusal: Refusal) -> Refusal {
        let sources = self.sources.borrow();
        let mut named = sources.iter().filter_map(|(place, source)| {
            let at = refusal.place.strip_prefix(place)?;
            source.named(&refusal, at)
        });
        named.next().unwrap_or(refusal)
    }
}

/// The text of the traces of a trace file, without those of the paper.
fn stored(bytes: &[u8], file: &str, place: &str) -> Result<String, Refusal> {
    let refuse = |why: &dyn std::fmt::Display| {
        let allowed = format!("must be a trace file: {why}");
        Refusal::new(place, quoted(file), allowed)
    };
    let image = Image::from_bytes(bytes).map_err(|error| refuse(&error))?;
    let parts = image.disassemble().map_err(|error| refuse(&error))?;
    let of_paper = |name: &str| {
        let base = name.split('.').next().unwrap_or(name);
        TEMPLATES.iter().any(|template| template.name == base)
    };
    let own: Vec<_> = parts.iter().filter(|part| !of_paper(&part.name)).collect();
    let declared = text::declarations(own.iter().map(|part| part.nodes.as_slice()));
    let mut written = declared.map_err(|error| refuse(&error))?;
    written.extend(own.iter().map(|part| text::text(&part.name, &part.nodes)));
    Ok(written)
}
