/** Sizes that the layout reckons with and the picture is drawn with, CSS pixels. */

/** Of the name of a state. */
export const nameSize = 13;
/** Of what stands beside an arrow and below a name. */
export const labelSize = 11;
export const labelLineHeight = 14;
/** The strip with the name of a state that has others inside. */
export const titleHeight = 26;
/** A state without others inside: its name, and a line for figures. */
export const stateHeight = 44;
export const boxPadding = 14;
/** Of the dot from which an initial state is entered. */
export const markRadius = 4;
/** Of the corners of states and lines. */
export const cornerRadius = 8;
export const arrowLength = 7;
