import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/runMachine.ts. */
export const runChart: Chart = {
  machine: "run",
  description: "Jobs that belong together under a name: whether those that wait may start.",
  initial: "running",
  width: 432,
  height: 350,
  states: [
    {"path":"running","name":"running","description":"Its jobs are handed out, or it has none yet.","kind":"atomic","isEnd":false,"box":{"x":176.5,"y":44,"width":116,"height":44}},
    {"path":"paused","name":"paused","description":"None of its waiting jobs starts; running ones continue.","kind":"atomic","isEnd":false,"box":{"x":191,"y":164,"width":116,"height":44}},
    {"path":"completed","name":"completed","description":"Every job has ended, however it ended.","kind":"atomic","isEnd":false,"box":{"x":60.5,"y":298,"width":116,"height":44}},
    {"path":"cancelled","name":"cancelled","description":"Its jobs were cancelled, and it takes no more.","kind":"final","isEnd":true,"box":{"x":279,"y":298,"width":116,"height":44}},
  ],
  edges: [
    {"from":"running","to":"completed","points":[[196,88],[196,100],[68,100],[68,286],[89.5,286],[89.5,298]],"label":{"x":8,"y":179,"width":56,"height":14},"lines":[{"text":"run.ended","of":[0]}],"transitions":[{"event":"run.ended","guard":null,"description":null}]},
    {"from":"running","to":"paused","points":[[234.5,88],[234.5,100],[243.5,100],[243.5,148],[229.5,148],[229.5,164]],"label":{"x":177.5,"y":122,"width":62,"height":14},"lines":[{"text":"run.paused","of":[0]}],"transitions":[{"event":"run.paused","guard":null,"description":null}]},
    {"from":"running","to":"cancelled","points":[[273,88],[273,100],[343.5,100],[343.5,276],[356.5,276],[356.5,298]],"label":{"x":348.5,"y":179,"width":75,"height":14},"lines":[{"text":"run.cancelled","of":[0]}],"transitions":[{"event":"run.cancelled","guard":null,"description":null}]},
    {"from":"paused","to":"completed","points":[[229.5,208],[229.5,220],[204,220],[204,276],[147.5,276],[147.5,298]],"label":{"x":102,"y":236,"width":98,"height":28},"lines":[{"text":"run.ended","of":[0]},{"text":"[isPausedByLimit]","of":[0]}],"transitions":[{"event":"run.ended","guard":"isPausedByLimit","description":"What ran when the limit was reached was all there was."}]},
    {"from":"paused","to":"running","points":[[268.5,164],[268.5,148],[257.5,148],[257.5,100],[254,100],[254,88]],"label":{"x":262.5,"y":122,"width":69,"height":14},"lines":[{"text":"run.resumed","of":[0]}],"transitions":[{"event":"run.resumed","guard":null,"description":null}]},
    {"from":"paused","to":"cancelled","points":[[268.5,208],[268.5,220],[294,220],[294,276],[317.5,276],[317.5,298]],"label":{"x":215,"y":243,"width":75,"height":14},"lines":[{"text":"run.cancelled","of":[0]}],"transitions":[{"event":"run.cancelled","guard":null,"description":null}]},
    {"from":"completed","to":"running","points":[[118.5,298],[118.5,276],[83,276],[83,110],[215,110],[215,88]],"label":{"x":88,"y":179,"width":59,"height":14},"lines":[{"text":"run.refilled","of":[0]}],"transitions":[{"event":"run.refilled","guard":null,"description":null}]},
    {"from":null,"to":"running","points":[[234.5,16],[234.5,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
    {"state":"running","event":"run.resumed","guard":null,"description":"Only its limits change."},
    {"state":"completed","event":"run.resumed","guard":null,"description":"Only its limits change."},
  ],
};
