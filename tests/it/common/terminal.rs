//! A program in a pseudo-terminal, and what a person sees there.

use pty_process::{Pty, Size};
use rustix::termios::{Termios, tcgetattr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Child,
};
use vt100::{Parser, Screen};

use super::soon;

/// A terminal in which a program runs.
pub struct Terminal {
    pub pty: Pty,
    pub child: Child,
    /// Its settings before the program began.
    pub before: Termios,
    parser: Parser,
}

impl Terminal {
    /// Starts a program in a terminal of this size, in rows and columns.
    pub fn running(command: pty_process::Command, (height, width): (u16, u16)) -> Self {
        let (pty, terminal) = pty_process::open().unwrap();
        pty.resize(Size::new(height, width)).unwrap();
        let before = tcgetattr(&pty).unwrap();
        let child = command
            .env("TERM", "xterm-256color")
            .kill_on_drop(true)
            .spawn(terminal)
            .unwrap();
        Self {
            pty,
            child,
            before,
            parser: Parser::new(height, width, 0),
        }
    }

    /// What is drawn by now.
    pub fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    pub async fn write(&mut self, text: &str) {
        self.pty.write_all(text.as_bytes()).await.unwrap();
    }

    /// Takes in what is drawn until the screen is as wanted.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Screen) -> bool) {
        let drawn = async {
            while !wanted(self.screen()) {
                assert!(
                    self.take_in().await,
                    "the program ended, and never {what}:\n{}",
                    self.screen().contents()
                );
            }
        };
        soon(what, drawn).await;
    }

    /// Takes in what is drawn next; false once there is nobody left who could draw.
    pub async fn take_in(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.pty.read(&mut bytes).await {
            Ok(length @ 1..) => {
                self.parser.process(&bytes[..length]);
                true
            }
            // Linux reports an error where other systems report the end.
            Ok(0) | Err(_) => false,
        }
    }

    pub async fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text))
            .await;
    }

    pub fn resize(&mut self, height: u16, width: u16) {
        self.parser.screen_mut().set_size(height, width);
        self.pty.resize(Size::new(height, width)).unwrap();
    }
}
