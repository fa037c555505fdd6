#!/usr/bin/env bash
# Entrypoint of the cassandra service: puts the settings of cassandra.yaml beside this script into the image's own, then
# starts the image as usual. A container that is restarted comes through here again, so it must not matter how often.
set -euo pipefail
ours="$(dirname "$0")/cassandra.yaml"
theirs="$CASSANDRA_CONF/cassandra.yaml"

# Cassandra refuses to start if the period of another sync mode is set as well.
for key in commitlog_sync_period $(sed -n 's/^\([a-z_]*\):.*/\1/p' "$ours"); do
  sed -i "/^$key:/d" "$theirs"
done
{ echo; grep '^[a-z_]*:' "$ours"; } >>"$theirs"

exec docker-entrypoint.sh "$@"
