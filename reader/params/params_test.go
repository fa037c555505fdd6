package params

import (
	"errors"
	"testing"
)

func TestParse(t *testing.T) {
	f := func(raw, reason string) Parsed {
		t.Helper()
		v, err := Parse(raw, []string{"by", "period"}, []string{"page", "period"})
		var wrong *Wrong
		if errors.As(err, &wrong) != (reason != "") || wrong != nil && wrong.Reason != reason {
			t.Errorf("%s: %v, want %q", raw, err, reason)
		}
		return v
	}
	if v := f("by=day&page=%2F&period=2018-10&feature.period=baroque", ""); v.Values["period"] != "2018-10" || v.Features["period"] != "baroque" || v.Features["page"] != "/" {
		t.Errorf("%v", v)
	}
	if v := f("feature.page=a+b&by=", ""); v.Features["page"] != "a b" || v.Values["by"] != "" {
		t.Errorf("%v", v)
	}
	if v := f("", ""); v.Features != nil {
		t.Errorf("%v", v)
	}
	f("%zz", BadQuery)
	f("by=day;page=x", BadQuery)
	f("pages=x", UnknownParameter)
	f("feature.by=x", UnknownParameter)
	f("by=day&by=day", RepeatedParameter)
	f("page=a&feature.page=b", RepeatedParameter)
	f("page=", "missing_page")
	f("page=%00", "page_has_nul")
	f("page=%FF", "page_bad_utf8")
}
