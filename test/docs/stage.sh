# A mount namespace in which the docs' commands are run: it has the directories that they name, and nothing outside of it is changed.
# $1: a file that the shell reads. $2: a directory in which the kubelet's swaps, and writes, go on meanwhile; '' if there is none.
set -e
here=$PWD
cp -r /etc/nginx "$here/nginx" 2>/dev/null || mkdir "$here/nginx"
cp /etc/passwd /etc/group "$here"
mount -t tmpfs none /etc
mount -t tmpfs none /run
cd /etc
mv "$here/nginx" "$here/passwd" "$here/group" .
mkdir -p app config envoy/xds envoy/certs envoy/watched prometheus nginx
for directory in app config envoy/xds prometheus; do
  printf 'color: red\n' >$directory/app.yaml
done
cd "$here"
for file in app.yaml users.yaml new.yaml tls.crt tls.key; do
  printf 'color: red\n' >$file
done
mkdir src /run/config
export PATH="$here/bin:$PATH"
if [ -n "$2" ]; then
  for version in one two; do
    mkdir "$2/..$version"
    printf 'color: %s\n' $version >"$2/..$version/app.yaml"
  done
  ln -sfn ..data/app.yaml "$2/app.yaml"
  while true; do
    for version in one two; do
      ln -sfn ..$version "$2/..data_tmp"
      mv -T "$2/..data_tmp" "$2/..data"
      # Not every watcher sees a link that is swapped.
      printf 'color: %s\n' $version >"$2/plain.yaml"
      # For longer than a mirror looks away.
      sleep 0.3
    done
  done &
fi
. "$1"
