import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { launchOf } from '../../src/companion/launcher.ts';
import { loginEntry } from '../../src/companion/login.ts';
import { companionPaths } from '../../src/companion/paths.ts';
import { ownerOf } from '../../src/companion/peer.ts';
import { temporaryFolder } from '../support/folder.ts';

const command = ['/opt/node 26/bin/node', '/home/ada/100% "svc"/$x/svc.js', 'companion', '--no-open'];

test('a unit of systemd', (t) => {
  const entry = loginEntry({ env: {}, platform: 'linux' }, '/home/ada', command);
  t.is(entry?.path, '/home/ada/.config/systemd/user/svc-companion.service');
  t.is(
    entry?.text,
    `[Unit]
Description=SVC companion: a worker of a job coordinator, and its page

[Service]
ExecStart="/opt/node 26/bin/node" "/home/ada/100%% \\"svc\\"/$$x/svc.js" "companion" "--no-open"
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=60
NoNewPrivileges=true

[Install]
WantedBy=default.target
`,
  );
  const elsewhere = loginEntry(
    { env: { XDG_CONFIG_HOME: '/etc/ada' }, platform: 'linux' },
    '/home/ada',
    command,
  );
  t.is(elsewhere?.link, '/etc/ada/systemd/user/default.target.wants/svc-companion.service');
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
(hasSystemd ? test : test.skip)('systemd takes the unit', (t) => {
  const folder = temporaryFolder(t);
  const entry = loginEntry({ env: {}, platform: 'linux' }, folder, [process.execPath, 'companion']);
  const file = join(folder, 'svc-companion.service');
  writeFileSync(file, entry?.text ?? '');
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--user', file], {
    encoding: 'utf8',
    env: { ...process.env, XDG_RUNTIME_DIR: folder },
  });
  t.is(status, 0, stderr);
});

test('an agent of launchd', (t) => {
  const entry = loginEntry({ env: {}, platform: 'darwin' }, '/Users/ada', ['/bin/node', '/a & b/<svc>.js']);
  t.is(entry?.path, '/Users/ada/Library/LaunchAgents/svc.companion.plist');
  t.is(
    entry?.text,
    `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>svc.companion</string>
  <key>ProgramArguments</key>
  <array>
    <string>/bin/node</string>
    <string>/a &amp; b/&lt;svc&gt;.js</string>
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>60</integer>
</dict>
</plist>
`,
  );
});

test('an entry of the start-up folder of Windows', (t) => {
  const env = { APPDATA: 'C:\\Users\\ada\\AppData\\Roaming' };
  const entry = loginEntry({ env, platform: 'win32' }, 'C:\\Users\\ada', [
    'C:\\node.exe',
    'C:\\100%\\svc.js',
  ]);
  t.is(
    entry?.path,
    'C:\\Users\\ada\\AppData\\Roaming\\Microsoft\\Windows\\Start Menu\\Programs\\Startup\\svc-companion.cmd',
  );
  t.is(entry?.text, '@echo off\r\nstart "SVC companion" /min "C:\\node.exe" "C:\\100%%\\svc.js"\r\n');
  t.is(loginEntry({ env: {}, platform: 'freebsd' }, '/home/ada', command), null);
});

test('the files are where the system keeps such files', (t) => {
  const linux = companionPaths({ env: { HOME: '/home/ada' }, platform: 'linux' });
  t.is(linux.settings, '/home/ada/.config/svc/companion.yaml');
  t.is(linux.state, '/home/ada/.local/state/svc/companion');
  const xdg = { HOME: '/home/ada', XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: 'relative' };
  t.is(companionPaths({ env: xdg, platform: 'linux' }).settings, '/c/svc/companion.yaml');
  t.is(companionPaths({ env: xdg, platform: 'linux' }).state, '/home/ada/.local/state/svc/companion');
  t.is(
    companionPaths({ env: { HOME: '/Users/ada' }, platform: 'darwin' }).settings,
    '/Users/ada/Library/Application Support/svc/companion.yaml',
  );
  const windows = { USERPROFILE: 'C:\\ada', APPDATA: 'C:\\r', LOCALAPPDATA: 'C:\\l' };
  t.deepEqual(companionPaths({ env: windows, platform: 'win32' }), {
    home: 'C:\\ada',
    settings: 'C:\\r\\svc\\companion.yaml',
    state: 'C:\\l\\svc\\companion',
  });
});

test('the window is of the first browser that can have one, else the default browser is asked', (t) => {
  const url = 'http://127.0.0.1:1/x/open?ticket=y';
  const launched = (platform: NodeJS.Platform, env: NodeJS.ProcessEnv, there: string[]) =>
    launchOf(url, { platform, env }, (path) => there.includes(path));
  const env = { PATH: '/usr/bin:/opt/bin' };
  t.deepEqual(launched('linux', env, ['/opt/bin/chromium', '/usr/bin/google-chrome']), {
    program: '/opt/bin/chromium',
    args: [`--app=${url}`],
  });
  t.deepEqual(launched('linux', env, []), { program: 'xdg-open', args: [url] });
  const chrome = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
  t.is(launched('darwin', {}, [chrome]).program, chrome);
  t.deepEqual(launched('darwin', {}, []), { program: 'open', args: [url] });
  const edge = 'C:\\x86\\Microsoft\\Edge\\Application\\msedge.exe';
  t.is(launched('win32', { 'PROGRAMFILES(X86)': 'C:\\x86' }, [edge]).program, edge);
  t.deepEqual(launched('win32', {}, []).args, ['url.dll,FileProtocolHandler', url]);
});

test('the owner of a connection is read from the table of the kernel', (t) => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 3 1 0 20 4 30 10 -1
`;
  t.is(ownerOf(table, 50_000, 8080), 1001);
  t.is(ownerOf(table, 8080, 50_000), 1000);
  t.is(ownerOf(table, 50_001, 8080), null);
});
