//! The papers for users, taken apart.

use std::path::Path;

/// A paper: where it stands in the repository, and what it says.
pub(super) struct Paper {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
}

macro_rules! papers {
    ($($path:literal,)+) => {
        [$(Paper { path: $path, text: include_str!(concat!("../../../", $path)) },)+]
    };
}

/// README.md, and a paper in each folder of examples.
pub(super) const PAPERS: [Paper; 9] = papers![
    "README.md",
    "examples/clients/README.md",
    "examples/game/README.md",
    "examples/lua/README.md",
    "examples/service/README.md",
    "examples/settings/README.md",
    "examples/tools/README.md",
    "examples/upstream/README.md",
    "examples/worlds/README.md",
];

impl Paper {
    /// The folder that its links start from.
    pub(super) fn folder(&self) -> &'static Path {
        Path::new(self.path).parent().expect("a file in a folder")
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut before = "";
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("```") {
                let body = lines.by_ref().take_while(|line| !line.starts_with("```"));
                let text = body.map(|line| format!("{line}\n")).collect();
                blocks.push(Block {
                    folder: self.folder(),
                    before,
                    text,
                });
            } else if !line.is_empty() {
                before = line;
            }
        }
        blocks
    }
}

/// A fenced block.
pub(super) struct Block {
    /// The folder of its paper.
    pub(super) folder: &'static Path,
    /// The line before it, or before the blank line above it.
    pub(super) before: &'static str,
    pub(super) text: String,
}

/// Those of all papers.
pub(super) fn blocks() -> Vec<Block> {
    PAPERS.iter().flat_map(Paper::blocks).collect()
}

/// The blocks below an invisible mark.
pub(super) fn marked(mark: &str) -> Vec<String> {
    let mark = format!("<!-- {mark} -->");
    let found: Vec<_> = blocks()
        .into_iter()
        .filter(|block| block.before == mark)
        .map(|block| block.text)
        .collect();
    assert!(!found.is_empty(), "no block stands below {mark}");
    found
}

/// A list of rows, each a list of cells, without the line below the header.
type Table = Vec<Vec<&'static str>>;

/// The tables of all papers.
pub(super) fn tables() -> Vec<Table> {
    let mut tables = vec![Vec::new()];
    for line in PAPERS.iter().flat_map(|paper| paper.text.lines()) {
        match line.strip_prefix("| ") {
            Some(row) => tables
                .last_mut()
                .unwrap()
                .push(row.trim_end_matches(" |").split(" | ").collect()),
            None => tables.push(Vec::new()),
        }
    }
    for table in &mut tables {
        table.retain(|row: &Vec<&str>| row[0] != "---");
    }
    tables.retain(|table| !table.is_empty());
    tables
}

/// The first table whose header begins with these cells, without its header.
pub(super) fn table(header: &[&str]) -> Table {
    let found = tables()
        .into_iter()
        .find(|table| table[0].starts_with(header))
        .unwrap_or_else(|| panic!("there is no table of {header:?}"));
    found[1..].to_vec()
}

/// Everything between single backquotes, and every line of every block.
pub(super) fn code() -> Vec<String> {
    let mut code: Vec<_> = blocks()
        .iter()
        .flat_map(|block| block.text.lines())
        .map(str::to_owned)
        .collect();
    let mut in_block = false;
    for line in PAPERS.iter().flat_map(|paper| paper.text.lines()) {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            code.extend(spans(line).map(str::to_owned));
        }
    }
    code
}

pub(super) fn spans(line: &'static str) -> impl Iterator<Item = &'static str> {
    line.split('`').skip(1).step_by(2)
}

/// The one span of code that a cell holds, if it is one.
pub(super) fn span(cell: &'static str) -> Option<&'static str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}
