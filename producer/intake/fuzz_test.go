package intake

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// newTestServer is a server with the default configuration, which listens nowhere and writes nothing.
func newTestServer(t testing.TB) *server {
	t.Helper()
	cfg, err := configs.LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	about, err := enrich.New(enrich.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &server{cfg: cfg, enrich: about}
	d.smallBodies, d.largeBodies = admission.NewBodySlots(cfg.HTTP.BodyBytes, cfg.HTTP.MaxBody, cfg.HTTP.BatchBytes)
	d.sole = admission.NewSoleTenant()
	d.workers = admission.NewWorkerSlots(d.sole)
	return d
}

// newFuzzServer is a server without Kafka: accepted events are checked instead of written.
func newFuzzServer(f *testing.F) *server {
	f.Helper()
	d := newTestServer(f)
	d.visits, d.access, d.limits = visits{models.DefaultPlan()}, &admission.Access{Open: true}, admission.NewLimits(configs.Limits{})
	return d
}

// reason is the reason of a refusal, "" if there is none.
func reason(err error) string {
	var why *answer.Refusal
	if errors.As(err, &why) {
		return why.Reason
	}
	return ""
}

// check checks what every decoder promises: an error that has an answer, or a valid event that encodes and decodes to itself.
func (d *server) check(t *testing.T, written draft, err error) {
	t.Helper()
	if err == nil {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		_, err = d.prepare(sender{request: r}, written, time.Now())
	}
	if err != nil {
		if why := answer.Of(err); why.Reason == answer.Internal || why.Status() < 400 || why.Status() > 499 {
			t.Errorf("%v is answered with %d %s", err, why.Status(), why.Reason)
		}
		return
	}
	wire, err := json.Marshal(written.event)
	if err != nil {
		t.Fatal(err)
	}
	var back models.Event
	if _, ok := written.event.(*models.Click); ok {
		back, err = models.UnmarshalClick(wire, true)
	} else {
		back, err = d.visits.plan.UnmarshalVisit(wire, true)
	}
	if err != nil {
		t.Fatalf("what goes to Kafka cannot be read: %s: %v", wire, err)
	}
	if err := back.Validate(); err != nil || back.KafkaKey() != written.event.KafkaKey() || back.EventID() != written.event.EventID() {
		t.Errorf("%s is not what was meant, or not valid: %v", wire, err)
	}
}

// FuzzJSON is the body of a single event.
func FuzzJSON(f *testing.F) {
	d := newFuzzServer(f)
	f.Add([]byte(`{"siteId":"s","guid":"g","ts":1522802128000,"feature1":"a","feature2":"b"}`))
	f.Add([]byte(`{"short_url":"abc","ip":"::ffff:203.0.113.7","country":"it","bot":null,"ua":"curl/8","referrer":"https://a.example/b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, way := range []func([]byte) (draft, error){d.visits.parseJSON, parseClick} {
			written, err := way(body)
			d.check(t, written, err)
		}
	})
}

// FuzzArray: splitting an array loses nothing, and the producer accepts the same JSON as encoding/json.
func FuzzArray(f *testing.F) {
	const most = 5
	f.Add([]byte(`[{"siteId":"s","guid":"g"}, 7,null,"]",[[]] ]`))
	f.Add([]byte(`[1,2,3,4,5,6]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if !isArray(body) {
			return
		}
		parts, err := splitArray(body, most)
		var want []json.RawMessage
		wrong := json.Unmarshal(body, &want)
		switch {
		case wrong != nil && err == nil:
			t.Fatalf("%q is no JSON (%v), but was cut into %q", body, wrong, parts)
		case wrong == nil && len(want) > most && reason(err) != answer.TooManyEvents:
			t.Fatalf("%d elements: %v", len(want), err)
		case wrong == nil && len(want) <= most && (err != nil || len(parts) != len(want)):
			t.Fatalf("%q was cut into %q, %v", body, parts, err)
		}
		for i := range parts {
			if !bytes.Equal(parts[i], want[i]) {
				t.Errorf("element %d is %q, want %q", i, parts[i], want[i])
			}
		}
	})
}

// FuzzLines: splitting lines keeps everything but white space, in order.
func FuzzLines(f *testing.F) {
	const most = 5
	f.Add([]byte("{}\r\n\n {\"siteId\":\"s\"} \n7"))
	f.Add([]byte("1\n2\n3\n4\n5\n6"))
	f.Fuzz(func(t *testing.T, body []byte) {
		parts, err := splitLines(body, most)
		if err != nil {
			if reason(err) != answer.TooManyEvents {
				t.Error(err)
			}
			return
		}
		var want [][]byte
		for _, line := range bytes.Split(body, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				want = append(want, line)
			}
		}
		if !bytes.Equal(bytes.Join(parts, []byte("\n")), bytes.Join(want, []byte("\n"))) || len(parts) > most {
			t.Errorf("%q was cut into %q", body, parts)
		}
	})
}

// FuzzForm is the body of /track with the query of its URL.
func FuzzForm(f *testing.F) {
	d := newFuzzServer(f)
	f.Add("siteId=s&key=k", []byte("guid=962e0c3a-6c08-4160-9196-f0050faffe62&timestamp=1522802128&feature1=facebook.com&feature2=/index.html\r\n"))
	f.Add("", []byte("siteId=s&guid=%00&id=%FF"))
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		written, err := d.visits.parseForm(query, body)
		d.check(t, written, err)
	})
}

// FuzzPixel is the query of /pixel.gif.
func FuzzPixel(f *testing.F) {
	d := newFuzzServer(f)
	f.Add("siteId=s&guid=g&feature1=a+b&timestamp=1522802128")
	f.Add("short_url=abc&referrer=https%3A%2F%2Fa.example%2Fb&key=k")
	f.Fuzz(func(t *testing.T, query string) {
		written, err := d.visits.parsePixel(query)
		d.check(t, written, err)
	})
}

// FuzzGzip: a compressed body is read as the original, up to the limits, or refused with a reason.
func FuzzGzip(f *testing.F) {
	d := newFuzzServer(f)
	d.cfg.HTTP.MaxBody, d.cfg.HTTP.BatchBytes = 100, 1000
	zipped := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return b.Bytes()
	}
	f.Add(zipped(`{"siteId":"s","guid":"g"}`))
	f.Add(zipped("[" + string(make([]byte, 5000)) + "]"))
	f.Add(append(zipped("["), zipped("]")...))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", bytes.NewReader(body))
		r.Header.Set("Content-Encoding", "gzip")
		var place admission.Slots
		got, err := d.readBody(httptest.NewRecorder(), r, &place, isArray)
		place.ReleaseAll()
		if err != nil {
			if why := reason(err); why != answer.BadGzip && why != answer.BodyTooLarge {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if len(got) > 1000 || len(got) > 100 && !isArray(got) {
			t.Errorf("%d bytes came out", len(got))
		}
		in, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := io.ReadAll(in); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q came out as %q, want %q, %v", body, got, want, errors.Join(err))
		}
	})
}

// FuzzMedia is the headers Content-Type and Content-Encoding.
func FuzzMedia(f *testing.F) {
	f.Add("application/json; charset=utf-8", "gzip")
	f.Add("text/plain;charset=UTF-8", "")
	f.Add("application/x-ndjson", "identity")
	f.Add("; charset", "gzip, gzip")
	f.Fuzz(func(t *testing.T, media, encoding string) {
		h := http.Header{"Content-Type": {media}, "Content-Encoding": {encoding}}
		for _, wanted := range [][]string{{jsonText, linesText}, {formText, plainText}} {
			got, err := answer.MediaType(h, wanted...)
			switch {
			case err != nil && reason(err) != answer.UnsupportedMedia:
				t.Errorf("%q: %v", media, err)
			case err == nil && media == "" && got != wanted[0]:
				t.Errorf("none is %q", got)
			case err == nil && media != "" && (!slices.Contains(wanted, got) || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(media)), got)):
				t.Errorf("%q is %q", media, got)
			}
		}
		if body, _, err := decompress(h, strings.NewReader("")); err != nil && reason(err) != answer.UnsupportedMedia || err == nil && body == nil {
			t.Errorf("%q: %v", encoding, err)
		}
	})
}
