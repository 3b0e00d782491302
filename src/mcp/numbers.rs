//! Numbers as they were meant. What rmcp holds in single precision it writes in double: 0.7 becomes 0.699999988079071, and a
//! 1000 of a schema becomes 1000.0.

use serde_json::{Number, Value};

/// The largest whole number up to which all are exact in double precision.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Makes all numbers in a value what they were before that.
pub fn as_meant(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(meant) = number.as_f64().and_then(meant) {
                *number = meant;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_meant),
        Value::Object(fields) => fields.values_mut().for_each(as_meant),
        _ => {}
    }
}

fn meant(number: f64) -> Option<Number> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Some(Number::from(number as i64));
    }
    let single = number as f32;
    let is_single = f64::from(single) == number;
    // The shortest decimal that is this number in single precision.
    let shortest = is_single.then(|| single.to_string().parse().ok()).flatten();
    Number::from_f64(shortest?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_written_as_it_was_meant() {
        let mut value = json!([f64::from(0.7_f32), 1000.0, {"x": -0.5}, 0.1, 3, 1e300, "0.70"]);
        as_meant(&mut value);
        assert_eq!(
            value.to_string(),
            r#"[0.7,1000,{"x":-0.5},0.1,3,1e+300,"0.70"]"#
        );
    }
}
