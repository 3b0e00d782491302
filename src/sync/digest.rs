//! The hash by which contents are compared: the one of `lua/tools/shared/hash.lua`.

/// Two remainders of the bytes as one large number, and the length. It tells a change, not a forgery: whoever could forge
/// a computer's file could as well lie about its hash.
pub fn of(bytes: &[u8]) -> String {
    const FIRST: u64 = 4_294_967_291;
    const SECOND: u64 = 4_294_967_279;
    let (mut a, mut b) = (1_u64, 2_u64);
    let mut take = |word: u64| {
        a = (a * 65_599 + word) % FIRST;
        b = (b * 31_337 + word) % SECOND;
    };
    for chunk in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        take(u64::from(u32::from_le_bytes(word)));
    }
    take(bytes.len() as u64);
    format!("{a:08x}{b:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The function of the computer itself.
    fn in_lua(bytes: &[u8]) -> String {
        let source = crate::base::lua::own::handler("shared/hash.lua").unwrap();
        let lua = mlua::Lua::new();
        let hash: mlua::Function = lua.load(source).eval().unwrap();
        let bytes = lua.create_string(bytes).unwrap();
        hash.call(bytes).unwrap()
    }

    #[test]
    fn a_hash_is_that_of_the_computer() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [
            b"".as_slice(),
            b"a",
            b"abc",
            b"abcd",
            b"\xff\xff\xff\xff\xff",
            &all,
            &all.repeat(300),
        ] {
            assert_eq!(of(bytes), in_lua(bytes));
        }
        assert_ne!(of(b"ab"), of(b"ab\0"));
    }
}
