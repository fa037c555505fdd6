package models

import (
	"encoding/hex"
	"strings"
	"time"
)

// How the period is written in front of a visitor's name that holds for a month or a day of UTC only.
const (
	Monthly = "2006-01"
	Daily   = time.DateOnly
)

// periodHash is how much of a hash such a name has: 192 bits, so that it fits MaxIP.
const periodHash = 24

// PeriodName is the name of a visitor in a period: 2026-11:… and the beginning of hash, which must have 24 bytes at least.
func PeriodName(period string, hash []byte) string {
	return period + ":" + hex.EncodeToString(hash[:periodHash])
}

// PeriodEnd is when the period of a visitor's name is over. Other names have none: addresses, and hashes that stay.
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
