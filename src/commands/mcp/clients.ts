import { homedir } from 'node:os';
import { join } from 'node:path';
import { variable } from '../../config/environment.ts';

/** The clients whose settings `svc mcp --install` knows. */
export const clientNames = ['claude', 'claude-desktop', 'codex', 'cursor', 'vscode'] as const;
export type ClientName = (typeof clientNames)[number];

/** The command that a client starts. */
export interface Entry {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** Where a client keeps its MCP servers. */
export interface ClientFile {
  /** As its maker writes it. */
  title: string;
  path: string;
  format: 'json' | 'toml';
  /** The member that has the servers by name. */
  servers: string;
  /** Members that its entries have besides the command. */
  more: Record<string, string>;
  /** Members that its entries get unless somebody has set them. */
  defaults: Record<string, number>;
  /** What makes it read its settings again. */
  next: string;
}

/** This machine, as far as the places of settings depend on it. */
interface Place {
  env: NodeJS.ProcessEnv;
  platform?: NodeJS.Platform;
  home?: string;
}

/** The file of a client, as its maker documents it. */
export function clientFile(
  name: ClientName,
  { env, platform = process.platform, home = homedir() }: Place,
): ClientFile {
  const settings = folderOfSettings(env, platform, home);
  switch (name) {
    case 'claude':
      return {
        title: 'Claude Code',
        path: join(variable(env, 'CLAUDE_CONFIG_DIR') ?? home, '.claude.json'),
        format: 'json',
        servers: 'mcpServers',
        more: { type: 'stdio' },
        defaults: {},
        next: 'Restart Claude Code; /mcp shows the server.',
      };
    case 'claude-desktop':
      return {
        title: 'Claude Desktop',
        path: join(settings, 'Claude', 'claude_desktop_config.json'),
        format: 'json',
        servers: 'mcpServers',
        more: {},
        defaults: {},
        next: 'Quit Claude Desktop and open it again.',
      };
    case 'codex':
      return {
        title: 'Codex',
        path: join(variable(env, 'CODEX_HOME') ?? join(home, '.codex'), 'config.toml'),
        format: 'toml',
        servers: 'mcp_servers',
        more: {},
        // Its tools wait up to 50 s, and the bridge up to 9 s for a coordinator that restarts.
        defaults: { tool_timeout_sec: 60 },
        next: 'Restart Codex; /mcp shows the server.',
      };
    case 'cursor':
      return {
        title: 'Cursor',
        path: join(home, '.cursor', 'mcp.json'),
        format: 'json',
        servers: 'mcpServers',
        more: {},
        defaults: {},
        next: 'Switch the server on under Settings, MCP.',
      };
    case 'vscode':
      return {
        title: 'VS Code',
        path: join(settings, 'Code', 'User', 'mcp.json'),
        format: 'json',
        servers: 'servers',
        more: { type: 'stdio' },
        defaults: {},
        next: 'Run "MCP: List Servers" in VS Code and start it.',
      };
  }
}

/** Where programs with a window keep the settings of a user. */
function folderOfSettings(env: NodeJS.ProcessEnv, platform: NodeJS.Platform, home: string): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  if (platform === 'win32') return variable(env, 'APPDATA') ?? join(home, 'AppData', 'Roaming');
  return variable(env, 'XDG_CONFIG_HOME') ?? join(home, '.config');
}
