package deployments_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// keys returns the top-level scalar settings of a cassandra.yaml. Of repeated ones it takes the last, as Cassandra does.
func keys(yaml string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+): *(.*)$`).FindAllStringSubmatch(yaml, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// Settings that decide durability and throughput are the same with containers and without.
func TestComposeAndLauncherConfigureCassandraAlike(t *testing.T) {
	compose := keys(read(t, "compose/cassandra.yaml"))
	launcher := read(t, "stack/cassandra.yaml.tmpl")
	if compose["commitlog_sync"] != "group" {
		t.Errorf("commitlog_sync is %q in compose, want group", compose["commitlog_sync"])
	}
	if !strings.Contains(read(t, "stack/cassandra.go"), `d.CommitlogSync = "group"`) {
		t.Error("the launcher's default commitlog_sync is not group")
	}
	for key, value := range compose {
		if key == "commitlog_sync" || key == "counter_cache_size" {
			continue // templates in the launcher's file: checked above, and with the default heap in its own test
		}
		if got := keys(launcher)[key]; got != value {
			t.Errorf("%s: %q in compose, %q in the launcher", key, value, got)
		}
	}
	if len(compose) < 4 {
		t.Errorf("read only %v: the test looks in the wrong place", compose)
	}
}

// The script runs at every start of the container, so the test runs it three times.
func TestEntrypointWritesTheSettings(t *testing.T) {
	conf, bin := t.TempDir(), t.TempDir()
	yaml := filepath.Join(conf, "cassandra.yaml")
	// as in the image, but without the last newline
	image := "cluster_name: 'Test Cluster'\n# commitlog_sync_group_window: 1000ms\ncommitlog_sync: periodic\n" +
		"commitlog_sync_period: 10000ms\nconcurrent_reads: 32\nconcurrent_writes: 32\nconcurrent_counter_writes: 32\n" +
		"seed_provider:\n  - class_name: x\nstorage_compatibility_mode: CASSANDRA_4"
	write(t, yaml, image, 0o644)
	write(t, filepath.Join(bin, "docker-entrypoint.sh"), "#!/bin/sh\necho started with $*\n", 0o755)
	for range 3 {
		cmd := exec.Command("bash", "compose/cassandra.sh", "cassandra", "-f")
		cmd.Env = []string{"CASSANDRA_CONF=" + conf, "PATH=" + bin + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "started with cassandra -f\n" {
			t.Fatalf("%v: %s", err, out)
		}
	}
	text := read(t, yaml)
	got := keys(text)
	want := keys(read(t, "compose/cassandra.yaml"))
	want["concurrent_reads"], want["storage_compatibility_mode"] = "32", "CASSANDRA_4"
	for key, value := range want {
		if n := strings.Count("\n"+text, "\n"+key+":"); got[key] != value || n != 1 {
			t.Errorf("%s: %q, %d times; want %q once", key, got[key], n, value)
		}
	}
	if v, ok := got["commitlog_sync_period"]; ok {
		t.Errorf("commitlog_sync_period: %s is left, with which Cassandra refuses to start", v)
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
