// Package migrations has the schema as numbered .cql files, embedded in the binary. It applies them (`consumer migrate`) and checks that a
// database has them. Released files are never edited: a change is a new file. Where tables have features as columns, a file has the
// placeholders ${features} and ${feature_columns}; checksums are those of the file with the names filled in.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

//go:embed *.cql
var files embed.FS

// Migration is one file. Its statements create IF NOT EXISTS, so that an interrupted one can be run again.
type Migration struct {
	Version    int
	Name       string
	Checksum   string   // of the file with features filled in, but no other placeholder
	Statements []string // with the other placeholders: ${footfall}, ${urlshortener}, ${cardinality}, ${replication}
}

// All returns every migration in order, for tables with these features. Files are numbered 1, 2, 3, … without a gap, which a test checks.
func All(features []string) ([]Migration, error) {
	names := strings.NewReplacer(
		"${features}", strings.Join(features, ", "),
		"${feature_columns}", strings.Join(features, " text,\n    ")+" text,",
	)
	entries, err := files.ReadDir(".") // sorted by name, and so by number
	if err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	all := make([]Migration, 0, len(entries))
	for i, entry := range entries {
		file, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading migrations: %w", err)
		}
		text := names.Replace(string(file))
		_, name, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".cql"), "_")
		sum := sha256.Sum256([]byte(text))
		all = append(all, Migration{i + 1, name, hex.EncodeToString(sum[:]), split(text)})
	}
	return all, nil
}

// split cuts a file into statements, which end with a semicolon, and removes comments. No literal in our files contains "--" or ";".
func split(text string) []string {
	var bare strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		bare.WriteString(strings.TrimRight(code, " \n") + "\n")
	}
	var out []string
	for _, statement := range strings.Split(bare.String(), ";") {
		if s := strings.TrimSpace(statement); s != "" {
			out = append(out, s)
		}
	}
	return out
}
