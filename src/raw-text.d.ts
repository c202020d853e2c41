/** A file as text; Vite, which runs the tests, and build.mjs understand it. */
declare module '*?raw' {
  const text: string;
  export default text;
}
