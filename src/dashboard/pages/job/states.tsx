import type { JSX } from 'preact';
import { Icon } from '../../components/icons.tsx';
import { Card } from '../../components/page.tsx';
import { place, setQuery } from '../../router.ts';
import { showsStates } from '../../shell/preferences.ts';
import { JobStates, momentName } from '../../statechart/jobStates.tsx';

/** The chart of a job's states, collapsed by default; an address with a moment of the history opens it. */
export function States({ id, changedAt }: { id: string; changedAt: string }): JSX.Element {
  const hasMoment = place.value.query.has(momentName);
  const isOpen = showsStates.value || hasMoment;
  const toggle = (): void => {
    showsStates.value = !isOpen;
    if (isOpen && hasMoment) setQuery({ [momentName]: null }, { replace: true });
  };
  return (
    <Card
      title="States"
      class={isOpen ? '' : 'folded'}
      beside={
        <button type="button" class="button quiet small" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? 'Hide the states' : 'Show the states'}
          <Icon name={isOpen ? 'close' : 'down'} />
        </button>
      }
    >
      {isOpen ? <JobStates id={id} changedAt={changedAt} /> : null}
    </Card>
  );
}
