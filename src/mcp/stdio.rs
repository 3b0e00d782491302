//! The process's standard input and output, taken over for JSON-RPC.
//!
//! The only module that knows what kind of stream a client gave us: a pipe, a socket (as Node's programs do on Unix),
//! a terminal or a file.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// Where a client's lines come from.
pub type Input = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// Where lines to the client go.
pub type Output = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// Takes standard input and output for this process's MCP session.
///
/// On Unix whatever else writes to standard output afterwards lands on standard error, so that nothing but JSON-RPC
/// can reach the client, and whatever else reads standard input finds it empty.
///
/// # Errors
/// A stream is closed or can't be used.
#[cfg(unix)]
pub fn take() -> io::Result<(Input, Output)> {
    use std::os::fd::AsFd;

    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok((unix::reader(input)?, unix::writer(output)?))
}

/// Takes standard input and output for this process's MCP session.
///
/// # Errors
/// None on this platform.
#[cfg(not(unix))]
pub fn take() -> io::Result<(Input, Output)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::File,
        io,
        os::{fd::OwnedFd, unix::fs::FileTypeExt},
    };

    use tokio::net::{UnixStream, unix::pipe};

    use super::{Input, Output};

    // Pipes and sockets are read without a thread of their own; a terminal or a file can't be.

    pub fn reader(descriptor: OwnedFd) -> io::Result<Input> {
        Ok(match kind(&descriptor)? {
            Kind::Pipe => Box::new(pipe::Receiver::from_owned_fd(descriptor)?),
            Kind::Socket => Box::new(socket(descriptor)?),
            Kind::Other => Box::new(tokio::fs::File::from_std(File::from(descriptor))),
        })
    }

    pub fn writer(descriptor: OwnedFd) -> io::Result<Output> {
        Ok(match kind(&descriptor)? {
            Kind::Pipe => Box::new(pipe::Sender::from_owned_fd(descriptor)?),
            Kind::Socket => Box::new(socket(descriptor)?),
            Kind::Other => Box::new(tokio::fs::File::from_std(File::from(descriptor))),
        })
    }

    enum Kind {
        Pipe,
        Socket,
        Other,
    }

    fn kind(descriptor: &OwnedFd) -> io::Result<Kind> {
        let kind = File::from(descriptor.try_clone()?).metadata()?.file_type();
        Ok(match (kind.is_fifo(), kind.is_socket()) {
            (true, _) => Kind::Pipe,
            (_, true) => Kind::Socket,
            _ => Kind::Other,
        })
    }

    fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
        let stream = std::os::unix::net::UnixStream::from(descriptor);
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    }
}
