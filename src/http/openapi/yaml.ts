import { Document, isCollection, isScalar, visit } from 'yaml';
import type { JsonSchema } from '../shape/shape.ts';

/** Characters of a line. */
const lineWidth = 120;
/** Characters of a map or list that stands in one line. */
const shortMax = 90;

/** A document as docs/openapi.yaml has it: what is short is on one line. @param source the folder it is made from. */
export function yamlOf(document: JsonSchema, source = 'src/http'): string {
  const yaml = new Document(document, { aliasDuplicateObjects: false });
  yaml.commentBefore = ` Generated from ${source} by \`npm run openapi\`. Do not edit it.`;
  visit(yaml, {
    Collection: (_, node) => {
      const isFlat = node.items.every((item) => {
        const value = isCollection(item) || isScalar(item) ? item : (item as { value?: unknown }).value;
        return !isCollection(value);
      });
      if (isFlat && node.items.length > 0 && JSON.stringify(node).length <= shortMax) node.flow = true;
    },
  });
  return yaml.toString({ lineWidth, singleQuote: true, blockQuote: 'literal' });
}
