//! What is on a simulated computer's screen, where lines are broken at its width.

use mcp_bridge::simulator::Computer;

use super::PATIENCE;

/// All words, with one blank between them.
pub fn words(computer: &Computer) -> String {
    let lines = computer.screen();
    let words: Vec<_> = lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect();
    words.join(" ")
}

/// Waits until these words are on it.
pub async fn says(computer: &Computer, text: &str) {
    let shown = computer
        .until(PATIENCE, |computer| words(computer).contains(text))
        .await;
    assert!(shown, "no `{text}` on the screen: {}", words(computer));
}

/// All text without its blanks: a line that did not fit may have been broken at one, or within a word.
pub fn letters(computer: &Computer) -> String {
    without_blanks(&computer.screen().join(""))
}

pub fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Waits until this is on it, wherever its lines are broken.
pub async fn shows(computer: &Computer, text: &str) {
    let wanted = without_blanks(text);
    let shown = computer
        .until(PATIENCE, |computer| letters(computer).contains(&wanted))
        .await;
    assert!(
        shown,
        "no `{text}` on the screen:\n{}",
        computer.screen().join("\n")
    );
}
