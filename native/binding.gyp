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
        'answer.cc',
        'arena.cc',
        'backlog.cc',
        'call.cc',
        'call_thread.cc',
        'callback.cc',
        'calls.cc',
        'content.cc',
        'delivery.cc',
        'descriptors.cc',
        'digest.cc',
        'event_queue.cc',
        'facts.cc',
        'glance.cc',
        'guard.cc',
        'loop_bound.cc',
        'memory.cc',
        'mount_id.cc',
        'mount_table.cc',
        'opener.cc',
        'output.cc',
        'packing.cc',
        'perform.cc',
        'pidfd.cc',
        'queue.cc',
        'reap.cc',
        'record.cc',
        'requests.cc',
        'stream.cc',
        'thread.cc',
        'vigil.cc',
        'visitor.cc',
        'walk.cc',
        'walker.cc',
      ],
      'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
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
        ['sanitize==""', {
          # One file for glibc and musl: it links libc and nothing else, so the little of the C++ runtime that headers
          # refer to is in runtime.cc. (-static-libstdc++ would pull in newer glibc symbols and ld-linux; _FORTIFY_SOURCE
          # functions that musl has not.)
          'sources': ['runtime.cc'],
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
      # A program, for what no thread may do: see enter.cc.
      'target_name': 'inotify_bridge_enter',
      'type': 'executable',
      'sources': ['enter.cc'],
      'defines': ['_GNU_SOURCE'],
      'cflags': ['-Wall', '-Wextra', '-fPIE', '-fstack-protector-strong', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2'],
      'cflags_cc!': ['-std=gnu++20', '-std=gnu++17', '-frtti', '-fexceptions'],
      'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fno-rtti', '-fno-asynchronous-unwind-tables'],
      'ldflags!': ['-rdynamic'],
      'ldflags': ['-Wl,--gc-sections', '-Wl,-z,relro,-z,now'],
      'conditions': [
        # One file for glibc and musl, as the addon is: a program names its dynamic linker, which is another there. Where there is
        # no static libc (Fedora has it in a package of its own) what is built here runs here.
        ['"<!(${CXX:-c++} -print-file-name=libc.a)"=="libc.a"', {'ldflags': ['-pie']}, {
          'conditions': [
            # At an address that is another each time, where libc can be linked so (glibc 2.26).
            ['"<!(${CXX:-c++} -print-file-name=rcrt1.o)"!="rcrt1.o"', {'ldflags': ['-static-pie']}, {'ldflags': ['-static', '-no-pie']}],
          ],
        }],
      ],
    },
  ],
}
