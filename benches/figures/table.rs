//! The table that is printed, and what its figures are made of.

use std::io::Write;

use crate::Result;

/// One row.
pub fn print(measured: &str, figure: &str, other: &str, ratio: &str) {
    let row = format!("{measured:46} {figure:>24} {other:>48} {ratio:>8}\n");
    // A reader that left wants no more rows.
    let _ = std::io::stdout().write_all(row.as_bytes());
}

/// A row of two figures in seconds, which are compared.
pub fn compare(measured: &str, ours: f64, floor: f64, what: &str) {
    let ratio = format!("{:.2}", ours / floor);
    print(
        measured,
        &time(ours),
        &format!("{} {what}", time(floor)),
        &ratio,
    );
}

pub struct Samples(pub Vec<f64>);

pub fn sample(count: usize, mut measure: impl FnMut() -> Result<f64>) -> Result<Samples> {
    measure()?;
    Ok(Samples((0..count).map(|_| measure()).collect::<Result<_>>()?).sorted())
}

impl Samples {
    pub fn sorted(mut self) -> Self {
        self.0.sort_by(f64::total_cmp);
        self
    }

    pub fn at(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }

    pub fn median(&self) -> f64 {
        self.at(0.5)
    }
}

pub fn time(seconds: f64) -> String {
    if seconds < 0.001 {
        format!("{:.1} µs", seconds * 1e6)
    } else {
        format!("{:.2} ms", seconds * 1e3)
    }
}

/// A size in bytes.
pub fn size(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / 1_048_576.0)
}
