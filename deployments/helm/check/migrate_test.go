package check

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"
)

// The job gives up waiting before Kubernetes ends it, so that its log says why; what fails at once is tried again within its time.
func TestMigrateEndsBeforeItIsEnded(t *testing.T) {
	others := 0
	onEachSet(t, func(t *testing.T, r *rendering) {
		deadline := time.Duration(*r.job.Spec.ActiveDeadlineSeconds) * time.Second
		if given, _ := dig(r.values, "migrate", "activeDeadlineSeconds").(float64); given != 0 {
			others++
		}
		args := r.job.Spec.Template.Spec.Containers[0].Args
		at := slices.Index(args, "--wait")
		if at < 0 || at+1 == len(args) {
			t.Fatalf("it does not wait: %v", args)
		}
		// A step of a migration has a minute.
		if wait, err := time.ParseDuration(args[at+1]); err != nil || wait != deadline-time.Minute {
			t.Errorf("it waits for %s, with %s in all: %v", args[at+1], deadline, err)
		}
		// Kubernetes waits 10 s before the first retry, and twice as long before each that follows.
		var paused time.Duration
		for i := range *r.job.Spec.BackoffLimit {
			paused += 10 * time.Second << i
		}
		if paused == 0 || paused > deadline-time.Minute {
			t.Errorf("its retries take %s, with %s in all", paused, deadline)
		}
	})
	if others == 0 {
		t.Error("no value set has another deadline")
	}
}

// A Job cannot be changed, so another one has another name. A hook is deleted before the next one is made.
func TestMigrateHasAnotherNameIfItIsAnother(t *testing.T) {
	name := func(migrate map[string]any) string {
		migrate["hook"] = false
		return renderValues(t, map[string]any{"migrate": migrate}).job.Name
	}
	if a, b := name(map[string]any{}), name(map[string]any{"activeDeadlineSeconds": 900}); a == b {
		t.Errorf("two jobs are called %s", a)
	}
	if a, b := name(map[string]any{}), name(map[string]any{}); a != b {
		t.Errorf("one job is called %s and %s", a, b)
	}
}

// Whoever waits for the job, as docs/kubernetes.md says, waits until it has ended.
func TestDocumentedTimesCoverTheMigration(t *testing.T) {
	deadline := time.Duration(*render(t, "defaults").job.Spec.ActiveDeadlineSeconds) * time.Second
	text, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`--timeout[ =](\w+)`).FindAllStringSubmatch(string(text), -1)
	for _, m := range found {
		if d, err := time.ParseDuration(m[1]); err != nil || d <= deadline {
			t.Errorf("%s is not more than the job's %s: %v", m[0], deadline, err)
		}
	}
	if len(found) != 2 {
		t.Errorf("found %d time-outs, want those of helm and kubectl", len(found))
	}
}
