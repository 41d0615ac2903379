import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/healthMachine.ts. */
export const healthChart: Chart = {
  machine: "health",
  description: "One fault of one worker at one provider, or at one of its models: whether others go first.",
  initial: "well",
  width: 415,
  height: 498,
  states: [
    {"path":"well","name":"well","description":"Takes jobs like any other worker.","kind":"atomic","isEnd":false,"box":{"x":134,"y":44,"width":116,"height":44}},
    {"path":"aside","name":"aside","description":"Passed over until a time; failures of jobs that were on their way change nothing.","kind":"atomic","isEnd":false,"box":{"x":50.5,"y":178,"width":116,"height":44}},
    {"path":"due","name":"due","description":"The next job is a trial.","kind":"atomic","isEnd":false,"box":{"x":61.5,"y":312,"width":116,"height":44}},
    {"path":"trying","name":"trying","description":"One job shows whether it can again: its first output, or its end.","kind":"atomic","isEnd":false,"box":{"x":85,"y":446,"width":116,"height":44}},
  ],
  edges: [
    {"from":"well","to":"aside","points":[[157.5,88],[157.5,100],[100.5,100],[100.5,162],[89.5,162],[89.5,178]],"label":{"x":27.5,"y":122,"width":69,"height":28},"lines":[{"text":"health.failed","of":[0]},{"text":"[isEnough]","of":[0]}],"transitions":[{"event":"health.failed","guard":"isEnough","description":null}]},
    {"from":"aside","to":"due","points":[[79.5,222],[79.5,234],[71,234],[71,300],[90.5,300],[90.5,312]],"label":{"x":8,"y":257,"width":59,"height":14},"lines":[{"text":"health.due","of":[0]}],"transitions":[{"event":"health.due","guard":null,"description":null}]},
    {"from":"aside","to":"well","points":[[128,178],[128,162],[120,162],[120,110],[180.5,110],[180.5,88]],"label":{"x":125,"y":129,"width":97,"height":14},"lines":[{"text":"health.succeeded","of":[0]}],"transitions":[{"event":"health.succeeded","guard":null,"description":null}]},
    {"from":"due","to":"trying","points":[[100.5,356],[100.5,424],[108,424],[108,446]],"label":{"x":14.5,"y":391,"width":82,"height":14},"lines":[{"text":"health.trialSent","of":[0]}],"transitions":[{"event":"health.trialSent","guard":null,"description":null}]},
    {"from":"due","to":"aside","points":[[119.5,312],[119.5,290],[91,290],[91,234],[108.5,234],[108.5,222]],"label":{"x":96,"y":250,"width":69,"height":28},"lines":[{"text":"health.failed","of":[0]},{"text":"[isNews]","of":[0]}],"transitions":[{"event":"health.failed","guard":"isNews","description":null}]},
    {"from":"due","to":"well","points":[[148.5,312],[148.5,290],[291.5,290],[291.5,110],[204,110],[204,88]],"label":{"x":190.5,"y":193,"width":97,"height":14},"lines":[{"text":"health.succeeded","of":[0]}],"transitions":[{"event":"health.succeeded","guard":null,"description":null}]},
    {"from":"trying","to":"due","points":[[131.5,446],[131.5,368],[139,368],[139,356]],"label":{"x":136.5,"y":384,"width":104,"height":28},"lines":[{"text":"health.trialReturned","of":[0]},{"text":"[isTrial]","of":[0]}],"transitions":[{"event":"health.trialReturned","guard":"isTrial","description":null}]},
    {"from":"trying","to":"aside","points":[[154.5,446],[154.5,424],[274.5,424],[274.5,300],[254.5,300],[254.5,234],[137.5,234],[137.5,222]],"label":{"x":201.5,"y":320,"width":69,"height":28},"lines":[{"text":"health.failed","of":[0]},{"text":"[isNews]","of":[0]}],"transitions":[{"event":"health.failed","guard":"isNews","description":null}]},
    {"from":"trying","to":"well","points":[[177.5,446],[177.5,434],[405.5,434],[405.5,100],[227,100],[227,88]],"label":{"x":304.5,"y":257,"width":97,"height":14},"lines":[{"text":"health.succeeded","of":[0]}],"transitions":[{"event":"health.succeeded","guard":null,"description":null}]},
    {"from":null,"to":"well","points":[[192,16],[192,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
    {"state":"well","event":"health.failed","guard":null,"description":null},
    {"state":"well","event":"health.succeeded","guard":null,"description":null},
  ],
};
