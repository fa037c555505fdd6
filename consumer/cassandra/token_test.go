package cassandra

import (
	"testing"

	"footfall/internal/cql"
	"footfall/models"
)

// Our tokens are the server's. A wrong token would only make requests slower, so no other test would notice.
func testTokens(t *testing.T, store *Store) {
	urls := store.names.URLShortener + `.urls`
	for _, name := range []string{"a", "abc", "l000017", "12345678", "123456789abcdef", "123456789abcdefg", "ünïcödé-日本語-and-more-than-sixteen"} {
		if err := store.session.Query(`INSERT INTO `+urls+` (short_url) VALUES (?)`, name).Exec(); err != nil {
			t.Fatal(err)
		}
		var want int64
		if err := store.session.Query(`SELECT token(short_url) FROM `+urls+` WHERE short_url = ?`, name).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if got := keyToken(models.Key{Keyspace: models.URLShortener, Name: name}); got != want {
			t.Errorf("token of %q: %d, want %d", name, got, want)
		}
	}
	guid := models.Visitor{Site: "sitä", GUID: "962e0c3a-6c08-4160-9196-f0050faffe62", Month: models.Millis(1710111600000).Month(), Under: "\x00b"}
	if err := store.RememberFirsts(t.Context(), []models.Visitor{guid}, [][]models.First{{{Features: []string{"a", "b"}}}}); err != nil {
		t.Fatal(err)
	}
	var want int64
	of := partitionOf(guid)
	err := store.session.Query(`SELECT token(siteId, month_interval_start, bucket) FROM `+store.names.Cardinality+`.GuidData`+
		` WHERE siteId = ? AND month_interval_start = ? AND bucket = ?`,
		of.Args()...).Scan(&want)
	if err != nil {
		t.Fatal(err)
	}
	if got := cql.Token(of.AppendKey(nil)); got != want {
		t.Errorf("token of a partition of guids: %d, want %d", got, want)
	}
}
