import { array, number, object, type Schema, string } from 'yup';
import { type LiveClientFrame, parseTopic } from '../domain/liveProtocol.ts';
import { boundedList } from '../lib/boundedList.ts';
import { frameReader } from '../lib/frames.ts';

/** Topics of one frame, and of one connection. */
export const topicsMax = 100;
const epochLengthMax = 100;
/** Levels of nesting: an object with a list. The size of the frame bounds the rest. */
const limits = { depth: 4, members: 64 * 1024, plain: 64 * 1024 };

const topics = boundedList(
  topicsMax,
  array()
    .of(
      string()
        .required()
        .test('topic', 'is not a topic', (text) => typeof text === 'string' && parseTopic(text) !== null),
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

/** Parse one text frame. @returns the frame, or one sentence about what is wrong with it. */
export const parseClientFrame = frameReader<LiveClientFrame>(schemas, { limits }).read;
