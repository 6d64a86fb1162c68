/* Parts of the page to arrays: docs/page-format.md, "Changes". Runs in the worker. */

export const NEVER = 0xffffffff;

export const BORN = 0;
export const DIED = 1;
export const CHARGED = 2;
export const DISCHARGED = 3;
export const RESERVED = 4;
export const STEP = 5;
export const PUSH = 6;
export const POP = 7;
export const FAILED = 8;
export const MARK = 9;
export const RANGE_START = 10;
export const RANGE_END = 11;
export const LOST = 12;

export const IS_LIVE = 1;
export const IS_RESERVED = 2;
export const IS_DIVIDED = 4;
export const IS_ON_DEVICE = 8;
export const IS_CONTINUED = 16;
export const HAS_ADDRESS = 32;
export const IS_INSIDE = 64;

const NR_FIELDS = [0, 0, 0, 0, 2, 1, 2, 1, 2, 2, 2, 1, 1];

export async function inflate(text) {
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);

	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Column {
	constructor(bytes, at, end) {
		this.bytes = bytes;
		this.at = at;
		this.end = end;
	}

	/* LEB128; exact up to 2^53. */
	next() {
		const bytes = this.bytes;
		let byte = bytes[this.at++];
		let value = byte & 127;
		let scale = 128;

		while (byte & 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		}
		return value;
	}

	nextSigned() {
		const value = this.next();

		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

/* All changes of a trace. Numbers of items index the arrays below `items`. */
export function makeChanges(nrChanges, nrItems) {
	return {
		nr: 0,
		time: new Float64Array(nrChanges),
		type: new Uint8Array(nrChanges),
		what: new Uint32Array(nrChanges), /* an item, or a place in `fields` */
		fields: [],
		nrItems: 0,
		high: new Uint32Array(nrItems),
		low: new Uint32Array(nrItems),
		size: new Float64Array(nrItems),
		flags: new Uint8Array(nrItems),
		kind: new Uint8Array(nrItems),
		device: new Uint16Array(nrItems),
		site: new Uint32Array(nrItems),
		pool: new Uint16Array(nrItems),
		owner: new Uint16Array(nrItems),
		api: new Uint32Array(nrItems),
		phase: new Uint32Array(nrItems),
		born: new Uint32Array(nrItems), /* which change it was */
		died: new Uint32Array(nrItems).fill(NEVER),
		toggles: new Map(), /* of an item: changes at which it became live, or no longer is */
		lastTime: 0,
		lastHigh: 0,
		lastLow: 0,
	};
}

function decodeBirths(all, nr, column, shifts) {
	const [flags, kinds, devices, sites, pools, owners, apis, phases, high, low, sizes] = column;
	const lowScale = 2 ** shifts[0];
	const sizeScale = 2 ** shifts[1];

	for (let i = all.nrItems; i < all.nrItems + nr; i++) {
		all.flags[i] = flags.next();
		all.kind[i] = kinds.next();
		all.device[i] = devices.next();
		all.site[i] = sites.next();
		all.pool[i] = pools.next();
		all.owner[i] = owners.next();
		all.api[i] = apis.next();
		all.phase[i] = phases.next();
		all.lastHigh += high.nextSigned();
		all.lastLow += low.nextSigned() * lowScale;
		all.high[i] = all.lastHigh;
		all.low[i] = all.lastLow;
		all.size[i] = sizes.next() * sizeScale;
	}
}

function addToggle(all, item, change) {
	if (!all.toggles.has(item))
		all.toggles.set(item, []);
	all.toggles.get(item).push(change);
}

function decodeChanges(all, nr, types, times, items, fields) {
	let item = all.nrItems;

	for (let i = all.nr; i < all.nr + nr; i++) {
		const type = types.next();

		all.lastTime += times.next();
		all.time[i] = all.lastTime;
		all.type[i] = type;
		if (type === BORN) {
			all.born[item] = i;
			all.what[i] = item++;
		} else if (type <= DISCHARGED) {
			all.what[i] = item - items.next();
			if (type === DIED)
				all.died[all.what[i]] = i;
			else
				addToggle(all, all.what[i], i);
		} else {
			all.what[i] = all.fields.length;
			for (let k = 0; k < NR_FIELDS[type]; k++)
				all.fields.push(type === RESERVED && k ? fields.nextSigned() : fields.next());
		}
	}
}

export function decodePart(all, bytes) {
	const head = new Column(bytes, 0, bytes.length);
	const [nrChanges, nrBirths, lowShift, sizeShift] =
		[head.next(), head.next(), head.next(), head.next()];
	const columns = [];

	for (let i = 0; i < 15; i++) {
		const size = head.next();

		columns.push(new Column(bytes, head.at, head.at + size));
		head.at += size;
	}
	decodeBirths(all, nrBirths, columns.slice(4), [lowShift, sizeShift]);
	decodeChanges(all, nrChanges, columns[0], columns[1], columns[2], columns[3]);
	all.nr += nrChanges;
	all.nrItems += nrBirths;
}
