import { type PageEntry, pages } from '../pages.tsx';
import { may } from '../session.ts';

/** The pages that this session may see. */
export function visiblePages(): PageEntry[] {
  return pages.filter(({ nav, needs }) => nav !== undefined && (needs === undefined || may(needs)));
}
