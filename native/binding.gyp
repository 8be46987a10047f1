{
  'variables': {
    # GYP_DEFINES="sanitize=address,undefined" builds for a sanitizer's runtime (see scripts/sanitizers.mjs).
    'sanitize%': '',
  },
  'targets': [
    {
      'target_name': 'inotify_bridge',
      'sources': [
        'addon.cc',
        'base/statx.cc',
        'fanotify/fanotify.cc',
        'fanotify/marked_mount.cc',
        'threads/thread.cc',
        'loop/loop_handle.cc',
        'loop/mount_table.cc',
        'queue/event_queue.cc',
        'queue/packing.cc',
        'queue/queue.cc',
        'queue/queue_drainer.cc',
        'record/digest.cc',
        'record/record.cc',
        'scan/dir_reader.cc',
        'scan/opener.cc',
        'scan/requests.cc',
        'scan/walk_queue.cc',
        'syscalls/call_thread.cc',
        'syscalls/calls.cc',
        'syscalls/perform.cc',
        'walker/walk.cc',
        'walker/walker.cc',
      ],
      'include_dirs': ['.', "<!(node -p \"require('node-addon-api').include_dir\")"],
      'defines': ['NAPI_VERSION=8', 'NAPI_DISABLE_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS', 'NODE_ADDON_API_DISABLE_DEPRECATED', '_GNU_SOURCE'],
      'cflags': ['-Wall', '-Wextra', '-fvisibility=hidden'],
      # nodelete: a walk's thread that a dead mount holds outlives its environment, and with a worker's end the code it is to
      # come back to would be unmapped. now: the table of functions is read-only when it is loaded; and where one is missing,
      # loading fails, not the call of it.
      'ldflags': ['-Wl,-z,nodelete', '-Wl,-z,relro,-z,now'],
      'cflags_cc!': ['-std=gnu++20', '-std=gnu++17', '-frtti', '-fexceptions'],
      'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fno-rtti'],
      'conditions': [
        # Its guard is a register's on x64, but a variable of glibc's ld-linux on arm64, which musl has not.
        ['target_arch=="x64"', {'cflags': ['-fstack-protector-strong']}],
        # These are functions of libgcc's, which is not linked.
        ['target_arch=="arm64"', {'cflags': ['-mno-outline-atomics']}],
        ['sanitize==""', {
          # One file for glibc and musl: it links libc and nothing else, so the little of the C++ runtime that headers
          # refer to is in base/libstdcxx_shim.cc. (-static-libstdc++ would pull in newer glibc symbols and ld-linux; _FORTIFY_SOURCE
          # functions that musl has not.)
          'sources': ['base/libstdcxx_shim.cc'],
          'defines': ['_GLIBCXX_EXTERN_TEMPLATE=0'],
          # Node's -O3 makes the addon 2.4 times as large, and nothing faster: bench/gate counts.
          'cflags!': ['-O3'],
          'cflags': ['-U_FORTIFY_SOURCE', '-O2'],
          'cflags_cc': ['-fno-threadsafe-statics', '-fno-asynchronous-unwind-tables'],
          'ldflags': ['-nodefaultlibs', '-Wl,--as-needed', '-Wl,--gc-sections'],
          'libraries': ['-lc'],
        }, {
          'cflags': ['-fsanitize=<(sanitize)', '-fno-omit-frame-pointer', '-g', '-O1'],
          'ldflags': ['-fsanitize=<(sanitize)'],
        }],
      ],
    },
    {
      # For what no thread may do: see ns_enter.cc.
      'target_name': 'inotify_bridge_enter',
      'includes': ['program.gypi'],
      'sources': ['ns_enter.cc'],
    },
  ],
  'conditions': [
    # It is a few calls of the kernel's, by number, and the filter of their numbers.
    ['target_arch=="x64" or target_arch=="arm64"', {
      'targets': [
        {
          # `inotify-bridge run`: see run/supervisor.cc.
          'target_name': 'inotify_bridge_run',
          'includes': ['program.gypi'],
          'sources': [
            'base/statx.cc',
            'run/base/memory.cc',
            'run/base/report.cc',
            'run/caller.cc',
            'run/filter.cc',
            'run/options.cc',
            'run/program.cc',
            'run/relay.cc',
            'run/supervisor.cc',
            'run/watched/instance.cc',
            'run/watched/listing.cc',
            'run/watched/mounts.cc',
            'run/watched/polled.cc',
            'run/watched/polling.cc',
            'run/watched/shadow.cc',
            'run/watched/telling.cc',
          ],
          'cflags!': ['-O3'],
          'cflags': ['-Os'],
          # Of libstdc++ it has what run/base/memory.cc has, where a delete without a size is none.
          'cflags_cc': ['-fsized-deallocation', '-U_GLIBCXX_ASSERTIONS'],
        },
      ],
    }],
  ],
}
