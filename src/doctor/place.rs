//! Whether a port could be opened on this machine.

use std::{
    io::{self, ErrorKind},
    net::ToSocketAddrs,
};

use socket2::{Domain, Protocol, Socket, Type};

/// Whether a bridge could listen there; port 0: whether the host is an address of this machine at all. Nothing listens
/// meanwhile, so nobody who wants the port just now is kept from it for long.
///
/// # Errors
/// The system's: why not.
pub fn can_bind(host: &str, port: u16) -> io::Result<()> {
    let mut last = Err(ErrorKind::NotFound.into());
    for address in (host, port).to_socket_addrs()? {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        // On Windows this would let us have what another program has.
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        last = socket.bind(&address.into());
        if last.is_ok() {
            break;
        }
    }
    last
}
