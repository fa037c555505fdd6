package models_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"footfall/models"
	"footfall/models/modelstest"
)

var update = flag.Bool("update", false, "write what is made from the tables of fields")

// TestFieldsAreDescribed compares schemas, openapi.yaml and docs/api.md with the tables, or writes them.
func TestFieldsAreDescribed(t *testing.T) {
	clicks, visits := models.ClickFields, models.DefaultPlan().Fields()
	const openAPI = "../producer/assets/openapi.yaml"
	mark := func(of string) string { return "# models/declaration.go: " + of + "\n" }
	for _, r := range []struct {
		file, begin, end string // end is how the first line begins that is not among them
		lines            []string
	}{
		{"schema/click.v1.json", "\"type\": \"object\",\n", "}", topicSchema(clicks)},
		{"schema/visit.v1.json", "\"type\": \"object\",\n", "}", topicSchema(visits)},
		{openAPI, mark("Visit"), "      # end", senderSchema(slices.DeleteFunc(slices.Clone(visits), byProducer), "")},
		{openAPI, mark("Click"), "      # end", senderSchema(slices.DeleteFunc(slices.Clone(clicks), byProducer), "")},
		{openAPI, mark("Form"), "      # end", senderSchema(inForms(visits), "siteId")},
		{openAPI, mark("pixel"), "        # end", parameters(inForms(visits), inForms(clicks))},
		{"../docs/api.md", "| field | of | meaning | without it |\n| --- | --- | --- | --- |\n", "\n", rows(clicks, visits)},
	} {
		modelstest.Written(t, *update, r.file, r.begin, r.end, strings.Join(r.lines, "\n")+"\n")
	}
}

// TestFieldsHaveGoldenFiles demands a message of testdata for each field, which later versions must read, or writes it.
func TestFieldsHaveGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	for kind, fields := range map[string][]models.Field{"click": models.ClickFields, "visit": models.DefaultPlan().Fields()} {
		for _, f := range fields {
			if bytes.Contains(all, fmt.Appendf(nil, "%q:", f.Name)) {
				continue
			}
			some := slices.DeleteFunc(slices.Clone(fields), func(other models.Field) bool { return !other.Required && other.Name != f.Name })
			file := fmt.Sprintf("testdata/%s.v%d.%s.json", kind, models.Version, f.Name)
			if !*update {
				t.Errorf("no golden file has the field %s: -run %s -update writes %s", f.Name, t.Name(), file)
			} else if err := os.WriteFile(file, append(modelstest.Message(some), '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func byProducer(f models.Field) bool { return f.By == models.ByProducer }

// inForms are the fields of forms and pixels, under the names that they have there.
func inForms(fields []models.Field) (out []models.Field) {
	for _, f := range fields {
		if f.Means = ""; f.Form == "timestamp" {
			f.Min, f.Max, f.Means, f.Without = f.Min/1000, f.Max/1000, "Unix seconds", "now"
		}
		if f.Form != "" {
			f.Name = f.Form
			out = append(out, f)
		}
	}
	return out
}

func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// property is a field as JSON Schema has it, in one line that is YAML too.
func property(f models.Field, required bool, description string) string {
	parts := []string{`"type": ` + quote(f.Type)}
	add := func(format string, value any) { parts = append(parts, fmt.Sprintf(format, value)) }
	if required && f.Type == "string" {
		add(`"minLength": %d`, 1)
	}
	switch {
	case f.Pattern != "":
		add(`"pattern": %s`, quote(f.Pattern))
	case f.Type == "string":
		add(`"maxLength": %d`, f.Max)
	case f.Type == "integer" && f.Min == f.Max:
		add(`"const": %d`, f.Min)
	case f.Type == "integer":
		add(`"minimum": %d`, f.Min)
		add(`"maximum": %d`, f.Max)
	}
	if description != "" {
		add(`"description": %s`, quote(description))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// names are those of the fields for which is is true.
func names(fields []models.Field, is func(models.Field) bool) string {
	var out []string
	for _, f := range fields {
		if is(f) {
			out = append(out, quote(f.Name))
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// topicSchema are the lines of a JSON schema.
func topicSchema(fields []models.Field) []string {
	lines := []string{`  "required": ` + names(fields, func(f models.Field) bool { return f.Required }) + ",", `  "properties": {`}
	for i, f := range fields {
		line := fmt.Sprintf("    %q: %s,", f.Name, property(f, f.Required, cmp.Or(f.OnTopic, f.Means)))
		if i == len(fields)-1 {
			line = strings.TrimSuffix(line, ",")
		}
		lines = append(lines, line)
	}
	return append(lines, "  }")
}

// senderSchema are the lines of a schema of openapi.yaml: what senders must say, without what they may say elsewhere, and what they may.
func senderSchema(fields []models.Field, elsewhere string) []string {
	required := func(f models.Field) bool { return f.Required && f.By == models.BySender && f.Name != elsewhere }
	lines := []string{"      required: " + names(fields, required), "      properties:"}
	for _, f := range fields {
		f.Pattern = strings.Replace(f.Pattern, "[A-Z]", "[A-Za-z]", 1) // the producer writes it in capitals
		text := f.Means
		if text != "" && f.Without != "" {
			text += ". Without it: " + f.Without
		}
		lines = append(lines, fmt.Sprintf("        %s: %s", f.Name, property(f, required(f), text)))
	}
	return lines
}

// parameters are the lines of openapi.yaml for a pixel.
func parameters(visits, clicks []models.Field) (lines []string) {
	known := map[string]bool{}
	for _, f := range slices.Concat(visits, clicks) {
		more := ""
		switch isClick := slices.ContainsFunc(clicks, func(c models.Field) bool { return c.Name == f.Name }); {
		case known[f.Name]:
			continue
		case f.Means != "":
			more = `, "description": ` + quote(f.Means)
		case isClick && f.Name != "id":
			more = `, "description": "of a click"`
		case f.Required && f.By == models.BySender:
			more = `, "example": ` + f.Example // a request that has one is a visit
		}
		known[f.Name] = true
		lines = append(lines, fmt.Sprintf(`        - {"name": %q, "in": "query", "schema": %s%s}`, f.Name, property(f, false, ""), more))
	}
	return lines
}

var thousands = regexp.MustCompile(`(\d)(\d{3})$`)

// rows are the lines of the table in docs/api.md. Features share one.
func rows(clicks, visits []models.Field) (lines []string) {
	of := map[string]string{}
	for _, f := range clicks {
		of[f.Name] = "click"
	}
	for _, f := range visits {
		if of[f.Name] = "visit"; slices.ContainsFunc(clicks, func(c models.Field) bool { return c.Name == f.Name }) {
			of[f.Name] = "both"
		}
	}
	var last models.Field
	for _, f := range slices.Concat(visits, clicks) {
		switch {
		case of[f.Name] == "":
			continue
		case f.Means == last.Means:
			lines[len(lines)-1] = strings.Replace(lines[len(lines)-1], "` |", "`, `"+f.Name+"` |", 1)
			continue
		}
		without := f.Without
		if f.Required && f.By == models.BySender {
			without = "`400`"
		}
		limit := ""
		if f.Type == "string" && f.Pattern == "" && !byProducer(f) {
			limit = "; up to " + thousands.ReplaceAllString(fmt.Sprint(f.Max), "$1,$2") + " bytes"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s%s | %s |", f.Name, of[f.Name], f.Means, limit, without))
		delete(of, f.Name)
		last = f
	}
	return lines
}
