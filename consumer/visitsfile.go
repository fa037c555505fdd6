package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"footfall/consumer/rollup"
	"footfall/models"
)

// byteOrderMark is what spreadsheets write at the beginning of a file.
const byteOrderMark = "\uFEFF"

// openVisits reads a CSV file of visits once, to report what is wrong with it before anything is counted. Its columns are guid,
// timestamp (Unix seconds) or ts (milliseconds), siteId unless site is given, and any of the features.
func openVisits(name, site string, plan *models.Plan) (rollup.VisitsFile, error) {
	f := rollup.VisitsFile{Name: filepath.Base(name), Site: site, Read: func(each func(*models.Visit) error) error {
		return readVisits(name, site, plan, io.Discard, each)
	}}
	sum := sha256.New()
	err := readVisits(name, site, plan, sum, func(*models.Visit) error { f.Lines++; return nil })
	f.Sum = hex.EncodeToString(sum.Sum(nil))
	return f, err
}

// readVisits reads a file to its end, and writes all of its bytes to seen.
func readVisits(name, site string, plan *models.Plan, seen io.Writer, each func(*models.Visit) error) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("reading visits: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text := bufio.NewReader(io.TeeReader(file, seen))
	if start, err := text.Peek(len(byteOrderMark)); err == nil && string(start) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it was just seen
	}
	reader := csv.NewReader(text)
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil {
		return fmt.Errorf("reading visits: %s: the first line has to name the columns: %w", name, err)
	}
	columns, err := visitColumns(header, site, plan)
	if err != nil {
		return fmt.Errorf("reading visits: %s: %w", name, err)
	}
	for n := 0; ; n++ {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading visits: %s: %w", name, err)
		}
		line, _ := reader.FieldPos(0)
		v := &models.Visit{V: models.Version, ID: "line-" + strconv.Itoa(n), SiteID: site, TS: models.Absent, Plan: plan,
			Features: make([]string, len(plan.Features()))}
		for i, set := range columns {
			if err := set(v, strings.Clone(record[i])); err != nil {
				return fmt.Errorf("reading visits: %s, line %d: %w", name, line, err)
			}
		}
		if err := v.Validate(); err != nil {
			return fmt.Errorf("reading visits: %s, line %d: %w", name, line, err)
		}
		if err := each(v); err != nil {
			return err
		}
	}
}

// visitColumns returns, for each column of a header, what sets it in a visit.
func visitColumns(header []string, site string, plan *models.Plan) (out []func(*models.Visit, string) error, err error) {
	var have []string
	for _, column := range header {
		name := strings.ToLower(column)
		if slices.Contains(have, name) {
			return nil, fmt.Errorf("column %s is there twice", column)
		}
		have = append(have, name)
		feature := slices.Index(plan.Features(), name)
		switch {
		case name == "siteid" && site == "":
			out = append(out, func(v *models.Visit, text string) error { v.SiteID = text; return nil })
		case name == "siteid":
			return nil, errors.New("it has a column siteId: leave out --site")
		case name == "guid":
			out = append(out, func(v *models.Visit, text string) error { v.GUID = text; return nil })
		case name == "timestamp":
			out = append(out, func(v *models.Visit, text string) error { return setTime(v, text, 1000) })
		case name == "ts":
			out = append(out, func(v *models.Visit, text string) error { return setTime(v, text, 1) })
		case feature >= 0:
			out = append(out, func(v *models.Visit, text string) error { v.Features[feature] = text; return nil })
		default:
			return nil, fmt.Errorf("column %q is none of siteId, guid, timestamp, ts, %s", column, strings.Join(plan.Features(), ", "))
		}
	}
	switch {
	case !slices.Contains(have, "guid"):
		return nil, errors.New("it has no column guid")
	case slices.Contains(have, "timestamp") == slices.Contains(have, "ts"):
		return nil, errors.New("it needs a column timestamp, in seconds, or ts, in milliseconds")
	case site == "" && !slices.Contains(have, "siteid"):
		return nil, errors.New("it has no column siteId: name the site with --site")
	}
	return out, nil
}

func setTime(v *models.Visit, text string, unit int64) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > int64(models.Latest) || n < 0 {
		return fmt.Errorf("%q is no time: want whole seconds (timestamp) or milliseconds (ts) since 1970", text)
	}
	v.TS = models.Millis(n * unit)
	if unit > 1 && v.TS < models.Earliest { // Validate would ask whether these are seconds, and they are
		return fmt.Errorf("%q is before March 1973", text)
	}
	return nil
}
