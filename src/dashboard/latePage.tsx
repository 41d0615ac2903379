import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Page } from './components/page.tsx';
import { Failure, Loading } from './components/states.tsx';

type View = (props: { params: Record<string, string> }) => JSX.Element;

/**
 * A page that is loaded when it is first opened, for what few need.
 * @param load imports it; asked again after a failure, since the coordinator may have been away.
 */
export function latePage(title: string, load: () => Promise<View>): View {
  return function Late(props) {
    const loaded = useSignal<{ View: View } | { error: unknown } | null>(null);
    const ask = (): void => {
      loaded.value = null;
      load().then(
        (View) => {
          loaded.value = { View };
        },
        (error: unknown) => {
          loaded.value = { error };
        },
      );
    };
    useEffect(ask, []);
    const { value } = loaded;
    if (value !== null && 'View' in value) return <value.View {...props} />;
    return (
      <Page title={title}>
        {value === null ? (
          <div class="card">
            <Loading lines={6} label="Loading the page" />
          </div>
        ) : (
          <Failure error={value.error} retry={ask} />
        )}
      </Page>
    );
  };
}
