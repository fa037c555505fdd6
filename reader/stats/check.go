package stats

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"footfall/models"
)

// checkName refuses what cannot be a name: databases would refuse it as well, with an error that looks like theirs.
func checkName(field, name string, most int) error {
	switch {
	case name == "":
		return &Malformed{Field: field, Detail: "want a name"}
	case len(name) > most:
		return &Malformed{Field: field, Detail: fmt.Sprintf("want at most %d bytes", most)}
	case !utf8.ValidString(name):
		return &Malformed{Field: field, Detail: "want UTF-8"}
	}
	return nil
}

func checkLink(link string) error { return checkName("short_url", link, models.MaxShortURL) }
func checkSite(site string) error { return checkName("siteId", site, models.MaxSiteID) }

// checkMoment refuses a moment that no event can have.
func checkMoment(field string, t models.Millis) error {
	_, err := inTime(field, t)
	return err
}

// featureIndex finds a feature of the plan.
func featureIndex(plan *models.Plan, name string) (int, error) {
	i := slices.Index(plan.Features(), name)
	if i < 0 {
		return 0, &NotKept{Asked: fmt.Sprintf("the feature %q", models.Excerpt(name)), Instead: []string{strings.Join(plan.Features(), ", ")}}
	}
	return i, nil
}

// values puts features by name into the plan's order, and counts those that are fixed.
func values(plan *models.Plan, features map[string]string) (out []string, fixed int, err error) {
	out = make([]string, len(plan.Features()))
	for name, value := range features {
		i, err := featureIndex(plan, name)
		if err != nil {
			return nil, 0, err
		}
		if value == "" {
			continue
		}
		if err := checkName(name, value, models.MaxFeature); err != nil {
			return nil, 0, err
		}
		if strings.Contains(value, "\x00") { // no event has it, and it separates features
			return nil, 0, &Malformed{Field: name, Detail: "want a text without NUL"}
		}
		out[i] = value
		fixed++
	}
	return out, fixed, nil
}
