/* The address space at an instant: rows of addresses, blocks by the colour of their group. */
import { Picture } from './dom.js';
import { palette, groupColor, inkOn } from './palette.js';
import { SEGMENT, BLOCK, HOLE, FREE_SEGMENT } from './constants.js';
import { bytesText, addressText } from './units.js';

const MAP_LEFT = 8;
const ROW_HEIGHT = 20;
const ROW_GAP = 5;
const LEAST_ROWS = 6;
const GAP = 3; /* pixels between segments */

export class AddressMap {
	/* tell: onChoose(item, is of a hole) */
	constructor(canvas, tell) {
		this.tell = tell;
		this.space = null;
		this.nrGroups = 1;
		this.only = -1; /* a segment, or all */
		this.chosen = -1; /* an entry */
		this.hovered = -1;
		this.patterns = null;
		this.picture = new Picture(canvas, (...args) => this.draw(...args));
		this.listen(canvas);
	}

	setSpace(space, nrGroups) {
		const item = this.chosen >= 0 && this.space ? this.space.item[this.chosen] : -1;

		this.space = space;
		this.nrGroups = nrGroups;
		this.hovered = -1;
		this.chosen = -1;
		if (this.only >= space.nrSegments)
			this.only = -1;
		for (let i = 0; item >= 0 && i < space.item.length && this.chosen < 0; i++)
			if (space.item[i] === item && space.type[i] < HOLE)
				this.chosen = i;
		this.layOut();
		this.picture.redraw();
	}

	showSegment(segment) {
		this.only = segment;
		this.layOut();
		this.picture.redraw();
	}

	isLeaf(i) {
		const space = this.space;

		return space.type[i] >= HOLE || !space.divided[i];
	}

	/* Where each segment begins in the folded space, and how many bytes a row has. */
	layOut() {
		const space = this.space;
		let total = 0;

		this.starts = new Float64Array(space.nrSegments);
		for (let i = 0; i < space.type.length; i++) {
			if (space.type[i] !== SEGMENT || (this.only >= 0 && space.segment[i] !== this.only))
				continue;
			this.starts[space.segment[i]] = total;
			total += space.size[i];
		}
		this.total = total;
		const rows = Math.max(LEAST_ROWS, Math.floor(this.picture.height / (ROW_HEIGHT + ROW_GAP)));

		this.rowBytes = Math.max(1, Math.ceil(total / rows));
		this.isLaidOut = this.picture.width;
	}

	isShown(i) {
		return this.only < 0 || this.space.segment[i] === this.only;
	}

	/* Calls each(x, y, width, height, is first, is last) for the pieces of an entry, a row each. */
	eachPiece(i, width, each) {
		const space = this.space;
		const start = this.starts[space.segment[i]] + space.offset[i];
		const end = start + space.size[i];
		const scale = (width - 2 * MAP_LEFT) / this.rowBytes;

		for (let row = Math.floor(start / this.rowBytes); row * this.rowBytes < end; row++) {
			const from = Math.max(start, row * this.rowBytes);
			const to = Math.min(end, (row + 1) * this.rowBytes);

			each(MAP_LEFT + (from - row * this.rowBytes) * scale, row * (ROW_HEIGHT + ROW_GAP) + 1,
				(to - from) * scale, ROW_HEIGHT, from === start, to === end);
		}
	}

	makePattern(context, ground, line) {
		const tile = document.createElement('canvas');
		const pen = tile.getContext('2d');

		tile.width = tile.height = 8;
		pen.fillStyle = ground;
		pen.fillRect(0, 0, 8, 8);
		pen.strokeStyle = line;
		pen.lineWidth = 1;
		pen.beginPath();
		for (const at of [-4, 4, 12]) {
			pen.moveTo(at - 4, 10);
			pen.lineTo(at + 6, 0);
		}
		pen.stroke();
		return context.createPattern(tile, 'repeat');
	}

	draw(context, width, height) {
		const space = this.space;
		const colors = palette();

		if (!space)
			return;
		context.font = '12px system-ui, "DejaVu Sans", sans-serif';
		if (!space.nrSegments) {
			context.fillStyle = colors.axis;
			context.fillText('Nothing with an address is held at this instant.', MAP_LEFT, 24);
			return;
		}
		if (this.isLaidOut !== this.picture.width)
			this.layOut();
		const hole = this.makePattern(context, colors.hole, colors.holeLine);
		const free = this.makePattern(context, colors.free, colors.freeLine);
		const fills = [];

		for (let group = 0; group < this.nrGroups; group++)
			fills.push(groupColor(group, this.nrGroups));
		for (let i = 0; i < space.type.length; i++)
			if (this.isShown(i) && this.isLeaf(i))
				this.drawEntry(context, i, width, fills, hole, free, colors);
		for (let i = 0; i < space.type.length; i++)
			if (this.isShown(i) && space.type[i] === SEGMENT)
				this.drawEdge(context, i, width, colors);
		for (const [i, color] of [[this.hovered, colors.axis], [this.chosen, colors.cursor]])
			if (i >= 0 && this.isShown(i))
				this.drawFrame(context, i, width, color, colors.panel);
	}

	drawEntry(context, i, width, fills, hole, free, colors) {
		const space = this.space;
		const isFree = space.type[i] >= HOLE;
		const fill = space.type[i] === HOLE ? hole : space.type[i] === FREE_SEGMENT ? free : fills[space.group[i]];

		this.eachPiece(i, width, (x, y, w, h, isFirst) => {
			context.fillStyle = fill;
			context.fillRect(x, y, Math.max(w - (w > 2.5 ? 0.75 : 0), 0.6), h);
			if (isFirst && !isFree && w > 58) {
				context.fillStyle = inkOn(fills[space.group[i]]);
				context.textBaseline = 'middle';
				context.textAlign = 'left';
				context.fillText(bytesText(space.size[i]), x + 5, y + h / 2 + 0.5);
			} else if (isFirst && isFree && w > 70) {
				const text = bytesText(space.size[i]);
				const size = context.measureText(text).width;

				context.fillStyle = space.type[i] === HOLE ? colors.hole : colors.free;
				context.fillRect(x + 4, y + 3, size + 6, h - 6);
				context.fillStyle = colors.text;
				context.textBaseline = 'middle';
				context.textAlign = 'left';
				context.fillText(text, x + 7, y + h / 2 + 0.5);
			}
		});
	}

	/* Where a segment begins: a notch that no block can be taken for. */
	drawEdge(context, i, width, colors) {
		this.eachPiece(i, width, (x, y, w, h, isFirst) => {
			if (!isFirst || w < GAP * 2)
				return;
			context.fillStyle = colors.panel;
			context.fillRect(x - 1, y - 2, 2.5, h + 4);
			context.fillStyle = colors.text;
			context.fillRect(x - 0.5, y - 2, 1.5, h + 4);
		});
	}

	drawFrame(context, i, width, color, ground) {
		this.eachPiece(i, width, (x, y, w, h) => {
			context.lineWidth = 4;
			context.strokeStyle = ground;
			context.strokeRect(x, y, Math.max(w, 2), h);
			context.lineWidth = 2;
			context.strokeStyle = color;
			context.strokeRect(x, y, Math.max(w, 2), h);
		});
	}

	/* ---- Hands ---------------------------------------------------------------------------- */

	/* The entry at a place, or -1. */
	findAt(x, y) {
		const space = this.space;
		const row = Math.floor(y / (ROW_HEIGHT + ROW_GAP));
		const scale = (this.picture.width - 2 * MAP_LEFT) / this.rowBytes;
		const place = row * this.rowBytes + (x - MAP_LEFT) / scale;

		if (x < MAP_LEFT || x > this.picture.width - MAP_LEFT || place >= this.total)
			return -1;
		for (let i = 0; i < space.type.length; i++) {
			const start = this.starts[space.segment[i]] + space.offset[i];

			if (this.isShown(i) && this.isLeaf(i) && place >= start && place < start + space.size[i])
				return i;
		}
		return -1;
	}

	choose(i) {
		this.chosen = i;
		this.picture.redraw();
		if (i >= 0)
			this.tell.onChoose(i);
	}

	chooseItem(item) {
		const space = this.space;

		for (let i = 0; space && i < space.type.length; i++)
			if (space.item[i] === item && space.type[i] <= BLOCK) {
				if (!this.isShown(i))
					this.showSegment(-1);
				this.choose(i);
				return true;
			}
		return false;
	}

	/* The next leaf in a direction. */
	step(by) {
		const space = this.space;
		let i = this.chosen < 0 && by > 0 ? -1 : this.chosen < 0 ? space.type.length : this.chosen;

		do
			i += by;
		while (i >= 0 && i < space.type.length && !(this.isShown(i) && this.isLeaf(i)));
		if (i >= 0 && i < space.type.length)
			this.choose(i);
	}

	stepRow(by) {
		if (this.chosen < 0) {
			this.step(1);
			return;
		}
		let place = null;

		this.eachPiece(this.chosen, this.picture.width, (x, y, w) => {
			if (!place || by > 0)
				place = { x: x + w / 2, y: y + ROW_HEIGHT / 2 };
		});
		const found = this.findAt(place.x, place.y + by * (ROW_HEIGHT + ROW_GAP));

		if (found >= 0)
			this.choose(found);
	}

	listen(canvas) {
		const find = (event) => {
			const box = canvas.getBoundingClientRect();

			return this.space && this.space.nrSegments ? this.findAt(event.clientX - box.left, event.clientY - box.top) : -1;
		};

		canvas.addEventListener('pointermove', (event) => {
			const found = find(event);

			if (found === this.hovered)
				return;
			this.hovered = found;
			this.picture.redraw();
			if (found >= 0)
				this.tell.onChoose(found);
			else if (this.chosen >= 0)
				this.tell.onChoose(this.chosen);
		});
		canvas.addEventListener('pointerleave', () => {
			this.hovered = -1;
			this.picture.redraw();
			if (this.chosen >= 0)
				this.tell.onChoose(this.chosen);
		});
		canvas.addEventListener('click', (event) => this.choose(find(event)));
		canvas.addEventListener('keydown', (event) => {
			const moves = { ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowDown: () => this.stepRow(1), ArrowUp: () => this.stepRow(-1) };

			if (!this.space || !moves[event.key])
				return;
			event.preventDefault();
			moves[event.key]();
		});
		canvas.addEventListener('focus', () => {
			if (this.space && this.space.nrSegments && this.chosen < 0)
				this.step(1);
		});
	}

	/* For the list of segments. */
	segmentTexts() {
		const space = this.space;
		const texts = [];

		for (let i = 0; i < space.type.length; i++)
			if (space.type[i] === SEGMENT)
				texts.push(`${addressText(space.high[i], space.low[i])} · ${bytesText(space.size[i])}`);
		return texts;
	}
}
