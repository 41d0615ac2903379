import { machines } from '../../machines/all.ts';
import type { Chart } from '../dashboard/statechart/chart.ts';
import { layOut } from './layout.ts';
import { graphOf } from './machineGraph.ts';
import { palettes, pictureOf } from './picture.ts';

/**
 * The files made from the machines: for each a module for the dashboard and two pictures for the docs.
 * @returns text by path from the project's root.
 */
export async function chartFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const machine of Object.values(machines)) {
    const chart = await layOut(graphOf(machine));
    files.set(`src/dashboard/statechart/charts/${chart.machine}.ts`, moduleOf(chart));
    for (const [theme, colours] of Object.entries(palettes)) {
      files.set(`docs/images/${chart.machine}-machine-${theme}.svg`, pictureOf(chart, colours));
    }
  }
  return files;
}

/** A line for every state and arrow, so that a diff shows how a machine changed. */
function moduleOf({ states, edges, internal, ...rest }: Chart): string {
  const list = (items: readonly unknown[]) => items.map((item) => `\n    ${JSON.stringify(item)},`).join('');
  const fields = Object.entries(rest).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  return `import type { Chart } from '../chart.ts';

/** Made by \`npm run charts\` from machines/${rest.machine}Machine.ts. */
export const ${rest.machine}Chart: Chart = {
${fields.join('\n')}
  states: [${list(states)}
  ],
  edges: [${list(edges)}
  ],
  internal: [${list(internal)}
  ],
};
`;
}
