//! The files of `src/` as a graph: which need each other in a circle, and the shortest way round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::imports::Import;

/// Files, each with the first of its lines that needs a certain other one.
pub struct Graph<'a> {
    edges: BTreeMap<&'a str, BTreeMap<&'a str, &'a Import>>,
}

impl<'a> Graph<'a> {
    pub fn new(imports: &'a [Import]) -> Self {
        let mut edges: BTreeMap<&str, BTreeMap<&str, &Import>> = BTreeMap::new();
        for import in imports {
            let needed = edges.entry(import.file.as_str()).or_default();
            needed.entry(import.target.as_str()).or_insert(import);
        }
        Graph { edges }
    }

    /// The largest groups of files of which each needs each other one, by whatever detour.
    pub fn circles(&self) -> Vec<BTreeSet<&'a str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> = self
            .edges
            .keys()
            .map(|file| (*file, self.reached_from(file)))
            .collect();
        let mut circles: Vec<BTreeSet<&str>> = Vec::new();
        for (file, ahead) in &reached {
            if !ahead.contains(file) || circles.iter().any(|circle| circle.contains(file)) {
                continue;
            }
            let comes_back =
                |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(file));
            circles.push(ahead.iter().filter(comes_back).copied().collect());
        }
        circles
    }

    fn reached_from(&self, file: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            for target in self.edges.get(file).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(*target) {
                    next.push(target);
                }
            }
        }
        reached
    }

    /// The shortest way from a file back to itself; empty if there is none.
    pub fn way_round(&self, file: &str) -> Vec<&'a Import> {
        let mut came_by: BTreeMap<&str, &Import> = BTreeMap::new();
        let mut next = VecDeque::from([file]);
        while let Some(at) = next.pop_front() {
            for (target, import) in self.edges.get(at).into_iter().flatten() {
                if came_by.contains_key(target) {
                    continue;
                }
                came_by.insert(target, import);
                if *target == file {
                    let mut way: Vec<&Import> = vec![import];
                    while way[way.len() - 1].file != file {
                        way.push(came_by[way[way.len() - 1].file.as_str()]);
                    }
                    way.reverse();
                    return way;
                }
                next.push_back(target);
            }
        }
        Vec::new()
    }
}
