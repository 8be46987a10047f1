const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/**
 * What a ConfigMap for nginx holds. The logs and temporary files are in a directory of its own, so that it needs no rights; `notice`
 * tells of each HUP.
 *
 * @param {string} directory
 * @param {number} port
 * @param {string} page
 */
export function configuration(directory, port, page) {
  return `pid ${directory}/nginx.pid;
error_log ${directory}/error.log notice;
worker_processes 2;
events {}
http {
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${directory}/tmp_${name};`).join('\n  ')}
  server { listen 127.0.0.1:${port}; location / { return 200 "${page}"; } }
}
`
}
