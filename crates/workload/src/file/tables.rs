//! CSV files whose rows a workload has in place of their names, and the cells that refusals name.

use accelflow_parameters::{Refusal, quoted};

/// Some columns of a CSV file.
pub(super) struct Table<const N: usize> {
    /// The numbers of each row.
    pub(super) rows: Vec<[f64; N]>,
    source: Source,
}

/// Where the rows of a table come from.
pub(super) struct Source {
    /// The place in the workload that names the file.
    place: String,
    file: String,
    columns: Vec<&'static str>,
    /// Rows that do not follow the row before them in the next line, each with its line, from 1.
    jumps: Vec<(usize, usize)>,
}

impl<const N: usize> Table<N> {
    /// The columns called `names` of `text`, the contents of the CSV file `file` that `place`
    /// names; others are ignored.
    pub(super) fn read(
        text: &str,
        file: &str,
        place: &str,
        names: [&'static str; N],
    ) -> Result<Table<N>, Refusal> {
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
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
        let mut table = Table {
            rows: Vec::new(),
            source: Source::new(place, file, &names),
        };
        for (index, line) in lines {
            let cells = cells(line);
            table.source.add(table.rows.len(), index + 1);
            let mut row = [0.0; N];
            for (number, (slot, column)) in row.iter_mut().zip(columns).enumerate() {
                let cell = cells.get(column).map(String::as_str).unwrap_or_default();
                let found = cell.parse::<f64>().ok().filter(|number| number.is_finite());
                *slot = found.ok_or_else(|| {
                    let place = table.source.cell(table.rows.len(), number);
                    Refusal::new(place, quoted(cell), "must be a number")
                })?;
            }
            table.rows.push(row);
        }
        match table.rows.is_empty() {
            true => Err(Refusal::new(
                place,
                quoted(file),
                "must have rows below its first line",
            )),
            false => Ok(table),
        }
    }

    /// Refuses the first number in the columns from `first` on that is not a count: a whole number
    /// that a float represents exactly.
    pub(super) fn check_counts(&self, first: usize, allowed: &str) -> Result<(), Refusal> {
        let is_count = |number: f64| number.fract() == 0.0 && (0.0..1e15).contains(&number);
        for (index, row) in self.rows.iter().enumerate() {
            let wrong = (first..N).find(|&column| !is_count(row[column]));
            if let Some(column) = wrong {
                let place = self.source.cell(index, column);
                return Err(Refusal::number(place, row[column], allowed));
            }
        }
        Ok(())
    }

    /// The rows, and where they come from.
    pub(super) fn into_parts(self) -> (Vec<[f64; N]>, Source) {
        (self.rows, self.source)
    }
}

impl Source {
    fn new(place: &str, file: &str, columns: &[&'static str]) -> Source {
        Source {
            place: place.to_owned(),
            file: file.to_owned(),
            columns: columns.to_vec(),
            jumps: Vec::new(),
        }
    }

    /// Adds the line of the next row.
    fn add(&mut self, row: usize, line: usize) {
        if self.jumps.is_empty() || self.line(row) != line {
            self.jumps.push((row, line));
        }
    }

    fn line(&self, row: usize) -> usize {
        let jump = self.jumps.iter().rev().find(|jump| jump.0 <= row);
        jump.map_or(0, |&(first, line)| line + row - first)
    }

    /// The name of a cell in refusals.
    fn cell(&self, row: usize, column: usize) -> String {
        let (place, file, line) = (&self.place, &self.file, self.line(row));
        let name = self.columns.get(column).copied().unwrap_or_default();
        format!("{place}: {name} in line {line} of {file}")
    }

    /// Makes a refusal of the rows, whose place is `at` in them, such as `[3]` or `[3][1]`, name
    /// the cell; without a row, the file. `None` if `at` is not a place in the rows.
    pub(super) fn named(&self, refusal: &Refusal, at: &str) -> Option<Refusal> {
        let mut named = refusal.clone();
        if at.is_empty() {
            named.place.clone_from(&self.place);
            named.value = quoted(&self.file).to_string();
            return Some(named);
        }
        let inner = at.strip_prefix('[')?.strip_suffix(']')?;
        let mut indices = inner.split("][").map(str::parse);
        let row = indices.next()?.ok()?;
        let column = indices.next().unwrap_or(Ok(0)).ok()?;
        named.place = self.cell(row, column);
        Some(named)
    }
}

fn cells(line: &str) -> Vec<String> {
    let cells = line.trim_start_matches('\u{feff}').split(',');
    cells
        .map(|cell| cell.trim().trim_matches('"').to_owned())
        .collect()
}
