package cql

// Keyspaces are the names of our keyspaces, with the configured suffix.
type Keyspaces struct{ Footfall, URLShortener, Cardinality string }

// KeyspacesOf returns the names for cassandra.keyspace_suffix.
func KeyspacesOf(suffix string) Keyspaces {
	return Keyspaces{"footfall" + suffix, "urlshortener" + suffix, "cardinality" + suffix}
}

// All returns the three names.
func (k Keyspaces) All() []string { return []string{k.Footfall, k.URLShortener, k.Cardinality} }
