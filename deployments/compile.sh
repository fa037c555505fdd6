#!/usr/bin/env bash
# compile.sh OUT PACKAGE builds a program and says every two seconds how far that is. If all is compiled already it says nothing.
set -euo pipefail
said=$(mktemp)
tell() {
  local compiled packages=
  while sleep 2 > /dev/null 2>&1; do # a sleep that outlives this holds no pipe open
    compiled=$(grep -cv '^go: ' "$said" || true)
    if [ "$compiled" = 0 ]; then
      echo "compiling $1: $(grep -c '^go: downloading' "$said" || true) modules downloaded, after $SECONDS s"
    else
      packages=${packages:-$(go list -deps "$1" | wc -l)}
      echo "compiling $1: $compiled of $packages packages, after $SECONDS s"
    fi
  done
}
tell "$2" >&2 &
trap 'kill $! 2> /dev/null || true; rm -f "$said"' EXIT
go build -v -o "$1" "$2" 2> "$said" || { cat "$said" >&2; exit 1; }
