import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/supervisorMachine.ts. */
export const supervisorChart: Chart = {
  machine: "supervisor",
  description: "The fleet as a whole: whether jobs are accepted and whether they are handed out.",
  initial: "starting",
  width: 647,
  height: 672,
  states: [
    {"path":"starting","name":"starting","description":"The process is up; the store is not open yet.","kind":"atomic","isEnd":false,"box":{"x":402.5,"y":44,"width":116,"height":44}},
    {"path":"recovering","name":"recovering","description":"The journal is replayed and every lease gets fresh grace; nothing is accepted.","kind":"atomic","isEnd":false,"box":{"x":341.5,"y":158,"width":116,"height":44}},
    {"path":"accepting","name":"accepting","description":"Jobs are accepted and handed out.","kind":"atomic","isEnd":false,"box":{"x":226,"y":272,"width":116,"height":44}},
    {"path":"paused","name":"paused","description":"Jobs are accepted and wait; none is handed out.","kind":"atomic","isEnd":false,"box":{"x":226,"y":386,"width":116,"height":44}},
    {"path":"draining","name":"draining","description":"No job is accepted or handed out; results are taken until the leases end or the grace is over.","kind":"atomic","isEnd":false,"box":{"x":94.5,"y":500,"width":116,"height":44}},
    {"path":"stopped","name":"stopped","description":"The store is closed.","kind":"final","isEnd":true,"box":{"x":375.5,"y":620,"width":116,"height":44}},
  ],
  edges: [
    {"from":"starting","to":"recovering","points":[[441,88],[441,100],[399.5,100],[399.5,158]],"label":{"x":307.5,"y":116,"width":88,"height":14},"lines":[{"text":"supervisor.open","of":[0]}],"transitions":[{"event":"supervisor.open","guard":null,"description":null}]},
    {"from":"starting","to":"stopped","points":[[479.5,88],[479.5,100],[637.5,100],[637.5,608],[472,608],[472,620]],"label":{"x":548.5,"y":344,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"recovering","to":"accepting","points":[[380.5,202],[380.5,214],[284,214],[284,272]],"label":{"x":166,"y":230,"width":114,"height":14},"lines":[{"text":"supervisor.recovered","of":[0]}],"transitions":[{"event":"supervisor.recovered","guard":null,"description":null}]},
    {"from":"recovering","to":"stopped","points":[[419,202],[419,214],[535.5,214],[535.5,598],[453,598],[453,620]],"label":{"x":446.5,"y":401,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"accepting","to":"paused","points":[[272,316],[272,328],[271,328],[271,370],[264.5,370],[264.5,386]],"label":{"x":173,"y":344,"width":94,"height":14},"lines":[{"text":"supervisor.pause","of":[0]}],"transitions":[{"event":"supervisor.pause","guard":null,"description":null}]},
    {"from":"accepting","to":"draining","points":[[249,316],[249,328],[100,328],[100,484],[133,484],[133,500]],"label":{"x":8,"y":401,"width":88,"height":14},"lines":[{"text":"supervisor.drain","of":[0]}],"transitions":[{"event":"supervisor.drain","guard":null,"description":null}]},
    {"from":"accepting","to":"stopped","points":[[318.5,316],[318.5,328],[433.5,328],[433.5,620]],"label":{"x":344.5,"y":458,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"paused","to":"accepting","points":[[303,386],[303,370],[296.5,370],[296.5,328],[295.5,328],[295.5,316]],"label":{"x":301.5,"y":344,"width":101,"height":14},"lines":[{"text":"supervisor.resume","of":[0]}],"transitions":[{"event":"supervisor.resume","guard":null,"description":null}]},
    {"from":"paused","to":"draining","points":[[264.5,430],[264.5,442],[208,442],[208,484],[172,484],[172,500]],"label":{"x":116,"y":458,"width":88,"height":14},"lines":[{"text":"supervisor.drain","of":[0]}],"transitions":[{"event":"supervisor.drain","guard":null,"description":null}]},
    {"from":"paused","to":"stopped","points":[[303,430],[303,442],[323.5,442],[323.5,598],[414,598],[414,620]],"label":{"x":234.5,"y":515,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"draining","to":"stopped","points":[[152.5,544],[152.5,608],[395,608],[395,620]],"label":{"x":63.5,"y":572,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":null,"to":"starting","points":[[460.5,16],[460.5,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
  ],
};
