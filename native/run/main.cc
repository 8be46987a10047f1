// inotify-bridge run: runs a program so that it hears by inotify(7) of changes on mounts that deliver no
// events.
//
//   inotify_bridge_run [OPTIONS] -- PROGRAM [ARG...]
//
// A seccomp filter hands the program's inotify_init(2), inotify_add_watch(2) and inotify_rm_watch(2) to this
// process. The instance that the program gets is an ordinary one, made here. Of what lies on a mount that
// tells of all, the kernel answers as ever, and this process has no part in it. In place of what lies on a
// silent mount its shadow is watched (shadow.h), where all is done that local events and looks say.
//
// One file for glibc and musl, and for an image that has neither: see native/binding.gyp.

#include "run/options.h"
#include "run/program.h"
#include "run/supervisor.h"

int main(int argc, char** argv) {
  Supervise(ReadOptions(argc, argv));
}
