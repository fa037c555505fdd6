#!/usr/bin/env bash
# compile.sh OUT PACKAGE builds a program and says every few seconds how far that is. If all is compiled already it says nothing.
set -euo pipefail
said=$(mktemp)
trap 'rm -f "$said"' EXIT
go build -v -o "$1" "$2" 2> "$said" &
build=$!
packages=
while sleep 2; kill -0 $build 2> /dev/null; do
  compiled=$(grep -cv '^go: ' "$said" || true)
  if [ "$compiled" = 0 ]; then
    echo "compiling $2: $(grep -c '^go: downloading' "$said" || true) modules downloaded, after $SECONDS s" >&2
  else
    packages=${packages:-$(go list -deps "$2" | wc -l)}
    echo "compiling $2: $compiled of $packages packages, after $SECONDS s" >&2
  fi
done
wait $build || { cat "$said" >&2; exit 1; }
