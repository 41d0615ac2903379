import { ProtocolError, Server, type ServerContext } from '@modelcontextprotocol/server';
import { CoordinatorError } from '../domain/errors.ts';
import { roleMay } from '../domain/key.ts';
import type { HttpParts } from '../http/parts.ts';
import { fieldsOf } from '../lib/fields.ts';
import type { Caller } from './caller.ts';
import { brokenCall, failedCall } from './errors.ts';
import { identity, instructions } from './identity.ts';
import { readResource, resourceTemplates } from './resources.ts';
import { tools } from './tools/index.ts';
import type { Tool, ToolCall } from './tools/tool.ts';

const invalidParams = -32602;

/** The server of one request: requests are independent in both eras of the protocol. */
export function createServer(caller: Caller, parts: HttpParts): Server {
  const server = new Server(identity, { capabilities: { tools: {}, resources: {} }, instructions });
  const isOffered = ({ role }: Tool): boolean => roleMay(caller.principal.role, role);
  server.setRequestHandler('tools/list', () => ({
    tools: tools.filter(isOffered).map(({ definition }) => definition),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.find(({ definition }) => definition.name === params.name);
    if (tool === undefined) throw new ProtocolError(invalidParams, `There is no tool ${quoted(params.name)}`);
    const { outputSchema } = tool.definition;
    const result = isOffered(tool)
      ? await callTool(tool, fieldsOf(params.arguments ?? {}), callOf(caller, parts, context))
      : await refuse(tool, caller, parts);
    return server.projectCallToolResult(result, outputSchema);
  });
  server.setRequestHandler('resources/list', () => ({ resources: [] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }));
  server.setRequestHandler('resources/read', async ({ params }) => {
    try {
      return await readResource(params.uri, parts);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const shown = error instanceof CoordinatorError && error.code !== 'internal_error';
      if (!shown) parts.logger.error({ err: error }, 'a resource of MCP could not be read');
      throw new ProtocolError(-32603, shown ? error.message : 'Something went wrong inside');
    }
  });
  return server;
}

function callOf(caller: Caller, parts: HttpParts, { mcpReq }: ServerContext): ToolCall {
  const progressToken = mcpReq._meta?.progressToken;
  return {
    parts,
    caller,
    gone: AbortSignal.any([caller.gone, mcpReq.signal]),
    progress:
      progressToken === undefined
        ? null
        : (seconds, total, message) =>
            mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress: Math.round(seconds * 10) / 10, total, message },
            }),
  };
}

async function callTool(tool: Tool, args: Record<string, unknown>, call: ToolCall) {
  try {
    const { structured, text } = await tool.call(args, call);
    return { content: text, structuredContent: { ...structured } };
  } catch (error) {
    if (error instanceof CoordinatorError && error.code !== 'internal_error') return failedCall(error);
    if (!call.gone.aborted)
      call.parts.logger.error({ err: error, tool: tool.definition.name }, 'a tool of MCP broke');
    return brokenCall();
  }
}

/** A key that lacks the role is a fault of the client's settings, and not of the call. The audit log has it. */
async function refuse(
  { definition: { name }, role: needed }: Tool,
  { principal, doer }: Caller,
  parts: HttpParts,
) {
  const target = { kind: 'route', id: `POST /mcp ${name}`, name: null } as const;
  const details = { needs: needed };
  await parts.coordinator.audit.refused({ by: doer(), action: 'role.refused', target, details });
  return failedCall(
    new CoordinatorError(
      'forbidden',
      `A key with the role ${principal.role} may not use ${name}; it needs ${needed}`,
    ),
  );
}

/** A name that a client sent, for a message. */
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
