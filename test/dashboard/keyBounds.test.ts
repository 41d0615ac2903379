import test from 'ava';
import { boundsOf, boundsText, noBounds, textsOf } from '../../src/dashboard/pages/keys/bounds.ts';

const free = { name_patterns: null, tags: null, providers: null, max_concurrency: null };

test('what is typed is what the key is bound to, and comes back as it was', (t) => {
  t.deepEqual(boundsOf(noBounds), free);
  for (const bounds of [
    free,
    { name_patterns: ['gpu-*', 'box'], tags: ['eu'], providers: ['vllm'], max_concurrency: 8 },
    { ...free, tags: [], max_concurrency: 0 },
  ]) {
    t.deepEqual(boundsOf(textsOf(bounds)), bounds);
  }
  t.deepEqual(boundsOf({ ...noBounds, names: ' a ,, b ' }), { ...free, name_patterns: ['a', 'b'] });
});

test('slots that are none are said', (t) => {
  for (const slots of ['x', '-1', '1.5', '10001'])
    t.is(typeof boundsOf({ ...noBounds, slots }), 'string', slots);
});

test('the list says in a few words what a key is bound to', (t) => {
  t.is(boundsText(free), null);
  t.is(
    boundsText({ name_patterns: ['gpu-*'], tags: [], providers: null, max_concurrency: 8 }),
    'gpu-*; no tags; 8 slots',
  );
});
