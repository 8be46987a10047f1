#pragma once

// A descriptor of the process that has this pid now, whatever the pid stands for later: pidfd_open(2). It is
// CLOEXEC. Or -errno: ESRCH, ENOSYS before Linux 5.3.
int PidfdOpen(int pid);

// pidfd_send_signal(2), of no group and with kill(2)'s information. 0 or -errno; ESRCH once the process has
// been waited for.
int PidfdSend(int fd, int signal);
