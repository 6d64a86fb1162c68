/* Memory over time: areas by group, reserved, capacity, steps and phases; below it a strip of all. */
import { Picture, fitText } from './dom.js';
import { Bands } from './bands.js';
import { palette } from './palette.js';
import { bytesText, timeText, tickBytes, tickTime, tickTimeText } from './units.js';

const CHART_LEFT = 66;
const RIGHT = 12;
const AXIS = 24;
const CHART_ROW = 17; /* of phases */
const MOST_ROWS = 4;
const LEAST_SPAN = 10; /* ns */
const CAPACITY_NEAR = 1.6; /* times the highest level: then there is room for its line */

export class Chart {
	/* tell: onWindow(from, to), onPick(time), onHover(column data or null) */
	constructor(canvas, strip, tell) {
		this.tell = tell;
		this.bands = new Bands();
		this.stripBands = new Bands();
		this.picture = new Picture(canvas, (...args) => this.draw(...args));
		this.strip = new Picture(strip, (...args) => this.drawStrip(...args));
		this.reset();
		this.listen(canvas);
		this.listenStrip(strip);
	}

	reset() {
		this.start = 0; /* all of the time there is to see */
		this.end = 1;
		this.from = 0;
		this.to = 1;
		this.full = null; /* series of the whole time */
		this.series = null; /* of the window */
		this.visits = [];
		this.rows = [];
		this.steps = [];
		this.marks = [];
		this.names = [];
		this.capacity = 0;
		this.top = 1;
		this.at = null;
		this.hover = null;
		this.brush = null;
	}

	redraw() {
		this.picture.redraw();
		this.strip.redraw();
	}

	/* ---- Places --------------------------------------------------------------------------- */

	get plotLeft() {
		return CHART_LEFT;
	}

	get plotWidth() {
		return Math.max(1, this.picture.width - CHART_LEFT - RIGHT);
	}

	get plotTop() {
		return 18 + (this.steps.length ? CHART_ROW : 0) + this.rows.length * CHART_ROW;
	}

	x(time) {
		return CHART_LEFT + (time - this.from) / (this.to - this.from) * this.plotWidth;
	}

	timeAt(x) {
		const share = Math.min(1, Math.max(0, (x - CHART_LEFT) / this.plotWidth));

		return this.from + share * (this.to - this.from);
	}

	/* The window, kept inside the trace. */
	show(from, to, isQuiet) {
		const span = Math.min(this.end - this.start, Math.max(LEAST_SPAN, to - from));

		this.from = Math.max(this.start, Math.min(from, this.end - span));
		this.to = this.from + span;
		this.redraw();
		if (!isQuiet)
			this.tell.onWindow(this.from, this.to);
	}

	showAll() {
		this.show(this.start, this.end);
	}

	zoom(factor, around) {
		const center = around === undefined ? (this.at !== null && this.at >= this.from && this.at <= this.to ? this.at : (this.from + this.to) / 2) : around;

		this.show(center - (center - this.from) * factor, center + (this.to - center) * factor);
	}

	move(share) {
		const by = share * (this.to - this.from);

		this.show(this.from + by, this.to + by);
	}

	/* ---- Data ----------------------------------------------------------------------------- */

	setPhases(visits) {
		const rows = new Map();

		for (const visit of visits) {
			const key = `${visit.thread} ${visit.depth}`;

			rows.set(key, (rows.get(key) || 0) + visit.end - visit.start);
			visit.row = key;
		}
		/* Rows stay where they are while the window moves; the first ones seen are the first. */
		for (const key of rows.keys())
			if (!this.rows.includes(key) && this.rows.length < MOST_ROWS)
				this.rows.push(key);
		this.rows.sort((a, b) => {
			const [threadA, depthA] = a.split(' ').map(Number);
			const [threadB, depthB] = b.split(' ').map(Number);

			return threadA - threadB || depthA - depthB;
		});
		this.visits = visits;
		this.redraw();
	}

	/* Levels at a time, from the finest series that has it. */
	levelsAt(time) {
		const series = this.series && time >= this.series.from && time <= this.series.to ? this.series : this.full;

		if (!series)
			return null;
		const column = Math.min(series.columns - 1, Math.max(0, Math.floor((time - series.from) / (series.to - series.from) * series.columns)));
		const groups = [];

		for (let i = 0; i < series.nrGroups; i++)
			groups.push(series.groups[column * series.nrGroups + i]);
		return { time, live: series.live[column], reserved: series.reserved[column], groups, change: series.change ? series.change[column] : 0 };
	}

	/* ---- Drawing -------------------------------------------------------------------------- */

	draw(context, width, height) {
		const colors = palette();
		const top = this.plotTop;
		const bottom = height - AXIS;
		const y = (bytes) => bottom - bytes / this.top * (bottom - top);

		context.font = '12px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
		this.drawGrid(context, width, top, bottom, y, colors);
		context.save();
		context.beginPath();
		context.rect(CHART_LEFT, 0, this.plotWidth, bottom);
		context.clip();
		this.drawAreas(context, y, bottom, colors);
		this.drawSteps(context, bottom, colors);
		this.drawPhases(context, colors);
		this.drawMarks(context, top, bottom, colors);
		this.drawCursor(context, top, bottom, y, colors);
		context.restore();
	}

	drawGrid(context, width, top, bottom, y, colors) {
		const step = tickBytes(this.top, Math.max(2, Math.floor((bottom - top) / 46)));
		const timeStep = tickTime(this.to - this.from, Math.max(2, Math.floor(this.plotWidth / 110)));

		context.lineWidth = 1;
		context.textAlign = 'right';
		for (let bytes = 0; bytes <= this.top; bytes += step) {
			const at = Math.round(y(bytes)) + 0.5;

			context.strokeStyle = colors.grid;
			context.beginPath();
			context.moveTo(CHART_LEFT, at);
			context.lineTo(CHART_LEFT + this.plotWidth, at);
			context.stroke();
			context.fillStyle = colors.axis;
			context.fillText(bytes ? bytesText(bytes) : '0', CHART_LEFT - 8, Math.min(at, bottom - 1));
		}
		context.textAlign = 'center';
		for (let time = Math.ceil(this.from / timeStep) * timeStep; time <= this.to; time += timeStep) {
			const at = Math.round(this.x(time)) + 0.5;
			const text = tickTimeText(time, timeStep);
			const half = context.measureText(text).width / 2;

			context.strokeStyle = colors.axis;
			context.beginPath();
			context.moveTo(at, bottom);
			context.lineTo(at, bottom + 4);
			context.stroke();
			context.fillStyle = colors.axis;
			context.fillText(text, Math.max(half, Math.min(at, width - half)), bottom + 14);
		}
	}

	/* Calls each(series, first column, last column) for the stretches that are known best. */
	eachStretch(each) {
		const cut = (series, from, to) => {
			const scale = series.columns / (series.to - series.from);
			const first = Math.max(0, Math.floor((from - series.from) * scale));
			const last = Math.min(series.columns, Math.ceil((to - series.from) * scale));

			if (last > first)
				each(series, first, last, Math.max(from, series.from), Math.min(to, series.to));
		};

		if (!this.series || this.series.to <= this.from || this.series.from >= this.to) {
			if (this.full)
				cut(this.full, this.from, this.to);
			return;
		}
		if (this.full && this.series.from > this.from)
			cut(this.full, this.from, this.series.from);
		cut(this.series, this.from, this.to);
		if (this.full && this.series.to < this.to)
			cut(this.full, this.series.to, this.to);
	}

	drawAreas(context, y, bottom, colors) {
		const top = this.plotTop;
		const scale = this.picture.canvas.width / this.picture.width;
		const width = Math.round(this.plotWidth * scale);
		const span = this.to - this.from;

		this.bands.begin(Math.max(1, width), Math.max(1, Math.round((bottom - top) * scale)));
		this.eachStretch((series, first, last, from, to) => {
			const each = series.columns / (series.to - series.from);

			this.bands.put(series, Math.floor((from - this.from) / span * width), Math.ceil((to - this.from) / span * width),
				(x) => (this.from + x / width * span - series.from) * each + 1e-6, this.top);
		});
		this.bands.end(context, CHART_LEFT, top, this.plotWidth, bottom - top);
		this.eachStretch((series, first, last) => {
			this.strokeLevel(context, series, first, last, (column) => this.x(series.from + column * (series.to - series.from) / series.columns), y, colors.reserved);
		});
		if (this.capacity && this.capacity <= this.top) {
			context.strokeStyle = colors.capacity;
			context.setLineDash([6, 4]);
			context.beginPath();
			context.moveTo(CHART_LEFT, Math.round(y(this.capacity)) + 0.5);
			context.lineTo(CHART_LEFT + this.plotWidth, Math.round(y(this.capacity)) + 0.5);
			context.stroke();
			context.setLineDash([]);
			context.textAlign = 'left';
			this.putLabel(context, `capacity ${bytesText(this.capacity)}`, CHART_LEFT + 6, y(this.capacity) + 11, colors.capacity, colors.panel);
		} else if (this.capacity) {
			context.textAlign = 'left';
			this.putLabel(context, `↑ capacity ${bytesText(this.capacity)}`, CHART_LEFT + 6, this.plotTop + 9, colors.capacity, colors.panel);
		}
	}

	/* One stroke for each column of pixels: down from the level before, and on. */
	strokeLevel(context, series, first, last, x, y, color) {
		let before = y(series.reserved[first]);

		context.fillStyle = color;
		for (let i = first; i < last; i++) {
			const level = y(series.reserved[i]);
			const left = x(i);

			if (Math.abs(level - before) > 1)
				context.fillRect(left - 0.75, Math.min(level, before) - 0.75, 1.5, Math.abs(level - before) + 1.5);
			let end = i + 1;

			while (end < last && series.reserved[end] === series.reserved[i])
				end++;
			context.fillRect(left, level - 0.75, x(end) - left, 1.5);
			before = level;
			i = end - 1;
		}
	}

	drawSteps(context, bottom, colors) {
		if (!this.steps.length)
			return;
		const space = 34;
		let last = -Infinity;
		let lastLine = -Infinity;
		const top = 18;

		context.textAlign = 'left';
		context.fillStyle = colors.axis;
		context.strokeStyle = colors.step;
		context.lineWidth = 1;
		let first = this.firstStep(this.from);
		for (let i = first; i < this.steps.length && this.steps[i].time <= this.to; i++) {
			const at = Math.round(this.x(this.steps[i].time)) + 0.5;

			if (at - lastLine < 3)
				continue;
			lastLine = at;
			const isNamed = at - last >= space;

			context.beginPath();
			context.moveTo(at, top + (isNamed ? 2 : 10));
			context.lineTo(at, top + CHART_ROW - 2);
			context.stroke();
			if (isNamed) {
				const text = (last === -Infinity ? 'step ' : '') + this.steps[i].number;

				context.fillText(text, at + 3, top + 7);
				last = at + context.measureText(text).width - space + 16 > at ? at + context.measureText(text).width - space + 16 : at;
			}
		}
	}

	firstStep(time) {
		let low = 0;
		let high = this.steps.length;

		while (low < high) {
			const middle = (low + high) >>> 1;

			if (this.steps[middle].time < time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	drawPhases(context, colors) {
		const top = 18 + (this.steps.length ? CHART_ROW : 0);
		const turn = new Map();

		context.textAlign = 'left';
		for (const visit of this.visits) {
			const row = this.rows.indexOf(visit.row);

			if (row < 0 || visit.end < this.from || visit.start > this.to)
				continue;
			const left = Math.max(CHART_LEFT, this.x(visit.start));
			const right = Math.min(CHART_LEFT + this.plotWidth, Math.max(this.x(visit.end), left + 1));
			const parity = (turn.get(row) || 0) + 1;

			turn.set(row, parity);
			context.fillStyle = colors.phases[parity % 2];
			context.fillRect(left, top + row * CHART_ROW, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), CHART_ROW - 2);
			if (right - left > 26) {
				const name = visit.nr > 1 ? `${visit.nr} phases: zoom in` : this.names[visit.name - 1] || '?';

				context.fillStyle = colors.text;
				context.fillText(fitText(context, name, right - left - 8), left + 4, top + row * CHART_ROW + CHART_ROW / 2 - 1);
			}
		}
	}

	drawMarks(context, top, bottom, colors) {
		let taken = [Infinity, -Infinity]; /* by the text before */

		for (const mark of this.marks) {
			const at = Math.round(this.x(mark.time)) + 0.5;

			if (at < CHART_LEFT - 1 || at > CHART_LEFT + this.plotWidth + 1)
				continue;
			context.strokeStyle = mark.isAlarm ? colors.failure : colors.cursor;
			context.lineWidth = mark.isAlarm ? 1.5 : 1;
			context.setLineDash(mark.isAlarm ? [] : [2, 3]);
			context.beginPath();
			context.moveTo(at, 14);
			context.lineTo(at, bottom);
			context.stroke();
			context.setLineDash([]);
			const half = context.measureText(mark.text).width / 2 + 4;
			const place = Math.max(CHART_LEFT + half, Math.min(at, CHART_LEFT + this.plotWidth - half));
			const isOver = place + half > taken[0] && place - half < taken[1];

			if (isOver && mark.isAlarm)
				continue;
			if (!isOver)
				taken = [place - half, place + half];
			context.textAlign = 'center';
			this.putLabel(context, mark.text, isOver ? at - half - 2 : place, isOver ? top + 10 : 8, mark.isAlarm ? colors.failure : colors.text, colors.panel);
		}
	}

	putLabel(context, text, x, y, color, ground) {
		const width = context.measureText(text).width;
		const left = context.textAlign === 'center' ? x - width / 2 : x;

		context.globalAlpha = 0.85;
		context.fillStyle = ground;
		context.fillRect(left - 3, y - 8, width + 6, 16);
		context.globalAlpha = 1;
		context.fillStyle = color;
		context.textAlign = 'left';
		context.fillText(text, left, y);
	}

	drawCursor(context, top, bottom, y, colors) {
		if (this.at !== null) {
			const at = Math.round(this.x(this.at)) + 0.5;

			context.strokeStyle = colors.cursor;
			context.lineWidth = 2;
			context.beginPath();
			context.moveTo(at, top - 4);
			context.lineTo(at, bottom);
			context.stroke();
			context.fillStyle = colors.cursor;
			context.beginPath();
			context.moveTo(at - 5, top - 6);
			context.lineTo(at + 5, top - 6);
			context.lineTo(at, top + 2);
			context.fill();
		}
		if (this.brush) {
			const left = this.x(Math.min(this.brush.from, this.brush.to));
			const right = this.x(Math.max(this.brush.from, this.brush.to));

			context.fillStyle = colors.window;
			context.fillRect(left, top, right - left, bottom - top);
		}
		if (this.hover !== null && !this.brush)
			this.drawHover(context, top, bottom, colors);
	}

	drawHover(context, top, bottom, colors) {
		const levels = this.levelsAt(this.hover);
		const at = Math.round(this.x(this.hover)) + 0.5;

		context.strokeStyle = colors.axis;
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(at, top);
		context.lineTo(at, bottom);
		context.stroke();
		if (!levels)
			return;
		const text = `${timeText(Math.round(this.hover))} · live ${bytesText(levels.live)} · reserved ${bytesText(levels.reserved)}`;
		const width = context.measureText(text).width;

		context.textAlign = 'left';
		this.putLabel(context, text, at + width + 16 > CHART_LEFT + this.plotWidth ? at - width - 8 : at + 8, top + 26, colors.text, colors.panel);
	}

	drawStrip(context, width, height) {
		const colors = palette();
		const series = this.full;

		if (!series)
			return;
		const x = (column) => CHART_LEFT + column / series.columns * this.plotWidth;
		const highest = series.reserved.reduce((most, bytes) => Math.max(most, bytes), 1);
		const y = (bytes) => height - bytes / highest * (height - 4);
		const place = (time) => CHART_LEFT + (time - this.start) / (this.end - this.start) * this.plotWidth;

		const scale = this.strip.canvas.width / this.strip.width;
		const pixels = Math.max(1, Math.round(this.plotWidth * scale));
		const drawn = `${this.strip.canvas.width} ${document.documentElement.dataset.theme}`;

		/* It changes seldom. */
		if (this.stripSeries !== series || this.stripDrawn !== drawn) {
			this.stripBands.begin(pixels, Math.round(height * scale));
			this.stripBands.put(series, 0, pixels, (at) => at / pixels * series.columns, highest * height / (height - 4));
			this.stripSeries = series;
			this.stripDrawn = drawn;
		}
		this.stripBands.end(context, CHART_LEFT, 0, this.plotWidth, height);
		this.strokeLevel(context, series, 0, series.columns, x, y, colors.reserved);
		context.fillStyle = colors.shade;
		context.fillRect(CHART_LEFT, 0, place(this.from) - CHART_LEFT, height);
		context.fillRect(place(this.to), 0, CHART_LEFT + this.plotWidth - place(this.to), height);
		context.strokeStyle = colors.axis;
		context.lineWidth = 1;
		context.strokeRect(Math.round(place(this.from)) + 0.5, 0.5, Math.max(2, Math.round(place(this.to) - place(this.from)) - 1), height - 1);
		for (const mark of this.marks) {
			context.fillStyle = mark.isAlarm ? colors.failure : colors.cursor;
			context.fillRect(place(mark.time) - 0.5, 0, mark.isAlarm ? 2 : 1, height);
		}
	}

	/* ---- Hands ---------------------------------------------------------------------------- */

	listen(canvas) {
		const timeOf = (event) => this.timeAt(event.clientX - canvas.getBoundingClientRect().left);
		let down = null;

		canvas.addEventListener('pointerdown', (event) => {
			if (event.button !== 0)
				return;
			down = { x: event.clientX, time: timeOf(event) };
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', (event) => {
			this.hover = timeOf(event);
			if (down && (this.brush || Math.abs(event.clientX - down.x) > 4))
				this.brush = { from: down.time, to: timeOf(event) };
			this.picture.redraw();
			this.tell.onHover(this.levelsAt(this.hover));
		});
		canvas.addEventListener('pointerup', (event) => {
			if (down && this.brush)
				this.show(Math.min(this.brush.from, this.brush.to), Math.max(this.brush.from, this.brush.to));
			else if (down)
				this.tell.onPick(timeOf(event));
			this.brush = null;
			down = null;
			this.picture.redraw();
		});
		canvas.addEventListener('pointercancel', () => {
			this.brush = null;
			down = null;
			this.picture.redraw();
		});
		canvas.addEventListener('pointerleave', () => {
			this.hover = null;
			this.picture.redraw();
			this.tell.onHover(null);
		});
		canvas.addEventListener('dblclick', () => this.showAll());
		canvas.addEventListener('wheel', (event) => {
			if (event.ctrlKey || event.metaKey) {
				event.preventDefault();
				this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), timeOf(event));
			} else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
				event.preventDefault();
				this.move((event.deltaX || event.deltaY) / this.plotWidth);
			}
		}, { passive: false });
	}

	listenStrip(strip) {
		const timeOf = (event) => (event.clientX - strip.getBoundingClientRect().left - CHART_LEFT) / this.plotWidth * (this.end - this.start) + this.start;
		let grip = null;

		strip.addEventListener('pointerdown', (event) => {
			const time = timeOf(event);
			const span = this.to - this.from;

			if (time < this.from || time > this.to)
				this.show(time - span / 2, time + span / 2);
			grip = time - this.from;
			strip.setPointerCapture(event.pointerId);
		});
		strip.addEventListener('pointermove', (event) => {
			if (grip !== null)
				this.show(timeOf(event) - grip, timeOf(event) - grip + this.to - this.from);
		});
		for (const name of ['pointerup', 'pointercancel'])
			strip.addEventListener(name, () => {
				grip = null;
			});
	}

	/* The highest level that is drawn. */
	setTop(highest, capacity) {
		this.capacity = capacity;
		this.top = Math.max(1, capacity && capacity <= highest * CAPACITY_NEAR ? capacity * 1.04 : highest * 1.1);
	}
}
