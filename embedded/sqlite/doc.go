// Package sqlite is the store of the one-process default: the tables of the Cassandra store, under the same names, in
// SQLite files.
//
// Every Cassandra keyspace is an attached database of its own (urlshortener.db, cardinality.db, footfall.db), so that an
// analyst's CQL query runs as it is written: SELECT value FROM urlshortener.clickcounter WHERE short_url = 'abc'. Tables
// are WITHOUT ROWID, which makes them what a Cassandra partition is: rows in the order of the primary key, newest hour
// first where the key says DESC. Moments are text as people type them, always UTC: '2018-10-01', and '2018-10-01 14:00'
// where the row is about an hour.
//
// What the exactness of the counts rests on:
//   - A transaction over several attached files is not atomic in WAL mode. A key and its ledger live in one file, and
//     every transaction here writes to one file only. Keep it so.
//   - synchronous is FULL: a commit is on the disk before it is acknowledged. With NORMAL, which WAL databases often
//     use, a power cut takes acknowledged commits back, and a visitor's first sight with them.
//   - There is one writer connection, and a transaction that has begun is not called off. So the outcome of a write is
//     always known, and WriteTimeout is 0. An I/O error while committing is reported as not applied: such a commit can
//     come back only through recovery when the files are next opened, and then the ledger, read anew, has it too.
package sqlite
