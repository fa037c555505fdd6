package e2e

import (
	"reflect"
	"testing"
)

func TestParseTables(t *testing.T) {
	got, err := parseTables("\n hour                            | value\n---------------------------------+-------\n" +
		" 2018-10-01 14:00:00.000000+0000 |     5\n 2018-10-01 13:00:00.000000+0000 |    12\n\n(2 rows)\n" +
		"\n value\n-------\n\n\n(0 rows)\n\n ip\n----\n ::1\n\n(1 rows)\n" +
		"\n referrer | value\n----------+-------\n          |     3\n      a|b |     4\n\n(2 rows)\n")
	want := [][][]string{{{"2018-10-01T14:00:00Z", "5"}, {"2018-10-01T13:00:00Z", "12"}}, nil, {{"::1"}},
		{{"", "3"}, {"a|b", "4"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, cut := range []string{" value\n-------\n 7\n", " value\n-------\n 7\n(2 rows)\n"} {
		if got, err := parseTables(cut); err == nil {
			t.Errorf("got %q of %q, want an error", got, cut)
		}
	}
}
