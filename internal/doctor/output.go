package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Lines is the report for people: a line for each finding, its remedy below it, and a line with the numbers of findings at the end.
func (r Report) Lines() (lines []string) {
	number := map[Severity]int{}
	for _, f := range r.Findings {
		number[f.Severity]++
		lines = append(lines, fmt.Sprintf("%-7s  %s: %s", f.Severity, f.Check, f.What))
		if f.Remedy != "" {
			lines = append(lines, fmt.Sprintf("%-7s  remedy: %s", "", f.Remedy))
		}
	}
	verdict := "healthy"
	if !r.Healthy {
		verdict = "not healthy: begin with the first fault"
	}
	return append(lines, fmt.Sprintf("%s (%d checks in %.1f s: faults %d, warnings %d, skipped %d)", verdict, len(r.checks), r.Seconds,
		number[Fault], number[Warning], number[Skipped]))
}

// JSON is the report for programs, in one line.
func (r Report) JSON() (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is for terminals and programs, not for pages
	if err := encoder.Encode(r); err != nil {
		return "", fmt.Errorf("writing the report as JSON: %w", err)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// Metrics is the report in the text format of Prometheus, for the textfile collector of node_exporter. It has series for every check, also for
// those without a finding, so that an alert ends when the fault does.
func (r Report) Metrics() (lines []string) {
	metric := func(name, help string, series ...string) {
		lines = append(lines, "# HELP "+name+" "+help, "# TYPE "+name+" gauge")
		for _, s := range series {
			lines = append(lines, name+s)
		}
	}
	command := fmt.Sprintf(`command="%s"`, r.Command)
	healthy := 0
	if r.Healthy {
		healthy = 1
	}
	metric("footfall_doctor_healthy", "1 if the doctor found no fault.", fmt.Sprintf("{%s} %d", command, healthy))
	metric("footfall_doctor_run_timestamp_seconds", "When the doctor ran.", fmt.Sprintf("{%s} %.3f", command, float64(r.At.UnixMilli())/1000))
	metric("footfall_doctor_duration_seconds", "How long the doctor took.", fmt.Sprintf("{%s} %.3f", command, r.Seconds))
	var findings, measured []string
	for _, check := range r.checks {
		number := map[Severity]int{}
		for _, f := range r.Findings {
			if f.Check != check {
				continue
			}
			if number[f.Severity]++; f.Seconds > 0 {
				measured = append(measured, fmt.Sprintf(`{%s,check="%s"} %.3f`, command, check, f.Seconds))
			}
		}
		for _, s := range []Severity{Fault, Warning, Skipped} {
			findings = append(findings, fmt.Sprintf(`{%s,check="%s",severity="%s"} %d`, command, check, s, number[s]))
		}
	}
	metric("footfall_doctor_findings", "What the doctor found, by check and severity.", findings...)
	if len(measured) > 0 {
		metric("footfall_doctor_measured_seconds", "What a check measured: the canary from the producer to its counter.", measured...)
	}
	return lines
}

// Print tells the report line by line, as text or as JSON. With a metric file it also writes that, or prints metrics alone if the file is "-".
func (r Report) Print(asJSON bool, metricFile string, print func(line string)) error {
	switch {
	case metricFile == "-":
		for _, line := range r.Metrics() {
			print(line)
		}
		return nil
	case asJSON:
		line, err := r.JSON()
		if err != nil {
			return err
		}
		print(line)
	default:
		for _, line := range r.Lines() {
			print(line)
		}
	}
	if metricFile == "" {
		return nil
	}
	return replace(metricFile, strings.Join(r.Metrics(), "\n")+"\n")
}

// replace writes a file so that whoever reads it meanwhile sees the old one or the new one.
func replace(name, text string) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("writing metrics: %w", err)
	}
	_, err = temporary.WriteString(text)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(temporary.Name(), 0o644) // node_exporter is another user
	}
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the first error says more
		return fmt.Errorf("writing metrics: %w", err)
	}
	return nil
}
