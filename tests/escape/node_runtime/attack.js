const fs = require('fs');
const net = require('net');
const { spawnSync } = require('child_process');

const say = (...words) => fs.writeSync(1, words.join(' ') + '\n');
const refused = (what, action) => {
  try {
    say('ESCAPED', what + ':', String(action()).slice(0, 100));
  } catch (error) {
    say('REFUSED', what);
  }
};
const child = (what, program, ...words) => {
  const ended = spawnSync(program, words);
  say(!ended.error && ended.status === 0 ? 'ESCAPED' : 'REFUSED', what);
};
const env = process.env;
const unreadable = (what, path) => refused(what, () => {
  const read = fs.readFileSync(path);
  if (!read.length) throw new Error('empty');
  return read;
});

for (const name of ['CANARY_TMP', 'CANARY_HOME']) {
  unreadable(name, env[name]);
  unreadable(name + '-up', '../'.repeat(20) + env[name]);
  unreadable(name + '-proc', '/proc/self/root' + env[name]);
  unreadable(name + '-init', '/proc/1/root' + env[name]);
}
unreadable('init-environ', '/proc/1/environ');
refused('init-mem', () => fs.openSync('/proc/1/mem', 'r+'));
refused('init-fd', () => fs.readdirSync('/proc/1/fd'));
refused('victim', () => fs.readdirSync('/proc/' + env.VICTIM_PID + '/fd'));
refused('exe', () => fs.openSync('/proc/self/exe', 'r+'));
refused('sysrq', () => fs.writeFileSync('/proc/sysrq-trigger', 'h'));
refused('core-pattern', () => fs.writeFileSync('/proc/sys/kernel/core_pattern', '|/bin/sh'));
refused('parked', () => fs.readFileSync('/sandbox/park'));

/* A directory, or a file of the host, behind a descriptor of the runtime's or one that was inherited. */
const strange = fs.readdirSync('/proc/self/fd').filter((fd) => {
  try {
    const target = fs.readlinkSync('/proc/self/fd/' + fd);
    if (target.startsWith('/proc/')) return false; // the list that is being read
    return target.startsWith(env.CANARY_DIR) || fs.fstatSync(+fd).isDirectory();
  } catch (error) {
    return false;
  }
});
say(strange.length ? 'ESCAPED' : 'REFUSED', 'descriptors', strange.join(' '));

child('unshare', 'unshare', '--user', '--map-root-user', '--mount', 'true');
child('nsenter', 'nsenter', '--target', '1', '--mount', '--pid', '--net', 'true');
child('mount', 'mount', '-t', 'tmpfs', 'none', '/tmp');
child('child-reads', 'cat', env.CANARY_TMP);
refused('kill-victim', () => process.kill(+env.VICTIM_PID, 'SIGKILL'));
refused('kill-init', () => process.kill(1, 'SIGKILL'));

say(JSON.stringify(Object.keys(env)).includes('SECRET_OF_THE_CALLER') ? 'ESCAPED' : 'REFUSED', 'environment');
const connect = (what, where, then) => {
  const socket = net.connect(where);
  socket.on('connect', () => { say('ESCAPED', what); socket.destroy(); then(); });
  socket.on('error', () => { say('REFUSED', what); then(); });
};
connect('socket', { path: env.HOST_SOCKET }, () =>
  connect('loopback', { host: '127.0.0.1', port: +env.HOST_PORT }, () =>
    connect('abstract', { path: '\0' + env.HOST_ABSTRACT }, () => {})));
