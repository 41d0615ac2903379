/* The thread of `ThreadSender`: sends what it is given, all at once, and answers by turns of its loop. */

import { parentPort } from 'node:worker_threads';
import type { WebhookSettings } from '../config/config.ts';
import type { SendOutcome, WebhookMessage } from '../domain/webhook.ts';
import { Gathered } from '../lib/gathered.ts';
import { systemClock } from '../lib/systemClock.ts';
import { HttpSender } from './httpSender.ts';

/** To send a message, or to say why nothing may be sent to a URL. */
export type SenderQuestion = { id: number } & ({ message: WebhookMessage } | { url: string });

/** What is asked in one turn, and the settings at that moment. */
export interface SenderQuestions {
  settings: WebhookSettings;
  questions: SenderQuestion[];
}

/** To one question of any turn. */
export type SenderAnswer = { id: number } & ({ outcome: SendOutcome } | { refusal: string | null });

let settings: WebhookSettings = { allowHttp: false, allowPrivate: [], allowedHosts: [] };
const sender = new HttpSender({ settings: () => settings, clock: systemClock });
const answers = new Gathered<SenderAnswer>((all) => parentPort?.postMessage(all));

parentPort?.on('message', (asked: SenderQuestions) => {
  ({ settings } = asked);
  for (const question of asked.questions) {
    const { id } = question;
    if ('url' in question) void sender.refusal(question.url).then((refusal) => answers.add({ id, refusal }));
    else void sender.send(question.message).then((outcome) => answers.add({ id, outcome }));
  }
});
