/** The columns that a text takes on a terminal, where some characters take two, and colors none. */
export { default as textWidth } from 'string-width';
