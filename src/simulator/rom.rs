//! The Lua side of a simulated computer, embedded: its operating system, and the files of its `/rom`.

/// Lifts the native functions; the first chunk to run.
pub(super) const NATIVE: &str = include_str!("rom/native.lua");

/// The operating system; what the main coroutine runs.
pub(super) const BIOS: &str = include_str!("rom/bios.lua");

/// A path and the text of its file.
type Embedded = (&'static str, &'static str);

/// The APIs, by the path under which the operating system asks for them.
pub(super) const SYSTEM: &[Embedded] = &[
    ("apis/colors.lua", include_str!("rom/apis/colors.lua")),
    ("apis/devices.lua", include_str!("rom/apis/devices.lua")),
    ("apis/fs.lua", include_str!("rom/apis/fs.lua")),
    ("apis/gps.lua", include_str!("rom/apis/gps.lua")),
    ("apis/handles.lua", include_str!("rom/apis/handles.lua")),
    ("apis/http.lua", include_str!("rom/apis/http.lua")),
    ("apis/io.lua", include_str!("rom/apis/io.lua")),
    ("apis/json.lua", include_str!("rom/apis/json.lua")),
    ("apis/keys.lua", include_str!("rom/apis/keys.lua")),
    (
        "apis/paintutils.lua",
        include_str!("rom/apis/paintutils.lua"),
    ),
    ("apis/parallel.lua", include_str!("rom/apis/parallel.lua")),
    (
        "apis/peripherals.lua",
        include_str!("rom/apis/peripherals.lua"),
    ),
    ("apis/read.lua", include_str!("rom/apis/read.lua")),
    ("apis/rednet.lua", include_str!("rom/apis/rednet.lua")),
    ("apis/redstone.lua", include_str!("rom/apis/redstone.lua")),
    ("apis/settings.lua", include_str!("rom/apis/settings.lua")),
    ("apis/term.lua", include_str!("rom/apis/term.lua")),
    ("apis/textutils.lua", include_str!("rom/apis/textutils.lua")),
    ("apis/time.lua", include_str!("rom/apis/time.lua")),
    ("apis/utf8.lua", include_str!("rom/apis/utf8.lua")),
    ("apis/vector.lua", include_str!("rom/apis/vector.lua")),
    ("apis/window.lua", include_str!("rom/apis/window.lua")),
];

/// What a program sees in `/rom`, by path within it.
pub(super) const FILES: &[Embedded] = &[
    (
        "modules/main/cc/expect.lua",
        include_str!("rom/modules/main/cc/expect.lua"),
    ),
    (
        "modules/main/cc/pretty.lua",
        include_str!("rom/modules/main/cc/pretty.lua"),
    ),
    (
        "modules/main/cc/require.lua",
        include_str!("rom/modules/main/cc/require.lua"),
    ),
    (
        "modules/main/cc/strings.lua",
        include_str!("rom/modules/main/cc/strings.lua"),
    ),
    ("motd.txt", include_str!("rom/motd.txt")),
    (
        "programs/advanced/bg.lua",
        include_str!("rom/programs/advanced/bg.lua"),
    ),
    (
        "programs/advanced/fg.lua",
        include_str!("rom/programs/advanced/fg.lua"),
    ),
    (
        "programs/advanced/multishell.lua",
        include_str!("rom/programs/advanced/multishell.lua"),
    ),
    ("programs/alias.lua", include_str!("rom/programs/alias.lua")),
    ("programs/cd.lua", include_str!("rom/programs/cd.lua")),
    ("programs/clear.lua", include_str!("rom/programs/clear.lua")),
    ("programs/copy.lua", include_str!("rom/programs/copy.lua")),
    (
        "programs/delete.lua",
        include_str!("rom/programs/delete.lua"),
    ),
    ("programs/echo.lua", include_str!("rom/programs/echo.lua")),
    ("programs/edit.lua", include_str!("rom/programs/edit.lua")),
    ("programs/exit.lua", include_str!("rom/programs/exit.lua")),
    ("programs/gps.lua", include_str!("rom/programs/gps.lua")),
    (
        "programs/http/wget.lua",
        include_str!("rom/programs/http/wget.lua"),
    ),
    ("programs/id.lua", include_str!("rom/programs/id.lua")),
    ("programs/label.lua", include_str!("rom/programs/label.lua")),
    ("programs/list.lua", include_str!("rom/programs/list.lua")),
    ("programs/lua.lua", include_str!("rom/programs/lua.lua")),
    ("programs/mkdir.lua", include_str!("rom/programs/mkdir.lua")),
    ("programs/motd.lua", include_str!("rom/programs/motd.lua")),
    ("programs/move.lua", include_str!("rom/programs/move.lua")),
    (
        "programs/programs.lua",
        include_str!("rom/programs/programs.lua"),
    ),
    (
        "programs/reboot.lua",
        include_str!("rom/programs/reboot.lua"),
    ),
    ("programs/set.lua", include_str!("rom/programs/set.lua")),
    ("programs/shell.lua", include_str!("rom/programs/shell.lua")),
    (
        "programs/shutdown.lua",
        include_str!("rom/programs/shutdown.lua"),
    ),
    ("programs/time.lua", include_str!("rom/programs/time.lua")),
    ("programs/type.lua", include_str!("rom/programs/type.lua")),
    ("startup.lua", include_str!("rom/startup.lua")),
];
