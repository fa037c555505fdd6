package cql

import "testing"

func TestReplicationString(t *testing.T) {
	f := func(r Replication, several bool, want string) {
		t.Helper()
		if r.String() != want || r.Several() != several {
			t.Errorf("%v, several replicas: %v; want %s", r, r.Several(), want)
		}
	}
	simple := map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}
	three := map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc2": "1", "dc1": "3/1"}
	f(Replication{"a": simple, "b": simple}, false, "{'class': 'SimpleStrategy', 'replication_factor': '1'}")
	f(Replication{"a": three, "b": three}, true, "{'class': 'NetworkTopologyStrategy', 'dc1': '3/1', 'dc2': '1'}")
	f(Replication{"b": simple, "a": three}, true, "a {'class': 'NetworkTopologyStrategy', 'dc1': '3/1', 'dc2': '1'},"+
		" b {'class': 'SimpleStrategy', 'replication_factor': '1'}")
}
