import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Place } from './paths.ts';

/** A program with its arguments. */
export interface Launch {
  program: string;
  args: string[];
}

/** Browsers that open a page as a window of its own, by the names of their programs on Linux. */
const linuxBrowsers = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'microsoft-edge',
  'microsoft-edge-stable',
];

const macBrowsers = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const windowsBrowsers = [
  ['Google', 'Chrome', 'Application', 'chrome.exe'],
  ['Microsoft', 'Edge', 'Application', 'msedge.exe'],
  ['Chromium', 'Application', 'chrome.exe'],
];

/**
 * How to open an address: as an application window of an installed Chromium, Chrome or Edge, else in the default browser.
 * @param isThere whether a file can be executed; tests pass their own.
 */
export function launchOf(
  url: string,
  { env, platform }: Place,
  isThere: (path: string) => boolean = isExecutable,
): Launch {
  const browser = candidates(env, platform).find(isThere);
  if (browser !== undefined) return { program: browser, args: [`--app=${url}`] };
  if (platform === 'darwin') return { program: 'open', args: [url] };
  // `start` is part of a shell, which would read & in an address as the end of a command.
  if (platform === 'win32') return { program: 'rundll32', args: ['url.dll,FileProtocolHandler', url] };
  return { program: 'xdg-open', args: [url] };
}

/** A program that fails for want of a screen or a browser does it within this time, ms. */
const failMs = 1_500;

/** Start a program that outlives this one. @returns whether it works: it goes on for a while, or has ended well. */
export function launch({ program, args }: Launch): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { detached: true, stdio: 'ignore' });
    const timer = setTimeout(() => resolve(true), failMs);
    const end = (isWell: boolean): void => {
      clearTimeout(timer);
      resolve(isWell);
    };
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
    child.unref();
  });
}

function candidates(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string[] {
  if (platform === 'darwin') return macBrowsers;
  if (platform === 'win32') {
    const folders = [env.PROGRAMFILES, env['PROGRAMFILES(X86)'], env.LOCALAPPDATA];
    return windowsBrowsers.flatMap((parts) =>
      folders.flatMap((folder) => (folder === undefined ? [] : [[folder, ...parts].join('\\')])),
    );
  }
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return linuxBrowsers.flatMap((name) => folders.map((folder) => join(folder, name)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
