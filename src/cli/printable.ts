/** What people or providers wrote, on its way to a terminal: nothing in it may move the cursor, change colours or reorder text. */

/** C0 and C1 controls but tab and newline, DEL, marks that turn the direction of writing, line and paragraph separators. */
const UNSAFE =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)/g;

const asCode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text of several lines, each unsafe character as `\uXXXX`; a JSON document stays the same document. */
export const printable = (text: string): string => text.replace(UNSAFE, asCode);

/** The same on one line: a message with a newline in it cannot pretend to be two. */
export const oneLine = (text: string): string => printable(text.replace(/\r?\n/g, '\\n'));
