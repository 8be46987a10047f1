# The target itself lies in native/, which travels in the tarball. Only this repository has a binding.gyp at its root: a tarball
# with one is compiled by npm at install time, wanted or not.
{
  'targets': [
    {
      'target_name': 'all_targets',
      'type': 'none',
      'dependencies': ['native/binding.gyp:inotify_bridge', 'native/binding.gyp:inotify_bridge_enter'],
      'conditions': [
        ['target_arch=="x64" or target_arch=="arm64"', {'dependencies': ['native/binding.gyp:inotify_bridge_run']}],
      ],
    },
  ],
}
