import type { RawRequest } from '../http/route.ts';

/** Who sent a request to `/mcp`: the SDK hands it on with the request. The key itself stays outside. */
export class Caller {
  readonly principal: RawRequest['principal'];
  readonly doer: RawRequest['doer'];
  /** Aborted when the client hangs up, or its key ends. */
  readonly gone: AbortSignal;

  constructor({ principal, doer, whenGone }: Pick<RawRequest, 'principal' | 'doer' | 'whenGone'>) {
    this.principal = principal;
    this.doer = doer;
    this.gone = whenGone();
  }
}
