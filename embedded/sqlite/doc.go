// Package sqlite is the store of embedded: the tables of the Cassandra store, under the same names, in
// SQLite files.
//
// Every Cassandra keyspace is an attached database of its own (urlshortener.db, cardinality.db, footfall.db), so that an
// analyst's CQL query runs unchanged: SELECT value FROM urlshortener.clickcounter WHERE short_url = 'abc'. Tables are
// WITHOUT ROWID, so that rows are in the order of the primary key as in a Cassandra partition, newest hour first where the
// key says DESC. Times are text, always UTC: '2018-10-01', or '2018-10-01 14:00' in rows of an hour.
//
// Exact counts depend on this:
//   - A transaction over several attached files is not atomic in WAL mode. A key and its ledger live in one file, and
//     every transaction here writes to one file only. Keep it so.
//   - synchronous is FULL: a commit is on the disk before it is acknowledged. With NORMAL, which WAL databases often
//     use, a power cut can undo acknowledged commits, a visitor's first sighting among them.
//   - There is one writer connection, and a transaction that has begun is never cancelled. So the outcome of a write is
//     always known, and WriteTimeout is 0. An I/O error while committing is reported as not applied. SQLite's recovery may
//     still apply such a commit when the files are opened next, and then the ledger, which is read again, has it too.
package sqlite
