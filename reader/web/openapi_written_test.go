package web

import (
	"flag"
	"fmt"
	"testing"

	"footfall/models"
	"footfall/models/modelstest"
)

var update = flag.Bool("update", false, "write what is made from models.Counters")

// TestBreakdownsAreDescribed compares openapi.yaml with the breakdowns that models declares, or writes it.
func TestBreakdownsAreDescribed(t *testing.T) {
	want := ""
	for i, b := range models.DefaultPlan().Breakdowns() {
		want += describedBreakdown(b, i == 0)
	}
	modelstest.Written(t, *update, "openapi.yaml", "  # models/declaration.go: breakdowns\n", "  # end\n", want)
}

func describedBreakdown(b models.Breakdown, first bool) string {
	parameters := "*shares"
	if first {
		parameters = "&shares"
		for _, name := range []string{"from", "to", "limit", "format", "ifNoneMatch"} {
			parameters += fmt.Sprintf("\n        - {$ref: \"#/components/parameters/%s\"}", name)
		}
	}
	unknown := map[string]string{"country": "ISO 3166 alpha-2, ZZ where it is not known", "referrer": "An empty referrer is a direct click"}[b.Word]
	if unknown == "" {
		unknown = "A " + b.Word + " is empty where it is not known"
	}
	return fmt.Sprintf(`  /v1/stats/links/{short_url}/%[1]s:
    parameters: *aLink
    get:
      tags: [links]
      operationId: %[1]s
      summary: A link's clicks by %[2]s, of all time, or of the months from from to to
      parameters: %[3]s
      responses:
        "200":
          description: %[4]q
          headers: *headers
          content:
            application/json:
              schema:
                type: object
                required: [short_url, from, to, as_of, %[1]s]
                properties:
                  short_url: {type: string}
                  from: {$ref: "#/components/schemas/End"}
                  to: {$ref: "#/components/schemas/End"}
                  as_of: {$ref: "#/components/schemas/AsOf"}
                  %[1]s:
                    type: array
                    items: {type: object, required: [%[2]s, clicks], properties: {%[2]s: {type: string}, clicks: {type: integer}}}
            text/csv: *csv
            application/x-ndjson: *ndjson
        "304": *same
        "400": *refused
        "401": *refused
        "403": *refused
        "406": *refused
        "421": *refused
        "422": *notKept
        "500": *refused
        "503": *later
        "505": *refused
    options: *preflight
`, b.Path, b.Word, parameters, unknown+". With limit the largest come first. Labels of which nothing was counted have no row.")
}
