/* The address space of a device at an instant, in the worker: segments, blocks, holes. */
import { IS_DIVIDED, IS_ON_DEVICE, IS_CONTINUED, HAS_ADDRESS } from './decode.js';
import { SEGMENT, BLOCK, HOLE, FREE_SEGMENT } from './constants.js';
import { isLiveAt } from './model.js';

function compareItems(all) {
	return (a, b) => all.high[a] - all.high[b] || all.low[a] - all.low[b] || all.size[b] - all.size[a] || a - b;
}

/* From the beginning of one item to an address in halves; exact for all that a device has. */
function distance(all, item, high, low) {
	return (high - all.high[item]) * 4294967296 + (low - all.low[item]);
}

class Entries {
	constructor() {
		this.type = [];
		this.item = []; /* of a hole: what it is in */
		this.offset = []; /* from the beginning of its segment */
		this.size = [];
		this.depth = [];
		this.segment = []; /* number of it */
	}

	add(type, item, offset, size, depth, segment) {
		this.type.push(type);
		this.item.push(item);
		this.offset.push(offset);
		this.size.push(size);
		this.depth.push(depth);
		this.segment.push(segment);
	}
}

/* Puts one outermost item and all that lies in it. Returns the place behind it in `items`. */
function addItem(all, items, at, depth, segment, base, entries, sums) {
	const item = items[at];
	const size = Math.max(all.size[item], 1);
	const start = distance(all, base, all.high[item], all.low[item]);
	const isDivided = (all.flags[item] & IS_DIVIDED) !== 0;
	let next = at + 1;
	let free = start;
	let inside = 0;

	entries.add(depth ? BLOCK : SEGMENT, item, start, size, depth, segment);
	const own = entries.type.length;
	while (next < items.length) {
		const offset = distance(all, base, all.high[items[next]], all.low[items[next]]);

		if (offset >= start + size)
			break;
		if (isDivided && offset > free)
			entries.add(HOLE, item, free, offset - free, depth + 1, segment);
		inside++;
		free = Math.max(free, offset + Math.max(all.size[items[next]], 1));
		next = addItem(all, items, next, depth + 1, segment, base, entries, sums);
	}
	if (!isDivided)
		return next;
	if (free < start + size)
		entries.add(inside ? HOLE : FREE_SEGMENT, item, free, start + size - free, depth + 1, segment);
	for (let i = own; i < entries.type.length; i++)
		if (entries.depth[i] === depth + 1)
			sums.note(entries.type[i], all.owner[item], entries.size[i]);
	return next;
}

/* Holes by pool. */
class HoleSums {
	constructor() {
		this.pools = new Map();
		this.releasable = 0;
		this.holes = 0;
		this.nrHoles = 0;
	}

	note(type, pool, size) {
		if (type === FREE_SEGMENT)
			this.releasable += size;
		if (type !== HOLE)
			return;
		const row = this.pools.get(pool) || { pool, bytes: 0, nr: 0, largest: 0 };

		row.bytes += size;
		row.nr++;
		row.largest = Math.max(row.largest, size);
		this.pools.set(pool, row);
		this.holes += size;
		this.nrHoles++;
	}

	worst() {
		let worst = null;

		for (const row of this.pools.values())
			if (!worst || row.bytes > worst.bytes)
				worst = row;
		return worst;
	}
}

export function spaceAt(model, grouping, change) {
	const all = model.all;
	const items = [];
	const entries = new Entries();
	const holes = new HoleSums();
	let segment = 0;

	model.eachAlive(change, (item) => {
		if (all.device[item] === grouping.device && all.flags[item] & IS_ON_DEVICE && all.flags[item] & HAS_ADDRESS)
			items.push(item);
	});
	items.sort(compareItems(all));
	for (let at = 0; at < items.length; segment++)
		at = addItem(all, items, at, 0, segment, items[at], entries, holes);
	const sums = model.sumsAt(grouping, change);
	const worst = holes.worst();

	return {
		change,
		time: change ? all.time[change - 1] : 0,
		live: sums.live,
		count: sums.count,
		reserved: sums.reserved,
		holes: holes.holes,
		nrHoles: holes.nrHoles,
		releasable: holes.releasable,
		groups: sums.groups,
		worstPool: worst ? worst.pool : 0,
		worstBytes: worst ? worst.bytes : 0,
		worstLargest: worst ? worst.largest : 0,
		nrSegments: segment,
		type: Uint8Array.from(entries.type),
		item: Uint32Array.from(entries.item),
		offset: Float64Array.from(entries.offset),
		size: Float64Array.from(entries.size),
		depth: Uint8Array.from(entries.depth),
		segment: Uint32Array.from(entries.segment),
		group: Uint8Array.from(entries.item, (item) => grouping.groupOf[item]),
		divided: Uint8Array.from(entries.item, (item) => (all.flags[item] & IS_DIVIDED ? 1 : 0)),
		high: Uint32Array.from(entries.item, (item) => all.high[item]),
		low: Uint32Array.from(entries.item, (item) => all.low[item]),
	};
}

/* All that is known of one item at an instant. */
export function describeItem(model, item, change) {
	const all = model.all;
	const tables = model.tables;
	const birth = all.born[item];
	let step = null;

	for (const one of model.beside.steps) {
		if (one.change > birth)
			break;
		step = one.number;
	}
	return {
		item,
		high: all.high[item],
		low: all.low[item],
		size: all.size[item],
		kind: tables.kinds[all.kind[item]] || '?',
		hasAddress: (all.flags[item] & HAS_ADDRESS) !== 0,
		isDivided: (all.flags[item] & IS_DIVIDED) !== 0,
		isLive: isLiveAt(all, item, change),
		isContinued: (all.flags[item] & IS_CONTINUED) !== 0,
		pool: all.pool[item] ? tables.pools[all.pool[item] - 1].name : null,
		owner: all.owner[item] ? tables.pools[all.owner[item] - 1].name : null,
		api: all.api[item] ? tables.names[all.api[item] - 1] : null,
		phase: all.phase[item] ? tables.names[all.phase[item] - 1] : null,
		step,
		category: all.category[item] ? tables.categories[all.category[item] - 1] : null,
		site: all.site[item],
		bornTime: all.time[birth],
		diedTime: all.died[item] < all.nr ? all.time[all.died[item]] : null,
		time: change ? all.time[change - 1] : 0,
	};
}
