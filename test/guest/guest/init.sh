#!/bin/busybox sh
# Process 1 of the guest. Mounts the host's root directory (read-only) and the share, and runs one scenario after the other as the
# host asks for them over the second serial port, with the host's own node and the library as it was built there.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/

mount -t proc none /proc
mount -t devtmpfs none /dev
while read -r module; do insmod "/modules/$module.ko"; done </modules/order
# For a server in the guest itself.
ifconfig lo 127.0.0.1 up

mount -t virtiofs -o ro host /host
mount -t proc none /host/proc
mount -t sysfs none /host/sys
mount -t devtmpfs none /host/dev
# `inotify-bridge run` may make files here.
mkdir /host/dev/shm
mount -t tmpfs none /host/dev/shm
mount -t tmpfs none /host/mnt
mkdir /host/mnt/share /host/mnt/memory
mount -t virtiofs share /host/mnt/share

{ read -r node; read -r scenarios; } </host/mnt/share/boot

# raw: a line goes through as it is; 115200: the emulated port holds back the end of a line for the time of four characters.
port=/dev/ttyS1
stty -F $port raw -echo 115200
exec 3<>$port
echo '{"ready":true}' >&3
while read -r scenario run <&3; do
  echo "$scenario $run"
  chroot /host "$node" "$scenarios/$scenario.mjs" "/mnt/share/$run" \
    </dev/null 3>&- >"/host/mnt/share/$run.output" 2>&1
  echo "{\"exit\":$?}" >&3
done
poweroff -f
