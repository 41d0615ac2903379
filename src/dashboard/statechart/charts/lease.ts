import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/leaseMachine.ts. */
export const leaseChart: Chart = {
  machine: "lease",
  description: "One slot taken on one worker, from the choice of the worker until the slot is free.",
  initial: "assigning",
  width: 332,
  height: 466,
  states: [
    {"path":"assigning","name":"assigning","description":"A worker is chosen; the commit of the assignment is under way.","kind":"atomic","isEnd":false,"box":{"x":164.5,"y":44,"width":116,"height":44}},
    {"path":"running","name":"running","description":"The worker has the job.","kind":"atomic","isEnd":false,"box":{"x":100.5,"y":158,"width":116,"height":44}},
    {"path":"ending","name":"ending","description":"The job has ended without the word of its worker; the slot stays taken until that word.","kind":"atomic","isEnd":false,"box":{"x":156,"y":272,"width":116,"height":44}},
    {"path":"ended","name":"ended","description":"The slot is free.","kind":"final","isEnd":true,"box":{"x":156,"y":414,"width":116,"height":44}},
  ],
  edges: [
    {"from":"assigning","to":"running","points":[[203.5,88],[203.5,100],[158.5,100],[158.5,158]],"label":{"x":69.5,"y":116,"width":85,"height":14},"lines":[{"text":"lease.assigned","of":[0]}],"transitions":[{"event":"lease.assigned","guard":null,"description":null}]},
    {"from":"assigning","to":"ended","points":[[242,88],[242,100],[323,100],[323,398],[243,398],[243,414]],"label":{"x":225,"y":230,"width":94,"height":14},"lines":[{"text":"lease.abandoned","of":[0]}],"transitions":[{"event":"lease.abandoned","guard":null,"description":null}]},
    {"from":"running","to":"ended","points":[[139,202],[139,214],[103,214],[103,398],[185,398],[185,414]],"label":{"x":8,"y":287,"width":91,"height":14},"lines":[{"text":"lease.concluded","of":[0]}],"transitions":[{"event":"lease.concluded","guard":null,"description":null}]},
    {"from":"running","to":"ending","points":[[178,202],[178,214],[214,214],[214,272]],"label":{"x":135,"y":230,"width":75,"height":14},"lines":[{"text":"lease.aborted","of":[0]}],"transitions":[{"event":"lease.aborted","guard":null,"description":"The worker is to stop, and its slot is not free before it has."}]},
    {"from":"ending","to":"ended","points":[[214,316],[214,414]],"label":{"x":116,"y":344,"width":94,"height":42},"lines":[{"text":"lease.concluded","of":[0]},{"text":"lease.workerLost","of":[1]},{"text":"lease.expired","of":[2]}],"transitions":[{"event":"lease.concluded","guard":null,"description":null},{"event":"lease.workerLost","guard":null,"description":null},{"event":"lease.expired","guard":null,"description":null}]},
    {"from":null,"to":"assigning","points":[[222.5,16],[222.5,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
  ],
};
