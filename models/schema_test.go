package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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

// The schemas of the current version have the fields and limits of the structs.
func TestSchemasAgreeWithTheCode(t *testing.T) {
	limits := map[string]map[string]int{
		"click": {"id": MaxID, "short_url": MaxShortURL, "ip": MaxIP, "referrer": MaxReferrer, "ua": MaxUA},
		"visit": {"id": MaxID, "siteId": MaxSiteID, "guid": MaxGUID, "feature1": MaxFeature, "feature2": MaxFeature},
	}
	types := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int64: "integer"}
	for kind, wire := range map[string]reflect.Type{"click": reflect.TypeFor[Click](), "visit": DefaultPlan().wire} {
		s := readSchema(t, kind, Version)
		if s.ID != fmt.Sprintf("urn:footfall:%s:v%d", kind, Version) || s.Type != "object" {
			t.Errorf("%s: $id %s, type %s", kind, s.ID, s.Type)
		}
		var required, names []string
		for i := range wire.NumField() {
			name, option, _ := strings.Cut(wire.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
			if option != "omitempty" {
				required = append(required, name)
			}
			p := s.Properties[name]
			if name == "v" {
				if p.Const != float64(Version) {
					t.Errorf("%s: v is %v", kind, p.Const)
				}
				continue
			}
			of := wire.Field(i).Type
			if of.Kind() == reflect.Pointer { // may be absent
				of = of.Elem()
			}
			if want := types[of.Kind()]; p.Type != want {
				t.Errorf("%s: %s is a %q in the schema and a %q in the code", kind, name, p.Type, want)
			}
			if p.MaxLength != limits[kind][name] {
				t.Errorf("%s: %s has maxLength %d in the schema and %d in the code", kind, name, p.MaxLength, limits[kind][name])
			}
			if wantMin := option != "omitempty" && p.Type == "string"; (p.MinLength == 1) != wantMin {
				t.Errorf("%s: %s has minLength %d", kind, name, p.MinLength)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(s.Required)), slices.Sorted(slices.Values(required))) {
			t.Errorf("%s: required %v in the schema, %v in the code", kind, s.Required, required)
		}
		if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
			t.Errorf("%s: properties %v in the schema, %v in the code", kind, got, names)
		}
		if ts := s.Properties["ts"]; Millis(ts.Minimum) != Earliest || Millis(ts.Maximum) != Latest {
			t.Errorf("%s: ts from %d to %d", kind, ts.Minimum, ts.Maximum)
		}
		if amount := s.Properties["amount"]; kind == "click" && (amount.Minimum != -MaxAmount || amount.Maximum != MaxAmount) {
			t.Errorf("amount from %d to %d", amount.Minimum, amount.Maximum)
		}
	}
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
