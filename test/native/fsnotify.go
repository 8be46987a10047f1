// Usage: fsnotify DIRECTORY
//
// Watches a directory by Go's fsnotify. Says "ready", then a line an event, "operation name".
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

func main() {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		err = watcher.Add(os.Args[1])
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	for event := range watcher.Events {
		fmt.Println(event.Op, filepath.Base(event.Name))
	}
}
