/** The worker whose name the hostile one would like to have. */
export const honestWorker = 'honest-box';
/** The honest jobs have this tag. */
export const honestTag = 'honest';
/** What the hostile worker's key is bound to, where keys can be bound. */
export const hostileProvider = 'hostile';
export const hostileNames = 'hostile-*';
