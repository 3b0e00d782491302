//! What was done as was asked, though hardly as was meant.

use super::{cells::Screen, steps::Step};

/// What there is to say of the first of these steps that its program can't have taken as was meant; with a blank before it.
pub fn of(steps: &[Step], screen: &Screen) -> Option<String> {
    (1..).zip(steps).find_map(|(number, step)| {
        let (width, height) = (screen.width, screen.height());
        let mut points = step.points_at().into_iter();
        if let Some((x, y)) = points.find(|(x, y)| !(inside(*x, width) && inside(*y, height))) {
            return Some(format!(
                " Step {number} points at {x}, {y}, which is beside the screen: it has {width} columns and {height} rows, \
                 counted from 1."
            ));
        }
        step.is_short_ctrl_t().then(|| {
            format!(
                " Step {number} pressed Ctrl+T, but not for the second after which the game ends a program: `do: terminate` \
                 does that."
            )
        })
    })
}

fn inside(at: u64, length: usize) -> bool {
    usize::try_from(at).is_ok_and(|at| (1..=length).contains(&at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(steps: serde_json::Value) -> String {
        let row = json!(["abc", "000", "fff"]);
        let screen = json!({
            "version": 1, "width": 3, "height": 2, "colours": true, "lines": [row, row],
            "cursor": {"x": 1, "y": 1, "blinks": false, "colour": 0},
        });
        let screen = Screen::read(&screen).unwrap();
        let steps: Vec<Step> = serde_json::from_value(steps).unwrap();
        of(&steps, &screen).unwrap_or_default()
    }

    #[test]
    fn what_no_player_could_click_at_and_a_ctrl_t_that_ends_nothing_are_told() {
        let click = |x: u64, y: u64| json!({"do": "click", "x": x, "y": y});
        for (steps, told) in [
            (json!([click(3, 2), {"do": "key", "text": "ctrl+s"}]), ""),
            (json!([click(1, 1), click(4, 2)]), "Step 2 points at 4, 2"),
            (json!([click(0, 1)]), "it has 3 columns and 2 rows"),
            (
                json!([{"do": "drag", "x": 1, "y": 1, "args": [2, 9]}]),
                "Step 1 points at 2, 9",
            ),
            (
                json!([{"do": "scroll", "x": 1, "y": 3}]),
                "Step 1 points at 1, 3",
            ),
            (
                json!([{"do": "key", "text": "ctrl+t"}]),
                "Step 1 pressed Ctrl+T",
            ),
            (json!([{"do": "key", "text": "ctrl+t", "ms": 1200}]), ""),
        ] {
            let said = said(steps.clone());
            assert!(
                said.contains(told) && said.is_empty() == told.is_empty(),
                "{steps}: {said}"
            );
        }
    }
}
