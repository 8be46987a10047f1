#pragma once

// Returns true if a mount delivers no events of what others change: FUSE (virtiofs too), NFS, 9p, SMB and the
// like. `fd`: any of it, by O_PATH too.
bool IsSilent(int fd);
