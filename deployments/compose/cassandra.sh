#!/usr/bin/env bash
# Entrypoint of the cassandra service: it writes the settings of the cassandra.yaml beside this script into the image's own file, then starts
# the image as usual. It runs again at every restart of the container, so it has to be idempotent.
set -euo pipefail
ours="$(dirname "$0")/cassandra.yaml"
theirs="$CASSANDRA_CONF/cassandra.yaml"

# Cassandra refuses to start if the period of another sync mode is set as well.
for key in commitlog_sync_period $(sed -n 's/^\([a-z_]*\):.*/\1/p' "$ours"); do
  sed -i "/^$key:/d" "$theirs"
done
{ echo; grep '^[a-z_]*:' "$ours"; } >>"$theirs"

exec docker-entrypoint.sh "$@"
