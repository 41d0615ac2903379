import test from 'ava';
import { LiveView } from '../../src/worker/liveView.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { answer, job, setup } from './support/setup.ts';

const controlMark = String.fromCharCode(27);

/** What a terminal would show: the view moves up over its own lines and clears below. */
function screenOf(): { write(text: string): void; columns: number; text(): string } {
  let lines: string[] = [''];
  return {
    columns: 80,
    write(text) {
      const up = new RegExp(`^${controlMark}\\[(\\d+)A${controlMark}\\[J`).exec(text);
      if (up) lines = [...lines.slice(0, lines.length - 1 - Number(up[1])), ''];
      const rest = up ? text.slice(up[0].length) : text;
      const [first = '', ...more] = rest.split('\n');
      lines = [...lines.slice(0, -1), (lines.at(-1) ?? '') + first, ...more];
    },
    text: () => lines.join('\n'),
  };
}

test('the view shows the connection, what runs and what is done, and repaints in place', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock, name: 'lab' });
  const screen = screenOf();
  const view = new LiveView(worker, 2, screen, clock);
  t.is(screen.text(), 'lab · connecting · 0 of 2 running · 0 completed · 0 failed\n');
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('job-1', { model: `m${controlMark}[2J` }), job('job-2'));
  const run = await provider.next();
  (await provider.next()).end({ ok: false, error: { class: 'unknown', message: 'x' } });
  await session.take('fail');
  clock.advance(1500);
  t.is(
    screen.text(),
    'lab · connected · 1 of 2 running · 0 completed · 1 failed · 1 to deliver\n  job-1  held m?[2J  1.5 s\n',
  );
  run.end(answer('x'));
  session.ack(await session.take('complete'));
  session.ack({ job_id: 'job-2', lease: 1 });
  session.send({ type: 'error', code: 'careful', message: 'a note' });
  await session.settled();
  clock.advance(250);
  view.close();
  t.regex(
    screen.text(),
    /^\d\d:\d\d:\d\d warn: the coordinator reports: careful: a note\nlab · connected · 0 of 2 running · 1 completed · 1 failed\n$/,
  );
  session.send({ type: 'settings', concurrency: 9 });
  await session.settled();
  clock.advance(250);
  t.notRegex(screen.text(), /of 9/, 'a closed view paints no more');
});

test('of many jobs the first eight are shown', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  const screen = screenOf();
  const view = new LiveView(worker, 20, screen, clock);
  await worker.start();
  const session = await coordinator.session({ concurrency: 20 });
  session.assign(...Array.from({ length: 12 }, (_, i) => job(`job-${i}`)));
  await provider.next();
  view.close();
  t.is(screen.text().trimEnd().split('\n').length, 10);
  t.regex(screen.text(), /and 4 more\n$/);
});
