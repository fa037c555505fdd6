package models

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Reasons that do not belong to one field. Those of a field contain its name: missing_guid, guid_too_long, guid_bad_utf8, guid_has_nul,
// bad_guid.
const (
	ReasonBadJSON           = "bad_json"
	ReasonBadUTF8           = "bad_utf8"
	ReasonUnknownField      = "unknown_field"
	ReasonMissingVersion    = "missing_version"
	ReasonUnknownVersion    = "unknown_version"
	ReasonMissingTimestamp  = "missing_timestamp"
	ReasonBadTimestamp      = "bad_timestamp"
	ReasonTimestampInFuture = "timestamp_in_future"
	ReasonBadAmount         = "bad_amount"
	ReasonWrongPartition    = "wrong_partition"
	ReasonIntervalRetired   = "interval_retired"
	ReasonUnknownFeature    = "unknown_feature"
	ReasonWrongFeatures     = "wrong_features"
)

// Limits in bytes of UTF-8. They keep partition keys far below Cassandra's 64 KiB, and batches below its limits.
const (
	MaxID        = 128
	MaxShortURL  = 128
	MaxIP        = 64
	MaxReferrer  = 1024
	MaxUA        = 1024
	MaxAgentName = 64 // of a browser, a system or a device
	MaxSiteID    = 128
	MaxGUID      = 128
	MaxFeature   = 1024
)

// MaxAhead is how far ahead of its message's Kafka time a consumer takes an event. Producers refuse what is half as far ahead of their clocks, which
// may differ from Kafka's.
const MaxAhead = 48 * time.Hour

// Invalid says why an event is refused. The producer answers its sender with it; a consumer writes it beside the dead letter.
type Invalid struct {
	Reason string // stable, snake_case, for machines
	Detail string // for people; may be empty
}

// MaxExcerpt is how many bytes of a sender's text are repeated in answers and dead letters.
const MaxExcerpt = 100

// Excerpt returns text, cut to MaxExcerpt bytes with … at the end if it is longer. Details quote senders by it. Else a few compressed bytes
// could cause an answer of megabytes.
func Excerpt(text string) string {
	const more = "…"
	if len(text) <= MaxExcerpt {
		return text
	}
	end := MaxExcerpt - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

func (e *Invalid) Error() string {
	if e.Detail == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Detail
}

// text checks one field: present if required, within its limit, valid UTF-8 without NUL. Cassandra would accept a NUL, but it is the separator
// in Features.
func text(field, value string, limit int, required bool) error {
	switch {
	case value == "" && required:
		return &Invalid{Reason: "missing_" + field}
	case len(value) > limit:
		return &Invalid{Reason: field + "_too_long"}
	case !utf8.ValidString(value):
		return &Invalid{Reason: field + "_bad_utf8"}
	case strings.IndexByte(value, 0) >= 0:
		return &Invalid{Reason: field + "_has_nul"}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
