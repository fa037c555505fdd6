package models_test

import (
	"errors"
	"fmt"

	"footfall/models"
)

// A click is validated, and adds to cells of one key.
func ExampleClick_Count() {
	plan, err := models.NewPlan(models.DefaultFeatures(), []string{models.MonthViews, models.CountryMonths})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := &models.Click{Plan: plan, V: models.Version, ID: "1", ShortURL: "abc", IP: "203.0.113.7", Country: "IT", TS: 1538402700000}
	if err := c.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	first := []bool{true} // for its only sighting: nobody with this IP clicked on the link before
	c.Count(first, func(k models.Key, cell models.Cell, n int64) {
		fmt.Println(k.Name, cell.Counter, cell.Label, n)
	})
	// Output:
	// abc clickcounter  1
	// abc hourcounters  1
	// abc daycounters  1
	// abc countrycounters IT 1
	// abc referrercounters  1
	// abc uniquecounter  1
	// abc country IT 1
}

// A visit has a plan, which names the features and the metrics that are kept.
func ExampleNewPlan() {
	plan, err := models.NewPlan([]string{"referrer", "page"}, []string{models.MonthUnique, models.MonthViews})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := plan.UnmarshalVisit([]byte(`{"v":1,"id":"1","siteId":"shop","guid":"g1","ts":1538402700000,"page":"/index.html"}`), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range v.Sightings() { // one for each combination of features that the visit has
		fmt.Printf("%s in a %s, features %q\n", s.Visitor, s.Interval, s.Features.Values())
	}
	// Output:
	// g1 in a month, features ["" ""]
	// g1 in a month, features ["" "/index.html"]
}

// An invalid event has a reason that is safe to show to senders.
func ExampleInvalid() {
	_, err := models.UnmarshalClick([]byte(`{"short_url":"abc","amount":19.99}`), true)
	var invalid *models.Invalid
	if errors.As(err, &invalid) {
		fmt.Println(invalid.Reason)
	}
	// Output: bad_amount
}
