/* Numbers as people read them: the same texts as units.c. */

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function threeDigits(value) {
	return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

export function bytesText(bytes) {
	let value = Math.abs(bytes);
	let unit = 0;

	if (value < 1000)
		return `${bytes} B`;
	while (value >= 999.5 && unit + 1 < BYTE_UNITS.length) {
		value /= 1024;
		unit++;
	}
	return `${bytes < 0 ? '-' : ''}${threeDigits(value)} ${BYTE_UNITS[unit]}`;
}

export function timeText(ns) {
	const two = (number) => String(number).padStart(2, '0');
	const rounded = Math.round(ns / 1e9);

	if (ns === 0)
		return '0 s';
	if (ns < 1000)
		return `${ns} ns`;
	if (ns < 999.5e3)
		return `${threeDigits(ns / 1e3)} us`;
	if (ns < 999.5e6)
		return `${threeDigits(ns / 1e6)} ms`;
	if (ns < 59.95e9)
		return `${threeDigits(ns / 1e9)} s`;
	if (rounded < 3600)
		return `${Math.floor(rounded / 60)}m ${two(rounded % 60)}s`;
	const minutes = Math.floor((Math.floor(ns / 1e9) + 30) / 60);
	return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
}

export function countText(number) {
	return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

export function shareText(part, whole) {
	const percent = whole ? 100 * part / whole : 0;

	return part && percent < 0.5 ? '<1 %' : `${percent.toFixed(0)} %`;
}

/* Of two halves, as C writes it. */
export function addressText(high, low) {
	return '0x' + (high ? high.toString(16) + low.toString(16).padStart(8, '0') : low.toString(16));
}

/* A round distance of ticks, so that there are at most so many. */
export function tickBytes(range, most) {
	let step = 1;

	while (range / step > most)
		step *= 2;
	return step;
}

export function tickTime(range, most) {
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500];
	const units = [1, 1e3, 1e6];

	for (const unit of units)
		for (const step of steps)
			if (range / (step * unit) <= most)
				return step * unit;
	for (const seconds of [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800])
		if (range / (seconds * 1e9) <= most)
			return seconds * 1e9;
	let hours = 3600e9;
	while (range / hours > most)
		hours *= 2;
	return hours;
}

/* At a tick: no more digits than the distance needs. */
export function tickTimeText(ns, step) {
	const decimals = (unit) => Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));

	if (ns === 0)
		return '0';
	if (step >= 1e9)
		return ns < 60e9 ? `${ns / 1e9} s` : timeText(ns);
	if (ns >= 60e9)
		return `${Math.floor(ns / 60e9)}m ${(ns % 60e9 / 1e9).toFixed(decimals(1e9))}s`;
	if (ns >= 1e9)
		return `${(ns / 1e9).toFixed(decimals(1e9))} s`;
	if (ns >= 1e6)
		return `${(ns / 1e6).toFixed(decimals(1e6))} ms`;
	if (ns >= 1e3)
		return `${(ns / 1e3).toFixed(decimals(1e3))} us`;
	return `${ns} ns`;
}
