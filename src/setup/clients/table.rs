//! The table of clients.

use std::sync::LazyLock;

use serde::Deserialize;

use super::client::Client;

const TABLE: &str = include_str!("clients.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    client: Vec<Client>,
}

/// Read once. A test reads it too, so that it can't be wrong.
static CLIENTS: LazyLock<Vec<Client>> =
    LazyLock::new(|| toml::from_str::<Table>(TABLE).unwrap_or_default().client);

/// All clients, in the order in which they are gone through.
pub fn all() -> &'static [Client] {
    &CLIENTS
}

/// The client that is called so.
pub fn named(id: &str) -> Option<&'static Client> {
    all().iter().find(|client| client.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert!(table.client.len() > 25);
        for (at, client) in table.client.iter().enumerate() {
            let before = &table.client[..at];
            assert!(
                before.iter().all(|other| other.id != client.id),
                "{}",
                client.id
            );
        }
    }
}
