package intake

import (
	"net/http"
	"strconv"

	"footfall/models"
	"footfall/producer/enrich"
)

// clickPixelFields are what a pixel may say about a click. The rest is what its request shows: whoever loads a pixel is
// the visitor.
var clickPixelFields = []string{"short_url", "referrer", "timestamp", "id", "amount"}

// gif is one transparent pixel: the smallest picture that every mail program and browser shows.
const gif = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// pixel reads GET /pixel.gif: the fields of /track make a visit, short_url makes a click.
func (w visits) pixel(query string) (draft, error) {
	values, err := parseQuery(query)
	if err != nil {
		return draft{}, err
	}
	if !values.Has("short_url") {
		return w.form(values)
	}
	if err := onlyOnce(values, clickPixelFields); err != nil {
		return draft{}, err
	}
	ts, err := seconds(values.Get("timestamp"))
	if err != nil {
		return draft{}, err
	}
	worth, err := amount(values.Get("amount"))
	if err != nil {
		return draft{}, err
	}
	return draft{event: &models.Click{
		ID: values.Get("id"), ShortURL: values.Get("short_url"), Referrer: values.Get("referrer"), TS: ts, Amount: worth,
	}}, nil
}

// amount reads what a click was worth; nothing said is nothing.
func amount(text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, &models.Invalid{Reason: models.ReasonBadAmount, Detail: "amount is a whole number of the smallest unit, such as cents"}
	}
	return &n, nil
}

// takePixel shows the picture when Kafka has the event. Nobody may keep it: a picture from a cache is a visit that is not
// counted.
func (d *door) takePixel(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	from, err := d.admit(r)
	if err != nil {
		d.refuse(w, err, "")
		return
	}
	written, err := d.visits.pixel(r.URL.RawQuery)
	if _, visit := written.event.(*models.Visit); visit && enrich.Prefetch(r.Header) {
		d.unseen(w)
		return
	}
	d.fillSite(from, written)
	topic := d.cfg.Kafka.Topics.Visits
	if _, ok := written.event.(*models.Click); ok {
		topic = d.cfg.Kafka.Topics.Clicks
	}
	one := []outcome{{err: err}}
	d.accept(topic, from, []draft{written}, one, func() {})
	if one[0].err != nil {
		d.refuse(w, one[0].err, one[0].id)
		return
	}
	w.Header().Set("Content-Type", "image/gif")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(gif)) // a client that hung up is nobody's error
}
