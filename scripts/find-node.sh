# Sourced by the commands in bin/ with $root set. Puts a Node of at least $node_major, and an npm that fits it, on the PATH;
# fetches Node into .tools with the npm that is there if the one on the PATH is older. POSIX sh; says nothing on stdout.

node_major=24

fail() {
  echo "$*" >&2
  exit 1
}

# Answers the major version of a program that prints its version first, e.g. v24.21.0 or 11.19.1.
major_of() {
  "$1" --version 2>/dev/null | sed -n '1s/^v\{0,1\}\([0-9][0-9]*\)\..*/\1/p'
}

# Odd majors are short-lived, and tools refuse them.
is_new_enough() {
  major=$(major_of "$1")
  [ "${major:-0}" -ge "$node_major" ] && [ $((major % 2)) -eq 0 ]
}

node_package() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "Espalier runs on Linux and macOS, this is $(uname -s): use one of them (on Windows: WSL)." ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) echo "node-$os-x64" ;;
    aarch64 | arm64) echo "node-$os-arm64" ;;
    *) fail "There is no Node $node_major package for a $(uname -m) processor: install Node $node_major or newer yourself, then run this again." ;;
  esac
}

# What npm says went wrong, without the place of its own log; all of its last lines if it says nothing so.
npm_errors() {
  grep -E '^npm (error|ERR!) ' "$1" | grep -v 'complete log' | head -n 12 | grep . || tail -n 3 "$1"
}

# Installs beside the final place and moves there in one step: a run that is killed, or two at once, leave nothing half-way.
fetch_node() {
  command -v npm >/dev/null 2>&1 ||
    fail "Neither Node $node_major nor npm is on the PATH: install Node.js of any version with npm (Debian, Ubuntu: apt install npm; macOS: brew install node), then run this again."
  package=$1
  echo "setup: fetching Node $node_major into .tools (once)" >&2
  mkdir -p "$root/.tools" || fail "The folder $root/.tools cannot be made: make $root writable, then run this again."
  staging=$(mktemp -d "$root/.tools/install.XXXXXX") || fail "The folder $root/.tools cannot be written: make it writable, then run this again."
  trap 'rm -rf "$staging"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # An npm older than 10 does not run on Node 24: then one that does comes along.
  set -- "$package@$node_major"
  [ "$(major_of npm)" -ge 10 ] 2>/dev/null || set -- "$@" npm@11
  if ! npm install --prefix "$staging" --no-audit --no-fund --loglevel=error "$@" >"$staging/log" 2>&1; then
    fail "npm could not fetch Node $node_major: check the network and the registry that npm uses (behind a proxy see the README), then run this again. npm said:
$(npm_errors "$staging/log")"
  fi
  is_new_enough "$staging/node_modules/$package/bin/node" ||
    fail "The Node $node_major that npm fetched does not run on this system: install Node $node_major or newer yourself, then run this again."
  if [ -e "$root/.tools/node_modules" ] && ! is_new_enough "$root/.tools/node_modules/$package/bin/node"; then
    rm -rf "$root/.tools/node_modules"
  fi
  # Where another run was first, its Node stays.
  [ -e "$root/.tools/node_modules" ] || mv "$staging/node_modules" "$root/.tools/node_modules"
  rm -rf "$staging"
  trap - EXIT INT TERM
}

find_node() {
  package=$(node_package) || exit 1
  folder="$root/.tools/node_modules/$package/bin"
  if ! [ -x "$folder/node" ]; then
    if is_new_enough node; then return; fi
    fetch_node "$package"
  elif ! is_new_enough "$folder/node"; then
    fetch_node "$package"
  fi
  PATH="$folder:$root/.tools/node_modules/.bin:$PATH"
  export PATH
}

find_node
