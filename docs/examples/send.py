"""Sends a batch of visits and says what became of each. Python's standard library is enough.

PRODUCER is the address of the producer, KEY a write key (any text where access.open is set).
"""

import json
import os
import time
import urllib.error
import urllib.request
import uuid

PRODUCER = os.environ.get("PRODUCER", "http://127.0.0.1:8080")
KEY = os.environ.get("KEY", "none")


def post(path, body):
    """Returns the status and the answer. 4xx and 5xx have an answer too."""
    request = urllib.request.Request(
        PRODUCER + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + KEY},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response), response.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def send(events):
    """Sends events until the producer has all of them, and returns those that it will never take."""
    for event in events:
        event.setdefault("id", str(uuid.uuid4()))  # sent again under the same id it counts once
    hopeless = []
    while events:
        status, answer, headers = post("/v1/visits", events)
        if status not in (202, 207):
            if status not in (429, 503):
                raise RuntimeError(f"{status}: {answer}")
            time.sleep(int(headers.get("Retry-After", 1)))
            continue
        again = []
        for result in answer["results"]:
            event = events[result["index"]]
            if result["status"] in (429, 503):
                again.append(event)
            elif result["status"] != 202:
                hopeless.append((event, result["error"]))
        events = again
        if events:
            time.sleep(int(headers.get("Retry-After", 1)))
    return hopeless


refused = send([
    {"siteId": "example-python", "guid": "a", "feature1": "facebook.com", "feature2": "/index.html"},
    {"siteId": "example-python", "guid": "b"},
    {"siteId": "example-python"},
])
for event, reason in refused:
    print("refused:", reason, event)
assert [reason for _, reason in refused] == ["missing_guid"]
