package migrations

import (
	"slices"
	"strings"
	"testing"
)

func TestMigrationsAreInOrder(t *testing.T) {
	all, err := All([]string{"feature1", "feature2"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Fatalf("%d migrations", len(all))
	}
	for i, m := range all {
		if m.Version != i+1 || m.Name == "" || len(m.Checksum) != 64 {
			t.Errorf("migration %d: version %d, name %q, checksum %q", i, m.Version, m.Name, m.Checksum)
		}
		for _, statement := range m.Statements {
			creates := strings.HasPrefix(statement, "CREATE ") && strings.Contains(statement, " IF NOT EXISTS ")
			if !creates && !strings.HasPrefix(statement, "DROP TABLE IF EXISTS ") {
				t.Errorf("migration %d is not safe to run again: %s", m.Version, statement)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := split(text); !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, want %q", text, got, want)
		}
	}
	f("")
	f("-- nothing\n")
	f("A;\nB\n  C;", "A", "B\n  C")
	f("A (\n  x int, -- what; for\n  y int\n);", "A (\n  x int,\n  y int\n)")
	f("A -- no end", "A")
}

// landed are the checksums that databases have recorded. A new migration adds a line. Lines never change: a database with another checksum is
// refused.
var landed = []string{
	"ba71d91d62d4cbac5df5a229532b6386eafa7b302d0f0a567b34836312592155", // 0001_footfall
	"170d277aa705e66e0293badd06351b72c8e7aad7c338191b04d02219a925312c", // 0002_urlshortener
	"619c4d8aeb4329018bf5c7505af627d0545d53ebfd54746ba300f86b8dc70f4f", // 0003_cardinality
	"1305e40c30dfa6581599caf8d5ae0a3afb566b69747179c9a731d0aee6b18d84", // 0004_doubts
	"c3eff923ba8159ecdec88e41352d3c4bf6da697cf2ccf9706418e6135566f7ad", // 0005_settings
	"cc9044477fd42da393293918a6d9efc1feca71a276d8f864b851c6eee8f1d3b2", // 0006_amounts
	"3c5e5e1549cb315cc3008b81d72fb5e9d46643a42a8fcb569e4ddfda69887a34", // 0007_latest
	"c53f463e81a6a365e5f03e556d758bafa6cfddcfd35bfd2db4c231abbeaf9a96", // 0008_retired
	"45fb9a9f2ef35332572acac43eaf9d4f9ffaf46e45aee846446c9414d6a44915", // 0009_tails
	"db30301a3cf3ec99b85d66b2d7c2f4b0c77b6535971e2892127d25a4fdf089cf", // 0010_catalogue
	"3535381200f606559f65e60b9fd22c293fc6324400ae709f7ca219e552784cdd", // 0011_visitors
	"2b646adcd0613e6ce2aa9be1b3fafecac59459f544278a1da9086037a0857f02", // 0012_leases
	"7ac3f3f119dd1480d34e6c61fefb4d76467d1ff4990e03ab8dee1adf1bd0971f", // 0013_united
	"4bfaf3e56a2dc8fe14a2716c7b9c10acf830619685d106ec4ec14d90f34e1ccc", // 0014_visitors_by_month
}

// Released migrations never change. The third was released without placeholders, with the names of the default features.
func TestReleasedMigrationsNeverChange(t *testing.T) {
	all, err := All([]string{"feature1", "feature2"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(landed) {
		t.Errorf("%d migrations, %d checksums: note down each one that lands", len(all), len(landed))
	}
	for i := range min(len(all), len(landed)) {
		if all[i].Checksum != landed[i] {
			t.Errorf("migration %d (%s) has checksum %s, but landed as %s", all[i].Version, all[i].Name, all[i].Checksum, landed[i])
		}
	}
}

func TestFeaturesAreColumns(t *testing.T) {
	all, err := All([]string{"referrer", "page", "device"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(all[2].Statements, ";\n")
	for _, want := range []string{
		"    guid text,\n    referrer text,\n    page text,\n    device text,\n    topic text,",
		"PRIMARY KEY ((siteId, interval_size, interval_start, bucket), guid, referrer, page, device)",
		"PRIMARY KEY ((siteId, month_interval_start, referrer, page, device), metric_type, interval_start)",
		"PRIMARY KEY ((siteId, month_interval_start, referrer, page, device), topic, kafka_partition, kind, epoch)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "feature") {
		t.Errorf("there are features that are not in the plan:\n%s", text)
	}
}
