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
        'base/mount_id.cc',
        'base/statx.cc',
        'base/thread.cc',
        'loop/callback.cc',
        'loop/loop_handle.cc',
        'loop/mount_table.cc',
        'loop/pidfd.cc',
        'loop/reap.cc',
        'queue/arena.cc',
        'queue/event_queue.cc',
        'queue/packing.cc',
        'queue/queue.cc',
        'queue/queue_drainer.cc',
        'queue/stream.cc',
        'record/digest.cc',
        'record/digest_cache.cc',
        'record/record.cc',
        'record/record_queue.cc',
        'scan/dir_reader.cc',
        'scan/file_hasher.cc',
        'scan/opener.cc',
        'scan/requests.cc',
        'scan/stat_only.cc',
        'scan/walk_queue.cc',
        'scan/way_cache.cc',
        'syscalls/call.cc',
        'syscalls/call_thread.cc',
        'syscalls/calls.cc',
        'syscalls/descriptors.cc',
        'syscalls/stat_watch.cc',
        'syscalls/syscall_exec.cc',
        'syscalls/syscall_result.cc',
        'walker/delivery.cc',
        'walker/walk.cc',
        'walker/walk_threads.cc',
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
          'cflags': ['-U_FORTIFY_SOURCE', '-O3'],
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
      # A program, for what no thread may do: see ns_enter.cc.
      'target_name': 'inotify_bridge_enter',
      'type': 'executable',
      'sources': ['ns_enter.cc'],
      'include_dirs': ['.'],
      'defines': ['_GNU_SOURCE'],
      'cflags': ['-Wall', '-Wextra', '-fPIE', '-fvisibility=hidden', '-fstack-protector-strong', '-U_FORTIFY_SOURCE'],
      'cflags_cc!': ['-std=gnu++20', '-std=gnu++17', '-frtti', '-fexceptions'],
      'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fno-rtti', '-fno-asynchronous-unwind-tables'],
      'ldflags!': ['-rdynamic'],
      'ldflags': ['-Wl,--gc-sections', '-Wl,-z,relro,-z,now'],
      'conditions': [
        # One file for glibc and musl, as the addon is: a program names its dynamic linker, which is another there, and with either libc
        # in it it is a hundred times as large.
        ['target_arch=="x64" or target_arch=="arm64"', {
          'sources': ['libc/calls.cc', 'libc/exec.cc', 'libc/start.cc', 'libc/text.cc'],
          'cflags': ['-fno-builtin'],
          'ldflags': ['-nostdlib', '-static-pie', '-Wl,--no-dynamic-linker'],
        }, {
          'cflags': ['-D_FORTIFY_SOURCE=2'],
          'ldflags': ['-pie'],
        }],
        # As x64 has it: see libc/start.cc.
        ['target_arch=="arm64"', {
          'cflags': ['-mstack-protector-guard=sysreg', '-mstack-protector-guard-reg=tpidr_el0', '-mstack-protector-guard-offset=0x28'],
        }],
      ],
    },
  ],
}
