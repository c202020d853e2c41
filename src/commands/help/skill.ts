/** The instructions for agents, as `wfr help --skill` prints them. */
export { default as SKILL } from '../../../skills/wfr/SKILL.md?raw';
