/** What dist/ says about the packages inside it: their licences, and a software bill of materials. build.mjs writes both. */
import { readdirSync, readFileSync } from 'node:fs';

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Returns the text of LICENSES.txt. Throws if a package has no file with its licence. */
export function licences(folders) {
  return folders.map(licence).join('\n');
}

function licence(folder) {
  const { name, version } = read(`${folder}/package.json`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (file === undefined) throw new Error(`${folder} is bundled, but has no licence file`);
  return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n\n${'-'.repeat(72)}\n`;
}

/** Returns a CycloneDX 1.6 document without what differs between builds (a serial number, a time). */
export function billOfMaterials(folders) {
  const { name, version, license } = read('package.json');
  const { packages } = read('package-lock.json');
  const components = folders.map((folder) =>
    component('library', read(`${folder}/package.json`), packages[folder].integrity),
  );
  const root = component('application', { name, version, license });
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: root },
    components,
    dependencies: [{ ref: root['bom-ref'], dependsOn: components.map((entry) => entry['bom-ref']) }],
  };
}

/** Returns a component of a bill of materials; `integrity` is that of the npm package, as package-lock.json has it. */
export function component(type, { name, version, license }, integrity) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const digest = integrity?.replace(/^sha512-/, '');
  return {
    type,
    'bom-ref': purl,
    name,
    version,
    ...(digest && { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
    licenses: [/\s/.test(license) ? { expression: license } : { license: { id: license } }],
    purl,
  };
}
