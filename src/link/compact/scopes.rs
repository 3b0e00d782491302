//! Which local a name means (Lua 5.2 manual, sections 3.3 to 3.5), so that all that mean it can be called otherwise.
//!
//! Only what scopes are made of is read: operators have no precedence here, and what Lua itself would refuse may pass.

use std::collections::HashSet;

use crate::base::lua::tokens::{KEYWORDS, Kind, Malformed, Token};

/// The text that each token gets.
pub(super) fn short_texts(tokens: &[Token<'_>]) -> Result<Vec<String>, Malformed> {
    let mut reader = Reader {
        tokens,
        at: 0,
        locals: Vec::new(),
        meaning: vec![Meaning::Itself; tokens.len()],
        globals: HashSet::new(),
    };
    reader.block()?;
    if reader.at < tokens.len() {
        return Err(reader.malformed("a block has ended before"));
    }
    let Reader {
        meaning, globals, ..
    } = reader;
    let slots = meaning
        .iter()
        .filter_map(Meaning::slot)
        .max()
        .map_or(0, |slot| slot + 1);
    let names = short_names(slots, &globals);
    let texts = tokens
        .iter()
        .zip(meaning)
        .map(|(token, meaning)| match meaning {
            Meaning::Itself => token.text.to_owned(),
            Meaning::Local(slot) => names[slot].clone(),
            // `function t:f(a)` is `function t.f(self, a)`.
            Meaning::MethodColon => ".".to_owned(),
            Meaning::MethodParameters { own, are_all } => {
                format!("({}{}", names[own], if are_all { "" } else { "," })
            }
        });
    Ok(texts.collect())
}

/// As many short names, none of them a word of the language or a global that the text uses.
fn short_names(count: usize, globals: &HashSet<&str>) -> Vec<String> {
    const FIRST: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    let one = FIRST.chars().map(String::from);
    let two = FIRST
        .chars()
        .flat_map(|a| FIRST.chars().map(move |b| format!("{a}{b}")));
    // More than 200 locals are in no function of Lua, and in few texts together.
    let more = (0..).map(|n| format!("_{n}_"));
    one.chain(two)
        .chain(more)
        .filter(|name| !KEYWORDS.contains(&name.as_str()) && !globals.contains(name.as_str()))
        .take(count)
        .collect()
}

/// What a token stands for.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// What is written there.
    Itself,
    /// The local that was the so-manieth in scope when it was declared: no two that are in scope together are the same.
    Local(usize),
    /// The colon in a method's name.
    MethodColon,
    /// The bracket before a method's parameters, with the local that stands for `self`, and whether that is the only one.
    MethodParameters { own: usize, are_all: bool },
}

impl Meaning {
    fn slot(&self) -> Option<usize> {
        match *self {
            Meaning::Local(slot) | Meaning::MethodParameters { own: slot, .. } => Some(slot),
            Meaning::Itself | Meaning::MethodColon => None,
        }
    }
}

type Read = Result<(), Malformed>;

/// Reads one text.
struct Reader<'a> {
    tokens: &'a [Token<'a>],
    /// The next token.
    at: usize,
    /// The names of all locals in scope, those of the functions around among them.
    locals: Vec<&'a str>,
    meaning: Vec<Meaning>,
    /// Names that are no local's.
    globals: HashSet<&'a str>,
}

impl<'a> Reader<'a> {
    fn malformed(&self, problem: &'static str) -> Malformed {
        let line = self
            .tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(1, |token| token.line);
        Malformed { line, problem }
    }

    /// The word of the language or the sign that comes next.
    fn next(&self) -> &'a str {
        match self.tokens.get(self.at) {
            Some(token) if matches!(token.kind, Kind::Keyword | Kind::Symbol) => token.text,
            _ => "",
        }
    }

    fn take(&mut self, text: &str) -> bool {
        let is_it = self.next() == text;
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, text: &str, problem: &'static str) -> Read {
        if self.take(text) {
            Ok(())
        } else {
            Err(self.malformed(problem))
        }
    }

    /// Takes a name, whatever it means.
    fn name(&mut self) -> Result<(usize, &'a str), Malformed> {
        match self.tokens.get(self.at) {
            Some(token) if token.kind == Kind::Name => {
                self.at += 1;
                Ok((self.at - 1, token.text))
            }
            _ => Err(self.malformed("a name is missing")),
        }
    }

    /// Takes the name of a variable.
    fn variable(&mut self) -> Read {
        let (at, name) = self.name()?;
        match self.locals.iter().rposition(|local| *local == name) {
            Some(slot) => self.meaning[at] = Meaning::Local(slot),
            None => {
                self.globals.insert(name);
            }
        }
        Ok(())
    }

    fn declare(&mut self, (at, name): (usize, &'a str)) {
        self.meaning[at] = Meaning::Local(self.locals.len());
        self.locals.push(name);
    }

    /// Reads something whose locals end with it.
    fn scope(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Read {
        let before = self.locals.len();
        read(self)?;
        self.locals.truncate(before);
        Ok(())
    }

    fn block(&mut self) -> Read {
        while self.at < self.tokens.len()
            && !matches!(self.next(), "end" | "else" | "elseif" | "until")
        {
            self.statement()?;
        }
        Ok(())
    }

    /// A block and the `end` behind it.
    fn block_to_end(&mut self) -> Read {
        self.scope(Self::block)?;
        self.expect("end", "`end` is missing")
    }

    fn statement(&mut self) -> Read {
        match self.next() {
            ";" | "break" => self.at += 1,
            "::" | "goto" => {
                self.at += 1;
                self.name()?;
                self.take("::");
            }
            "if" => self.if_statement()?,
            "while" => {
                self.at += 1;
                self.expression()?;
                self.expect("do", "`do` is missing")?;
                self.block_to_end()?;
            }
            "do" => {
                self.at += 1;
                self.block_to_end()?;
            }
            "for" => self.scope(Self::for_statement)?,
            "repeat" => {
                self.at += 1;
                self.scope(|reader| {
                    reader.block()?;
                    reader.expect("until", "`until` is missing")?;
                    // What the block has declared is known here.
                    reader.expression()
                })?;
            }
            "function" => self.function_statement()?,
            "local" => self.local_statement()?,
            "return" => {
                self.at += 1;
                let is_over = self.at == self.tokens.len()
                    || matches!(self.next(), ";" | "end" | "else" | "elseif" | "until");
                if !is_over {
                    self.expressions()?;
                }
            }
            _ => {
                self.expressions()?;
                if self.take("=") {
                    self.expressions()?;
                }
            }
        }
        Ok(())
    }

    fn if_statement(&mut self) -> Read {
        while self.take("if") || self.take("elseif") {
            self.expression()?;
            self.expect("then", "`then` is missing")?;
            self.scope(Self::block)?;
        }
        if self.take("else") {
            self.scope(Self::block)?;
        }
        self.expect("end", "`end` is missing")
    }

    fn for_statement(&mut self) -> Read {
        self.at += 1;
        let names = self.names()?;
        if !self.take("=") {
            self.expect("in", "`in` is missing")?;
        }
        self.expressions()?;
        self.expect("do", "`do` is missing")?;
        names.into_iter().for_each(|name| self.declare(name));
        self.block_to_end()
    }

    fn function_statement(&mut self) -> Read {
        self.at += 1;
        self.variable()?;
        while self.take(".") {
            self.name()?;
        }
        let is_method = self.next() == ":";
        if is_method {
            self.meaning[self.at] = Meaning::MethodColon;
            self.at += 1;
            self.name()?;
        }
        self.function_body(is_method)
    }

    fn local_statement(&mut self) -> Read {
        self.at += 1;
        if self.take("function") {
            let name = self.name()?;
            self.declare(name);
            return self.function_body(false);
        }
        let names = self.names()?;
        if self.take("=") {
            self.expressions()?;
        }
        names.into_iter().for_each(|name| self.declare(name));
        Ok(())
    }

    /// Names that are about to be declared.
    fn names(&mut self) -> Result<Vec<(usize, &'a str)>, Malformed> {
        let mut names = vec![self.name()?];
        while self.take(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// From the parameters on.
    fn function_body(&mut self, is_method: bool) -> Read {
        self.scope(|reader| {
            let opening = reader.at;
            reader.expect("(", "a function's parameters are missing")?;
            if is_method {
                let (own, are_all) = (reader.locals.len(), reader.next() == ")");
                reader.meaning[opening] = Meaning::MethodParameters { own, are_all };
                reader.locals.push("self");
            }
            while !reader.take(")") {
                if !reader.take("...") {
                    let name = reader.name()?;
                    reader.declare(name);
                }
                reader.take(",");
            }
            reader.block_to_end()
        })
    }

    fn expressions(&mut self) -> Read {
        self.expression()?;
        while self.take(",") {
            self.expression()?;
        }
        Ok(())
    }

    fn expression(&mut self) -> Read {
        loop {
            while matches!(self.next(), "not" | "-" | "#") {
                self.at += 1;
            }
            self.operand()?;
            let is_operator = matches!(
                self.next(),
                "+" | "-"
                    | "*"
                    | "/"
                    | "%"
                    | "^"
                    | ".."
                    | "=="
                    | "~="
                    | "<="
                    | ">="
                    | "<"
                    | ">"
                    | "and"
                    | "or"
            );
            if !is_operator {
                return Ok(());
            }
            self.at += 1;
        }
    }

    fn operand(&mut self) -> Read {
        match self.tokens.get(self.at).map(|token| token.kind) {
            Some(Kind::Number | Kind::String) => {
                self.at += 1;
                return Ok(());
            }
            Some(Kind::Name) => self.variable()?,
            _ => match self.next() {
                "nil" | "true" | "false" | "..." => {
                    self.at += 1;
                    return Ok(());
                }
                "function" => {
                    self.at += 1;
                    return self.function_body(false);
                }
                "{" => return self.table(),
                "(" => {
                    self.at += 1;
                    self.expression()?;
                    self.expect(")", "`)` is missing")?;
                }
                _ => return Err(self.malformed("an expression is missing")),
            },
        }
        self.suffixes()
    }

    /// Fields and calls behind a variable or a bracket.
    fn suffixes(&mut self) -> Read {
        loop {
            if self
                .tokens
                .get(self.at)
                .is_some_and(|token| token.kind == Kind::String)
            {
                self.at += 1;
                continue;
            }
            match self.next() {
                "." | ":" => {
                    self.at += 1;
                    self.name()?;
                }
                "[" => {
                    self.at += 1;
                    self.expression()?;
                    self.expect("]", "`]` is missing")?;
                }
                "(" => {
                    self.at += 1;
                    if self.next() != ")" {
                        self.expressions()?;
                    }
                    self.expect(")", "`)` is missing")?;
                }
                "{" => self.table()?,
                _ => return Ok(()),
            }
        }
    }

    fn table(&mut self) -> Read {
        self.expect("{", "`{` is missing")?;
        while !self.take("}") {
            let is_named = self
                .tokens
                .get(self.at + 1)
                .is_some_and(|token| token.text == "=")
                && self.tokens[self.at].kind == Kind::Name;
            if is_named {
                self.at += 2;
            } else if self.take("[") {
                self.expression()?;
                self.expect("]", "`]` is missing")?;
                self.expect("=", "`=` is missing")?;
            }
            self.expression()?;
            if !self.take(",") && !self.take(";") && self.next() != "}" {
                return Err(self.malformed("`}` is missing"));
            }
        }
        Ok(())
    }
}
