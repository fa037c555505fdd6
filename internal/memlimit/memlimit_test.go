package memlimit

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets this test binary print its limit, as a process of its own.
func TestMain(m *testing.M) {
	if root := os.Getenv("FOOTFALL_TEST_ROOT"); root != "" {
		fmt.Println(apply(root))
		return
	}
	os.Exit(m.Run())
}

const (
	v1    = "35 31 0:32 %s /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n34 31 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	v2    = "30 23 0:26 %s /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	both  = v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	other = "24 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
)

// system makes a directory with files as a kernel shows them.
func system(t *testing.T, cgroup, mountinfo string, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	files["proc/self/cgroup"], files["proc/self/mountinfo"] = cgroup, other+mountinfo
	for file, text := range files {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The limit is found in files as kernels and container engines make them.
func TestLimitOfAControlGroup(t *testing.T) {
	const none = math.MaxInt64
	f := func(name, cgroup, mountinfo string, files map[string]string, want int64) {
		t.Helper()
		if got := ofGroup(system(t, cgroup, mountinfo, files)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	type files = map[string]string
	own := fmt.Sprintf(v2, "/")
	f("a container, v2", "0::/\n", own, files{"sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/memory.high": "max\n"}, 512<<20)
	f("a container without a limit, v2", "0::/\n", own, files{"sys/fs/cgroup/memory.max": "max\n"}, none)
	f("slowed down before its end", "0::/\n", own, files{"sys/fs/cgroup/memory.max": "536870912", "sys/fs/cgroup/memory.high": "402653184"}, 384<<20)
	f("a service of systemd", "0::/system.slice/footfall.service\n", own, files{"sys/fs/cgroup/system.slice/footfall.service/memory.max": "max",
		"sys/fs/cgroup/system.slice/memory.max": "1073741824", "sys/fs/cgroup/other.slice/memory.max": "1024"}, 1<<30)
	f("a container whose paths are the host's", "0::/kubepods/pod1/abc\n", fmt.Sprintf(v2, "/kubepods/pod1/abc"),
		files{"sys/fs/cgroup/memory.max": "268435456"}, 256<<20)
	f("a path outside of the mount", "0::/../../init\n", own, files{"sys/fs/cgroup/memory.max": "268435456"}, 256<<20)
	f("a container, v1", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n", fmt.Sprintf(v1, "/docker/abc"),
		files{"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"}, 512<<20)
	f("a group within a group, v1", "4:memory:/a/b\n", fmt.Sprintf(v1, "/"), files{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "104857600", "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712"}, 100<<20)
	f("without a limit, v1", "4:memory:/\n", fmt.Sprintf(v1, "/"), files{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, none)
	f("both kinds", "4:memory:/x\n0::/\n", fmt.Sprintf(both, "/"), files{"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "536870912"}, 512<<20)
	f("no groups", "", "", files{}, none)
	f("nonsense", "1\n:\n0::\n", "1 2 - \n- cgroup2\n"+own, files{"sys/fs/cgroup/memory.max": "much"}, none)
	if got := ofGroup(filepath.Join(t.TempDir(), "nowhere")); got != none {
		t.Errorf("without files: %d", got)
	}
}

// GOMEMLIMIT wins, "off" included; without it nine tenths of the group's limit hold, if it has one.
func TestWhoseLimitHolds(t *testing.T) {
	limited := system(t, "0::/\n", fmt.Sprintf(v2, "/"), map[string]string{"sys/fs/cgroup/memory.max": "1000000000"})
	free := system(t, "0::/\n", fmt.Sprintf(v2, "/"), map[string]string{"sys/fs/cgroup/memory.max": "max"})
	f := func(root, setting string, want int64) {
		t.Helper()
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "FOOTFALL_TEST_ROOT="+root, "GOMEMLIMIT="+setting)
		printed, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(printed)); got != fmt.Sprint(want) {
			t.Errorf("GOMEMLIMIT=%s: the limit is %s, want %d", setting, got, want)
		}
	}
	f(limited, "", 900_000_000)
	f(limited, "300MiB", 300<<20)
	f(limited, "2GiB", 2<<30)
	f(limited, "off", math.MaxInt64)
	f(free, "", math.MaxInt64)
	f(free, "300MiB", 300<<20)
}
