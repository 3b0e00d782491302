//! What Lua 5.2 makes of a text, without the names of its locals: so two texts can be compared.

/// The bytecode of a text, but for the names of the chunk, its locals and upvalues. Lines are in it.
pub(super) fn of(source: &str) -> Result<Vec<u8>, String> {
    let lua = mlua::Lua::new();
    let function = lua
        .load(source)
        .into_function()
        .map_err(|problem| problem.to_string())?;
    let dump = function.dump(false);
    let mut reader = Reader {
        rest: &dump,
        kept: Vec::new(),
    };
    reader.keep(18); // the header
    reader.function();
    assert!(reader.rest.is_empty());
    Ok(reader.kept)
}

/// Reads a dump as `ldump.c` of Lua 5.2 writes it.
struct Reader<'a> {
    rest: &'a [u8],
    kept: Vec<u8>,
}

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) -> &[u8] {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        skipped
    }

    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.kept.extend(kept);
    }

    /// A count, which is kept.
    fn count(&mut self) -> usize {
        let bytes = self.rest[..size_of::<i32>()].try_into().unwrap();
        self.keep(size_of::<i32>());
        usize::try_from(i32::from_ne_bytes(bytes)).unwrap()
    }

    fn skip_string(&mut self) {
        let length = usize::from_ne_bytes(self.skip(size_of::<usize>()).try_into().unwrap());
        self.skip(length);
    }

    fn function(&mut self) {
        self.keep(2 * size_of::<i32>() + 3); // its lines, parameters and registers
        let instructions = self.count();
        self.keep(4 * instructions);
        for _ in 0..self.count() {
            let kind = self.rest[0];
            self.keep(1);
            match kind {
                0 => {}
                1 => self.keep(1),
                3 => self.keep(size_of::<f64>()),
                4 => {
                    let length = self.rest[..size_of::<usize>()].try_into().unwrap();
                    self.keep(size_of::<usize>() + usize::from_ne_bytes(length));
                }
                other => panic!("a constant of type {other}"),
            }
        }
        for _ in 0..self.count() {
            self.function();
        }
        let upvalues = self.count();
        self.keep(2 * upvalues);
        self.skip_string(); // the chunk's name
        let lines = self.count();
        self.keep(size_of::<i32>() * lines);
        for _ in 0..self.count() {
            self.skip_string();
            self.keep(2 * size_of::<i32>()); // where a local is in scope
        }
        for _ in 0..self.count() {
            self.skip_string();
        }
    }
}
