//! What a job prints, handed on piece by piece while it runs.

use super::{
    Context, Listener,
    listener::{Belongs, Printed},
};
use crate::computers::{Computer, Job, Page};

/// How much output is told at once, in bytes.
const TOLD_AT_ONCE: usize = 4 * 1024;

/// Hands on what a job prints.
pub struct Printing<'a> {
    listener: &'a dyn Listener,
    computer: &'a Computer,
    job: &'a Job,
    belongs: Belongs,
    /// Where in the output the next piece begins.
    pub cursor: u64,
}

impl<'a> Printing<'a> {
    /// Of what this job on a computer prints, from `cursor` on; it `belongs` to the answer, if that is the client's.
    pub fn new(
        context: Context<'a>,
        computer: &'a Computer,
        job: &'a Job,
        belongs: Belongs,
        cursor: u64,
    ) -> Self {
        Self {
            listener: context.listener,
            computer,
            job,
            // What a tool answers to a program is no part of what the client is answered.
            belongs: match context.depth {
                0 => belongs,
                _ => Belongs::ToAuthor,
            },
            cursor,
        }
    }

    /// The next piece.
    pub fn next(&mut self) -> Page {
        let page = self
            .job
            .look(|progress| progress.read(self.cursor, TOLD_AT_ONCE));
        self.cursor = page.next;
        page
    }

    /// Hands on all that there is by now, if whoever waits wants it; tells whether there was something.
    pub fn go_on(&mut self) -> bool {
        if !self.listener.wants_output() {
            return false;
        }
        let before = self.cursor;
        loop {
            let page = self.next();
            self.listener.print(Printed {
                text: &page.text,
                on: Some(self.computer.key),
                belongs: self.belongs,
            });
            if !page.more || page.text.is_empty() {
                return self.cursor > before;
            }
        }
    }
}
