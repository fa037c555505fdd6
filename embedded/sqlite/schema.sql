-- footfall on SQLite. The tables, columns and primary keys are those of migrations/*.cql; keyspaces are attached databases.
-- Counters are integers. All times are UTC: 'YYYY-MM-DD', or 'YYYY-MM-DD HH:MM' in rows of an hour, so that they sort as text.
--
-- Features are columns: their names are filled in when the tables are made.
--
-- Versions (PRAGMA user_version of each file):
--   1 to 3: before 1.0; such files are refused.
--   4: before the release; refused, too. GuidData had a row for each interval and combination of features.
--   5: the first.

-- footfall.db: bookkeeping, not for analysts.

-- Who owns which Kafka partition.
CREATE TABLE IF NOT EXISTS footfall.owners (
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    owner TEXT NOT NULL,
    clean INTEGER NOT NULL,           -- 1: the owner has every write acknowledged and writes no more under this epoch
    committed INTEGER NOT NULL,       -- every event below is counted
    taken_at TEXT NOT NULL,
    PRIMARY KEY (topic, kafka_partition)
) WITHOUT ROWID, STRICT;

-- Ranges of offsets whose counter writes have to be checked again.
CREATE TABLE IF NOT EXISTS footfall.doubts (
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    id INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset INTEGER NOT NULL,
    reason TEXT NOT NULL,
    since INTEGER NOT NULL,           -- Unix milliseconds, as those below
    noted_at INTEGER NOT NULL,
    due INTEGER NOT NULL,
    checks INTEGER NOT NULL,
    PRIMARY KEY (topic, kafka_partition, id)
) WITHOUT ROWID, STRICT;

-- Settings that must never change once something is counted, such as the number of a topic's partitions.
CREATE TABLE IF NOT EXISTS footfall.settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID, STRICT;

-- The last message of each Kafka partition that was counted: the offset after it, and a fingerprint.
CREATE TABLE IF NOT EXISTS footfall.tails (
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    tail TEXT NOT NULL,
    PRIMARY KEY (topic, kafka_partition)
) WITHOUT ROWID, STRICT;

-- How far the consumer is, for those who read counts.
CREATE TABLE IF NOT EXISTS footfall.progress (
    name TEXT NOT NULL,               -- 'counted'
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    counted INTEGER NOT NULL,         -- every event below is counted
    log_end INTEGER NOT NULL,         -- where the partition ended at the moment at, or a little later
    event_time INTEGER,               -- Unix milliseconds: Kafka's time of the last message that was counted; null: none was since the row was made
    at INTEGER NOT NULL,              -- Unix milliseconds
    PRIMARY KEY (name, topic, kafka_partition)
) WITHOUT ROWID, STRICT;

-- The log that these files count. Offsets of another log mean nothing here.
CREATE TABLE IF NOT EXISTS footfall.log (
    id TEXT PRIMARY KEY
) WITHOUT ROWID, STRICT;

-- urlshortener.db: everything about a link has short_url first.

CREATE TABLE IF NOT EXISTS urlshortener.urls (
    short_url TEXT PRIMARY KEY,
    long_url TEXT,
    created_at TEXT
) WITHOUT ROWID, STRICT;

-- All clicks. Those of bots are only in botcounter.
CREATE TABLE IF NOT EXISTS urlshortener.clickcounter (
    short_url TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- DESC: the newest come first without ORDER BY, as in Cassandra.
CREATE TABLE IF NOT EXISTS urlshortener.hourcounters (
    short_url TEXT NOT NULL,
    hour TEXT NOT NULL,               -- start of the hour
    value INTEGER NOT NULL,
    PRIMARY KEY (short_url, hour DESC)
) WITHOUT ROWID, STRICT;

CREATE TABLE IF NOT EXISTS urlshortener.daycounters (
    short_url TEXT NOT NULL,
    day TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (short_url, day DESC)
) WITHOUT ROWID, STRICT;

CREATE TABLE IF NOT EXISTS urlshortener.countrycounters (
    short_url TEXT NOT NULL,
    country TEXT NOT NULL,            -- ISO 3166 alpha-2, ZZ when unknown
    value INTEGER NOT NULL,
    PRIMARY KEY (short_url, country)
) WITHOUT ROWID, STRICT;

CREATE TABLE IF NOT EXISTS urlshortener.referrercounters (
    short_url TEXT NOT NULL,
    referrer TEXT NOT NULL,           -- '' for direct clicks
    value INTEGER NOT NULL,
    PRIMARY KEY (short_url, referrer)
) WITHOUT ROWID, STRICT;

-- Clicks by month, for each value of a dimension, such as country or browser.
CREATE TABLE IF NOT EXISTS urlshortener.monthcounters (
    short_url TEXT NOT NULL,
    dimension TEXT NOT NULL,
    month TEXT NOT NULL,
    label TEXT NOT NULL,              -- '' if the click lacks it
    value INTEGER NOT NULL,
    PRIMARY KEY (short_url, dimension, month DESC, label)
) WITHOUT ROWID, STRICT;

-- Distinct IPs.
CREATE TABLE IF NOT EXISTS urlshortener.uniquecounter (
    short_url TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- The IPs, each with its first event, so that counting the log again gives the same result.
CREATE TABLE IF NOT EXISTS urlshortener.uniquecounterips (
    short_url TEXT NOT NULL,
    ip TEXT NOT NULL,
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    kafka_offset INTEGER NOT NULL,
    PRIMARY KEY (short_url, ip)
) WITHOUT ROWID, STRICT;

CREATE TABLE IF NOT EXISTS urlshortener.botcounter (
    short_url TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- Amounts of clicks: how many clicks of a day had one, and their sum, in the smallest unit.
CREATE TABLE IF NOT EXISTS urlshortener.amountcounters (
    short_url TEXT NOT NULL,
    day TEXT NOT NULL,
    num_values INTEGER NOT NULL,
    sum_values INTEGER NOT NULL,
    PRIMARY KEY (short_url, day DESC)
) WITHOUT ROWID, STRICT;

-- The latest clicks of a link by day, newest first, for a while. Empty unless latest.enabled.
CREATE TABLE IF NOT EXISTS urlshortener.latestclicks_kept (
    short_url TEXT NOT NULL,
    day TEXT NOT NULL,
    ts INTEGER NOT NULL,              -- Unix milliseconds; the text of a timeuuid does not sort by time
    at TEXT NOT NULL,
    country TEXT NOT NULL,
    referrer TEXT NOT NULL,
    ip TEXT NOT NULL,
    bot INTEGER NOT NULL,
    id TEXT NOT NULL,
    expires INTEGER NOT NULL,         -- Unix milliseconds
    PRIMARY KEY (short_url, day, ts DESC, at DESC)
) WITHOUT ROWID, STRICT;

CREATE INDEX IF NOT EXISTS urlshortener.latestclicks_expire ON latestclicks_kept (expires);

-- The view for analysts, without expired rows, as in Cassandra.
CREATE VIEW IF NOT EXISTS urlshortener.latestclicks AS
    SELECT short_url, day, at, country, referrer, ip, iif(bot, 'True', 'False') AS bot, id FROM latestclicks_kept
    WHERE expires > CAST(unixepoch('subsec') * 1000 AS INTEGER);

-- Links that were clicked on a day, not by bots alone. bucket is the first hex digit of the short_url's MD5: name_bucket(short_url).
CREATE TABLE IF NOT EXISTS urlshortener.links_by_day (
    day TEXT NOT NULL,
    bucket TEXT NOT NULL,
    short_url TEXT NOT NULL,
    PRIMARY KEY (day, bucket, short_url)
) WITHOUT ROWID, STRICT;

-- The ledger: the link's counters hold its events in [from_offset, to_offset) of that Kafka partition.
CREATE TABLE IF NOT EXISTS urlshortener.applied (
    short_url TEXT NOT NULL,
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    kind TEXT NOT NULL,               -- owner; plus and minus are repairs
    epoch INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset INTEGER NOT NULL,
    PRIMARY KEY (short_url, topic, kafka_partition, kind, epoch)
) WITHOUT ROWID, STRICT;

-- cardinality.db: how many people visited a site.

-- What is remembered of a visitor of a site in a month: an entry for each event that was the first in some way, as migrations/0003_cardinality.cql
-- says. bucket is the first two hex digits of the guid's MD5; here it only keeps the key the same as in Cassandra.
CREATE TABLE IF NOT EXISTS cardinality.GuidData (
    siteId TEXT NOT NULL,
    month_interval_start TEXT NOT NULL,
    bucket TEXT NOT NULL,
    guid TEXT NOT NULL,
    under TEXT NOT NULL,
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    kafka_offset INTEGER NOT NULL,
    seen TEXT NOT NULL,               -- a JSON array, such as ["2018-10-05","month:c week:c day:f","facebook.com","/news"]
    PRIMARY KEY (siteId, month_interval_start, bucket, guid, under, topic, kafka_partition, kafka_offset)
) WITHOUT ROWID, STRICT;

-- month_unique, week_unique, day_unique for every combination; month_views, day_views, hour_views for the whole site and
-- each single feature. A week belongs to the month its Monday is in.
CREATE TABLE IF NOT EXISTS cardinality.Counts (
    siteId TEXT NOT NULL,
    month_interval_start TEXT NOT NULL,
    ${feature_columns}
    metric_type TEXT NOT NULL,
    interval_start TEXT NOT NULL,     -- with the time of day for hour_views only
    visits INTEGER NOT NULL,
    PRIMARY KEY (siteId, month_interval_start, ${features}, metric_type, interval_start)
) WITHOUT ROWID, STRICT;

-- Sites that have counters in a month.
CREATE TABLE IF NOT EXISTS cardinality.sites_by_month (
    month_interval_start TEXT NOT NULL,
    siteId TEXT NOT NULL,
    PRIMARY KEY (month_interval_start, siteId)
) WITHOUT ROWID, STRICT;

-- The values that a feature of a site had in a month. bucket is the first hex digit of the value's MD5: name_bucket(value).
CREATE TABLE IF NOT EXISTS cardinality.values_by_month (
    siteId TEXT NOT NULL,
    month_interval_start TEXT NOT NULL,
    feature TEXT NOT NULL,            -- the name of its column in Counts
    bucket TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (siteId, month_interval_start, feature, bucket, value)
) WITHOUT ROWID, STRICT;

-- The ledger, as in the other file.
CREATE TABLE IF NOT EXISTS cardinality.applied (
    siteId TEXT NOT NULL,
    month_interval_start TEXT NOT NULL,
    ${feature_columns}
    topic TEXT NOT NULL,
    kafka_partition INTEGER NOT NULL,
    kind TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset INTEGER NOT NULL,
    PRIMARY KEY (siteId, month_interval_start, ${features}, topic, kafka_partition, kind, epoch)
) WITHOUT ROWID, STRICT;
