// Package machine tells what a benchmark has to say about the computer it runs on, and what a process has cost. It reads /proc, so it
// knows Linux only.
package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Listener finds the process that listens on a port of this machine, 0 if none can be seen: in a container, say.
func Listener(port int) int {
	sockets := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // number, local address, remote address, state, …, inode
			if len(fields) > 9 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && fields[3] == "0A" {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && sockets[target] {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			return pid
		}
	}
	return 0
}

// ListenerAt is Listener of an address such as 127.0.0.1:9092.
func ListenerAt(address string) int {
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		return 0
	}
	return Listener(port)
}

// Cost is the processor time and the peak memory of a process so far.
func Cost(pid int) (cpu float64, peak int64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64) // in ticks, of which a second has 100 on Linux
	system, _ := strconv.ParseFloat(fields[12], 64)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			peak = kib * 1024
		}
	}
	return (user + system) / 100, peak, nil
}

// Commit is the commit of the sources, with -dirty if some are changed: more than pages, which benchmarks write.
func Commit() string {
	name, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(name))
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs").Run() != nil {
		commit += "-dirty"
	}
	return commit
}

// CPU is the processor's name; the architecture where that cannot be read.
func CPU() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

// Memory is how much there is.
func Memory() string {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "an unknown amount"
	}
	var kib int64
	if _, err := fmt.Sscanf(string(info), "MemTotal: %d kB", &kib); err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%d GiB", kib>>20)
}

// Load is the load average of the last minute, empty if it cannot be read.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
