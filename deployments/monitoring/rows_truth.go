package monitoring

// What holds the counts, what threatens them, and who shows them.

var store = row{"Store", []panel{
	{title: "Requests to Cassandra", unit: "reqps", stacked: true,
		about: "By kind: counters, ledger, lookup (of visitors), visitors (remembered), latest (clicks), names (listed).",
		query: one(`sum by (kind) (rate(footfall_store_requests_total{SELECT}[RANGE]))`, "{{kind}}")},
	{title: "Statements per event", unit: "short",
		about: "What counting costs Cassandra. It grows when chunks are small, or when visitors.lru is too small.",
		query: one(`footfall:store_statements_per_event:ratio_rate5m{JOB}`, "{{job}}")},
	{title: "Requests under way and waiting", unit: "short",
		about: "Requests of consumers to Cassandra. Worry when many wait while Cassandra is idle: raise cassandra.in_flight.",
		query: []query{
			{`sum by (instance) (footfall_store_requests_in_flight{SELECT})`, "{{instance}} under way"},
			{`sum by (instance) (footfall_store_requests_waiting{SELECT})`, "{{instance}} waiting"}}},
	{title: "Writes of keys", unit: "wps",
		about: "By outcome. Worry when refused or unknown moves: Cassandra fails or times out.",
		query: one(`sum by (outcome) (rate(footfall_key_writes_total{SELECT}[RANGE]))`, "{{outcome}}")},
	{title: "Flushes tried again in 15 minutes", unit: "short", alarm: 3,
		about: "Above 3 FootfallStoreFailing fires.",
		query: one(`sum by (job) (increase(footfall_flush_retries_total{SELECT}[15m]))`, "{{job}}")},
	{title: "Durable", unit: "short", worry: 1, below: true,
		about: "1: commitlog_sync is group or batch on every node of Cassandra. 0: a crash of a node can cost counts.",
		query: one(`min by (job) (footfall_store_durable{SELECT})`, "{{job}}")},
}}

var truth = row{"Truth", []panel{
	{title: "Alerts that fire", unit: "short", alarm: 1,
		about: "By name; docs/runbook.md has a section for each.",
		query: one(`count by (alertname, severity) (ALERTS{alertname=~"Footfall.+", alertstate="firing"}) or vector(0)`, "{{alertname}} {{severity}}")},
	{title: "Doubts open", unit: "short", worry: 1,
		about: "Spans of offsets that are checked again, after a crash or a write of unknown outcome. Worry when it does not come down within half an hour.",
		query: one(`sum by (topic) (footfall_doubts_open{SELECT})`, "{{topic}}")},
	{title: "Doubts in an hour", unit: "short", alarm: 1,
		about: "noted: put in doubt. not to be settled, now: the log no longer has the events, and counts may be wrong for good.",
		query: []query{
			{`sum(increase(footfall_doubts_total{SELECT}[1h]))`, "noted"},
			{`sum(footfall_doubts_unsettled{SELECT})`, "not to be settled"}}},
	{title: "Repairs in an hour", unit: "short", worry: 1,
		about: "Keys whose counts were repaired from the log, by outcome, and the faults of two hours that explain them.",
		query: []query{
			{`sum by (outcome) (increase(footfall_repairs_total{SELECT}[1h]))`, "{{outcome}}"},
			{`sum(footfall:faults:increase2h{JOB})`, "faults"}}},
	{title: "Dead letters in an hour", unit: "short", worry: 1,
		about: "Events that could not be counted, by topic. The headers in the topic of dead letters say why.",
		query: one(`sum by (topic) (increase(footfall_events_total{SELECT, outcome="invalid"}[1h]))`, "{{topic}}")},
	{title: "Events beyond a seal", unit: "short", alarm: 1,
		about: "Events that somebody wrote to a sealed topic. They are not counted until consumer grow is run again.",
		query: one(`sum by (topic) (footfall_beyond_seal_events{SELECT}) or vector(0)`, "{{topic}}")},
	{title: "Partitions without an owner", unit: "short", alarm: 1,
		about: "Partitions that nobody counts. Their lag is in no metric.",
		query: one(`footfall:partitions_unowned:sum{JOB}`, "{{topic}}")},
	{title: "Clicks lost in an hour", unit: "short", alarm: 1,
		about: "Redirects whose click was never written to Kafka, by reason.",
		query: one(`sum by (reason) (increase(footfall_clicks_dropped_total{SELECT}[1h])) or vector(0)`, "{{reason}}")},
	{title: "Panics in an hour", unit: "short", alarm: 1,
		about: "Survived, with the stack in the log. Must stay 0.",
		query: []query{
			{`sum(increase(footfall_producer_panics_total{SELECT}[1h]))`, "producer"},
			{`sum(increase(footfall_reader_panics_total{SELECT}[1h]))`, "reader"}}},
}}

var reader = row{"Reader", []panel{
	{title: "Questions", unit: "reqps", stacked: true,
		about: "Answered requests by route and HTTP status; 499: the client was gone before the answer.",
		query: one(top(20, `sum by (route, code) (rate(footfall_reader_requests_total{SELECT}[RANGE]))`), "{{route}} {{code}}")},
	{title: "Time to answer a question", unit: "s", worry: 0.5, alarm: 2.5,
		about: "p99 by route, until the last byte was handed over. Worry when it grows: Cassandra is slow.",
		query: one(top(20, `histogram_quantile(0.99, sum by (route, le) (rate(footfall_reader_seconds_bucket{SELECT}[RANGE])))`), "p99 {{route}}")},
	{title: "Questions refused", unit: "reqps",
		about: "By reason. store_unavailable, timed_out or overloaded: Cassandra is slow or away, or more is asked than http.max_in_flight.",
		query: one(top(20, `sum by (reason) (rate(footfall_reader_refused_total{SELECT}[RANGE]))`), "{{reason}}")},
	{title: "Questions under way", unit: "short",
		about: "http.max_in_flight is the most there can be.",
		query: one(`sum by (instance) (footfall_reader_in_flight{SELECT})`, "{{instance}}")},
	{title: "Rows sent", unit: "rowsps",
		about: "Rows of lists and exports.",
		query: one(`sum by (instance) (rate(footfall_reader_rows_total{SELECT}[RANGE]))`, "{{instance}}")},
	{title: "Answers that broke off in an hour", unit: "short", worry: 1,
		about: "Streamed answers that ended early: the store failed, or they took too long. The log says why.",
		query: one(`sum by (instance) (increase(footfall_reader_cut_total{SELECT}[1h]))`, "{{instance}}")},
}}

var processes = row{"Processes", []panel{
	{title: "Processor", unit: "percentunit",
		about: "100 % is one processor. A consumer that is busy all the time while lag grows: start more consumers.",
		query: one(`sum by (job, instance) (rate(process_cpu_seconds_total{SELECT}[RANGE]))`, "{{job}} {{instance}}")},
	{title: "Memory", unit: "bytes",
		about: "Resident memory. A consumer takes up to 300 MB under load before it saves any.",
		query: one(`sum by (job, instance) (process_resident_memory_bytes{SELECT})`, "{{job}} {{instance}}")},
	{title: "Versions", unit: "short",
		about: "Processes by component and version. Two versions of one component for long: a rollout did not finish.",
		query: one(`count by (component, version) (footfall_build_info{SELECT})`, "{{component}} {{version}}")},
}}
