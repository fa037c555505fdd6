package tables

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"footfall/simulator/mock"
)

// The rows of the example in the description of the tables: a visitor of July 2018, and the counts 13, 5 and 15 for a referer, a referer
// and a page, and a page.
const example = `Partition Key: 'site1:month:1530403200:acd9cc5b-165b-4d5d-bbcc-50c840038b63:::'
=>(column='visits', value='1')
Partition Key: 'site1:month:1530403200:acd9cc5b-165b-4d5d-bbcc-50c840038b63:facebook.com::'
=>(column='visits', value='1')
Partition Key: 'site1:month:1530403200:acd9cc5b-165b-4d5d-bbcc-50c840038b63::/index.html:'
=>(column='visits', value='1')
Partition Key: 'site1:month:1530403200:acd9cc5b-165b-4d5d-bbcc-50c840038b63:facebook.com:/index.html:'
=>(column='visits', value='1')
Partition Key: 'site1:1530403200:facebook.com:'
=>(column='month_unique:1530403200:visits', value='13')
Partition Key: 'site1:1530403200:facebook.com:/index.html'
=>(column='month_unique:1530403200:visits', value='5')
Partition Key: 'site1:1530403200::/index.html'
=>(column='month_unique:1530403200:visits', value='15')
`

func TestTextOfTheExample(t *testing.T) {
	july := time.Date(2018, 7, 20, 12, 0, 0, 0, time.UTC)
	var visits []mock.Visit
	add := func(n int, features ...string) {
		for range n {
			guid := fmt.Sprintf("guid%d", len(visits))
			if len(visits) == 0 {
				guid = "acd9cc5b-165b-4d5d-bbcc-50c840038b63"
			}
			visits = append(visits, mock.Visit{GUID: guid, At: july, Features: features})
		}
	}
	add(5, "facebook.com", "/index.html")
	add(8, "facebook.com", "/index2.html")
	add(10, "google.com", "/index.html")
	text := written(t, visits)
	for pair := range strings.SplitSeq(strings.TrimSuffix(example, "\n"), "\nPartition") {
		if !strings.Contains(text, "Partition"+strings.TrimPrefix(pair, "Partition")+"\n") {
			t.Errorf("not in the text: %s", pair)
		}
	}
}

// The whole text for one visitor who came twice.
func TestTextInFull(t *testing.T) {
	at := time.Date(2018, 10, 31, 23, 59, 59, 0, time.UTC)
	got := written(t, []mock.Visit{
		{GUID: "g", At: at, Features: []string{"facebook.com", "/"}},
		{GUID: "g", At: at, Features: []string{"facebook.com", ""}},
		{GUID: "g", At: at.Add(time.Second), Features: []string{"", ""}},
	})
	const want = `Column Family: 'site1_cf_guid_data'
Partition Key: 'site1:month:1538352000:g::/:'
=>(column='visits', value='1')
Partition Key: 'site1:month:1538352000:g:::'
=>(column='visits', value='2')
Partition Key: 'site1:month:1538352000:g:facebook.com:/:'
=>(column='visits', value='1')
Partition Key: 'site1:month:1538352000:g:facebook.com::'
=>(column='visits', value='2')
Partition Key: 'site1:month:1541030400:g:::'
=>(column='visits', value='1')
Column Family: 'site1_cf_monthly_data'
Partition Key: 'site1:1538352000::'
=>(column='month_unique:1538352000:visits', value='1')
Partition Key: 'site1:1538352000::/'
=>(column='month_unique:1538352000:visits', value='1')
Partition Key: 'site1:1538352000:facebook.com:'
=>(column='month_unique:1538352000:visits', value='1')
Partition Key: 'site1:1538352000:facebook.com:/'
=>(column='month_unique:1538352000:visits', value='1')
Partition Key: 'site1:1541030400::'
=>(column='month_unique:1541030400:visits', value='1')
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// A colon in a value looks like the one between two values, but the two rows are counted apart.
func TestTextKeepsColonsApart(t *testing.T) {
	at := time.Date(2018, 10, 31, 23, 59, 59, 0, time.UTC)
	text := written(t, []mock.Visit{
		{GUID: "g", At: at, Features: []string{"a:b", "c"}},
		{GUID: "g", At: at, Features: []string{"a", "b:c"}},
		{GUID: "g", At: at, Features: []string{"a", "b:c"}},
	})
	for row, want := range map[string]int{
		"Partition Key: 'site1:month:1538352000:g:a:b:c:'\n=>(column='visits', value='1')\n":                1,
		"Partition Key: 'site1:month:1538352000:g:a:b:c:'\n=>(column='visits', value='2')\n":                1,
		"Partition Key: 'site1:1538352000:a:b:c'\n=>(column='month_unique:1538352000:visits', value='1')\n": 2,
	} {
		if got := strings.Count(text, row); got != want {
			t.Errorf("%d times, want %d: %s", got, want, row)
		}
	}
}

func written(t *testing.T, visits []mock.Visit) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, "site1", visits); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBucket(t *testing.T) {
	if got := bucket("g"); got != "b2" { // printf %s g | md5sum
		t.Errorf("got %s", got)
	}
}

func TestDiffSeesAllThreeKinds(t *testing.T) {
	got := fmt.Sprint(Diff(Cells{"same": 1, "wrong": 2, "lost": 3}, Cells{"same": 1, "wrong": 5, "extra": 4}))
	if want := "[extra: 4, want no such row lost: missing, want 3 wrong: 5, want 2]"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestEntriesOfVisitors(t *testing.T) {
	c := Cells{}
	for _, seen := range [][]string{
		{"2018-10-31", "month:4 day:3", "fb", "it's"},
		{"2018-10-31", "week:1", "fb", ""},
	} {
		if err := c.AddSeen("s", "b2", "g", seen); err != nil {
			t.Error(err)
		}
	}
	want := Cells{
		"GuidData('s', 'month', '2018-10-01', 'b2', 'g', '', 'it''s')": 1, "GuidData('s', 'day', '2018-10-31', 'b2', 'g', '', '')": 1,
		"GuidData('s', 'day', '2018-10-31', 'b2', 'g', 'fb', '')": 1, "GuidData('s', 'week', '2018-10-29', 'b2', 'g', '', '')": 1,
	}
	if differ := Diff(want, c); len(differ) > 0 {
		t.Error(differ)
	}
	for _, seen := range [][]string{
		nil, {"2018-10-31"}, {"today", "day:1", "fb", ""}, {"2018-10-31", "year:1", "fb", ""}, {"2018-10-31", "day:x", "fb", ""}, {"2018-10-31", "week:1", "fb", ""},
	} {
		if c.AddSeen("s", "b2", "g", seen) == nil {
			t.Errorf("%q is an entry", seen)
		}
	}
}
