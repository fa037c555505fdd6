package replay

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/consumer/maintenance"
	"footfall/consumer/store"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// Options say what to do with which letters. The zero value sends nothing.
type Options struct {
	Select   deadletters.Selection
	Rules    deadletters.Rules
	Ahead    time.Duration // how far ahead of the clock an event may be
	Send     bool
	Again    bool    // send also letters of events that were sent again and failed once more
	Doubtful bool    // send also letters of which nobody can tell whether they were sent
	List     bool    // tell each letter
	Values   bool    // with key and value, which may hold personal data
	Rate     float64 // events a second; DefaultRate if 0
	Limit    int     // send this many at the most; 0: no limit
}

// DefaultRate leaves room for live traffic.
const DefaultRate = 200

// maxBatch is how many letters are sent at a time: what an interrupted run leaves to be found out.
const maxBatch = 100

// maxBatchBytes is about how many bytes are sent at a time: what can be sent in the time that a batch has.
const maxBatchBytes = 4 << 20

// replayer sends the dead letters of one log again.
type replayer struct {
	*eventlog.Log
	options  Options
	report   maintenance.Reporter
	log      *slog.Logger
	times    times
	size     int // of a batch
	ledger   *ledger
	sources  eventlog.Sources
	carried  map[string]maintenance.Carried // by sealed topic
	retired  store.Retirements
	mender   deadletters.Mender
	doubtful map[models.Position]bool
	tooLarge map[models.Position]bool // letters that Kafka refused for their size
	most     int                      // bytes of a request

	tally *deadletters.Report
	seen  map[models.Position]bool // origins
	batch []parcel
	bytes int       // of the batch
	next  time.Time // when the next batch may be sent
	told  time.Time // when progress was told
	total int64     // messages of the topic of dead letters
}

// Run looks at the dead letters of a log, and sends them again if o.Send is set. Each is sent once, however often Run is interrupted or repeated,
// by one process or several. It tells progress, and the letters if o.List is set, by report. The result is valid even if there is an error.
func Run(ctx context.Context, l *eventlog.Log, o Options, report maintenance.Reporter) (*deadletters.Report, error) {
	return newReplayer(l, o, report).run(ctx)
}

func newReplayer(l *eventlog.Log, o Options, report maintenance.Reporter) *replayer {
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	write := func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
		return raw.Append(ctx, l.Kafka, p, records)
	}
	view := *l
	view.Store = store.ReadOnly{Store: l.Store} // also to send: what tables are counted from is for consumers to record
	l = &view
	t := l.Config.Kafka.Topics
	return &replayer{
		Log: l, options: o, report: report, log: l.Logger, times: defaultTimes, size: min(maxBatch, max(1, int(o.Rate/2))),
		ledger: newLedger(l.Kafka, LedgerTopic(t.Dead), write),
		mender: deadletters.Mender{Plan: l.Plan, Clicks: t.Clicks, Visits: t.Visits, Rules: o.Rules, Ahead: o.Ahead},
		tally:  deadletters.NewReport(o.Rules), seen: map[models.Position]bool{}, doubtful: map[models.Position]bool{},
		tooLarge: map[models.Position]bool{}, most: requestBytes,
	}
}

func (r *replayer) run(ctx context.Context) (*deadletters.Report, error) {
	begun := time.Now()
	err := r.work(ctx)
	r.tally.Finish(time.Since(begun))
	return r.tally, err
}

func (r *replayer) work(ctx context.Context) error {
	if err := r.discover(ctx); err != nil {
		return err
	}
	if r.options.Send {
		if err := r.checkTables(ctx); err != nil {
			return err
		}
	}
	letters, err := r.letters(ctx) // before the ledger: no letter is younger than what the ledger says
	if err != nil {
		return err
	}
	if err := r.openLedger(ctx); err != nil {
		return err
	}
	r.told = time.Now()
	for number, span := range letters {
		p := models.Partition{Topic: r.Config.Kafka.Topics.Dead, Number: number}
		if _, err := raw.Read(ctx, r.Kafka, p, span, func(m kafka.Message) error { return r.take(ctx, m) }); err != nil {
			return err
		}
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	if n := r.tally.Fates[deadletters.Doubtful]; n > 0 && r.options.Send {
		return fmt.Errorf("%d letters are in doubt: an interrupted replay may have sent them, and Kafka has deleted what would tell; --doubtful sends them", n)
	}
	return nil
}

// checkTables refuses tables that nobody has counted into: they do not tell from which topics events are counted, and who refuses which.
func (r *replayer) checkTables(ctx context.Context) error {
	owners, err := r.Store.Owners(ctx)
	if err == nil && len(owners) == 0 {
		err = eventlog.Refuse("nothing was counted into these tables yet: start a consumer first, or see cassandra.hosts and cassandra.keyspace_suffix")
	}
	return err
}

// discover finds out where events go to, and which ones consumers refuse.
func (r *replayer) discover(ctx context.Context) (err error) {
	if r.sources, err = r.Sources(ctx); err != nil {
		return err
	}
	r.carried = map[string]maintenance.Carried{}
	for topic, s := range r.sources {
		if s.Seal == nil {
			continue
		}
		if r.carried[topic], err = maintenance.ReadCarried(ctx, r.Store, s); err != nil {
			return err
		}
	}
	notices, err := r.Store.Notices(ctx)
	if err != nil {
		return err
	}
	r.retired = notices.Retirements
	newest := models.Partition{Topic: r.sources.Newest(r.mender.Visits).Topic}
	r.mender.Refuse = func(e models.Event) *models.Invalid {
		if _, soon := notices.Retirements.Undecided(e); soon {
			return &models.Invalid{Reason: models.ReasonIntervalRetired, Detail: "it is being retired"}
		}
		return notices.Retirements.Refuse(newest, math.MaxInt64, e)
	}
	return nil
}

// letters finds the offsets of all dead letters.
func (r *replayer) letters(ctx context.Context) ([]eventlog.Span, error) {
	dead := r.Config.Kafka.Topics.Dead
	n, err := topics.Partitions(ctx, r.Kafka, dead)
	if err != nil {
		return nil, err
	}
	var partitions []models.Partition
	for number := range n {
		partitions = append(partitions, models.Partition{Topic: dead, Number: number})
	}
	bounds, err := eventlog.Bounds(ctx, r.Kafka, partitions)
	if err != nil {
		return nil, err
	}
	spans := make([]eventlog.Span, n)
	for p, span := range bounds {
		spans[p.Number] = span
		r.total += span.To - span.From
	}
	return spans, nil
}

// openLedger reads the ledger. If letters are to be sent, it creates and claims it, and finds out what an interrupted run has sent.
func (r *replayer) openLedger(ctx context.Context) error {
	if !r.options.Send {
		return r.ledger.look(ctx)
	}
	if err := topics.EnsureCompacted(ctx, r.Kafka, r.ledger.at.Topic, r.Config.Kafka.Topics.Dead); err != nil {
		return err
	}
	r.Kafka.Forget()
	if err := r.ledger.check(ctx); err != nil {
		return err
	}
	if err := r.ledger.open(ctx, r.claim()); err != nil {
		return err
	}
	return r.settle(ctx)
}

func (r *replayer) claim() claim {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	c := claim{At: time.Now().UTC(), Who: fmt.Sprintf("process %d on %s", os.Getpid(), host)}
	for _, rule := range r.options.Rules {
		c.What = append(c.What, rule.String())
	}
	return c
}

// take decides about one message of the topic of dead letters.
func (r *replayer) take(ctx context.Context, m kafka.Message) error {
	r.tally.Read++
	if time.Since(r.told) > maintenance.ProgressEvery {
		r.told = time.Now()
		r.report("%d of %d messages read, %d letters sent", r.tally.Read, r.total, r.tally.Sent)
	}
	l, err := deadletters.Parse(m)
	switch {
	case err != nil:
		r.tally.NoOrigin++
		return ctx.Err()
	case !r.options.Select.Match(l):
		r.tally.Unmeant++
		return ctx.Err()
	case r.seen[l.Origin]:
		r.tally.Repeats++
		return ctx.Err()
	}
	r.seen[l.Origin] = true
	r.tally.Select(l)
	return r.decide(ctx, l)
}

func (r *replayer) decide(ctx context.Context, l deadletters.Letter) error {
	fate, mended, why := r.fate(l)
	if r.options.List {
		r.list(l, fate, why)
	}
	switch fate {
	case deadletters.Invalid:
		r.tally.Stays(why.Reason)
	case deadletters.Send:
		r.tally.Sends(mended)
		return r.add(ctx, parcel{l.Origin, l, mended})
	default:
		r.tally.Fates[fate]++
	}
	return ctx.Err()
}

// list tells one letter: key and value, which may hold addresses of visitors, only if asked for.
func (r *replayer) list(l deadletters.Letter, fate deadletters.Fate, why *models.Invalid) {
	line := fmt.Sprintf("%s  %s  %s", deadletters.Name(l.Origin), l.At.UTC().Format(time.RFC3339), l.Reason)
	if l.Detail != "" {
		line += " (" + l.Detail + ")"
	}
	line += "  " + string(fate)
	if why != nil {
		line += ": " + why.Error()
	}
	if r.options.Values {
		line += fmt.Sprintf("  %s  %s", models.Excerpt(string(l.Key)), l.Value[:min(len(l.Value), maxShown)])
	}
	r.report("%s", line)
}

// maxShown is how many bytes of a letter are told.
const maxShown = 1000

// add adds a letter to the batch, and sends the batch when it is full.
func (r *replayer) add(ctx context.Context, p parcel) error {
	if !r.options.Send {
		return ctx.Err()
	}
	r.batch, r.bytes = append(r.batch, p), r.bytes+p.size()
	if len(r.batch) < r.size && r.bytes < maxBatchBytes {
		return ctx.Err()
	}
	return r.flush(ctx)
}

// flush sends the batch, no sooner than the rate allows.
func (r *replayer) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	if err := retry.Sleep(ctx, time.Until(r.next)); err != nil {
		return err
	}
	r.next = time.Now().Add(time.Duration(float64(len(r.batch)) / r.options.Rate * float64(time.Second)))
	err := r.deliver(ctx, r.batch)
	for _, p := range r.batch {
		if _, sent := r.ledger.sent[p.origin]; sent {
			r.tally.Sent++
		}
		if r.tooLarge[p.origin] {
			r.tally.Exceeds(p.Mended)
			r.report("%s is too large for its topic (max.message.bytes): it is not sent", deadletters.Name(p.origin))
		}
	}
	r.batch, r.bytes = nil, 0
	return err
}
