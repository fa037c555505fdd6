"""Tells schemathesis how to send NDJSON: as the text that it is."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
