package models

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// schema is the part of JSON Schema that our schemas use. Any other keyword fails the tests: a schema must not promise what nothing checks.
type schema struct {
	Schema      string              `json:"$schema"`
	ID          string              `json:"$id"`
	Title       string              `json:"title"`
	Description string              `json:"description"`
	Type        string              `json:"type"`
	Required    []string            `json:"required"`
	Properties  map[string]property `json:"properties"`
}

type property struct {
	Const       any    `json:"const"`
	Type        string `json:"type"`
	MinLength   int    `json:"minLength"`
	MaxLength   int    `json:"maxLength"`
	Minimum     int64  `json:"minimum"`
	Maximum     int64  `json:"maximum"`
	Pattern     string `json:"pattern"`
	Description string `json:"description"`
}

func readSchema(t *testing.T, kind string, version int) schema {
	t.Helper()
	file, err := os.Open(filepath.Join("schema", fmt.Sprintf("%s.v%d.json", kind, version)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	d := json.NewDecoder(file)
	d.DisallowUnknownFields()
	var s schema
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%s: %v", file.Name(), err)
	}
	return s
}

func TestSchemasHaveTheirNames(t *testing.T) {
	for _, kind := range []string{"click", "visit"} {
		if s := readSchema(t, kind, Version); s.ID != fmt.Sprintf("urn:footfall:%s:v%d", kind, Version) || s.Type != "object" {
			t.Errorf("%s: $id %s, type %s", kind, s.ID, s.Type)
		}
	}
}

// The tables of fields have the fields of the structs, in their order.
func TestFieldsAreThoseOfTheStructs(t *testing.T) {
	types := map[reflect.Kind]string{reflect.Int: "integer", reflect.Int64: "integer", reflect.String: "string", reflect.Bool: "boolean"}
	f := func(wire reflect.Type, fields []Field) {
		t.Helper()
		var sent []reflect.StructField
		for _, is := range reflect.VisibleFields(wire) {
			if is.Tag.Get("json") != "-" && !is.Anonymous {
				sent = append(sent, is)
			}
		}
		if len(sent) != len(fields) {
			t.Fatalf("%d fields, %d are declared", len(sent), len(fields))
		}
		for i, said := range fields {
			is := sent[i]
			name, option, _ := strings.Cut(is.Tag.Get("json"), ",")
			of := is.Type
			if of.Kind() == reflect.Pointer { // may be absent
				of = of.Elem()
			}
			if name != said.Name || types[of.Kind()] != said.Type || (option == "omitempty") == said.Required {
				t.Errorf("field %d is %s, a %v with %q; declared is %+v", i, name, of, option, said)
			}
		}
	}
	f(reflect.TypeFor[Click](), ClickFields)
	f(DefaultPlan().wire, DefaultPlan().Fields())
}

// conforms checks a message against a schema, with lengths in bytes as the descriptions say.
func (s schema) conforms(data []byte) error {
	var message map[string]json.RawMessage
	if err := json.Unmarshal(data, &message); err != nil {
		return err
	}
	for _, name := range s.Required {
		if _, ok := message[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for name, raw := range message {
		p, ok := s.Properties[name]
		if !ok {
			continue
		}
		if err := p.conforms(raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (p property) conforms(raw json.RawMessage) error {
	if p.Const != nil {
		if string(raw) != fmt.Sprint(p.Const) {
			return fmt.Errorf("%s is not %v", raw, p.Const)
		}
		return nil
	}
	switch p.Type {
	case "string":
		var v string
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		if len(v) < p.MinLength || (p.MaxLength > 0 && len(v) > p.MaxLength) || !regexp.MustCompile(p.Pattern).MatchString(v) {
			return fmt.Errorf("%q", v)
		}
		return nil
	case "integer":
		var v int64
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		if v < p.Minimum || v > p.Maximum {
			return fmt.Errorf("%d", v)
		}
		return nil
	}
	var v bool
	return json.Unmarshal(raw, &v)
}

func TestGoldenFilesConform(t *testing.T) {
	for version := 1; version <= Version; version++ {
		for _, kind := range []string{"click", "visit"} {
			data, err := os.ReadFile(fmt.Sprintf("testdata/%s.v%d.json", kind, version))
			if err != nil {
				t.Fatal(err)
			}
			if err := readSchema(t, kind, version).conforms(data); err != nil {
				t.Errorf("%s.v%d: %v", kind, version, err)
			}
		}
	}
}

// Schema and code refuse the same messages: golden ones with one field changed at a time.
func TestSchemaAndCodeRefuseTheSame(t *testing.T) {
	values := []any{
		nil, "", "x", "IT", "it", "ITA", true, 0, 1, 2, -1, 1522802128, Earliest - 1, Earliest, Latest, Latest + 1, []int{1}, 1.5,
		MaxAmount, MaxAmount + 1, -MaxAmount, -MaxAmount - 1,
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 128), strings.Repeat("x", 129),
		strings.Repeat("è", 64), strings.Repeat("è", 65), strings.Repeat("x", 1024), strings.Repeat("x", 1025),
	}
	refused, taken := 0, 0
	for _, kind := range []string{"click", "visit"} {
		s := readSchema(t, kind, Version)
		data, err := os.ReadFile(fmt.Sprintf("testdata/%s.v%d.json", kind, Version))
		if err != nil {
			t.Fatal(err)
		}
		for name := range s.Properties {
			for _, value := range values {
				var message map[string]any
				if err := json.Unmarshal(data, &message); err != nil {
					t.Fatal(err)
				}
				if message[name] = value; value == nil {
					delete(message, name)
				}
				changed, err := json.Marshal(message)
				if err != nil {
					t.Fatal(err)
				}
				event, inCode := decode(kind+".", changed, false)
				if inCode == nil {
					inCode = event.Validate()
				}
				inSchema := s.conforms(changed)
				if (inCode == nil) != (inSchema == nil) {
					t.Errorf("%s: the code says %v, the schema says %v: %.200s", kind, inCode, inSchema, changed)
				}
				if inCode == nil {
					taken++
				} else {
					refused++
				}
			}
		}
	}
	if refused < 100 || taken < 50 {
		t.Errorf("%d refused and %d accepted: this test proves little", refused, taken)
	}
}
