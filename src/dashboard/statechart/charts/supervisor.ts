import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/supervisorMachine.ts. */
export const supervisorChart: Chart = {
  machine: "supervisor",
  description: "The fleet as a whole: whether jobs are accepted and whether they are handed out.",
  initial: "starting",
  width: 704,
  height: 694,
  states: [
    {"path":"starting","name":"starting","description":"The process is up; the store is not open yet.","kind":"atomic","isEnd":false,"box":{"x":430.5,"y":44,"width":116,"height":44}},
    {"path":"recovering","name":"recovering","description":"The journal is replayed and every lease gets fresh grace; nothing is accepted.","kind":"atomic","isEnd":false,"box":{"x":271.5,"y":158,"width":116,"height":44}},
    {"path":"accepting","name":"accepting","description":"Jobs are accepted and handed out.","kind":"atomic","isEnd":false,"box":{"x":277.5,"y":272,"width":116,"height":44}},
    {"path":"paused","name":"paused","description":"An operator has paused the queue: jobs are accepted and wait, none is handed out. What runs goes on.","kind":"atomic","isEnd":false,"box":{"x":138,"y":398,"width":116,"height":44}},
    {"path":"draining","name":"draining","description":"No job is accepted or handed out; results are taken until the leases end or the grace is over.","kind":"atomic","isEnd":false,"box":{"x":292.5,"y":512,"width":116,"height":44}},
    {"path":"stopped","name":"stopped","description":"The store is closed.","kind":"final","isEnd":true,"box":{"x":455,"y":642,"width":116,"height":44}},
  ],
  edges: [
    {"from":"starting","to":"recovering","points":[[469,88],[469,100],[329.5,100],[329.5,158]],"label":{"x":237.5,"y":116,"width":88,"height":14},"lines":[{"text":"supervisor.open","of":[0]}],"transitions":[{"event":"supervisor.open","guard":null,"description":null}]},
    {"from":"starting","to":"stopped","points":[[507.5,88],[507.5,100],[694.5,100],[694.5,620],[551.5,620],[551.5,642]],"label":{"x":605.5,"y":350,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"recovering","to":"paused","points":[[300.5,202],[300.5,214],[126,214],[126,376],[167,376],[167,398]],"label":{"x":8,"y":280,"width":114,"height":28},"lines":[{"text":"supervisor.recovered","of":[0]},{"text":"[wasPaused]","of":[0]}],"transitions":[{"event":"supervisor.recovered","guard":"wasPaused","description":null}]},
    {"from":"recovering","to":"accepting","points":[[329.5,202],[329.5,214],[335.5,214],[335.5,272]],"label":{"x":217.5,"y":230,"width":114,"height":14},"lines":[{"text":"supervisor.recovered","of":[0]}],"transitions":[{"event":"supervisor.recovered","guard":null,"description":null}]},
    {"from":"recovering","to":"stopped","points":[[358.5,202],[358.5,214],[592.5,214],[592.5,610],[532.5,610],[532.5,642]],"label":{"x":503.5,"y":413,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"accepting","to":"paused","points":[[301,316],[301,328],[237,328],[237,376],[196,376],[196,398]],"label":{"x":139,"y":350,"width":94,"height":14},"lines":[{"text":"supervisor.pause","of":[0]}],"transitions":[{"event":"supervisor.pause","guard":null,"description":null}]},
    {"from":"accepting","to":"draining","points":[[347,316],[347,338],[388.5,338],[388.5,496],[369.5,496],[369.5,512]],"label":{"x":296.5,"y":413,"width":88,"height":14},"lines":[{"text":"supervisor.drain","of":[0]}],"transitions":[{"event":"supervisor.drain","guard":null,"description":null}]},
    {"from":"accepting","to":"stopped","points":[[370.5,316],[370.5,328],[490.5,328],[490.5,610],[513,610],[513,642]],"label":{"x":401.5,"y":470,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"paused","to":"accepting","points":[[225,398],[225,386],[270.5,386],[270.5,338],[324,338],[324,316]],"label":{"x":275.5,"y":350,"width":101,"height":14},"lines":[{"text":"supervisor.resume","of":[0]}],"transitions":[{"event":"supervisor.resume","guard":null,"description":null}]},
    {"from":"paused","to":"draining","points":[[215.5,442],[215.5,454],[248.5,454],[248.5,496],[331,496],[331,512]],"label":{"x":156.5,"y":470,"width":88,"height":14},"lines":[{"text":"supervisor.drain","of":[0]}],"transitions":[{"event":"supervisor.drain","guard":null,"description":null}]},
    {"from":"paused","to":"stopped","points":[[176.5,442],[176.5,454],[143.5,454],[143.5,630],[474.5,630],[474.5,642]],"label":{"x":54.5,"y":527,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":"draining","to":"stopped","points":[[350.5,556],[350.5,620],[493.5,620],[493.5,642]],"label":{"x":261.5,"y":584,"width":85,"height":14},"lines":[{"text":"supervisor.stop","of":[0]}],"transitions":[{"event":"supervisor.stop","guard":null,"description":null}]},
    {"from":null,"to":"starting","points":[[488.5,16],[488.5,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
  ],
};
