//! Values that the world is given and gives back, which belong to no Lua state.

use crate::simulator::events::{Event, Value};

/// A value of Lua, without functions.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::simulator) enum Datum {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(Vec<u8>),
    Table(Vec<(Datum, Datum)>),
}

impl From<bool> for Datum {
    fn from(value: bool) -> Self {
        Datum::Boolean(value)
    }
}

impl From<f64> for Datum {
    fn from(number: f64) -> Self {
        Datum::Number(number)
    }
}

impl From<u32> for Datum {
    fn from(number: u32) -> Self {
        Datum::Number(f64::from(number))
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Datum::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Datum::Text(text.into_bytes())
    }
}

impl Datum {
    /// A table with these keys.
    pub(super) fn table(fields: Vec<(&str, Datum)>) -> Datum {
        let entry = |(key, value): (&str, Datum)| (key.into(), value);
        Datum::Table(fields.into_iter().map(entry).collect())
    }

    /// A table with the keys 1, 2, 3…
    pub(super) fn list(values: impl IntoIterator<Item = Datum>) -> Datum {
        let numbered = values.into_iter().zip(1u32..);
        Datum::Table(numbered.map(|(value, n)| (n.into(), value)).collect())
    }

    fn type_name(&self) -> &'static str {
        match self {
            Datum::Nil => "nil",
            Datum::Boolean(_) => "boolean",
            Datum::Number(_) => "number",
            Datum::Text(_) => "string",
            Datum::Table(_) => "table",
        }
    }
}

/// An event with these arguments.
pub(super) fn event(name: &str, data: Vec<Datum>) -> Event {
    let mut event = Event::new(name, Vec::new());
    event.args = data
        .into_iter()
        .map(|datum| carry(datum, &mut event.tables))
        .collect();
    event
}

/// A value as events hold it. What is nested here is a few tables deep at most.
fn carry(datum: Datum, tables: &mut Vec<Vec<(Value, Value)>>) -> Value {
    match datum {
        Datum::Nil => Value::Nil,
        Datum::Boolean(value) => Value::Boolean(value),
        Datum::Number(number) => Value::Number(number),
        Datum::Text(text) => Value::Text(text),
        Datum::Table(entries) => {
            let place = tables.len();
            tables.push(Vec::new());
            let carried = entries
                .into_iter()
                .map(|(key, value)| (carry(key, tables), carry(value, tables)))
                .collect();
            tables[place] = carried;
            Value::Table(place)
        }
    }
}

/// The values as an event holds them.
pub(in crate::simulator) fn carried(name: &str, data: Vec<Datum>) -> Event {
    event(name, data)
}

/// The arguments of a call, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a>(pub(super) &'a [Datum]);

impl Given<'_> {
    fn get(&self, n: usize) -> &Datum {
        self.0.get(n - 1).unwrap_or(&Datum::Nil)
    }

    fn wrong(&self, n: usize, expected: &str) -> String {
        let got = self.get(n).type_name();
        format!("bad argument #{n} ({expected} expected, got {got})")
    }

    pub(super) fn is_nil(&self, n: usize) -> bool {
        *self.get(n) == Datum::Nil
    }

    pub(super) fn bytes(&self, n: usize) -> Result<Vec<u8>, String> {
        match self.get(n) {
            Datum::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong(n, "string")),
        }
    }

    pub(super) fn text(&self, n: usize) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.bytes(n)?).into_owned())
    }

    pub(super) fn number(&self, n: usize) -> Result<f64, String> {
        match self.get(n) {
            Datum::Number(number) if number.is_finite() => Ok(*number),
            _ => Err(self.wrong(n, "number")),
        }
    }

    /// A number with its fraction cut off.
    pub(super) fn integer(&self, n: usize) -> Result<i64, String> {
        Ok(self.number(n)? as i64)
    }

    pub(super) fn optional_integer(&self, n: usize) -> Result<Option<i64>, String> {
        if self.is_nil(n) {
            return Ok(None);
        }
        self.integer(n).map(Some)
    }

    pub(super) fn boolean(&self, n: usize) -> Result<bool, String> {
        match self.get(n) {
            Datum::Boolean(value) => Ok(*value),
            _ => Err(self.wrong(n, "boolean")),
        }
    }

    /// Any value as `write` writes it.
    pub(super) fn written(&self, n: usize) -> Vec<u8> {
        match self.get(n) {
            Datum::Text(text) => text.clone(),
            Datum::Number(number) => number.to_string().into_bytes(),
            Datum::Boolean(value) => value.to_string().into_bytes(),
            other => other.type_name().as_bytes().to_vec(),
        }
    }
}
