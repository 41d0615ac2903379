import { object, string } from 'yup';
import { queueReasonMax } from '../../../domain/queue.ts';
import { presentQueue } from '../../../present/queue.ts';
import { smallBody } from '../../body.ts';
import { defineRoute, type Route } from '../../route.ts';
import { queueShape } from './shape.ts';

const pauseSchema = object({
  reason: string().max(queueReasonMax).nullable().meta({ description: 'For people.' }),
}).noUnknown();

const pauseQueue = defineRoute({
  method: 'POST',
  path: '/api/queue/pause',
  role: 'operator',
  name: 'pauseQueue',
  tag: 'Queue',
  summary: 'Pause the queue',
  description:
    'No job is handed out from then on. Jobs are still accepted and wait with `waiting.reason` `queue_paused`; running jobs go on. The pause survives restarts. If the queue is paused already, nothing changes.',

  body: smallBody(pauseSchema, {
    isOptional: true,
    examples: { example: { value: { reason: 'New prices at the provider' } } },
  }),
  answers: {
    200: { description: 'The queue, paused.', shape: queueShape },
  },
  problems: ['StoreUnavailable'],

  handle: async ({ body, doer }, { coordinator }) => {
    const reason = body.reason?.trim() ?? '';
    return { json: presentQueue(await coordinator.pauseQueue(doer(), reason === '' ? null : reason)) };
  },
});

const resumeQueue = defineRoute({
  method: 'POST',
  path: '/api/queue/resume',
  role: 'operator',
  name: 'resumeQueue',
  tag: 'Queue',
  summary: 'Resume the queue',
  description: 'Waiting jobs are handed out again. If the queue is not paused, nothing changes.',

  answers: {
    200: { description: 'The queue, no longer paused.', shape: queueShape },
  },
  problems: ['StoreUnavailable'],

  handle: async ({ doer }, { coordinator }) => ({
    json: presentQueue(await coordinator.resumeQueue(doer())),
  }),
});

export const queueRoutes: readonly Route[] = [pauseQueue, resumeQueue];
