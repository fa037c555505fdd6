// Package memlimit tells the Go runtime how much memory the process may use: nine tenths of what the container, or any other control group,
// allows. Without it the runtime does not know, and the kernel ends a process whose garbage happens to exceed the limit.
package memlimit

import (
	"bufio"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Apply sets the runtime's memory limit to nine tenths of the control group's, and returns it. A tenth is left for what the runtime does not
// count: the program itself, and files that are mapped. If the environment sets GOMEMLIMIT, that holds. It returns math.MaxInt64 if there is no
// limit. It only reads files of /proc and /sys, so it finds none on other systems than Linux.
func Apply() int64 { return apply("/") }

func apply(root string) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		if most := ofGroup(root); most < math.MaxInt64 {
			debug.SetMemoryLimit(most / 10 * 9)
		}
	}
	return Now()
}

// Now is the runtime's memory limit; math.MaxInt64: there is none.
func Now() int64 { return debug.SetMemoryLimit(-1) }

// ofGroup is the least limit of this process's control group and of those around it, as far as they are mounted below root; math.MaxInt64 if
// there is none. There are two kinds of groups, and hosts that have both.
func ofGroup(root string) int64 {
	least := int64(math.MaxInt64)
	for _, m := range mounts(root) {
		files := []string{"memory.limit_in_bytes"}
		if m.unified {
			files = []string{"memory.max", "memory.high"} // beyond high the kernel slows the process down
		}
		for at := path.Join("/", m.group); ; at = path.Dir(at) {
			for _, file := range files {
				least = min(least, read(filepath.Join(root, m.point, at, file)))
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// read reads a limit; math.MaxInt64 if the file says that there is none, or cannot be read.
func read(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n > 1<<60 { // "max"; or, in the first kind, the highest multiple of a page
		return math.MaxInt64
	}
	return n
}

// mount is where groups that limit memory are mounted, and which of them is ours.
type mount struct {
	point   string
	group   string // relative to the mount
	unified bool   // groups of the second kind (cgroup v2)
}

// mounts reads which groups this process is in, and where they are.
func mounts(root string) (found []mount) {
	groups := map[bool]string{} // by unified
	for _, line := range lines(root, "proc/self/cgroup") {
		fields := strings.SplitN(line, ":", 3) // number:controllers:path
		if len(fields) < 3 {
			continue
		}
		if unified := fields[1] == ""; unified || slices.Contains(strings.Split(fields[1], ","), "memory") {
			groups[unified] = fields[2]
		}
	}
	for _, line := range lines(root, "proc/self/mountinfo") {
		before, after, _ := strings.Cut(line, " - ")
		what, how := strings.Fields(before), strings.Fields(after) // id parent device root point options…; type source options
		if len(what) < 5 || len(how) < 3 {
			continue
		}
		unified := how[0] == "cgroup2"
		if !unified && (how[0] != "cgroup" || !slices.Contains(strings.Split(how[2], ","), "memory")) {
			continue
		}
		group, in := groups[unified]
		if !in {
			continue
		}
		// In a container its own group is mounted, and the path may be that of the host.
		below, inside := strings.CutPrefix(group, strings.TrimSuffix(what[3], "/"))
		if !inside {
			below = "/"
		}
		found = append(found, mount{point: what[4], group: below, unified: unified})
	}
	return found
}

func lines(root, file string) (all []string) {
	f, err := os.Open(filepath.Join(root, file))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		all = append(all, scanner.Text())
	}
	return all
}
