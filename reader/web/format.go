package web

import (
	"mime"
	"slices"
	"strings"

	"footfall/reader/params"
)

// format is how an answer is written. ending names it in ?format=.
type format struct {
	ending    string
	mediaType string   // of the answer
	accepts   []string // media types that ask for it
	encoder   encoder
}

// formats are what lists can be had in; the first is the default.
var formats = []*format{
	{ending: "json", mediaType: "application/json", accepts: []string{"application/json"}, encoder: jsonEncoder{}},
	{ending: "csv", mediaType: "text/csv; charset=utf-8; header=present", accepts: []string{"text/csv"}, encoder: csvEncoder{}},
	{ending: "ndjson", mediaType: "application/x-ndjson", accepts: []string{"application/x-ndjson", "application/ndjson", "application/jsonl"}, encoder: ndjsonEncoder{}},
}

// chooseFormat takes the format that ?format= names, or else the one of Accept; lists tells whether there is more than JSON.
func chooseFormat(named, accept string, lists bool) (*format, error) {
	offered := formats
	if !lists {
		offered = formats[:1]
	}
	if named != "" {
		for _, f := range offered {
			if f.ending == named {
				return f, nil
			}
		}
		return nil, notOffered(offered)
	}
	var best *format
	most := 0.0
	for _, f := range offered {
		if q := quality(accept, f.accepts); q > most {
			best, most = f, q
		}
	}
	if best == nil {
		return nil, notOffered(offered)
	}
	return best, nil
}

func notOffered(offered []*format) error {
	var names []string
	for _, f := range offered {
		names = append(names, f.ending+" ("+f.accepts[0]+")")
	}
	return &refusal{Reason: notAcceptable, Detail: "this path answers in " + strings.Join(names, ", ")}
}

// quality is how much a header Accept wants one of the types: that of its most specific range. A header that is absent wants all.
func quality(accept string, types []string) float64 {
	if strings.TrimSpace(accept) == "" {
		return 1
	}
	best, specific := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		name, args, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		kind, _, _ := strings.Cut(types[0], "/")
		rank := 0
		switch {
		case slices.Contains(types, name):
			rank = 3
		case name == kind+"/*":
			rank = 2
		case name == "*/*":
			rank = 1
		}
		if rank > specific {
			best, specific = params.Weight(args["q"]), rank
		} else if rank == specific && rank > 0 {
			best = max(best, params.Weight(args["q"]))
		}
	}
	return best
}
