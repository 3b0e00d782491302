#!/bin/sh
# Builds mcp-bridge and puts it in a folder that the shell finds programs in.
set -eu

usage() {
  cat <<'TEXT'
Builds mcp-bridge and installs it.

Usage: ./install.sh [--yes] [--from FILE]

  -y, --yes     Replace an installed mcp-bridge without asking
  --from FILE   Install this already built program; build nothing
  -h, --help    Show this

MCP_BRIDGE_INSTALL_DIR is the folder to install to; ~/.local/bin by default.
TEXT
}

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

# What the build needs, and where it comes from.
check_build_tools() {
  if ! command -v cargo >/dev/null 2>&1 && [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
    PATH=$HOME/.cargo/bin:$PATH
  fi
  wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
  command -v cargo >/dev/null 2>&1 ||
    fail "cargo is missing. Install Rust $wanted or later: https://rustup.rs"
  found=$(rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9]*\.[0-9]*\).*/\1/p')
  [ -n "$found" ] || fail "rustc is missing or broken. Install Rust $wanted or later: https://rustup.rs"
  if [ "${found%.*}" -lt "${wanted%.*}" ] ||
    { [ "${found%.*}" -eq "${wanted%.*}" ] && [ "${found#*.}" -lt "${wanted#*.}" ]; }; then
    fail "Rust $wanted or later is needed, and this is $found. Update it (rustup update), or install a newer one: https://rustup.rs"
  fi
  command -v cc >/dev/null 2>&1 ||
    fail "the C compiler cc is missing. Install one:
  Debian, Ubuntu  apt-get install build-essential
  Fedora          dnf install gcc
  Arch            pacman -S gcc
  Alpine          apk add build-base
  macOS           xcode-select --install"
}

# Asks before an installed program is replaced.
confirm_replacement() {
  [ ! -d "$target" ] || fail "$target is a folder. Move it away, or set MCP_BRIDGE_INSTALL_DIR to another folder."
  if [ "$yes" = 1 ] || { [ ! -e "$target" ] && [ ! -L "$target" ]; }; then
    return
  fi
  installed=$("$target" --version 2>/dev/null </dev/null || echo "another program")
  [ -t 0 ] ||
    fail "$target exists already ($installed), and there is no terminal to ask on. To replace it: ./install.sh --yes"
  printf '%s exists already (%s). Replace it? [y/N] ' "$target" "$installed"
  answer=
  read -r answer || true
  case $answer in
    [yY] | [yY][eE][sS]) ;;
    *) fail "nothing was changed." ;;
  esac
}

# Puts the program in place in one step, so that nobody ever sees half of it.
install_program() {
  problem=$(mkdir -p "$folder" 2>&1) || fail "the folder $folder can't be made. $problem"
  temporary=$folder/.mcp-bridge.$$
  trap 'rm -f "$temporary"' EXIT
  trap 'exit 130' HUP INT TERM
  problem=$({ cp "$program" "$temporary" && chmod 755 "$temporary"; } 2>&1) ||
    fail "$program can't be copied to $folder. $problem"
  version=$("$temporary" --version </dev/null) || fail "$program does not run on this machine."
  mv -f "$temporary" "$target" || fail "$target can't be replaced."
  echo "Installed $version: $target"
}

# Says what to add to PATH, in the words of the user's shell.
explain_path() {
  case :$PATH: in
    *":$folder:"*) return ;;
  esac
  shell=$(basename "${SHELL:-sh}")
  case $shell in
    bash)
      file=.bashrc
      [ "$(uname -s)" != Darwin ] || file=.bash_profile
      ;;
    zsh) file=.zshrc ;;
    *) file=.profile ;;
  esac
  line="export PATH=\"$folder:\$PATH\""
  if [ "$shell" = fish ]; then
    file=.config/fish/config.fish
    line="fish_add_path \"$folder\""
  fi
  printf '\n%s is not on your PATH. Add this line to ~/%s, then open a new terminal:\n\n  %s\n' \
    "$folder" "$file" "$line"
}

# How the program is called in the user's shell.
command_name() {
  case :$PATH: in
    *":$folder:"*) echo mcp-bridge ;;
    *) printf '"%s"\n' "$target" ;;
  esac
}

explain_setup() {
  name=$(command_name)
  cat <<TEXT

Next, add it to your MCP clients and let the game connect to it; each change is shown first, and made after a yes:

  $name setup

By hand: $PWD/examples/clients/README.md and examples/game/README.md there.
To see it work without a client and without the game: $name demo
TEXT
}

# Goes on with that, where somebody is there who can be asked.
offer_setup() {
  if [ ! -t 0 ] || [ ! -t 1 ]; then
    return
  fi
  printf '\nDo that now? [Y/n] '
  if ! read -r answer; then
    echo
    return
  fi
  case $answer in
    '' | [yY] | [yY][eE][sS]) exec "$target" setup ;;
  esac
}

yes=0
program=
while [ $# -gt 0 ]; do
  case $1 in
    -y | --yes) yes=1 ;;
    --from)
      [ $# -ge 2 ] || fail "--from must be followed by a file."
      program=$2
      shift
      ;;
    --from=*) program=${1#--from=} ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "unknown option $1. See ./install.sh --help" ;;
  esac
  shift
done

case $(uname -s) in
  MINGW* | MSYS* | CYGWIN*) fail "on Windows use this instead: cargo install --path . --locked" ;;
esac

folder=${MCP_BRIDGE_INSTALL_DIR:-}
if [ -z "$folder" ]; then
  [ -n "${HOME:-}" ] || fail "HOME is not set. Set MCP_BRIDGE_INSTALL_DIR to the folder to install to."
  folder=$HOME/.local/bin
fi
case $folder in
  /*) ;;
  *) folder=$PWD/$folder ;;
esac
folder=${folder%/}
target=$folder/mcp-bridge

if [ -n "$program" ]; then
  [ -f "$program" ] || fail "there is no file $program."
  case $program in
    /*) ;;
    *) program=$PWD/$program ;;
  esac
fi

cd "$(dirname "$0")"
confirm_replacement
if [ -z "$program" ]; then
  check_build_tools
  build=${CARGO_TARGET_DIR:-target}
  echo "Building mcp-bridge. This takes a few minutes the first time."
  cargo build --release --locked --target-dir "$build" || fail "the build failed; what is wrong is said above."
  program=$build/release/mcp-bridge
fi
install_program
explain_path
explain_setup
offer_setup
