import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/providerMachine.ts. */
export const providerChart: Chart = {
  machine: "provider",
  description: "Whether a provider may be sent work: its rate limit, its circuit breaker and its slow return.",
  initial: "available",
  width: 551,
  height: 432,
  states: [
    {"path":"*","name":"any state","description":"Any state: its transitions apply in every state.","kind":"atomic","isEnd":false,"box":{"x":267.5,"y":8,"width":85,"height":26}},
    {"path":"available","name":"available","description":"Takes requests; after a limit or an open breaker only as many as its slow return allows.","kind":"atomic","isEnd":false,"box":{"x":271,"y":104,"width":116,"height":44}},
    {"path":"limited","name":"limited","description":"Answered 429: nothing is sent until the time it named.","kind":"atomic","isEnd":false,"box":{"x":39,"y":232,"width":116,"height":44}},
    {"path":"open","name":"open","description":"Too many of its attempts failed: nothing is sent for a while.","kind":"atomic","isEnd":false,"box":{"x":271,"y":232,"width":116,"height":44}},
    {"path":"probing","name":"probing","description":"One job is sent to see whether it is back: its first output shows that, or its end.","kind":"atomic","isEnd":false,"box":{"x":261.5,"y":380,"width":116,"height":44}},
  ],
  edges: [
    {"from":"*","to":"available","points":[[310,34],[310,104]],"label":{"x":231,"y":62,"width":75,"height":14},"lines":[{"text":"provider.reset","of":[0]}],"transitions":[{"event":"provider.reset","guard":null,"description":"An operator takes it for available, whatever it is."}]},
    {"from":"available","to":"limited","points":[[300,148],[300,160],[97,160],[97,232]],"label":{"x":8,"y":183,"width":85,"height":14},"lines":[{"text":"provider.limited","of":[0]}],"transitions":[{"event":"provider.limited","guard":null,"description":null}]},
    {"from":"available","to":"open","points":[[329,148],[329,232]],"label":{"x":246,"y":176,"width":79,"height":28},"lines":[{"text":"provider.failed","of":[0]},{"text":"[isTooBad]","of":[0]}],"transitions":[{"event":"provider.failed","guard":"isTooBad","description":null}]},
    {"from":"limited","to":"probing","points":[[77.5,276],[77.5,288],[87.5,288],[87.5,368],[281,368],[281,380]],"label":{"x":14.5,"y":318,"width":69,"height":14},"lines":[{"text":"provider.due","of":[0]}],"transitions":[{"event":"provider.due","guard":null,"description":null}]},
    {"from":"open","to":"probing","points":[[310,276],[310,288],[323.5,288],[323.5,358],[319.5,358],[319.5,380]],"label":{"x":206.5,"y":304,"width":113,"height":42},"lines":[{"text":"provider.due","of":[0]},{"text":"provider.workerCame","of":[1]},{"text":"[isNewWorker]","of":[1]}],"transitions":[{"event":"provider.due","guard":null,"description":null},{"event":"provider.workerCame","guard":"isNewWorker","description":"The new worker may reach what the others cannot."}]},
    {"from":"probing","to":"available","points":[[358,380],[358,358],[430.5,358],[430.5,160],[358,160],[358,148]],"label":{"x":435.5,"y":233,"width":107,"height":42},"lines":[{"text":"provider.succeeded","of":[0]},{"text":"provider.streamed","of":[1]},{"text":"[isOfProbe]","of":[1]}],"transitions":[{"event":"provider.succeeded","guard":null,"description":null},{"event":"provider.streamed","guard":"isOfProbe","description":null}]},
    {"from":"probing","to":"limited","points":[[300,380],[300,358],[106.5,358],[106.5,288],[116.5,288],[116.5,276]],"label":{"x":111.5,"y":318,"width":85,"height":14},"lines":[{"text":"provider.limited","of":[0]}],"transitions":[{"event":"provider.limited","guard":null,"description":null}]},
    {"from":"probing","to":"open","points":[[339,380],[339,358],[334.5,358],[334.5,288],[348.5,288],[348.5,276]],"label":{"x":339.5,"y":311,"width":79,"height":28},"lines":[{"text":"provider.failed","of":[0]},{"text":"[isStillBad]","of":[0]}],"transitions":[{"event":"provider.failed","guard":"isStillBad","description":null}]},
    {"from":null,"to":"available","points":[[348.5,76],[348.5,104]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
    {"state":"available","event":"provider.failed","guard":null,"description":null},
    {"state":"available","event":"provider.succeeded","guard":null,"description":null},
    {"state":"available","event":"provider.streamed","guard":"isRamping","description":null},
    {"state":"limited","event":"provider.limited","guard":"isLonger","description":null},
    {"state":"limited","event":"provider.limited","guard":null,"description":null},
    {"state":"limited","event":"provider.failed","guard":null,"description":null},
    {"state":"limited","event":"provider.succeeded","guard":null,"description":null},
    {"state":"open","event":"provider.failed","guard":null,"description":null},
    {"state":"open","event":"provider.succeeded","guard":null,"description":null},
    {"state":"probing","event":"provider.probeSent","guard":null,"description":null},
    {"state":"probing","event":"provider.probeReturned","guard":"isOfProbe","description":null},
    {"state":"probing","event":"provider.failed","guard":null,"description":null},
  ],
};
