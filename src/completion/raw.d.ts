/** A file as text; Vite, which runs the tests, and rolldown.config.mjs understand it. */
declare module '*?raw' {
  const text: string;
  export default text;
}
