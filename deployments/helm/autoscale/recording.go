package autoscale

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Sample is one moment of a recording.
type Sample struct {
	At       time.Duration
	Rate     int // events that were sent each second
	Replicas int // consumers that ran, before the decision of this moment
	Lag      float64
	Age      float64 // seconds
}

// columns are those of a recording.
var columns = []string{"t", "rate", "replicas", "lag", "age"}

// Row is the sample as a row of a recording.
func (s Sample) Row() []string {
	return []string{strconv.Itoa(int(s.At.Seconds())), strconv.Itoa(s.Rate), strconv.Itoa(s.Replicas), strconv.Itoa(int(s.Lag)), strconv.FormatFloat(s.Age, 'f', 1, 64)}
}

// Columns are the names of the columns of a recording.
func Columns() []string { return columns }

// ReadRecording reads a recording: CSV with the columns t, rate, replicas, lag and age.
func ReadRecording(r io.Reader) (samples []Sample, err error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading a recording: %w", err)
	}
	for i, row := range rows[min(1, len(rows)):] {
		var n [5]float64
		for j, text := range row {
			if n[j], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("reading a recording, line %d, %s: %w", i+2, columns[j], err)
			}
		}
		samples = append(samples, Sample{At: time.Duration(n[0]) * time.Second, Rate: int(n[1]), Replicas: int(n[2]), Lag: n[3], Age: n[4]})
	}
	return samples, nil
}
