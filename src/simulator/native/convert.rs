//! Carries values between Lua and the event queue, which belongs to no Lua state.

use std::collections::HashMap;

use mlua::{Function, Lua, MultiValue, Table, Value as LuaValue};

use crate::simulator::events::{Event, Value};

/// Names in the registry of the Lua functions that make a handle out of a native object.
pub(in crate::simulator) const WRAP_SOCKET: &str = "simulator.wrap_socket";
pub(in crate::simulator) const WRAP_RESPONSE: &str = "simulator.wrap_response";

/// An event made by a program: tables are copied, with those shared and cyclic kept so; functions become nil.
pub(super) fn event_from_lua(name: Vec<u8>, args: Vec<LuaValue>) -> mlua::Result<Event> {
    let mut copier = Copier {
        seen: HashMap::new(),
        tables: Vec::new(),
    };
    let args = args
        .iter()
        .map(|value| copier.copy(value))
        .collect::<mlua::Result<_>>()?;
    Ok(Event {
        name,
        args,
        tables: copier.tables,
    })
}

struct Copier {
    seen: HashMap<*const std::ffi::c_void, usize>,
    tables: Vec<Vec<(Value, Value)>>,
}

impl Copier {
    fn copy(&mut self, value: &LuaValue) -> mlua::Result<Value> {
        Ok(match value {
            LuaValue::Boolean(value) => Value::Boolean(*value),
            LuaValue::Integer(value) => Value::Number(*value as f64),
            LuaValue::Number(value) => Value::Number(*value),
            LuaValue::String(text) => Value::Text(text.as_bytes().to_vec()),
            LuaValue::Table(table) => Value::Table(self.copy_table(table)?),
            _ => Value::Nil,
        })
    }

    /// Breadth first, so that a deep table can't overflow the host's stack.
    fn copy_table(&mut self, table: &Table) -> mlua::Result<usize> {
        let mut pending = vec![table.clone()];
        let place = self.place(table, &mut Vec::new());
        while let Some(table) = pending.pop() {
            let at = self.place(&table, &mut Vec::new());
            if !self.tables[at].is_empty() {
                continue;
            }
            let mut entries = Vec::new();
            for pair in table.pairs::<LuaValue, LuaValue>() {
                let (key, value) = pair?;
                let mut carry = |value: &LuaValue| match value {
                    LuaValue::Table(inner) => Ok(Value::Table(self.place(inner, &mut pending))),
                    other => self.copy(other),
                };
                entries.push((carry(&key)?, carry(&value)?));
            }
            self.tables[at] = entries;
        }
        Ok(place)
    }

    /// The place of a table among those copied; a new one is put on `pending`.
    fn place(&mut self, table: &Table, pending: &mut Vec<Table>) -> usize {
        *self.seen.entry(table.to_pointer()).or_insert_with(|| {
            pending.push(table.clone());
            self.tables.push(Vec::new());
            self.tables.len() - 1
        })
    }
}

/// An event as a program gets it: its name, then its arguments.
pub(in crate::simulator) fn event_to_lua(lua: &Lua, event: Event) -> mlua::Result<MultiValue> {
    let tables: Vec<Table> = event
        .tables
        .iter()
        .map(|_| lua.create_table())
        .collect::<mlua::Result<_>>()?;
    for (table, entries) in tables.iter().zip(event.tables) {
        for (key, value) in entries {
            let key = value_to_lua(lua, key, &tables)?;
            if !key.is_nil() {
                table.raw_set(key, value_to_lua(lua, value, &tables)?)?;
            }
        }
    }
    let mut values = MultiValue::new();
    values.push_back(LuaValue::String(lua.create_string(&event.name)?));
    for value in event.args {
        values.push_back(value_to_lua(lua, value, &tables)?);
    }
    Ok(values)
}

fn value_to_lua(lua: &Lua, value: Value, tables: &[Table]) -> mlua::Result<LuaValue> {
    let wrap = |name: &str, object| lua.named_registry_value::<Function>(name)?.call(object);
    Ok(match value {
        Value::Nil => LuaValue::Nil,
        Value::Boolean(value) => LuaValue::Boolean(value),
        Value::Number(value) => LuaValue::Number(value),
        Value::Text(text) => LuaValue::String(lua.create_string(&text)?),
        Value::Table(place) => tables
            .get(place)
            .cloned()
            .map_or(LuaValue::Nil, LuaValue::Table),
        Value::Socket(socket) => wrap(WRAP_SOCKET, lua.create_any_userdata(socket)?)?,
        Value::Response(response) => wrap(WRAP_RESPONSE, lua.create_any_userdata(response)?)?,
    })
}
