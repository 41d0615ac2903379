import type { Middleware } from 'koa';
import type { Config } from '../../config/config.ts';
import { type Door, doorOf } from '../door.ts';

/** Refuses requests to a door that the configuration closes. @throws CoordinatorError what the door says. */
export function openDoor(doors: readonly Door[], config: () => Config): Middleware {
  return (ctx, next) => {
    const refusal = doorOf(doors, ctx.path)?.closed(config()) ?? null;
    if (refusal !== null) throw refusal;
    return next();
  };
}
