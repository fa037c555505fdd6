package autoscale

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// rules is the part of a ScaledObject that decides.
type rules struct {
	Spec struct {
		MinReplicaCount int `yaml:"minReplicaCount"`
		MaxReplicaCount int `yaml:"maxReplicaCount"`
		Advanced        struct {
			HPA struct {
				Behavior struct {
					ScaleUp   direction `yaml:"scaleUp"`
					ScaleDown direction `yaml:"scaleDown"`
				} `yaml:"behavior"`
			} `yaml:"horizontalPodAutoscalerConfig"`
		} `yaml:"advanced"`
		Triggers []trigger `yaml:"triggers"`
	} `yaml:"spec"`
}

type direction struct {
	Window   int `yaml:"stabilizationWindowSeconds"`
	Policies []struct {
		Type   string `yaml:"type"`
		Value  int    `yaml:"value"`
		Period int    `yaml:"periodSeconds"`
	} `yaml:"policies"`
}

type trigger struct {
	Name       string `yaml:"name"`
	MetricType string `yaml:"metricType"`
	Metadata   struct {
		Query     string `yaml:"query"`
		Threshold string `yaml:"threshold"`
	} `yaml:"metadata"`
}

// query is the form of the chart's queries: the least, and what is added above each of two values.
var query = regexp.MustCompile(`^(\d+) \+ (\d+) \* \(.+ > bool (\d+)\) \+ (\d+) \* \(.+ > bool (\d+)\)$`)

// Read reads a ScaledObject as the chart renders it. It refuses one that the model does not describe.
func Read(text []byte) (c Config, err error) {
	var r rules
	if err := yaml.Unmarshal(text, &r); err != nil {
		return c, fmt.Errorf("reading a ScaledObject: %w", err)
	}
	up, down := r.Spec.Advanced.HPA.Behavior.ScaleUp, r.Spec.Advanced.HPA.Behavior.ScaleDown
	if len(up.Policies) != 1 || up.Policies[0].Type != "Pods" || len(down.Policies) != 1 || down.Policies[0].Type != "Percent" {
		return c, fmt.Errorf("the policies are %v and %v: want Pods on the way up and Percent on the way down", up.Policies, down.Policies)
	}
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	c = Config{
		Min: r.Spec.MinReplicaCount, Max: r.Spec.MaxReplicaCount,
		UpWindow: seconds(up.Window), UpPods: up.Policies[0].Value, UpPeriod: seconds(up.Policies[0].Period),
		DownWindow: seconds(down.Window), DownPercent: down.Policies[0].Value, DownPeriod: seconds(down.Policies[0].Period),
	}
	levels := map[string]*Levels{"lag": &c.Lag, "age": &c.Age}
	for _, t := range r.Spec.Triggers {
		of := levels[t.Name]
		if of == nil || t.MetricType != "AverageValue" || t.Metadata.Threshold != "1" {
			return c, fmt.Errorf("trigger %q of type %s with threshold %s: want lag and age, AverageValue, 1", t.Name, t.MetricType, t.Metadata.Threshold)
		}
		if err := c.take(t.Metadata.Query, of); err != nil {
			return c, fmt.Errorf("trigger %s: %w", t.Name, err)
		}
		delete(levels, t.Name)
	}
	if len(levels) > 0 {
		return c, fmt.Errorf("triggers are missing: %v", levels)
	}
	return c, nil
}

// take reads the numbers of a query.
func (c *Config) take(text string, into *Levels) error {
	found := query.FindStringSubmatch(text)
	if found == nil {
		return fmt.Errorf("the query %q is of another form", text)
	}
	var n [6]int
	for i, digits := range found[1:] {
		value, err := strconv.Atoi(digits)
		if err != nil {
			return fmt.Errorf("the query %q: %w", text, err)
		}
		n[i+1] = value
	}
	c.Half = n[1] + n[2]
	if n[1] != c.Min || c.Half+n[4] != c.Max {
		return fmt.Errorf("the query %q asks for %d to %d consumers, want %d to %d", text, n[1], c.Half+n[4], c.Min, c.Max)
	}
	into.Half, into.All = float64(n[3]), float64(n[5])
	return nil
}
