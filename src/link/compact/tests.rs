use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{bytecode, compact};

/// Every Lua file below a folder of this repository.
fn lua_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lua_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            found.push(path);
        }
    }
}

fn assert_same(source: &str, what: &str) {
    let Ok(long) = bytecode::of(source) else {
        return; // A fragment, or Lua of a later version.
    };
    let short = compact(source).unwrap_or_else(|problem| panic!("{what}: {problem}"));
    let compiled =
        bytecode::of(&short).unwrap_or_else(|problem| panic!("{what}: {problem}\n{short}"));
    assert!(compiled == long, "{what} became another program:\n{short}");
}

#[test]
fn all_our_lua_compiles_to_the_same_lines_and_instructions_when_it_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["lua", "examples", "src", "tests"] {
        lua_files(&root.join(folder), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        assert_same(&source, &file.display().to_string());
    }
}

#[test]
fn what_lua_writes_in_odd_ways_stays_what_it_is() {
    for source in [
        // What would be read as something else if it stood together.
        "return - - 1, 1 .. 2, 0x1p4 .. '', a[ [[x]] ], 1. .. 2, 3 .. .5, not not a, a .. ... , -- -\n 2",
        "local a = 1 local b = a return a, b -- the end",
        "return [==[ -- no comment ]] ]==] --[[ a\ncomment ]] , --[=[ ]] ]=] \"--\\\"\", '\\\n'",
        "x = 1;;; ::here:: goto here",
        // Whom a name means.
        "local x = 1 local x = x return x",
        "local function f() return f end local f = function() return f end return f",
        "repeat local x = y until x local y = x",
        "for i = i, i do local i = i end for k, v in pairs(k) do v = k end return i",
        "local t = { t = t, [t] = t, t; f = function(t) return t.t end } return t.t",
        "local t = {} function t.t.t:t(t) return self, t end function t:f() return self end function t:g(...) return ... end",
        "local s = 's' return s:s(s){ s = s }'s' [s].s [[s]]",
        "local a, b, c = a, b; if a then local b = c elseif b then local c = a else local a = b end return a, b, c",
        "while w do local w = w break end do local w end return w",
        // Short names that are taken.
        "local long = 1 return a, long, b",
        "local self = 1 local t = {} function t:m() return self end return self",
        "return function(...) local first = ... return function() return first, _ENV end end",
    ] {
        bytecode::of(source).unwrap_or_else(|problem| panic!("{source}: {problem}"));
        assert_same(source, source);
    }
}

#[test]
fn names_blanks_and_comments_go_and_lines_stay() {
    let source = "--- What it is.\nlocal module = {}\n\n  -- Why.\n  function module:run(count)\n    return self, count + 1 -- more\n  end\n";
    assert_eq!(
        compact(source).unwrap(),
        "\nlocal a={}\n\n\nfunction a.run(b,c)\nreturn b,c+1\nend"
    );
}

#[test]
fn what_is_not_lua_is_told_with_its_line() {
    for (source, line) in [
        ("\nlocal = 1", 2),
        ("return 'open", 1),
        ("\n\n--[[ open", 3),
        ("x = [=[ open ]]", 1),
        ("if x then", 1),
        ("end", 1),
        ("a = ?", 1),
        ("f(", 1),
        ("t = {", 1),
    ] {
        let problem = compact(source).unwrap_err().to_string();
        assert!(
            problem.starts_with(&format!("line {line}:")),
            "{source}: {problem}"
        );
    }
}
