import { setLocale } from 'yup';

const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a');

/** `1 item`, `2 items`. */
function counted(count: unknown, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * yup's messages. They never quote the value, which may be content, or so deep that printing it overflows the stack.
 */
setLocale({
  mixed: {
    required: 'is required',
    notType: ({ type }) => `must be ${article(type)} ${type}`,
    oneOf: ({ values }) => `must be one of ${values}`,
    notNull: 'must not be null',
    defined: 'is required',
  },
  string: {
    min: ({ min }) => (min === 1 ? 'must not be empty' : `must have at least ${counted(min, 'character')}`),
    max: ({ max }) => `must have at most ${counted(max, 'character')}`,
  },
  number: {
    min: ({ min }) => `must be at least ${min}`,
    max: ({ max }) => `must be at most ${max}`,
    integer: 'must be a whole number',
  },
  array: {
    min: ({ min }) => `must have at least ${counted(min, 'item')}`,
    max: ({ max }) => `must have at most ${counted(max, 'item')}`,
  },
  object: { noUnknown: 'is not known' },
});
