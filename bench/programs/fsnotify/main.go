// Go's fsnotify as a subject of the benchmark: its modes and answers are in ../../watchers/outside.mjs.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/fsnotify/fsnotify"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// CLOCK_MONOTONIC, as the writer has it: Go's own counts from somewhere else.
func nowNs() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func cpuMs() float64 {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
}

func residentMiB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// fsnotify watches no tree by itself: the caller adds each directory.
func addAll(watcher *fsnotify.Watcher, root string) {
	must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			return watcher.Add(path)
		}
		return err
	}))
}

func say(answer map[string]any) {
	text, err := json.Marshal(answer)
	must(err)
	fmt.Println(string(text))
}

func main() {
	mode, directory := os.Args[1], os.Args[2]
	var received []int64
	if mode == "latency" {
		samples, err := strconv.Atoi(os.Args[3])
		must(err)
		received = make([]int64, samples)
	}
	start, resident := nowNs(), residentMiB()
	watcher, err := fsnotify.NewWatcher()
	must(err)
	if mode == "tree" {
		addAll(watcher, directory)
	} else {
		must(watcher.Add(directory))
	}
	say(map[string]any{"ms": float64(nowNs()-start) / 1e6, "MiB": residentMiB() - resident})
	if mode == "blocked" {
		os.Stdin.Read(make([]byte, 1))
	}

	before, free := cpuMs(), nowNs()
	delivered, overflows, last, inOrder, previous := 0, 0, free, true, ""
	for isOver := false; !isOver; {
		select {
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				must(err)
			}
			overflows++
		case event := <-watcher.Events:
			name := filepath.Base(event.Name)
			if strings.HasPrefix(name, "last") {
				isOver = true
				continue
			}
			// The event of an overflow has no name and no operation.
			if event.Op == 0 || event.Op == fsnotify.Chmod {
				continue
			}
			delivered++
			last = nowNs()
			inOrder = inOrder && name >= previous
			previous = name
			if received != nil {
				number, err := strconv.Atoi(strings.TrimPrefix(name, "event-"))
				must(err)
				received[number] = last
			}
		}
	}
	say(map[string]any{
		"delivered": delivered, "overflows": overflows, "inOrder": inOrder,
		"toLastMs": float64(last-free) / 1e6, "cpuMs": cpuMs() - before, "received": received,
	})
}
