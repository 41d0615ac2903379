import { existsSync } from 'node:fs';

/** The first is the same engine without a window, and takes two fifths of the processor time. */
const paths = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
/** `SVC_TEST_CHROMIUM` names another one. */
export const executablePath = process.env.SVC_TEST_CHROMIUM ?? paths.find((path) => existsSync(path));

export const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
