package cassandra

import (
	"footfall/internal/cql"
	"footfall/models"
)

// keyToken is the token of a key's partition.
func keyToken(k models.Key) int64 {
	if k.Keyspace == models.URLShortener {
		return cql.Token([]byte(k.Name))
	}
	key := cql.AppendColumn(nil, k.Name)
	key = cql.AppendMillis(key, int64(k.Month))
	for _, f := range k.Features.Values() {
		key = cql.AppendColumn(key, f)
	}
	return cql.Token(key)
}
