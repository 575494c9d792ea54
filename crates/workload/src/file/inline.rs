//! Inlining: replaces the names of files in a workload by the contents of these files.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use accelflow_parameters::{Refusal, quoted};
use accelflow_trace::{Image, MAGIC, TEMPLATES, text};

use super::document::Document;
use super::error::FileError;
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
        let files = Files { folder, modules };
        inline(&mut workload, &files).map_err(|refusal| self.locate(refusal))?;
        self.workload = workload;
        self.check()?;
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
        let place = format!("{place}.arrivals.file");
        match arrivals {
            Some(Arrivals::Times { file, times_us }) => {
                if let Some(file) = file.take() {
                    let rows = self.table(&file, &place, ["time_us"])?;
                    *times_us = Some(rows.into_iter().map(|[time]| time).collect());
                }
            }
            Some(Arrivals::Rates { file, rates, .. }) => {
                if let Some(file) = file.take() {
                    let rows = self.table(&file, &place, ["start_us", "rate_rps"])?;
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
        let place = format!("{place}.histogram_file");
        let rows = self.table(file, &place, ["time_us", "count"])?;
        if let Some(index) = rows.iter().position(|row| !is_count(row[1])) {
            let value = format!(
                "{} in row {} below the first line of {file}",
                rows[index][1],
                index + 1
            );
            let allowed = "must be a count: a whole number from 0 to below 1e15";
            return Err(Refusal::new(place, value, allowed));
        }
        let row = |[time, count]: [f64; 2]| (Duration(time), count as u64);
        *times = Wait::HistogramUs(rows.into_iter().map(row).collect());
        Ok(())
    }

    fn sizes(&self, sizes: Option<&mut Sizes>, place: &str) -> Result<(), Refusal> {
        let Some(sizes) = sizes else { return Ok(()) };
        let Sizes::HistogramFile(file) = sizes else {
            return Ok(());
        };
        let place = format!("{place}.histogram_file");
        let rows = self.table(file, &place, ["size_bytes", "count"])?;
        if let Some(index) = rows
            .iter()
            .position(|row| !row.iter().copied().all(is_count))
        {
            let [size, count] = rows[index];
            let value = format!(
                "{size}, {count} in row {} below the first line of {file}",
                index + 1
            );
            let allowed =
                "must be a size in bytes and a count: two whole numbers from 0 to below 1e15";
            return Err(Refusal::new(place, value, allowed));
        }
        let row = |[size, count]: [f64; 2]| (Size(size as u64), count as u64);
        *sizes = Sizes::Histogram(rows.into_iter().map(row).collect());
        Ok(())
    }

    /// The columns called `names` of the CSV file called `file`; others are ignored.
    fn table<const N: usize>(
        &self,
        file: &str,
        place: &str,
        names: [&str; N],
    ) -> Result<Vec<[f64; N]>, Refusal> {
        let text = self.text(file, place)?;
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let cells = |line: &str| -> Vec<String> {
            let cells = line.trim_start_matches('\u{feff}').split(',');
            cells
                .map(|cell| cell.trim().trim_matches('"').to_owned())
                .collect()
        };
        let head = lines
            .next()
            .map(|(_, line)| cells(line))
            .unwrap_or_default();
        let column = |name: &str| head.iter().position(|cell| cell == name);
        let mut columns = [0; N];
        for (slot, name) in columns.iter_mut().zip(names) {
            *slot = column(name).ok_or_else(|| {
                let allowed = format!(
                    "must have a first line with the columns {}",
                    names.join(",")
                );
                Refusal::new(place, quoted(file), allowed)
            })?;
        }
        let mut rows = Vec::new();
        for (index, line) in lines {
            let cells = cells(line);
            let mut row = [0.0; N];
            for (slot, (column, name)) in row.iter_mut().zip(columns.into_iter().zip(names)) {
                let cell = cells.get(column).map(String::as_str).unwrap_or_default();
                let number = cell.parse::<f64>().ok().filter(|number| number.is_finite());
                *slot = number.ok_or_else(|| {
                    let place = format!("{place}: {name} in line {} of {file}", index + 1);
                    Refusal::new(place, quoted(cell), "must be a number")
                })?;
            }
            rows.push(row);
        }
        match rows.is_empty() {
            true => Err(Refusal::new(
                place,
                quoted(file),
                "must have rows below its first line",
            )),
            false => Ok(rows),
        }
    }
}

/// Whether `number` is a non-negative whole number that a float represents exactly.
fn is_count(number: f64) -> bool {
    number.fract() == 0.0 && (0.0..1e15).contains(&number)
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
