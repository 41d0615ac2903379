import MarkdownIt, { type Token } from 'markdown-it';
import { type ComponentChild, h, type JSX } from 'preact';

/** HTML is plain text here. Line breaks are kept. */
const parser = new MarkdownIt({ html: false, breaks: true });

/** The allowed elements; all others of the parser are shown without one. */
const tags = new Set('p blockquote ul ol li em strong s table thead tbody tr th td h3 h4 h5 h6'.split(' '));
const protocols = new Set(['http:', 'https:', 'mailto:']);

/** An element that is not closed yet. */
interface OpenElement {
  tag: string | null;
  props: Record<string, string | number>;
  children: ComponentChild[];
}

/**
 * A text in Markdown as elements. It never becomes markup, so nothing in it can run: tokens become elements of the
 * kinds above, and text. Nothing is fetched: pictures are links. Content nested deeper than 100 levels is dropped.
 */
export function Markdown({ text }: { text: string }): JSX.Element {
  return <>{elementsOf(parser.parse(text, {}))}</>;
}

function elementsOf(tokens: readonly Token[]): ComponentChild[] {
  const root: OpenElement = { tag: null, props: {}, children: [] };
  const open: OpenElement[] = [root];
  const into = (): OpenElement => open.at(-1) ?? root;
  for (const token of tokens) {
    // The paragraph of an item in a tight list.
    if (token.hidden) continue;
    if (token.nesting > 0) {
      open.push(openedBy(token));
    } else if (token.nesting < 0) {
      const { tag, props, children } = open.pop() ?? root;
      into().children.push(tag === null ? children : h(tag, props, children));
    } else {
      into().children.push(
        leafOf(
          token,
          open.some(({ tag }) => tag === 'a'),
        ),
      );
    }
  }
  return root.children;
}

function openedBy(token: Token): OpenElement {
  const children: ComponentChild[] = [];
  if (token.type === 'link_open') {
    const href = safeAddress(token.attrGet('href'));
    return href === null
      ? { tag: null, props: {}, children }
      : { tag: 'a', props: linkProps(href), children };
  }
  // The page and the result have headings of their own.
  const level = /^h([1-6])$/.exec(token.tag)?.[1];
  const tag = level === undefined ? token.tag : `h${Math.min(6, Number(level) + 2)}`;
  if (!tags.has(tag)) return { tag: null, props: {}, children };
  const start = token.attrGet('start');
  const props: OpenElement['props'] = {};
  if (tag === 'ol' && start !== null) props.start = start;
  return { tag, props, children };
}

function leafOf(token: Token, isInLink: boolean): ComponentChild {
  switch (token.type) {
    case 'inline':
      return elementsOf(token.children ?? []);
    case 'softbreak':
    case 'hardbreak':
      return <br />;
    case 'hr':
      return <hr />;
    case 'code_inline':
      return <code>{token.content}</code>;
    case 'fence':
    case 'code_block':
      return <CodeBlock text={token.content} />;
    case 'image':
      return <Picture token={token} isInLink={isInLink} />;
    default:
      return token.content;
  }
}

function CodeBlock({ text }: { text: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1).
    <pre class="code-block" tabIndex={0} dir="auto">
      <code>{text}</code>
    </pre>
  );
}

/** Images are not loaded: a request would reveal the reader to their server. */
function Picture({ token, isInLink }: { token: Token; isInLink: boolean }): JSX.Element {
  const href = safeAddress(token.attrGet('src'));
  const text = `Picture: ${token.content || href || 'no name'}`;
  return href === null || isInLink ? <span>{text}</span> : <a {...linkProps(href)}>{text}</a>;
}

function linkProps(href: string): Record<string, string> {
  return { href, target: '_blank', rel: 'noopener noreferrer nofollow', title: href };
}

/** @returns null for an address that is relative, executable or invalid. */
function safeAddress(address: string | number | null): string | null {
  const href = String(address ?? '');
  return URL.canParse(href) && protocols.has(new URL(href).protocol) ? href : null;
}
