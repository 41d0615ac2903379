import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/providerMachine.ts. */
export const providerChart: Chart = {
  machine: "provider",
  description: "Whether a provider may be sent work: its rate limit and its circuit breaker.",
  initial: "available",
  width: 554,
  height: 364,
  states: [
    {"path":"available","name":"available","description":"Takes requests.","kind":"atomic","isEnd":false,"box":{"x":242.5,"y":44,"width":116,"height":44}},
    {"path":"limited","name":"limited","description":"Answered 429: nothing is sent until the time it named.","kind":"atomic","isEnd":false,"box":{"x":50.5,"y":178,"width":116,"height":44}},
    {"path":"open","name":"open","description":"Too many of its attempts failed: nothing is sent for a while.","kind":"atomic","isEnd":false,"box":{"x":262,"y":178,"width":116,"height":44}},
    {"path":"probing","name":"probing","description":"One job is sent to see whether it is back: its first output tells, or its end.","kind":"atomic","isEnd":false,"box":{"x":242.5,"y":312,"width":116,"height":44}},
  ],
  edges: [
    {"from":"available","to":"limited","points":[[262,88],[262,100],[97,100],[97,162],[89,162],[89,178]],"label":{"x":8,"y":129,"width":85,"height":14},"lines":[{"text":"provider.limited","of":[0]}],"transitions":[{"event":"provider.limited","guard":null,"description":null}]},
    {"from":"available","to":"open","points":[[300.5,88],[300.5,100],[308.5,100],[308.5,162],[300.5,162],[300.5,178]],"label":{"x":225.5,"y":122,"width":79,"height":28},"lines":[{"text":"provider.failed","of":[0]},{"text":"[isTooBad]","of":[0]}],"transitions":[{"event":"provider.failed","guard":"isTooBad","description":null}]},
    {"from":"limited","to":"probing","points":[[89,222],[89,234],[97,234],[97,300],[262,300],[262,312]],"label":{"x":24,"y":257,"width":69,"height":14},"lines":[{"text":"provider.due","of":[0]}],"transitions":[{"event":"provider.due","guard":null,"description":null}]},
    {"from":"limited","to":"available","points":[[127.5,178],[127.5,162],[119.5,162],[119.5,110],[281.5,110],[281.5,88]],"label":{"x":124.5,"y":129,"width":75,"height":14},"lines":[{"text":"provider.reset","of":[0]}],"transitions":[{"event":"provider.reset","guard":null,"description":null}]},
    {"from":"open","to":"probing","points":[[300.5,222],[300.5,234],[308.5,234],[308.5,290],[300.5,290],[300.5,312]],"label":{"x":235.5,"y":257,"width":69,"height":14},"lines":[{"text":"provider.due","of":[0]}],"transitions":[{"event":"provider.due","guard":null,"description":null}]},
    {"from":"open","to":"available","points":[[339.5,178],[339.5,162],[331.5,162],[331.5,100],[320,100],[320,88]],"label":{"x":336.5,"y":129,"width":75,"height":14},"lines":[{"text":"provider.reset","of":[0]}],"transitions":[{"event":"provider.reset","guard":null,"description":null}]},
    {"from":"probing","to":"available","points":[[339.5,312],[339.5,290],[433.5,290],[433.5,100],[339.5,100],[339.5,88]],"label":{"x":438.5,"y":186,"width":107,"height":28},"lines":[{"text":"provider.succeeded","of":[0]},{"text":"provider.reset","of":[1]}],"transitions":[{"event":"provider.succeeded","guard":null,"description":null},{"event":"provider.reset","guard":null,"description":null}]},
    {"from":"probing","to":"limited","points":[[281.5,312],[281.5,290],[119.5,290],[119.5,234],[127.5,234],[127.5,222]],"label":{"x":124.5,"y":257,"width":85,"height":14},"lines":[{"text":"provider.limited","of":[0]}],"transitions":[{"event":"provider.limited","guard":null,"description":null}]},
    {"from":"probing","to":"open","points":[[320,312],[320,290],[331.5,290],[331.5,234],[339.5,234],[339.5,222]],"label":{"x":336.5,"y":250,"width":79,"height":28},"lines":[{"text":"provider.failed","of":[0]},{"text":"[isStillBad]","of":[0]}],"transitions":[{"event":"provider.failed","guard":"isStillBad","description":null}]},
    {"from":null,"to":"available","points":[[300.5,16],[300.5,44]],"label":null,"lines":[],"transitions":[]},
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
