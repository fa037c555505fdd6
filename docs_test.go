package footfall_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A table that analysts see, but that docs/model.md does not tell the queries and the size of, came in by the back door.
func TestEveryTableIsInTheModel(t *testing.T) {
	model, err := os.ReadFile(filepath.Join("docs", "model.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("migrations", "*.cql"))
	if err != nil {
		t.Fatal(err)
	}
	created := regexp.MustCompile(`CREATE TABLE IF NOT EXISTS \$\{(?:urlshortener|cardinality)\}\.(\w+)`)
	tables := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range created.FindAllStringSubmatch(string(text), -1) {
			tables++
			// in the drawing of the tables, and in the table of sizes
			if strings.Count(string(model), found[1]) < 2 || !strings.Contains(string(model), "`"+found[1]+"`") {
				t.Errorf("docs/model.md does not tell about %s", found[1])
			}
		}
	}
	if tables < 12 {
		t.Errorf("found %d tables only", tables)
	}
}
