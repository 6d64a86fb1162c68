/* Stacks to trees, for flame graphs. Runs in the worker. */
import { NATIVE, PYTHON } from './constants.js';

/*
 * The functions of a site, outermost first, as [text, kind of frame]. Unless all are asked for: only
 * Python's and operations where there are any, else from main() on, and not those that only allocate.
 */
export function stackOf(tables, site, hasAll) {
	const found = tables.sites[site];
	const result = [];

	if (!found)
		return result;
	for (const place of found[1])
		for (const [name, file, line, kind, isWrapper] of tables.frames[place]) {
			const where = file ? `${file.slice(file.lastIndexOf('/') + 1)}${line ? ':' + line : ''} ` : '';

			result.push([where + name, kind, isWrapper, name]);
		}
	result.reverse();
	if (hasAll)
		return result;
	if (result.some((frame) => frame[1] === PYTHON))
		return result.filter((frame) => frame[1] !== NATIVE);
	const main = result.findIndex((frame) => frame[3] === 'main');
	const inner = result.slice(Math.max(0, main));

	while (inner.length > 1 && inner[inner.length - 1][2])
		inner.pop();
	return inner;
}

function makeNode(text, kind, depth) {
	return { text, kind, depth, bytes: 0, count: 0, self: 0, children: new Map(), site: -1 };
}

/* sites: of each its bytes and count. Flat: children right behind their parents, largest first. */
export function makeTree(tables, sites, hasAll) {
	const root = makeNode('all', -1, 0);
	const flat = { text: [], kind: [], depth: [], start: [], bytes: [], count: [], self: [], site: [] };
	let deepest = 0;

	for (const [site, row] of sites) {
		let node = root;
		const stack = stackOf(tables, site, hasAll);

		if (!stack.length)
			stack.push([tables.sites[site] ? tables.sites[site][0] || '(no stack)' : '(no stack)', NATIVE]);
		root.bytes += row.bytes;
		root.count += row.count;
		for (const [text, kind] of stack) {
			let child = node.children.get(text);

			if (!child) {
				child = makeNode(text, kind, node.depth + 1);
				node.children.set(text, child);
			}
			child.bytes += row.bytes;
			child.count += row.count;
			node = child;
		}
		node.self += row.bytes;
		node.site = site;
	}
	const put = (node, start) => {
		flat.text.push(node.text);
		flat.kind.push(node.kind);
		flat.depth.push(node.depth);
		flat.start.push(start);
		flat.bytes.push(node.bytes);
		flat.count.push(node.count);
		flat.self.push(node.self);
		flat.site.push(node.site);
		deepest = Math.max(deepest, node.depth);
		for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
			put(child, start);
			start += child.bytes;
		}
	};
	put(root, 0);
	flat.deepest = deepest;
	return flat;
}
