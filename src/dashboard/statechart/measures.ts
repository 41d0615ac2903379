/** Sizes for both the layout and the drawing, CSS pixels. */

/** Of the name of a state. */
export const nameSize = 13;
/** Of the text beside an arrow and below a name. */
export const labelSize = 11;
export const labelLineHeight = 14;
/** The strip with the name of a compound state. */
export const titleHeight = 26;
/** A state without children: its name, and a line for figures. */
export const stateHeight = 44;
export const boxPadding = 14;
/** Of the dot of an initial state. */
export const markRadius = 4;
/** Of the corners of states and lines. */
export const cornerRadius = 8;
export const arrowLength = 7;
