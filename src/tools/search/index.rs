//! Which tools fit a query, the best first: BM25 over the parts of a tool (BM25F), where a word counts by how rare it is
//! among all tools, by the part it stands in, and by how often it stands there.

use std::collections::{BTreeMap, HashMap};

use super::{
    document::{Document, Part},
    words::{Stems, Word, split},
};

/// How soon it no longer counts that a word stands somewhere once more.
const SATURATION: f32 = 1.2;

/// How much a word counts of which another is a beginning (`repo` and `repository`), where one that is the same counts 1.
const BEGINNING: f32 = 0.5;

/// How much a word counts that may be a slip of the pen, or is a part of another.
const NEAR: f32 = 0.3;

/// How many letters a word has that may be the beginning of others; one less, if it is no word of its own.
const SHORTEST_BEGINNING: usize = 3;

/// More than the words of any query come to: what bears exactly the name that is asked for comes first.
const BY_NAME: f32 = 1_000.0;

impl Part {
    /// How much a word in it counts.
    fn weight(self) -> f32 {
        match self {
            Self::Name => 4.0,
            Self::Title => 2.0,
            Self::Description => 1.5,
            Self::Arguments => 1.0,
            Self::Examples => 0.8,
            Self::AboutArguments | Self::Values => 0.5,
        }
    }

    /// How far a word counts less for standing in a long text: from 0, not at all, to 1.
    fn evenness(self) -> f32 {
        match self {
            Self::Name | Self::Title => 0.3,
            Self::Description => 0.5,
            Self::Arguments | Self::AboutArguments | Self::Values | Self::Examples => 0.7,
        }
    }
}

/// A tool that fits a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The number of its document, from 0.
    pub document: usize,
    /// How well it fits.
    pub score: f32,
}

/// Documents by their words.
pub struct Index {
    stems: Stems,
    /// In which documents each word stands, and how much it counts there, at most 1 + [`SATURATION`].
    words: BTreeMap<String, Vec<(u32, f32)>>,
    /// The documents' names, as they are compared with a whole query.
    names: Vec<String>,
}

impl Index {
    /// An index of these.
    pub fn of(documents: &[Document]) -> Self {
        let stems = Stems::default();
        // Most words stand in many tools, and to find a stem takes longer than to look for it.
        let mut known: HashMap<String, String> = HashMap::new();
        let mut counted: Vec<HashMap<String, [f32; Part::ALL.len()]>> = Vec::new();
        let mut lengths: Vec<[f32; Part::ALL.len()]> = Vec::new();
        for document in documents {
            let mut counts: HashMap<String, [f32; Part::ALL.len()]> = HashMap::new();
            let mut length = [0.0; Part::ALL.len()];
            for (part, text) in &document.texts {
                let part = *part as usize;
                split(text, |word| {
                    length[part] += 1.0;
                    let stem = match known.get(word) {
                        Some(stem) => stem,
                        None => known
                            .entry(word.to_owned())
                            .or_insert_with(|| stems.of(word)),
                    };
                    match counts.get_mut(stem) {
                        Some(counts) => counts[part] += 1.0,
                        None => {
                            let mut first = [0.0; Part::ALL.len()];
                            first[part] = 1.0;
                            counts.insert(stem.clone(), first);
                        }
                    }
                });
            }
            counted.push(counts);
            lengths.push(length);
        }
        let mean = |part: usize| {
            let all: f32 = lengths.iter().map(|length| length[part]).sum();
            (all / lengths.len().max(1) as f32).max(1.0)
        };
        let means: [f32; Part::ALL.len()] = std::array::from_fn(mean);
        let mut words: BTreeMap<String, Vec<(u32, f32)>> = BTreeMap::new();
        for (document, (counts, length)) in (0..).zip(counted.into_iter().zip(&lengths)) {
            for (word, counts) in counts {
                let mut sum = 0.0;
                for (number, part) in Part::ALL.into_iter().enumerate() {
                    let even = part.evenness();
                    let long = 1.0 - even + even * length[number] / means[number];
                    sum += part.weight() * counts[number] / long;
                }
                let counts = sum * (1.0 + SATURATION) / (sum + SATURATION);
                words.entry(word).or_default().push((document, counts));
            }
        }
        let name = |document: &Document| {
            let mut names = document
                .texts
                .iter()
                .filter(|(part, _)| *part == Part::Name);
            names
                .next()
                .map(|(_, name)| letters(name))
                .unwrap_or_default()
        };
        Self {
            stems,
            words,
            names: documents.iter().map(name).collect(),
        }
    }

    /// The documents that have words of the query, the best first, and those that are alike in their order; none where the
    /// query has no words.
    pub fn find(&self, query: &str) -> Option<Vec<Hit>> {
        let words = self.stems.of_query(query);
        if words.is_empty() {
            return None;
        }
        let mut scores = vec![0.0_f32; self.names.len()];
        let mut covered = vec![0.0_f32; self.names.len()];
        let mut all = 0.0_f32;
        let mut of_word = vec![0.0_f32; self.names.len()];
        for word in &words {
            of_word.fill(0.0);
            let mut rarest = 0.0_f32;
            for (documents, counts) in self.that_fit(word) {
                let rare = self.rarity(documents.len()) * counts;
                rarest = rarest.max(rare);
                for (document, counts) in documents {
                    let best = &mut of_word[*document as usize];
                    *best = best.max(rare * counts);
                }
            }
            all += rarest;
            for (document, score) in of_word.iter().enumerate() {
                if *score > 0.0 {
                    scores[document] += score;
                    covered[document] += rarest;
                }
            }
        }
        let name = letters(query);
        let mut hits: Vec<Hit> = Vec::new();
        for (document, score) in scores.into_iter().enumerate() {
            // What has all that is asked for comes before what has one word of it many times.
            let mut score = score * (1.0 + covered[document] / all.max(f32::MIN_POSITIVE)) / 2.0;
            if !name.is_empty() && self.names[document] == name {
                score += BY_NAME;
            }
            if score > 0.0 {
                hits.push(Hit { document, score });
            }
        }
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        Some(hits)
    }

    /// Where this word stands, and where others that it may mean do, each with how much that counts.
    fn that_fit(&self, word: &Word) -> Vec<(&[(u32, f32)], f32)> {
        let mut fit = Vec::new();
        if let Some(documents) = self.words.get(&word.stem) {
            fit.push((documents.as_slice(), 1.0));
        }
        // A stem may be no beginning of what its word begins.
        let begin =
            match word.stem.len() < word.written.len() && word.written.starts_with(&word.stem) {
                true => &word.stem,
                false => &word.written,
            };
        let least = SHORTEST_BEGINNING - usize::from(fit.is_empty());
        if begin.chars().count() >= least {
            let longer = self.words.range(begin.clone()..);
            let longer = longer.take_while(|(other, _)| other.starts_with(begin));
            for (_, documents) in longer.filter(|(other, _)| **other != word.stem) {
                fit.push((documents, BEGINNING));
            }
        }
        let shorter =
            (SHORTEST_BEGINNING + 1..word.stem.len()).filter_map(|end| word.stem.get(..end));
        for documents in shorter.filter_map(|begin| self.words.get(begin)) {
            fit.push((documents, BEGINNING));
        }
        if fit.is_empty() {
            let near = self
                .words
                .iter()
                .filter(|(other, _)| is_near(&word.stem, other));
            fit.extend(near.map(|(_, documents)| (documents.as_slice(), NEAR)));
        }
        if fit.is_empty() && (begin.chars().count() >= SHORTEST_BEGINNING || !begin.is_ascii()) {
            let around = self
                .words
                .iter()
                .filter(|(other, _)| other.contains(begin.as_str()));
            fit.extend(around.map(|(_, documents)| (documents.as_slice(), NEAR)));
        }
        fit
    }

    /// How much a word counts that stands in so many of the documents.
    fn rarity(&self, documents: usize) -> f32 {
        let (all, having) = (self.names.len() as f32, documents as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }
}

/// Whether one word may be the other with a slip of the pen: a letter more, less, another, or two that changed places; two
/// such in a long word.
fn is_near(word: &str, other: &str) -> bool {
    let slips = match word.len() {
        0..4 => return false,
        4..8 => 1,
        _ => 2,
    };
    word.len().abs_diff(other.len()) <= slips
        && word.as_bytes().first() == other.as_bytes().first()
        && strsim::osa_distance(word, other) <= slips
}

/// A name's letters and digits alone, by which `dig_tunnel` is `dig-tunnel`.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[(&str, &str)]) -> Index {
        let documents: Vec<_> = texts
            .iter()
            .map(|(name, description)| {
                let mut document = Document::named(name);
                let description = (*description).to_owned();
                document.texts.push((Part::Description, description));
                document
            })
            .collect();
        Index::of(&documents)
    }

    const TEXTS: &[(&str, &str)] = &[
        ("dig", "Dig a tunnel, and put torches into it."),
        ("fuel", "Tell how much fuel a turtle has."),
        ("github__search_repositories", "Search repositories."),
        ("list-files", "List the files of a turtle."),
        ("収穫", "農場の小麦を収穫する"),
    ];

    /// The names of what is found.
    fn found(query: &str) -> Vec<&'static str> {
        let hits = index(TEXTS).find(query).unwrap_or_default();
        hits.iter().map(|hit| TEXTS[hit.document].0).collect()
    }

    #[test]
    fn the_best_comes_first() {
        assert_eq!(
            found("how much fuel do turtles have?"),
            ["fuel", "list-files"]
        );
        assert_eq!(found("list a turtle's files"), ["list-files", "fuel"]);
        assert_eq!(found("digging"), ["dig"]);
        assert_eq!(found("zeppelin"), [""; 0]);
        assert_eq!(index(TEXTS).find(" ?"), None);
    }

    #[test]
    fn beginnings_slips_and_parts_of_words_are_found() {
        for (query, name) in [
            ("repo", "github__search_repositories"),
            ("torchlight", "dig"),
            ("tunel", "dig"),
            ("repositroies", "github__search_repositories"),
            ("小麦", "収穫"),
            ("re", "github__search_repositories"),
        ] {
            assert_eq!(found(query), [name], "{query}");
        }
        assert_eq!(found("xyz"), [""; 0]);
    }

    #[test]
    fn an_exact_name_comes_first_however_it_is_written() {
        let index = index(&[("get", "x"), ("get-get-get", "get get"), ("get_it", "it")]);
        for (query, document) in [("get", 0), ("get-it", 2), ("GetGetGet", 1)] {
            assert_eq!(index.find(query).unwrap()[0].document, document, "{query}");
        }
    }

    #[test]
    fn what_has_all_words_comes_before_what_has_one_often() {
        let index = index(&[
            ("one", "iron iron iron iron iron iron"),
            ("two", "smelt iron in the big furnace over there"),
            ("three", "other"),
            ("four", "iron"),
        ]);
        assert_eq!(index.find("smelt iron").unwrap()[0].document, 1);
    }

    #[test]
    fn an_empty_index_and_any_query_are_taken() {
        assert_eq!(Index::of(&[]).find("x"), Some(Vec::new()));
        let long = "word ".repeat(20_000) + &"x".repeat(20_000) + " Ünïcode 𝔘 \u{0} ı İ";
        index(TEXTS).find(&long);
    }
}
