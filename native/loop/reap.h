#pragma once

// waitpid(2) for one child, without waiting: its pid if it had ended, 0 if it has not, or -errno.
int Reap(int pid);
