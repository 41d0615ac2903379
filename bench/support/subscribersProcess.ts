import { LeanSubscriber } from './leanSubscriber.ts';
import { type Subscribers, setupVariable } from './messages.ts';
import { serveSamples } from './samples.ts';

/** Many subscribers in a process of their own, so that what they read is not read by the one that makes the load. */
const { url, count, topic }: Subscribers = JSON.parse(process.env[setupVariable] ?? '');
const apiKey = process.env.SVC_API_KEY ?? '';
await Promise.all(Array.from({ length: count }, () => LeanSubscriber.connect(url, apiKey, topic)));
serveSamples(url);
