import type { Chart } from '../chart.ts';

/** Made by `npm run charts` from machines/jobMachine.ts. */
export const jobChart: Chart = {
  machine: "job",
  description: "One job: from dispatch to exactly one of completed, failed, cancelled.",
  initial: "pending",
  width: 782,
  height: 1082,
  states: [
    {"path":"pending","name":"pending","description":"Durable and in the queue; no worker has it.","kind":"compound","isEnd":false,"box":{"x":337.5,"y":50,"width":169.5,"height":322}},
    {"path":"pending.queued","name":"queued","description":"Passed through at once: decides whether the job can run now or must wait for a time.","kind":"transient","isEnd":false,"box":{"x":376.5,"y":118,"width":116,"height":44}},
    {"path":"pending.ready","name":"ready","description":"Waits for its turn, and for a free slot of a worker that fits.","kind":"atomic","isEnd":false,"box":{"x":376.5,"y":314,"width":116,"height":44}},
    {"path":"pending.delayed","name":"delayed","description":"Waits until not_before, or for a pause after a failed attempt to end; keeps its place in the queue.","kind":"atomic","isEnd":false,"box":{"x":357.5,"y":216,"width":116,"height":44}},
    {"path":"running","name":"running","description":"Leased to one worker; frames of any other lease are refused.","kind":"compound","isEnd":false,"box":{"x":406,"y":575,"width":263.5,"height":238}},
    {"path":"running.active","name":"active","description":"Its worker is connected.","kind":"atomic","isEnd":false,"box":{"x":471.5,"y":643,"width":116,"height":44}},
    {"path":"running.stuck","name":"stuck","description":"Its worker crashed or lost the connection; the job may still be running there.","kind":"atomic","isEnd":false,"box":{"x":471.5,"y":755,"width":116,"height":44}},
    {"path":"completed","name":"completed","description":"Has the accepted result of exactly one attempt. Nothing takes it out.","kind":"atomic","isEnd":true,"box":{"x":432,"y":1030,"width":116,"height":44}},
    {"path":"failed","name":"failed","description":"Nothing left to try; error says why. POST retry brings it back to the queue.","kind":"atomic","isEnd":false,"box":{"x":33.5,"y":1030,"width":116,"height":44}},
    {"path":"cancelled","name":"cancelled","description":"A client ended it. Nothing takes it out.","kind":"atomic","isEnd":true,"box":{"x":616.5,"y":1030,"width":116,"height":44}},
  ],
  edges: [
    {"from":"pending","to":"cancelled","points":[[444.5,372],[444.5,389],[693.5,389],[693.5,1030]],"label":{"x":698.5,"y":689.5,"width":75,"height":14},"lines":[{"text":"job.cancelled","of":[0]}],"transitions":[{"event":"job.cancelled","guard":null,"description":null}]},
    {"from":"pending","to":"completed","points":[[424.5,372],[424.5,389],[202,389],[202,830],[212,830],[212,1014],[470.5,1014],[470.5,1030]],"label":{"x":91,"y":682.5,"width":107,"height":28},"lines":[{"text":"job.completed","of":[0]},{"text":"[isUnclaimedLease]","of":[0]}],"transitions":[{"event":"job.completed","guard":"isUnclaimedLease","description":"A late result that nobody has overtaken is money well spent."}]},
    {"from":"pending.queued","to":"pending.delayed","points":[[415.5,162],[415.5,216]],"label":{"x":351.5,"y":182,"width":62,"height":14},"lines":[{"text":"[isDelayed]","of":[0]}],"transitions":[{"event":null,"guard":"isDelayed","description":null}]},
    {"from":"pending.queued","to":"pending.ready","points":[[454,162],[454,172],[483.5,172],[483.5,304],[454,304],[454,314]],"label":null,"lines":[],"transitions":[{"event":null,"guard":null,"description":null}]},
    {"from":"pending.ready","to":"running","points":[[434.5,358],[434.5,409],[559.5,409],[559.5,575]],"label":{"x":483.5,"y":477,"width":72,"height":14},"lines":[{"text":"job.assigned","of":[0]}],"transitions":[{"event":"job.assigned","guard":null,"description":null}]},
    {"from":"pending.delayed","to":"pending.ready","points":[[415.5,260],[415.5,314]],"label":{"x":370.5,"y":280,"width":43,"height":14},"lines":[{"text":"job.due","of":[0]}],"transitions":[{"event":"job.due","guard":null,"description":null}]},
    {"from":"running","to":"completed","points":[[549.5,813],[549.5,1014],[509.5,1014],[509.5,1030]],"label":{"x":457.5,"y":918,"width":88,"height":28},"lines":[{"text":"job.completed","of":[0]},{"text":"[isCurrentLease]","of":[0]}],"transitions":[{"event":"job.completed","guard":"isCurrentLease","description":null}]},
    {"from":"running","to":"pending","points":[[519.5,813],[519.5,830],[394,830],[394,399],[518.5,399],[518.5,38],[454.5,38],[454.5,50]],"label":{"x":296,"y":421,"width":94,"height":126},"lines":[{"text":"job.attemptFailed","of":[0,1,2,3]},{"text":"[goesToNext]","of":[0]},{"text":"[waitsForLimit]","of":[1]},{"text":"[goesElsewhere]","of":[2]},{"text":"[triesAgain]","of":[3]},{"text":"job.reaped","of":[4]},{"text":"[isCurrentLease]","of":[4]},{"text":"job.released","of":[5]},{"text":"[isCurrentLease]","of":[5]}],"transitions":[{"event":"job.attemptFailed","guard":"goesToNext","description":null},{"event":"job.attemptFailed","guard":"waitsForLimit","description":"A limit is a wait: the job keeps its place until the provider’s limit ends."},{"event":"job.attemptFailed","guard":"goesElsewhere","description":"The worker’s fault: another worker takes the job, or it waits until one can."},{"event":"job.attemptFailed","guard":"triesAgain","description":null},{"event":"job.reaped","guard":"isCurrentLease","description":null},{"event":"job.released","guard":"isCurrentLease","description":"A deploy burns no attempt."}]},
    {"from":"running","to":"failed","points":[[539.5,813],[539.5,850],[199,850],[199,1014],[110.5,1014],[110.5,1030]],"label":{"x":81,"y":862,"width":114,"height":140},"lines":[{"text":"job.attemptFailed","of":[0]},{"text":"[isCurrentLease]","of":[0]},{"text":"job.timedOut","of":[1]},{"text":"[isCurrentLease]","of":[1]},{"text":"job.keyRevoked","of":[2]},{"text":"[isCurrentLease]","of":[2]},{"text":"job.reaped","of":[3]},{"text":"[isReapedTooOften]","of":[3]},{"text":"job.released","of":[4]},{"text":"[isReleasedTooOften]","of":[4]}],"transitions":[{"event":"job.attemptFailed","guard":"isCurrentLease","description":null},{"event":"job.timedOut","guard":"isCurrentLease","description":null},{"event":"job.keyRevoked","guard":"isCurrentLease","description":"The key of its worker was revoked."},{"event":"job.reaped","guard":"isReapedTooOften","description":null},{"event":"job.released","guard":"isReleasedTooOften","description":"No worker keeps it: that must end too."}]},
    {"from":"running","to":"cancelled","points":[[559.5,813],[559.5,830],[647,830],[647,1014],[655,1014],[655,1030]],"label":{"x":568,"y":925,"width":75,"height":14},"lines":[{"text":"job.cancelled","of":[0]}],"transitions":[{"event":"job.cancelled","guard":null,"description":null}]},
    {"from":"running.active","to":"running.stuck","points":[[510,687],[510,755]],"label":{"x":420,"y":707,"width":88,"height":28},"lines":[{"text":"job.workerLost","of":[0]},{"text":"[isCurrentLease]","of":[0]}],"transitions":[{"event":"job.workerLost","guard":"isCurrentLease","description":null}]},
    {"from":"running.stuck","to":"running.active","points":[[548.5,755],[548.5,687]],"label":{"x":551.5,"y":707,"width":104,"height":28},"lines":[{"text":"job.workerReturned","of":[0]},{"text":"[isCurrentLease]","of":[0]}],"transitions":[{"event":"job.workerReturned","guard":"isCurrentLease","description":null}]},
    {"from":"running.stuck","to":"pending","points":[[529.5,799],[529.5,840],[275,840],[275,399],[243,399],[243,38],[424.5,38],[424.5,50]],"label":{"x":215,"y":477,"width":56,"height":14},"lines":[{"text":"job.retried","of":[0]}],"transitions":[{"event":"job.retried","guard":null,"description":null}]},
    {"from":"failed","to":"pending","points":[[72,1030],[72,1014],[68,1014],[68,28],[434.5,28],[434.5,50]],"label":{"x":8,"y":477,"width":56,"height":14},"lines":[{"text":"job.retried","of":[0]}],"transitions":[{"event":"job.retried","guard":null,"description":null}]},
    {"from":null,"to":"pending","points":[[444.5,16],[444.5,50]],"label":null,"lines":[],"transitions":[]},
    {"from":null,"to":"pending.queued","points":[[434.5,98],[434.5,118]],"label":null,"lines":[],"transitions":[]},
    {"from":null,"to":"running.active","points":[[529.5,623],[529.5,643]],"label":null,"lines":[],"transitions":[]},
  ],
  internal: [
    {"state":"*","event":"job.usageReported","guard":"isUncharged","description":"An attempt that had ended without its usage was still charged for; counted once."},
  ],
};
