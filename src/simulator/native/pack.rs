//! `string.pack`, `string.unpack` and `string.packsize`, which the game's Lua has and Lua 5.2 lacks.

use mlua::{IntoLua, MultiValue, Value};

use super::section::{Args, Problem, Section};

/// What one letter of a format stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    Signed(usize),
    Unsigned(usize),
    Float,
    Double,
    /// A string of exactly so many bytes.
    Fixed(usize),
    /// A string after its length, which takes so many bytes.
    Prefixed(usize),
    ZeroTerminated,
    Padding,
    /// Only aligns, as an item of that size would be.
    Align(usize),
}

/// Reads a format letter by letter, keeping byte order and alignment.
struct Format<'a> {
    rest: &'a [u8],
    little: bool,
    max_align: usize,
}

type Outcome<T> = Result<T, Problem>;

impl<'a> Format<'a> {
    fn new(text: &'a [u8]) -> Self {
        Format {
            rest: text,
            little: true,
            max_align: 1,
        }
    }

    fn number(&mut self, default: usize) -> usize {
        let digits = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            return default;
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.iter().fold(0usize, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(usize::from(digit - b'0'))
        })
    }

    fn size(&mut self, default: usize) -> Outcome<usize> {
        match self.number(default) {
            size @ 1..=16 => Ok(size),
            size => Err(format!("integral size ({size}) out of limits [1,16]").into()),
        }
    }

    /// The next item and how many bytes of padding stand before it, at that place in the string.
    fn next(&mut self, place: usize) -> Outcome<Option<(Item, usize)>> {
        loop {
            let Some((&letter, rest)) = self.rest.split_first() else {
                return Ok(None);
            };
            self.rest = rest;
            let item = match letter {
                b'b' => Item::Signed(1),
                b'B' => Item::Unsigned(1),
                b'h' => Item::Signed(2),
                b'H' => Item::Unsigned(2),
                b'i' => Item::Signed(self.size(4)?),
                b'I' => Item::Unsigned(self.size(4)?),
                b'l' | b'j' => Item::Signed(8),
                b'L' | b'J' | b'T' => Item::Unsigned(8),
                b'f' => Item::Float,
                b'd' | b'n' => Item::Double,
                b's' => Item::Prefixed(self.size(8)?),
                b'z' => Item::ZeroTerminated,
                b'x' => Item::Padding,
                b'c' => match self.number(usize::MAX) {
                    usize::MAX => return Err("missing size for format option 'c'".into()),
                    size => Item::Fixed(size),
                },
                b'X' => match self.next(0)? {
                    Some((item, _)) if item.size() > 0 => Item::Align(item.size()),
                    _ => return Err("invalid next option for option 'X'".into()),
                },
                b' ' => continue,
                b'<' | b'=' => {
                    self.little = true;
                    continue;
                }
                b'>' => {
                    self.little = false;
                    continue;
                }
                b'!' => {
                    self.max_align = self.size(8)?;
                    continue;
                }
                other => {
                    return Err(format!("invalid format option '{}'", char::from(other)).into());
                }
            };
            let align = item.alignment().min(self.max_align);
            if align > 1 && !align.is_power_of_two() {
                return Err("format asks for alignment not power of 2".into());
            }
            let padding = if align > 1 {
                (align - place % align) % align
            } else {
                0
            };
            return Ok(Some((item, padding)));
        }
    }
}

impl Item {
    fn size(self) -> usize {
        match self {
            Item::Signed(size) | Item::Unsigned(size) | Item::Fixed(size) => size,
            Item::Float => 4,
            Item::Double => 8,
            Item::Padding => 1,
            Item::Prefixed(_) | Item::ZeroTerminated | Item::Align(_) => 0,
        }
    }

    fn alignment(self) -> usize {
        match self {
            Item::Signed(size)
            | Item::Unsigned(size)
            | Item::Prefixed(size)
            | Item::Align(size) => size,
            Item::Float => 4,
            Item::Double => 8,
            Item::Fixed(_) | Item::ZeroTerminated | Item::Padding => 1,
        }
    }
}

fn ordered(mut bytes: Vec<u8>, little: bool) -> Vec<u8> {
    if !little {
        bytes.reverse();
    }
    bytes
}

fn integer_bytes(value: i128, size: usize, little: bool) -> Vec<u8> {
    ordered(value.to_le_bytes()[..size].to_vec(), little)
}

fn read_integer(bytes: &[u8], little: bool, signed: bool) -> f64 {
    let bytes = ordered(bytes.to_vec(), little);
    let negative = signed && bytes.last().is_some_and(|top| top & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(&bytes);
    i128::from_le_bytes(wide) as f64
}

pub(super) fn add(section: &Section<'_>) -> mlua::Result<()> {
    section.add("pack", |lua, args| {
        let format = args.bytes(1)?;
        Ok(lua.create_string(pack(&format, &args)?)?)
    })?;
    section.add("unpack", |lua, args| {
        let (format, data) = (args.bytes(1)?, args.bytes(2)?);
        let start = if args.is_nil(3) { 1 } else { args.integer(3)? };
        let start = if start < 0 {
            start + data.len() as i64
        } else {
            start - 1
        };
        match usize::try_from(start) {
            Ok(start) if start <= data.len() => unpack(lua, &format, &data, start),
            _ => Err("bad argument #3 (initial position out of string)".into()),
        }
    })?;
    section.add("packsize", |_, args| {
        let text = args.bytes(1)?;
        let mut format = Format::new(&text);
        let mut place = 0;
        while let Some((item, padding)) = format.next(place)? {
            if matches!(item, Item::Prefixed(_) | Item::ZeroTerminated) {
                return Err("variable-length format".into());
            }
            place += padding + item.size();
        }
        Ok(place as f64)
    })
}

fn pack(format: &[u8], args: &Args) -> Outcome<Vec<u8>> {
    let mut format = Format::new(format);
    let mut packed = Vec::new();
    let mut argument = 1;
    while let Some((item, padding)) = format.next(packed.len())? {
        packed.resize(packed.len() + padding, 0);
        if !matches!(item, Item::Padding | Item::Align(_)) {
            argument += 1;
        }
        match item {
            Item::Padding => packed.push(0),
            Item::Align(_) => {}
            Item::Signed(size) | Item::Unsigned(size) => {
                let value = args.finite(argument)? as i128;
                let bits = size as u32 * 8;
                let fits = bits >= 64
                    || if matches!(item, Item::Signed(_)) {
                        (-(1 << (bits - 1))..1 << (bits - 1)).contains(&value)
                    } else {
                        (0..1 << bits).contains(&value)
                    };
                if !fits {
                    return Err(format!("bad argument #{argument} (integer overflow)").into());
                }
                packed.extend(integer_bytes(value, size, format.little));
            }
            Item::Float => {
                packed.extend(ordered(
                    (args.number(argument)? as f32).to_le_bytes().to_vec(),
                    format.little,
                ));
            }
            Item::Double => {
                packed.extend(ordered(
                    args.number(argument)?.to_le_bytes().to_vec(),
                    format.little,
                ));
            }
            Item::Fixed(size) => {
                let text = args.bytes(argument)?;
                if text.len() > size {
                    return Err(format!(
                        "bad argument #{argument} (string longer than given size)"
                    )
                    .into());
                }
                packed.extend_from_slice(&text);
                packed.resize(packed.len() + size - text.len(), 0);
            }
            Item::Prefixed(size) => {
                let text = args.bytes(argument)?;
                packed.extend(integer_bytes(text.len() as i128, size, format.little));
                packed.extend_from_slice(&text);
            }
            Item::ZeroTerminated => {
                let text = args.bytes(argument)?;
                if text.contains(&0) {
                    return Err(format!("bad argument #{argument} (string contains zeros)").into());
                }
                packed.extend_from_slice(&text);
                packed.push(0);
            }
        }
    }
    Ok(packed)
}

fn unpack(lua: &mlua::Lua, format: &[u8], data: &[u8], start: usize) -> Outcome<MultiValue> {
    let mut format = Format::new(format);
    let mut place = start;
    let mut values: Vec<Value> = Vec::new();
    let take = |place: &mut usize, size: usize| {
        let end = place.checked_add(size).filter(|end| *end <= data.len());
        let end = end.ok_or_else(|| Problem::from("bad argument #2 (data string too short)"))?;
        let taken = &data[*place..end];
        *place = end;
        Ok::<&[u8], Problem>(taken)
    };
    while let Some((item, padding)) = format.next(place)? {
        take(&mut place, padding)?;
        let little = format.little;
        match item {
            Item::Padding => drop(take(&mut place, 1)?),
            Item::Align(_) => {}
            Item::Signed(size) | Item::Unsigned(size) => {
                let signed = matches!(item, Item::Signed(_));
                values.push(Value::Number(read_integer(
                    take(&mut place, size)?,
                    little,
                    signed,
                )));
            }
            Item::Float => {
                let bytes = ordered(take(&mut place, 4)?.to_vec(), little);
                let bytes = bytes.first_chunk().copied().unwrap_or_default();
                values.push(Value::Number(f32::from_le_bytes(bytes).into()));
            }
            Item::Double => {
                let bytes = ordered(take(&mut place, 8)?.to_vec(), little);
                let bytes = bytes.first_chunk().copied().unwrap_or_default();
                values.push(Value::Number(f64::from_le_bytes(bytes)));
            }
            Item::Fixed(size) => {
                values.push(lua.create_string(take(&mut place, size)?)?.into_lua(lua)?)
            }
            Item::Prefixed(size) => {
                let length = read_integer(take(&mut place, size)?, little, false);
                values.push(
                    lua.create_string(take(&mut place, length as usize)?)?
                        .into_lua(lua)?,
                );
            }
            Item::ZeroTerminated => {
                let rest = &data[place..];
                let end = rest.iter().position(|&byte| byte == 0);
                let end = end.ok_or("bad argument #2 (unfinished string for format 'z')")?;
                values.push(lua.create_string(&rest[..end])?.into_lua(lua)?);
                place += end + 1;
            }
        }
    }
    values.push(Value::Number((place + 1) as f64));
    Ok(MultiValue::from_vec(values))
}
