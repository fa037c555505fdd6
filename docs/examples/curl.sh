#!/bin/sh
# Sends events with curl. PRODUCER is the address of the producer, KEY a write key (any text where access.open is set).
set -eu
PRODUCER=${PRODUCER:-http://127.0.0.1:8080}
KEY=${KEY:-none}
send() { curl --fail --silent --show-error -H "Authorization: Bearer $KEY" "$@"; echo; }

# One visit. Sent again under the same id it counts once, so that a failed attempt can be repeated without a thought.
send "$PRODUCER/v1/visits" -H 'Content-Type: application/json' -H 'Idempotency-Key: curl-1' --retry 5 \
  -d '{"siteId":"example-curl","guid":"962e0c3a","feature1":"facebook.com","feature2":"/index.html"}'

# Many at once, a line each, compressed.
printf '%s\n' '{"siteId":"example-curl","guid":"a"}' '{"siteId":"example-curl","guid":"b"}' | gzip |
  send "$PRODUCER/v1/visits" -H 'Content-Type: application/x-ndjson' -H 'Content-Encoding: gzip' --data-binary @-

# A form, as pages send it.
send "$PRODUCER/track?siteId=example-curl" -d 'guid=c&feature2=/index.html'

# A click that a service saw: it tells whose it was.
send "$PRODUCER/v1/clicks" -H 'Content-Type: application/json' -d '{"short_url":"example-curl","ip":"203.0.113.7","referrer":"news.example"}'

# A short link, with a key that has create_links, and where it leads (HEAD counts nothing).
send "$PRODUCER/v1/links" -H 'Content-Type: application/json' -d '{"short_url":"example-curl","long_url":"https://example.org/"}'
curl --fail --silent --head "$PRODUCER/example-curl" | grep -i '^location'
