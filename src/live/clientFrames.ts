import { array, number, object, type Schema, string } from 'yup';
import { type LiveClientFrame, parseTopic } from '../domain/liveProtocol.ts';
import { boundedList } from '../lib/boundedList.ts';
import { frameReader } from '../lib/frames.ts';

/** Topics that one frame may name, and that one connection may have. */
export const topicsMax = 100;
const epochLengthMax = 100;
/** Levels of nesting: an object with a list. The rest is bounded by the size of the frame. */
const limits = { depth: 4, members: 64 * 1024, plain: 64 * 1024 };

const topics = boundedList(
  topicsMax,
  array()
    .of(
      string()
        .required()
        .test('topic', 'is no topic', (text) => typeof text === 'string' && parseTopic(text) !== null),
    )
    .min(1)
    .required(),
);

const schemas: Record<LiveClientFrame['type'], Schema> = {
  subscribe: object({
    topics,
    since: number().integer().min(0).max(Number.MAX_SAFE_INTEGER),
    epoch: string().max(epochLengthMax),
  }),
  unsubscribe: object({ topics }),
  ping: object({}),
};

/** Read one text frame. @returns the frame, or in one sentence what is wrong with it. */
export const parseClientFrame = frameReader<LiveClientFrame>(schemas, { limits });
