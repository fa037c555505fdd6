package models

import (
	"encoding/hex"
	"strings"
	"time"
)

// The formats of the period in a visitor's name that is valid for one UTC month or day only.
const (
	Monthly = "2006-01"
	Daily   = time.DateOnly
)

// periodHash is how many bytes of a hash such a name has: 192 bits, so that it fits MaxIP.
const periodHash = 24

// PeriodName is the name of a visitor in a period: 2026-11:… with the first 24 bytes of hash. It panics if hash is shorter.
func PeriodName(period string, hash []byte) string {
	return period + ":" + hex.EncodeToString(hash[:periodHash])
}

// PeriodEnd is when the period in a visitor's name ends; false for addresses, and for hashes without a period.
func PeriodEnd(visitor string) (time.Time, bool) {
	period, hash, found := strings.Cut(visitor, ":")
	if !found || len(hash) != 2*periodHash {
		return time.Time{}, false
	}
	if day, err := time.Parse(Daily, period); err == nil {
		return day.AddDate(0, 0, 1), true
	}
	month, err := time.Parse(Monthly, period)
	return month.AddDate(0, 1, 0), err == nil
}
