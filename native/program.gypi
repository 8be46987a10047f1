# The common settings of the programs beside the addon.
{
  'type': 'executable',
  'include_dirs': ['.'],
  'defines': ['_GNU_SOURCE'],
  'cflags': ['-Wall', '-Wextra', '-fPIE', '-fvisibility=hidden', '-fstack-protector-strong', '-U_FORTIFY_SOURCE'],
  'cflags_cc!': ['-std=gnu++20', '-std=gnu++17', '-frtti', '-fexceptions'],
  'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fno-rtti', '-fno-asynchronous-unwind-tables', '-fno-threadsafe-statics'],
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
}
