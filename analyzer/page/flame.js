/* A flame graph (from below) or an icicle (from above) of stacks. */
import { Picture, fitText } from './dom.js';
import { palette, textColor, inkOn } from './palette.js';
import { NATIVE, PYTHON } from './constants.js';

const FLAME_ROW = 19;

export class Flame {
	/* tell: onChoose(node or null) */
	constructor(canvas, tell) {
		this.tell = tell;
		this.tree = null;
		this.root = 0;
		this.chosen = 0;
		this.isIcicle = false;
		this.picture = new Picture(canvas, (...args) => this.draw(...args));
		this.listen(canvas);
	}

	setTree(tree, isIcicle) {
		this.tree = tree;
		this.isIcicle = isIcicle;
		this.hasPython = tree.kind.includes(PYTHON);
		this.root = 0;
		this.chosen = 0;
		this.picture.canvas.style.height = `${Math.max(72, (tree.deepest + 1) * FLAME_ROW + 4)}px`;
		this.picture.redraw();
		this.tell.onChoose(0);
	}

	/* Where a node is, or null if it is outside or too narrow to see. */
	boxOf(i, width, height) {
		const tree = this.tree;
		const whole = tree.bytes[this.root];
		const start = tree.start[this.root];

		if (!whole)
			return null;
		const left = (tree.start[i] - start) / whole * width;
		const right = (tree.start[i] + tree.bytes[i] - start) / whole * width;

		if (right <= 0 || left >= width || right - left < 0.4)
			return null;
		const x = Math.max(0, left);
		const row = tree.depth[i];

		return { x, width: Math.min(width, right) - x, y: this.isIcicle ? row * FLAME_ROW : height - (row + 1) * FLAME_ROW };
	}

	draw(context, width, height) {
		const tree = this.tree;
		const colors = palette();

		if (!tree)
			return;
		context.font = '12px ui-monospace, "DejaVu Sans Mono", monospace';
		context.textBaseline = 'middle';
		context.textAlign = 'left';
		if (!tree.bytes[0]) {
			context.fillStyle = colors.axis;
			context.fillText('Nothing.', 8, 24);
			return;
		}
		for (let i = 0; i < tree.text.length; i++) {
			const box = this.boxOf(i, width, height);

			if (!box)
				continue;
			const color = i ? textColor(tree.text[i], this.hasPython ? tree.kind[i] !== NATIVE : true) : colors.phases[1];

			context.fillStyle = color;
			context.fillRect(box.x, box.y, Math.max(0.5, box.width - (box.width > 2 ? 1 : 0)), FLAME_ROW - 1);
			if (box.width > 24) {
				context.fillStyle = inkOn(color);
				context.fillText(fitText(context, tree.text[i], box.width - 8), box.x + 4, box.y + FLAME_ROW / 2);
			}
		}
		const box = this.boxOf(this.chosen, width, height);

		if (box && document.activeElement === this.picture.canvas) {
			context.lineWidth = 2;
			context.strokeStyle = colors.cursor;
			context.strokeRect(box.x + 1, box.y, Math.max(2, box.width - 2), FLAME_ROW - 1);
		}
	}

	findAt(x, y) {
		const width = this.picture.width;
		const height = this.picture.height;

		for (let i = 0; i < this.tree.text.length; i++) {
			const box = this.boxOf(i, width, height);

			if (box && x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + FLAME_ROW)
				return i;
		}
		return -1;
	}

	parentOf(i) {
		for (let k = i - 1; k >= 0; k--)
			if (this.tree.depth[k] < this.tree.depth[i])
				return k;
		return i;
	}

	siblingOf(i, by) {
		const depth = this.tree.depth[i];

		for (let k = i + by; k > 0 && k < this.tree.text.length && this.tree.depth[k] >= depth; k += by)
			if (this.tree.depth[k] === depth)
				return k;
		return i;
	}

	childOf(i) {
		return i + 1 < this.tree.text.length && this.tree.depth[i + 1] > this.tree.depth[i] ? i + 1 : i;
	}

	choose(i) {
		this.chosen = i;
		this.picture.redraw();
		this.tell.onChoose(i);
	}

	zoomTo(i) {
		this.root = i;
		this.choose(i);
	}

	listen(canvas) {
		const find = (event) => {
			const box = canvas.getBoundingClientRect();

			return this.tree ? this.findAt(event.clientX - box.left, event.clientY - box.top) : -1;
		};

		canvas.addEventListener('pointermove', (event) => {
			const found = find(event);

			this.tell.onChoose(found >= 0 ? found : this.chosen);
		});
		canvas.addEventListener('click', (event) => {
			const found = find(event);

			if (found >= 0)
				this.zoomTo(found === this.root ? 0 : found);
		});
		for (const name of ['focus', 'blur'])
			canvas.addEventListener(name, () => this.picture.redraw());
		canvas.addEventListener('keydown', (event) => {
			const deeper = this.isIcicle ? 'ArrowDown' : 'ArrowUp';
			const shallower = this.isIcicle ? 'ArrowUp' : 'ArrowDown';
			const moves = {
				[deeper]: () => this.choose(this.childOf(this.chosen)),
				[shallower]: () => this.choose(this.parentOf(this.chosen)),
				ArrowLeft: () => this.choose(this.siblingOf(this.chosen, -1)),
				ArrowRight: () => this.choose(this.siblingOf(this.chosen, 1)),
				Enter: () => this.zoomTo(this.chosen),
				Escape: () => this.zoomTo(0),
			};

			if (!this.tree || !moves[event.key])
				return;
			event.preventDefault();
			moves[event.key]();
		});
	}
}
