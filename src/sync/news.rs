//! What a watch tells: what came of a sync, or where the host's folder is.

use super::report::{Report, SHOWN};

/// What a watch tells.
#[derive(Debug, Clone)]
pub enum News {
    /// What came of a sync.
    Synced(Box<Report>),
    /// The host's folder is away: a line that says so.
    Away(String),
    /// A folder is there again: a line that says so.
    Back(String),
}

impl News {
    /// What there is to tell, in lines; of long lists the beginning.
    pub fn words(&self) -> String {
        self.words_with(SHOWN)
    }

    /// All of it, in lines.
    pub fn words_in_full(&self) -> String {
        self.words_with(usize::MAX)
    }

    fn words_with(&self, shown: usize) -> String {
        match self {
            Self::Synced(report) => report.words_with(shown),
            Self::Away(line) | Self::Back(line) => line.clone(),
        }
    }

    /// The report, if it is one.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Synced(report) => Some(report),
            Self::Away(_) | Self::Back(_) => None,
        }
    }

    /// Whether all that was to be done was done.
    pub fn is_well(&self) -> bool {
        match self {
            Self::Synced(report) => report.is_well(),
            Self::Away(_) => false,
            Self::Back(_) => true,
        }
    }
}

impl From<Report> for News {
    fn from(report: Report) -> Self {
        Self::Synced(Box::new(report))
    }
}
