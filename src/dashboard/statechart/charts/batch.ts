import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/batchMachine.ts. */
export const batchChart: Chart = {
  machine: "batch",
  description: "A file of requests: read, run line by line, and answered in two files.",
  initial: "validating",
  width: 592,
  height: 558,
  states: [
    {"path":"validating","name":"validating","description":"Its file is read; no job is made before every line is known to be right.","kind":"atomic","isEnd":false,"box":{"x":344,"y":44,"width":116,"height":44}},
    {"path":"in_progress","name":"in_progress","description":"Its lines become jobs, a part of them at a time, and run.","kind":"atomic","isEnd":false,"box":{"x":164,"y":158,"width":116,"height":44}},
    {"path":"expiring","name":"expiring","description":"Its window is over: what waits is cancelled, what runs may end; then its files are written.","kind":"atomic","isEnd":false,"box":{"x":245.5,"y":278,"width":116,"height":44}},
    {"path":"cancelling","name":"cancelling","description":"Somebody cancelled it: its jobs are cancelled, then its files are written.","kind":"atomic","isEnd":false,"box":{"x":414.5,"y":392,"width":116,"height":44}},
    {"path":"finalizing","name":"finalizing","description":"Every line has its end: its files are written.","kind":"atomic","isEnd":false,"box":{"x":42.5,"y":278,"width":116,"height":44}},
    {"path":"completed","name":"completed","description":"Its files are there, whether its lines succeeded or not.","kind":"final","isEnd":true,"box":{"x":42.5,"y":392,"width":116,"height":44}},
    {"path":"failed","name":"failed","description":"Its file was refused; nothing ran.","kind":"final","isEnd":true,"box":{"x":344,"y":158,"width":116,"height":44}},
    {"path":"expired","name":"expired","description":"Its files are there; not every line was tried in time.","kind":"final","isEnd":true,"box":{"x":194,"y":392,"width":116,"height":44}},
    {"path":"cancelled","name":"cancelled","description":"Its files have what had ended by then.","kind":"final","isEnd":true,"box":{"x":414.5,"y":506,"width":116,"height":44}},
  ],
  edges: [
    {"from":"validating","to":"in_progress","points":[[373,88],[373,100],[222,100],[222,158]],"label":{"x":133,"y":116,"width":85,"height":14},"lines":[{"text":"batch.validated","of":[0]}],"transitions":[{"event":"batch.validated","guard":null,"description":null}]},
    {"from":"validating","to":"failed","points":[[402,88],[402,158]],"label":{"x":323,"y":116,"width":75,"height":14},"lines":[{"text":"batch.refused","of":[0]}],"transitions":[{"event":"batch.refused","guard":null,"description":null}]},
    {"from":"validating","to":"cancelling","points":[[431,88],[431,100],[582.5,100],[582.5,376],[501.5,376],[501.5,392]],"label":{"x":490.5,"y":236,"width":88,"height":14},"lines":[{"text":"batch.cancelled","of":[0]}],"transitions":[{"event":"batch.cancelled","guard":null,"description":null}]},
    {"from":"in_progress","to":"finalizing","points":[[187,202],[187,214],[81,214],[81,278]],"label":{"x":8,"y":236,"width":69,"height":14},"lines":[{"text":"batch.ended","of":[0]}],"transitions":[{"event":"batch.ended","guard":null,"description":null}]},
    {"from":"in_progress","to":"expiring","points":[[233.5,202],[233.5,224],[303.5,224],[303.5,278]],"label":{"x":224.5,"y":236,"width":75,"height":14},"lines":[{"text":"batch.expired","of":[0]}],"transitions":[{"event":"batch.expired","guard":null,"description":null}]},
    {"from":"in_progress","to":"cancelling","points":[[256.5,202],[256.5,214],[477.5,214],[477.5,376],[472.5,376],[472.5,392]],"label":{"x":385.5,"y":293,"width":88,"height":14},"lines":[{"text":"batch.cancelled","of":[0]}],"transitions":[{"event":"batch.cancelled","guard":null,"description":null}]},
    {"from":"expiring","to":"expired","points":[[284.5,322],[284.5,334],[252,334],[252,392]],"label":{"x":176,"y":350,"width":72,"height":14},"lines":[{"text":"batch.written","of":[0]}],"transitions":[{"event":"batch.written","guard":null,"description":null}]},
    {"from":"expiring","to":"cancelling","points":[[323,322],[323,334],[355,334],[355,376],[443.5,376],[443.5,392]],"label":{"x":263,"y":350,"width":88,"height":14},"lines":[{"text":"batch.cancelled","of":[0]}],"transitions":[{"event":"batch.cancelled","guard":null,"description":null}]},
    {"from":"cancelling","to":"cancelled","points":[[472.5,436],[472.5,506]],"label":{"x":396.5,"y":464,"width":72,"height":14},"lines":[{"text":"batch.written","of":[0]}],"transitions":[{"event":"batch.written","guard":null,"description":null}]},
    {"from":"finalizing","to":"completed","points":[[100.5,322],[100.5,392]],"label":{"x":24.5,"y":350,"width":72,"height":14},"lines":[{"text":"batch.written","of":[0]}],"transitions":[{"event":"batch.written","guard":null,"description":null}]},
    {"from":"finalizing","to":"in_progress","points":[[119.5,278],[119.5,262],[112,262],[112,224],[210,224],[210,202]],"label":{"x":117,"y":236,"width":85,"height":14},"lines":[{"text":"batch.reopened","of":[0]}],"transitions":[{"event":"batch.reopened","guard":null,"description":null}]},
    {"from":null,"to":"validating","points":[[402,16],[402,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
  ],
};
