// Every constant of <sys/inotify.h>, same spelling, same value (linux/inotify.h; identical on all architectures but for
// IN_CLOEXEC and IN_NONBLOCK, which are the O_* flags of the common ones). Read with inotify(7).

// -- events: may be asked for and may be told

/** A file was read (read(2), execve(2)). Not for readdir of a directory's own entries. */
export const IN_ACCESS = 0x0000_0001
/** A file was written or truncated. Not by stores to a shared mapping (mmap(2)), and AIO writes may give none. */
export const IN_MODIFY = 0x0000_0002
/** Metadata changed: mode, owner, timestamps, extended attributes, and the link count (so also when a watched file is unlinked). */
export const IN_ATTRIB = 0x0000_0004
/** A file that was open for writing was closed: its writer is done. */
export const IN_CLOSE_WRITE = 0x0000_0008
/** A file or directory not open for writing was closed. */
export const IN_CLOSE_NOWRITE = 0x0000_0010
/** A file or directory was opened. */
export const IN_OPEN = 0x0000_0020
/** The old name of a rename, in the directory it left. Shares its cookie with the IN_MOVED_TO, if that is watched. */
export const IN_MOVED_FROM = 0x0000_0040
/** The new name of a rename, in the directory it came to. Never for a move from another mount: that is a copy (EXDEV). */
export const IN_MOVED_TO = 0x0000_0080
/** A file, directory, link, socket, FIFO or device was made in a watched directory. */
export const IN_CREATE = 0x0000_0100
/** A name was removed from a watched directory. */
export const IN_DELETE = 0x0000_0200
/** The watched inode itself is gone: its last name removed and its last descriptor closed. IN_IGNORED follows. */
export const IN_DELETE_SELF = 0x0000_0400
/** The watched file or directory was itself renamed. Not when one of its ancestors was. */
export const IN_MOVE_SELF = 0x0000_0800

// -- told only

/** The watched object's filesystem was unmounted. IN_IGNORED follows. Not for a bind mount that goes. */
export const IN_UNMOUNT = 0x0000_2000
/** The queue was full: events are lost from here on. wd is -1. */
export const IN_Q_OVERFLOW = 0x0000_4000
/** The watch is gone, by remove() or by itself; its wd means nothing from here on. An overflow can swallow it. */
export const IN_IGNORED = 0x0000_8000
/** The subject of the event is a directory. */
export const IN_ISDIR = 0x4000_0000

// -- asked only

/** Only if path is a directory, else ENOTDIR. */
export const IN_ONLYDIR = 0x0100_0000
/** Do not follow path if it is a symlink. */
export const IN_DONT_FOLLOW = 0x0200_0000
/** No events for a child under a name that has been unlinked, though it is still open. */
export const IN_EXCL_UNLINK = 0x0400_0000
/** Fail with EEXIST if this inode is already watched, instead of changing its mask (Linux 4.18). */
export const IN_MASK_CREATE = 0x1000_0000
/** Add to the mask of a watch that exists, instead of replacing it. */
export const IN_MASK_ADD = 0x2000_0000
/** Remove the watch after one event. */
export const IN_ONESHOT = 0x8000_0000

// -- combinations

/** IN_CLOSE_WRITE | IN_CLOSE_NOWRITE */
export const IN_CLOSE = 0x0000_0018
/** IN_MOVED_FROM | IN_MOVED_TO */
export const IN_MOVE = 0x0000_00c0
/** Every event that may be asked for. */
export const IN_ALL_EVENTS = 0x0000_0fff

// -- flags of inotify_init1(2), which this library always sets

/** Flag of inotify_init1(2), always set by this library: the descriptor is closed in programs that the process executes. No part of a mask. */
export const IN_CLOEXEC = 0x0008_0000
/** Flag of inotify_init1(2), always set by this library: read(2) does not wait. No part of a mask; the same number as IN_MOVE_SELF. */
export const IN_NONBLOCK = 0x0000_0800
