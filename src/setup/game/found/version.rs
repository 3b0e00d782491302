//! Versions of Minecraft and of the mod.

use std::fmt;

/// A version such as `1.113.1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Its numbers, of which there are two or more.
    numbers: Vec<u32>,
}

impl Version {
    /// Reads the numbers that a text begins with; none if it begins with fewer than two.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        for part in text.trim().split('.') {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let Ok(number) = part[..digits].parse() else {
                break;
            };
            numbers.push(number);
            if digits < part.len() {
                break;
            }
        }
        (numbers.len() >= 2).then_some(Self { numbers })
    }

    /// Whether it is this version or a later one.
    pub fn is_from(&self, numbers: &[u32]) -> bool {
        self.numbers.as_slice() >= numbers
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.numbers.iter().map(ToString::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("1.113.1").is_from(&[1, 93]));
        assert!(version("1.93.0").is_from(&[1, 93]));
        assert!(version("1.93").is_from(&[1, 93]));
        assert!(!version("1.89.2").is_from(&[1, 93]));
        assert!(version("1.20.1-forge").is_from(&[1, 20, 1]));
        assert!(version("21.1").is_from(&[1, 20]));
        assert_eq!(version("1.113.1+fabric").to_string(), "1.113.1");
        for text in ["", "1", "forge", "v1.2", "${file.jarVersion}"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
