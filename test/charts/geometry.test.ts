import test from 'ava';
import type { ChartEdge, ChartState } from '../../src/dashboard/statechart/chart.ts';
import { providerChart } from '../../src/dashboard/statechart/charts/provider.ts';
import { supervisorChart } from '../../src/dashboard/statechart/charts/supervisor.ts';
import { workerChart } from '../../src/dashboard/statechart/charts/worker.ts';
import {
  arrowHead,
  figuresPlace,
  labelPlaces,
  linePath,
  namePlace,
} from '../../src/dashboard/statechart/geometry.ts';
import { labelSize, nameSize } from '../../src/dashboard/statechart/measures.ts';

test('a line turns with round corners and ends where its head begins', (t) => {
  const line = linePath([
    [0, 0],
    [0, 40],
    [100, 40],
  ]);
  t.is(line, 'M0,0L0,32Q0,40 8,40L93,40');
});

test('a corner is never rounder than its sides are long', (t) => {
  const line = linePath([
    [0, 0],
    [0, 4],
    [60, 4],
  ]);
  t.is(line, 'M0,0L0,2Q0,4 2,4L53,4');
});

test('a head points where the line goes', (t) => {
  const down = arrowHead([
    [10, 0],
    [10, 50],
  ]);
  t.is(down, '10,50 13.5,43 6.5,43');
});

const leaf: ChartState = {
  path: 'a',
  name: 'a',
  description: '',
  kind: 'atomic',
  isEnd: false,
  box: { x: 100, y: 200, width: 80, height: 44 },
};

test('a name stands in the middle of its box, and makes room for figures', (t) => {
  const alone = namePlace(leaf, false);
  const above = namePlace(leaf, true);
  const figures = figuresPlace(leaf);
  t.is(alone.x, 140);
  t.is(above.x, 140);
  t.is(figures.x, 140);
  t.true(above.y < alone.y && figures.y - above.y >= Math.max(nameSize, labelSize));
  t.true(figures.y < leaf.box.y + leaf.box.height);
});

test('the title of a state that has others inside begins at its left, the figures end at its right', (t) => {
  const compound: ChartState = { ...leaf, kind: 'compound', box: { ...leaf.box, height: 200 } };
  t.is(namePlace(compound, true).x, 112);
  t.is(figuresPlace(compound).x, 168);
  t.is(Math.round(namePlace(compound, true).y), Math.round(figuresPlace(compound).y + 0.7));
});

test('every line of a label stands inside of the label', (t) => {
  const charts = [providerChart, supervisorChart, workerChart];
  const labelled = charts.flatMap(({ edges }) => edges).filter((edge: ChartEdge) => edge.label !== null);
  t.true(labelled.length > 20);
  for (const edge of labelled) {
    const { x = 0, y = 0, width = 0, height = 0 } = edge.label ?? {};
    const places = labelPlaces(edge);
    t.is(places.length, edge.lines.length);
    for (const place of places) {
      t.true(place.x > x && place.x < x + width && place.y > y && place.y <= y + height);
    }
  }
});
