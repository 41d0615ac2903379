import type { WebSocket } from 'ws';
import type { Clock } from '../domain/clock.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import { FrameCount } from '../lib/frameCount.ts';
import type { ReadGate } from './readGate.ts';

/**
 * Frames a second read from one worker. A frame costs some 15 µs, so a flooding worker gets at most a fifth of the
 * coordinator's time; 200 slots with 50 tokens a second each are 10,000.
 */
const framesMax = 12_000;
/** The same for their bytes: parsing 16 MiB of the worst shape takes some 60 ms. */
const frameBytesPerSecond = 32 * 1024 * 1024;
const frameWindowMs = 1_000;
/** Pings and pongs; one in ten seconds is enough. ws itself silently cuts a client that leaves 100 pongs unread. */
const controlFramesMax = 50;
const controlWindowMs = 10_000;

/**
 * Bounds what one worker's socket can demand of the coordinator.
 * - Too many frames, or too many bytes of them: it is not read for the rest of the second, so that TCP slows the
 * worker. Nothing is lost.
 * - Too many pings: each would cost us a pong. 1008.
 */
export function guardFrames(
  socket: WebSocket,
  {
    clock,
    gate,
    onSlowed,
    onFlood,
  }: { clock: Clock; gate: ReadGate; onSlowed: () => void; onFlood: (code: number) => void },
): void {
  const frames = new FrameCount(framesMax, frameWindowMs);
  const bytes = new FrameCount(frameBytesPerSecond, frameWindowMs);
  const controls = new FrameCount(controlFramesMax, controlWindowMs);
  let cancelResume = () => {};
  let isHeld = false;
  socket.on('message', (data: Buffer) => {
    const now = clock.monotonic();
    const isTooMuch = [frames.isOver(now), bytes.isOver(now, data.length)].includes(true);
    if (!isTooMuch || isHeld) return;
    isHeld = true;
    const open = gate.hold();
    onSlowed();
    cancelResume = clock.after(frames.restMs(now), () => {
      isHeld = false;
      open();
    });
  });
  const control = () => {
    if (!controls.isOver(clock.monotonic()) || socket.readyState !== socket.OPEN) return;
    onFlood(closeCodes.policyViolation);
    socket.close(closeCodes.policyViolation, 'too many pings');
  };
  socket.on('ping', control);
  socket.on('pong', control);
  socket.once('close', () => cancelResume());
}
