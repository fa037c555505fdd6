package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func planOf(features, metrics []string) *Plan {
	p, err := NewPlan(features, metrics)
	if err != nil {
		panic(err)
	}
	return p
}

var fourFeatures = planOf([]string{"referrer", "page", "device", "feature1"}, AllMetrics())

func TestDefaultPlan(t *testing.T) {
	p := DefaultPlan()
	if !slices.Equal(p.Features(), []string{"feature1", "feature2"}) || !slices.Equal(p.Metrics(), AllMetrics()) {
		t.Errorf("the default is %s: want what the sources have", p)
	}
}

func TestPlansAreEqualIfTheyKeepTheSame(t *testing.T) {
	a := planOf([]string{"a", "b"}, []string{DayViews, MonthUnique})
	if !a.Equal(planOf([]string{"a", "b"}, []string{MonthUnique, DayViews})) {
		t.Error("the order of metrics makes a difference")
	}
	if back, err := ReadPlan(a.Record()); err != nil || !back.Equal(a) {
		t.Errorf("%s was recorded and read as %v, %v", a, back, err)
	}
	for _, bad := range []string{"", "{}", `{"features":["a"],"metrics":["x"]}`} {
		if _, err := ReadPlan(bad); err == nil || !strings.Contains(err.Error(), "recorded plan") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, other := range []*Plan{
		planOf([]string{"b", "a"}, a.Metrics()), planOf([]string{"a"}, a.Metrics()), planOf([]string{"a", "b"}, AllMetrics()),
	} {
		if a.Equal(other) {
			t.Errorf("%s and %s are equal, but keep different things", a, other)
		}
	}
	if got, want := a.String(), "features: [a, b], metrics: [month_unique, day_views]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNewPlanRefusesBadNames(t *testing.T) {
	f := func(features, metrics []string, want string) {
		t.Helper()
		if _, err := NewPlan(features, metrics); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewPlan(%q, %q): %v, want %q", features, metrics, err, want)
		}
	}
	all := AllMetrics()
	f(nil, all, "want 1 to 6")
	f(strings.Split("a b c d e f g", " "), all, "7 names")
	for _, bad := range []string{"", "A", "1a", "_a", "a-b", "a b", `a"`, "é", "a,b", strings.Repeat("a", 49)} {
		f([]string{bad}, all, "is no name")
	}
	f([]string{"a", "b", "a"}, all, "a is there twice")
	others := []string{"visits", "epoch", "key"}
	for _, field := range VisitFields {
		others = append(others, strings.ToLower(field.Name), strings.ToLower(cmp.Or(field.Form, field.Name)))
	}
	for _, bad := range others {
		f([]string{"a", bad}, all, bad+" is the name of another column")
	}
	for _, bad := range []string{"select", "token", "group"} {
		f([]string{"a", bad}, all, bad+" is a reserved word")
	}
	f([]string{"a"}, nil, "metrics: none")
	f([]string{"a"}, []string{"year_unique"}, `there is no "year_unique"`)
	f([]string{"a"}, []string{DayViews, DayViews}, "day_views is there twice")
	if _, err := NewPlan([]string{strings.Repeat("a", 48), "b2_", "c", "d", "e", "f"}, all); err != nil {
		t.Error(err)
	}
}

// An event is worth what the plan of its tables keeps, however it is read from a topic.
func TestEventsOfTopicsHaveThePlan(t *testing.T) {
	few := planOf(DefaultFeatures(), []string{DeviceMonths})
	click, err := few.DecodeClick([]byte(`{"v":1,"id":"1","short_url":"abc","ip":"10.0.0.1","ts":1538402700000}`))
	if c, ok := click.(*Click); err != nil || !ok || c.Plan != few {
		t.Errorf("a click has the plan %v, %v", c.Plan, err)
	}
	visit, err := few.DecodeVisit([]byte(`{"v":1,"id":"1","siteId":"s","guid":"g","ts":1538402700000}`))
	if v, ok := visit.(*Visit); err != nil || !ok || v.Plan != few {
		t.Errorf("a visit has the plan %v, %v", v.Plan, err)
	}
}

// Parts of a counter that a plan leaves out add up to nothing: nobody may compare them.
func TestPartsAreThoseThatAreKept(t *testing.T) {
	all, few := len(DefaultPlan().PartsOf(ClickCounter)), planOf(DefaultFeatures(), []string{DeviceMonths}).PartsOf(ClickCounter)
	if all < 9 || len(few) != 5 || few[4].Name != DeviceMonths {
		t.Errorf("%d parts of all, and %v", all, few)
	}
}

// Features are fields of the message under their names. A wrong name, type, length or number is an error.
func TestFeaturesOnTheWire(t *testing.T) {
	v := &Visit{V: 1, ID: "id", SiteID: "s", GUID: "g", TS: Earliest, Features: []string{"fb", "", "mobile", "x"}, Plan: fourFeatures}
	want := `{"v":1,"id":"id","siteId":"s","guid":"g","ts":100000000000,"referrer":"fb","device":"mobile","feature1":"x"}`
	data, err := json.Marshal(v)
	if err != nil || string(data) != want {
		t.Fatalf("wrote %s, %v; want %s", data, err, want)
	}
	back, err := fourFeatures.DecodeVisit(data)
	if err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("%s became %+v, %v", data, back, err)
	}
	if _, err := DefaultPlan().DecodeVisit(data); reason(err) != ReasonUnknownFeature {
		t.Errorf("a visit of another plan: %v, want %s", err, ReasonUnknownFeature)
	}
	if _, err := fourFeatures.UnmarshalVisit([]byte(`{"feature2":"x"}`), true); reason(err) != ReasonUnknownField {
		t.Errorf("a feature of another plan, strict: %v, want %s", err, ReasonUnknownField)
	}
	if _, err := fourFeatures.DecodeVisit([]byte(`{"device":7}`)); reason(err) != "bad_device" {
		t.Errorf("a number: %v, want bad_device", err)
	}
	v.Features[2] = strings.Repeat("x", MaxFeature+1)
	if err := v.Validate(); reason(err) != "device_too_long" {
		t.Errorf("too long: %v, want device_too_long", err)
	}
	v.Features = v.Features[:2]
	if err := v.Validate(); reason(err) != ReasonWrongFeatures {
		t.Errorf("two features of four: %v, want %s", err, ReasonWrongFeatures)
	}
	if data, err := json.Marshal(v); err == nil {
		t.Errorf("two features of four were written: %s", data)
	}
}

// A visit has 2^n combinations in three intervals, and views of the site and of each single feature.
func TestVisitsWithAnyNumberOfFeatures(t *testing.T) {
	for n := 1; n <= MaxFeatures; n++ {
		names, values := make([]string, n), make([]string, n)
		for i := range names {
			names[i], values[i] = fmt.Sprint("f", i), fmt.Sprint("value", i)
		}
		p := planOf(names, AllMetrics())
		v := &Visit{V: 1, ID: "id", SiteID: "s", GUID: "g", TS: at(t, "2018-10-17T13:45:30.123"), Features: values, Plan: p}
		if err := v.Validate(); err != nil {
			t.Fatal(err)
		}
		if got, want := len(v.Sightings()), 3<<n; got != want {
			t.Errorf("n = %d: %d sightings, want %d", n, got, want)
		}
		if got, want := len(counted(v, nil)), 3<<n+3*(n+1); got != want {
			t.Errorf("n = %d: %d cells, want %d", n, got, want)
		}
	}
}

// For each choice of metrics, a visit has cells of the chosen ones only, and sightings of the chosen uniques only.
func TestVisitsTouchOnlyKeptMetrics(t *testing.T) {
	full := &Visit{SiteID: "s", GUID: "g", TS: at(t, "2018-11-01T13:45:30.123"), Features: []string{"fb", "/"}}
	whole := counted(full, nil)
	ofSites := []string{MonthUnique, WeekUnique, DayUnique, MonthViews, DayViews, HourViews}
	for mask := 1; mask < 1<<len(ofSites); mask++ {
		var metrics, want []string
		intervals := map[string]bool{}
		for i, metric := range ofSites {
			if mask&(1<<i) != 0 {
				metrics = append(metrics, metric)
				if interval, ok := strings.CutSuffix(metric, "_unique"); ok {
					intervals[interval] = true
				}
			}
		}
		for _, line := range whole {
			if slices.ContainsFunc(metrics, func(m string) bool { return strings.Contains(line, " "+m+" ") }) {
				want = append(want, line)
			}
		}
		v := *full
		v.Plan = planOf(DefaultFeatures(), metrics)
		expect(t, counted(&v, nil), strings.Join(want, "\n"))
		if got := len(v.Sightings()); got != 4*len(intervals) {
			t.Errorf("%q: %d sightings, want %d", metrics, got, 4*len(intervals))
		}
		for _, s := range v.Sightings() {
			if !intervals[s.Interval] {
				t.Errorf("%q: asks about %+v", metrics, s)
			}
		}
	}
}
