import type { Middleware } from 'koa';
import { CoordinatorError, type ErrorCode } from '../../domain/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { type Door, doorOf, shownError } from '../door.ts';
import { answerUnread } from '../lingering.ts';

/**
 * Turns what was thrown into a problem document, or into the form of the door that the path belongs to. Anything that is
 * not a `CoordinatorError` is a bug: logged, and a bare 500.
 * @param onProblem called with each.
 */
export function errors(
  logger: Logger,
  onProblem: (code: ErrorCode) => void = () => {},
  doors: readonly Door[] = [],
): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const requestId: string = ctx.state.requestId;
      const error = thrown instanceof CoordinatorError ? thrown : null;
      if (error === null || error.code === 'internal_error') {
        logger.error(
          { err: thrown, request_id: requestId, route: ctx.state.route ?? 'none' },
          'internal error',
        );
      }
      const shown =
        error !== null && error.code !== 'internal_error'
          ? error
          : new CoordinatorError(
              'internal_error',
              'Something went wrong inside; the log has it under this request id',
            );
      onProblem(shown.code);
      if (shown.code === 'upgrade_required') ctx.set({ Upgrade: 'websocket', Connection: 'Upgrade' });
      const { status, type, headers, text } = shownError(doorOf(doors, ctx.path), shown, requestId);
      ctx.set(headers);
      ctx.status = status;
      ctx.type = type;
      answerUnread(ctx, text);
    }
  };
}
