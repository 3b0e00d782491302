//! Which program listens on a port, as far as the system tells.

use std::fmt;

/// A program that listens.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// Its process id.
    pub pid: u32,
    /// What it is called.
    pub name: String,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// The command by which a person finds out who listens on a port, on the system that this is.
pub fn command(port: u16) -> String {
    if cfg!(windows) {
        format!("netstat -ano | findstr :{port}")
    } else if cfg!(target_os = "linux") {
        format!("ss -ltnp 'sport = :{port}'")
    } else {
        format!("lsof -nP -iTCP:{port} -sTCP:LISTEN")
    }
}

/// Who listens on this TCP port, if it is a process that this user may look at.
#[cfg(target_os = "linux")]
pub fn of(port: u16) -> Option<Program> {
    use std::{fs, path::Path};

    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let sockets: Vec<String> = tables.flat_map(|table| listening(&table, port)).collect();
    let holds = |process: &Path| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten();
        open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .any(|target| sockets.iter().any(|socket| target == Path::new(socket)))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten();
    let mut processes = processes.filter_map(|entry| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.path()))
    });
    let (pid, process) = processes.find(|(_, process)| holds(process))?;
    let name = fs::read_to_string(process.join("comm")).ok()?;
    Some(Program {
        pid,
        name: name.trim_end().to_owned(),
    })
}

/// Nobody: other systems tell it to their own programs only.
#[cfg(not(target_os = "linux"))]
pub fn of(_: u16) -> Option<Program> {
    None
}

/// The sockets, as `/proc/PID/fd` names them, that listen on a port by a table of `/proc/net/tcp` (proc(5)).
#[cfg(target_os = "linux")]
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTENS: &str = "0A";
    let rows = table.lines().skip(1).filter_map(|row| {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else {
            return None;
        };
        let (_, number) = local.rsplit_once(':')?;
        let is_it = state == LISTENS && u16::from_str_radix(number, 16) == Ok(port);
        is_it.then(|| format!("socket:[{inode}]"))
    });
    rows.collect()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(of(port).unwrap().pid, std::process::id());
        drop(listener);
    }

    #[test]
    fn a_table_of_sockets_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 0100007F:0BB9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0\n\
                     1: 0100007F:0BB9 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0\n\
                     2: 0100007F:0BBA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0\n\
                     broken";
        assert_eq!(listening(table, 3001), ["socket:[4711]"]);
        assert_eq!(listening(table, 3003), [""; 0]);
    }
}
