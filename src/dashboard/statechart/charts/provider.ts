import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/providerMachine.ts. */
export const providerChart: Chart = {
  machine: "provider",
  description: "Whether a provider may be sent work: its rate limit and its circuit breaker.",
  initial: "available",
  width: 590,
  height: 364,
  states: [
    {"path":"available","name":"available","description":"Takes requests.","kind":"atomic","isEnd":false,"box":{"x":237,"y":44,"width":116,"height":44}},
    {"path":"limited","name":"limited","description":"Answered 429: nothing is sent until the time it named.","kind":"atomic","isEnd":false,"box":{"x":44.5,"y":178,"width":116,"height":44}},
    {"path":"open","name":"open","description":"Too many of its attempts failed: nothing is sent for a while.","kind":"atomic","isEnd":false,"box":{"x":256,"y":178,"width":116,"height":44}},
    {"path":"probing","name":"probing","description":"One job is sent to see whether it is back: its first output tells, or its end.","kind":"atomic","isEnd":false,"box":{"x":237,"y":312,"width":116,"height":44}},
  ],
  edges: [
    {"from":"available","to":"limited","points":[[256,88],[256,100],[97,100],[97,162],[83,162],[83,178]],"label":{"x":8,"y":129,"width":85,"height":14},"lines":[{"text":"provider.limited","of":[0]}],"transitions":[{"event":"provider.limited","guard":null,"description":null}]},
    {"from":"available","to":"open","points":[[295,88],[295,100],[308.5,100],[308.5,162],[295,162],[295,178]],"label":{"x":225.5,"y":122,"width":79,"height":28},"lines":[{"text":"provider.failed","of":[0]},{"text":"[isTooBad]","of":[0]}],"transitions":[{"event":"provider.failed","guard":"isTooBad","description":null}]},
    {"from":"limited","to":"probing","points":[[83,222],[83,234],[97,234],[97,300],[256,300],[256,312]],"label":{"x":24,"y":257,"width":69,"height":14},"lines":[{"text":"provider.due","of":[0]}],"transitions":[{"event":"provider.due","guard":null,"description":null}]},
    {"from":"limited","to":"available","points":[[122,178],[122,162],[112,162],[112,110],[275.5,110],[275.5,88]],"label":{"x":117,"y":129,"width":75,"height":14},"lines":[{"text":"provider.reset","of":[0]}],"transitions":[{"event":"provider.reset","guard":null,"description":null}]},
    {"from":"open","to":"probing","points":[[295,222],[295,234],[308.5,234],[308.5,290],[295,290],[295,312]],"label":{"x":235.5,"y":257,"width":69,"height":14},"lines":[{"text":"provider.due","of":[0]}],"transitions":[{"event":"provider.due","guard":null,"description":null}]},
    {"from":"open","to":"available","points":[[333.5,178],[333.5,162],[319.5,162],[319.5,100],[314,100],[314,88]],"label":{"x":324.5,"y":129,"width":75,"height":14},"lines":[{"text":"provider.reset","of":[0]}],"transitions":[{"event":"provider.reset","guard":null,"description":null}]},
    {"from":"probing","to":"available","points":[[333.5,312],[333.5,290],[469.5,290],[469.5,100],[333.5,100],[333.5,88]],"label":{"x":474.5,"y":186,"width":107,"height":28},"lines":[{"text":"provider.succeeded","of":[0]},{"text":"provider.reset","of":[1]}],"transitions":[{"event":"provider.succeeded","guard":null,"description":null},{"event":"provider.reset","guard":null,"description":null}]},
    {"from":"probing","to":"limited","points":[[275.5,312],[275.5,290],[112,290],[112,234],[122,234],[122,222]],"label":{"x":117,"y":257,"width":85,"height":14},"lines":[{"text":"provider.limited","of":[0]}],"transitions":[{"event":"provider.limited","guard":null,"description":null}]},
    {"from":"probing","to":"open","points":[[314,312],[314,290],[319.5,290],[319.5,234],[333.5,234],[333.5,222]],"label":{"x":324.5,"y":250,"width":133,"height":28},"lines":[{"text":"provider.failed","of":[0]},{"text":"[hasOpened or isTooBad]","of":[0]}],"transitions":[{"event":"provider.failed","guard":"hasOpened or isTooBad","description":null}]},
    {"from":null,"to":"available","points":[[295,16],[295,44]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
    {"state":"available","event":"provider.succeeded","guard":null,"description":null},
    {"state":"available","event":"provider.reset","guard":null,"description":null},
    {"state":"limited","event":"provider.limited","guard":"isLonger","description":null},
    {"state":"probing","event":"provider.probeSent","guard":null,"description":null},
    {"state":"probing","event":"provider.probeReturned","guard":null,"description":null},
    {"state":"probing","event":"provider.failed","guard":null,"description":null},
  ],
};
