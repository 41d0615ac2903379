/** Messages to all endpoints at a time. */
const inAllMax = 64;
/** Messages of one group at a time. */
const inGroupMax = 16;

/** Something with messages to send. */
interface Sender {
  /** Who shares a bound with it, see `SendTurns`. */
  readonly group: string;
}

/**
 * Who may send a message now. Each group has so many at a time, and all together have; groups take turns, and so do the
 * senders of a group. An endpoint is a group, and so are together the URLs of its host that jobs name: anyone who may
 * dispatch chooses those, and however many there are and however slow they are, they take nothing from an endpoint.
 */
export class SendTurns<S extends Sender> {
  readonly #resume: (sender: S) => void;
  /** Messages under way, by group. */
  readonly #sending = new Map<string, number>();
  /** By group, the one whose turn is next first. */
  readonly #waiting = new Map<string, Set<S>>();
  #inAll = 0;

  /** @param resume is called when a sender that was refused may begin. */
  constructor(resume: (sender: S) => void) {
    this.#resume = resume;
  }

  /** Begin to send a message. @returns false when it has to wait; then it is resumed. */
  begin(sender: S): boolean {
    const { group } = sender;
    const sending = this.#sending.get(group) ?? 0;
    if (this.#inAll < inAllMax && sending < inGroupMax) {
      this.#inAll += 1;
      this.#sending.set(group, sending + 1);
      return true;
    }
    const waiting = this.#waiting.get(group);
    if (waiting === undefined) this.#waiting.set(group, new Set([sender]));
    else waiting.add(sender);
    return false;
  }

  /** A message is no longer on its way: others may begin. */
  end({ group }: S): void {
    this.#inAll -= 1;
    const sending = (this.#sending.get(group) ?? 0) - 1;
    if (sending > 0) this.#sending.set(group, sending);
    else this.#sending.delete(group);
    while (this.#inAll < inAllMax) {
      const next = this.#next();
      if (next === undefined) return;
      this.#resume(next);
    }
  }

  /** A sender sends nothing more. */
  leave(sender: S): void {
    const waiting = this.#waiting.get(sender.group);
    waiting?.delete(sender);
    if (waiting?.size === 0) this.#waiting.delete(sender.group);
  }

  /** Who waits longest in the group that has waited longest, of those with room. */
  #next(): S | undefined {
    for (const [group, waiting] of this.#waiting) {
      if ((this.#sending.get(group) ?? 0) >= inGroupMax) continue;
      const [first] = waiting;
      this.#waiting.delete(group);
      if (first === undefined) continue;
      waiting.delete(first);
      // Behind the others.
      if (waiting.size > 0) this.#waiting.set(group, waiting);
      return first;
    }
    return undefined;
  }
}
