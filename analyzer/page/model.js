/* Questions about all changes of a trace, answered in the worker. */
import { BORN, CHARGED, DISCHARGED, RESERVED, STEP, PUSH, POP, FAILED, MARK, RANGE_START, RANGE_END, LOST, IS_LIVE, IS_RESERVED, IS_ON_DEVICE, IS_CONTINUED } from './decode.js';

const STRETCH = 256; /* changes that a wide picture takes together */
const CHUNK = 4096; /* items that are skipped together */
const MOST_GROUPS = 10; /* that are told apart */

/* Whether an item is live after the first `change` changes. */
export function isLiveAt(all, item, change) {
	const toggles = all.toggles.get(item);
	let live = (all.flags[item] & IS_LIVE) !== 0;

	if (toggles)
		for (const at of toggles)
			if (at < change)
				live = all.type[at] === CHARGED;
	return live;
}

/* How many changes have happened at a time. */
export function changesAt(all, time) {
	let low = 0;
	let high = all.nr;

	while (low < high) {
		const middle = (low + high) >>> 1;

		if (all.time[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- What lies beside the items --------------------------------------------------------------- */

function endVisit(found, visit, time) {
	visit.end = time;
	found.visits.push(visit);
}

function followPhase(found, stacks, all, i, field) {
	const thread = all.fields[field];

	if (!stacks.has(thread))
		stacks.set(thread, []);
	const stack = stacks.get(thread);
	if (all.type[i] === PUSH)
		stack.push({ thread, depth: stack.length, name: all.fields[field + 1], start: all.time[i] });
	else if (stack.length)
		endVisit(found, stack.pop(), all.time[i]);
}

/* Steps, phases, failures and marks, in order of their beginning. */
export function findBeside(all) {
	const found = { steps: [], visits: [], failures: [], marks: [], lost: [] };
	const stacks = new Map();
	const ranges = new Map();
	const end = all.nr ? all.time[all.nr - 1] : 0;

	for (let i = 0; i < all.nr; i++) {
		const field = all.what[i];

		switch (all.type[i]) {
		case STEP:
			found.steps.push({ time: all.time[i], number: all.fields[field], change: i + 1 });
			break;
		case PUSH:
		case POP:
			followPhase(found, stacks, all, i, field);
			break;
		case FAILED:
			found.failures.push({ time: all.time[i], device: all.fields[field], size: all.fields[field + 1], change: i + 1 });
			break;
		case MARK:
			found.marks.push({ time: all.time[i], name: all.fields[field + 1] });
			break;
		case RANGE_START:
			ranges.set(all.fields[field], { thread: -1, depth: ranges.size, name: all.fields[field + 1], start: all.time[i] });
			break;
		case RANGE_END:
			if (ranges.has(all.fields[field])) {
				endVisit(found, ranges.get(all.fields[field]), all.time[i]);
				ranges.delete(all.fields[field]);
			}
			break;
		case LOST:
			found.lost.push({ time: all.time[i], events: all.fields[field] });
			break;
		}
	}
	for (const stack of stacks.values())
		for (const visit of stack)
			endVisit(found, visit, end);
	for (const visit of ranges.values())
		endVisit(found, visit, end);
	found.visits.sort((a, b) => a.start - b.start || a.depth - b.depth);
	return found;
}

/* ---- Sums over time --------------------------------------------------------------------------- */

/* Running sums of one device; `groupOf`: of each item. */
class Sums {
	constructor(all, device, groupOf, nrGroups) {
		this.all = all;
		this.device = device;
		this.groupOf = groupOf;
		this.live = 0;
		this.count = 0;
		this.reserved = 0;
		this.groups = new Float64Array(nrGroups);
	}

	/* All of it, to a row of a Float64Array and back. */
	save(array, at) {
		array[at] = this.live;
		array[at + 1] = this.count;
		array[at + 2] = this.reserved;
		array.set(this.groups, at + 3);
	}

	restore(array, at) {
		this.live = array[at];
		this.count = array[at + 1];
		this.reserved = array[at + 2];
		this.groups.set(array.subarray(at + 3, at + 3 + this.groups.length));
	}

	charge(item, sign) {
		if (!(this.all.flags[item] & IS_ON_DEVICE))
			return;
		const size = sign * this.all.size[item];

		this.live += size;
		this.count += sign;
		this.groups[this.groupOf[item]] += size;
	}

	apply(i) {
		const all = this.all;
		const type = all.type[i];
		const what = all.what[i];

		if (type > RESERVED)
			return;
		if (type === RESERVED) {
			if (all.fields[what] === this.device)
				this.reserved += all.fields[what + 1];
			return;
		}
		if (all.device[what] !== this.device)
			return;
		if (type === CHARGED || type === DISCHARGED) {
			this.charge(what, type === CHARGED ? 1 : -1);
			return;
		}
		const sign = type === BORN ? 1 : -1;
		if (all.flags[what] & IS_RESERVED)
			this.reserved += sign * all.size[what];
		if (type === BORN ? all.flags[what] & IS_LIVE : isLiveAt(all, what, i))
			this.charge(what, sign);
	}
}

/*
 * Of every stretch of changes: the sums before it; the most reserved at an instant in it; and its
 * first instant with the most live bytes, with the sums there. An instant is behind the last change
 * of one time; of a stretch without any, `change` is 0.
 */
class Stretches {
	constructor(sums) {
		const all = sums.all;
		const nr = Math.ceil(all.nr / STRETCH);

		this.width = 3 + sums.groups.length;
		this.nr = nr;
		this.before = new Float64Array(nr * this.width);
		this.most = new Float64Array(nr * this.width);
		this.change = new Uint32Array(nr);
		this.reserved = new Float64Array(nr);
		for (let i = 0; i < all.nr; i++) {
			const stretch = Math.floor(i / STRETCH);

			if (i % STRETCH === 0)
				sums.save(this.before, stretch * this.width);
			sums.apply(i);
			if (i + 1 === all.nr || all.time[i + 1] !== all.time[i])
				this.note(stretch, i + 1, sums);
		}
	}

	note(stretch, change, sums) {
		if (sums.reserved > this.reserved[stretch])
			this.reserved[stretch] = sums.reserved;
		if (this.change[stretch] && sums.live <= this.most[stretch * this.width])
			return;
		this.change[stretch] = change;
		sums.save(this.most, stretch * this.width);
	}
}

/* Columns of a picture while they are filled in, in order. */
class Series {
	constructor(from, to, columns, nrGroups) {
		this.result = {
			from, to, columns, nrGroups,
			live: new Float64Array(columns),
			reserved: new Float64Array(columns),
			change: new Uint32Array(columns),
			groups: new Float64Array(columns * nrGroups),
		};
	}

	/* Whether an instant is the one to be shown, so far; `change` 0 is one, too. */
	isMost(column, live) {
		return live > this.result.live[column] || !this.result.change[column];
	}

	note(column, change, reserved, live, groups) {
		const result = this.result;

		if (reserved > result.reserved[column])
			result.reserved[column] = reserved;
		if (!this.isMost(column, live))
			return;
		result.live[column] = live;
		result.change[column] = change;
		result.groups.set(groups, column * result.nrGroups);
	}
}

export class Model {
	constructor(all, tables) {
		this.all = all;
		this.tables = tables;
		this.beside = findBeside(all);
		this.grouping = null;
		this.totals = new Map(); /* by device */
		this.chunkDied = new Uint32Array(Math.ceil(all.nrItems / CHUNK));
		for (let i = 0; i < all.nrItems; i++) {
			const chunk = Math.floor(i / CHUNK);

			if (all.died[i] > this.chunkDied[chunk])
				this.chunkDied[chunk] = all.died[i];
		}
	}

	/* Calls visit(item) for every item that is there after so many changes. */
	eachAlive(change, visit) {
		const all = this.all;

		for (let chunk = 0; chunk < this.chunkDied.length; chunk++) {
			const first = chunk * CHUNK;
			const last = Math.min(first + CHUNK, all.nrItems);

			if (all.born[first] >= change)
				break;
			if (this.chunkDied[chunk] < change)
				continue;
			for (let i = first; i < last && all.born[i] < change; i++)
				if (all.died[i] >= change)
					visit(i);
		}
	}

	keyOf(by) {
		return { site: this.all.site, pool: this.all.pool, kind: this.all.kind, phase: this.all.phase, category: this.all.category }[by];
	}

	/* The keys that are told apart: those with most bytes at the peak, most first. */
	chooseKeys(device, by, peak) {
		const bytes = new Map();
		const key = this.keyOf(by);

		this.eachAlive(peak, (item) => {
			if (this.all.device[item] === device && this.all.flags[item] & IS_ON_DEVICE && isLiveAt(this.all, item, peak))
				bytes.set(key[item], (bytes.get(key[item]) || 0) + this.all.size[item]);
		});
		return [...bytes].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_GROUPS).map((pair) => pair[0]);
	}

	/* keys: NULL, or those of the first picture. The last group is all else. */
	group(device, by, peak, keys) {
		const name = `${device} ${by}`;

		if (this.grouping && this.grouping.name === name)
			return this.grouping;
		const chosen = keys || this.chooseKeys(device, by, peak);
		const place = new Map(chosen.map((key, i) => [key, i]));
		const key = this.keyOf(by);
		const groupOf = new Uint8Array(this.all.nrItems);

		for (let i = 0; i < groupOf.length; i++) {
			const found = place.get(key[i]);

			groupOf[i] = found === undefined ? chosen.length : found;
		}
		const stretches = new Stretches(new Sums(this.all, device, groupOf, chosen.length + 1));

		this.grouping = { name, device, by, keys: chosen, groupOf, stretches };
		return this.grouping;
	}

	sumsAt(grouping, change) {
		const sums = new Sums(this.all, grouping.device, grouping.groupOf, grouping.keys.length + 1);
		const { stretches } = grouping;
		const stretch = Math.min(Math.floor(change / STRETCH), stretches.nr - 1);

		if (stretch < 0)
			return sums;
		sums.restore(stretches.before, stretch * stretches.width);
		for (let i = stretch * STRETCH; i < change; i++)
			sums.apply(i);
		return sums;
	}

	/* Columns of a picture: of each the instant with most live bytes. Instants lie between events. */
	series(grouping, from, to, columns) {
		const all = this.all;
		const { stretches } = grouping;
		const series = new Series(from, to, columns, grouping.keys.length + 1);
		const scale = columns / Math.max(to - from, 1);
		let i = changesAt(all, from);
		let sums = this.sumsAt(grouping, i);

		for (let column = 0; column < columns; column++) {
			const end = column + 1 < columns ? from + (column + 1) / scale : to;

			series.note(column, i, sums.reserved, sums.live, sums.groups);
			while (i < all.nr && all.time[i] < end) {
				const behind = this.skip(stretches, series, column, i, end);

				if (behind > i) {
					i = behind;
					sums = this.sumsAt(grouping, i);
					continue;
				}
				const time = all.time[i];

				while (i < all.nr && all.time[i] === time)
					sums.apply(i++);
				series.note(column, i, sums.reserved, sums.live, sums.groups);
			}
		}
		return series.result;
	}

	/* Stretches that begin here and lie wholly in the column, with the ends of their last events. */
	skip(stretches, series, column, first, end) {
		const all = this.all;
		let i = first;

		while (i % STRETCH === 0 && i + STRETCH < all.nr && all.time[i + STRETCH] < end && all.time[i + STRETCH] !== all.time[i + STRETCH - 1]) {
			const stretch = i / STRETCH;
			const at = stretch * stretches.width;

			series.note(column, stretches.change[stretch], stretches.reserved[stretch], stretches.most[at],
				stretches.most.subarray(at + 3, at + stretches.width));
			i += STRETCH;
		}
		return i;
	}

	/* Sums of each site, live after so many changes. */
	sitesAt(device, change) {
		const sites = new Map();

		this.eachAlive(change, (item) => {
			if (this.all.device[item] !== device || !(this.all.flags[item] & IS_ON_DEVICE) || !isLiveAt(this.all, item, change))
				return;
			const row = sites.get(this.all.site[item]) || { bytes: 0, count: 0 };

			row.bytes += this.all.size[item];
			row.count++;
			sites.set(this.all.site[item], row);
		});
		return sites;
	}

	/* Of all the trace: how often something of each site became live, and its bytes. */
	siteTotals(device) {
		const all = this.all;
		const totals = new Map();

		if (this.totals.has(device))
			return this.totals.get(device);
		this.totals.set(device, totals);
		const add = (item) => {
			const row = totals.get(all.site[item]) || { bytes: 0, count: 0 };

			row.bytes += all.size[item];
			row.count++;
			totals.set(all.site[item], row);
		};
		const isOurs = (item) => all.device[item] === device && (all.flags[item] & IS_ON_DEVICE) !== 0;

		for (let i = 0; i < all.nrItems; i++)
			if (isOurs(i) && (all.flags[i] & (IS_LIVE | IS_CONTINUED)) === IS_LIVE)
				add(i);
		for (const [item, toggles] of all.toggles)
			for (const at of toggles)
				if (isOurs(item) && all.type[at] === CHARGED)
					add(item);
		return totals;
	}
}
