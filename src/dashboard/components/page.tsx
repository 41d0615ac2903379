import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';

/** The frame of every page: its heading with actions, and the title of the tab. */
export function Page(props: {
  title: string;
  /** Beside the heading: a badge, a count. */
  beside?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const { title, beside, actions, children } = props;
  useEffect(() => {
    document.title = `${title} · SVC`;
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-title">
          <h1 tabIndex={-1} dir="auto">
            {title}
          </h1>
          {beside}
        </div>
        {actions === undefined ? null : <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A section of a page with its heading. */
export function Card(props: {
  title: string;
  beside?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`card ${props.class ?? ''}`}>
      <header class="card-head">
        <h2>{props.title}</h2>
        {props.beside}
      </header>
      {props.children}
    </section>
  );
}
