/* Elements. Text of a trace goes through textContent, nowhere else. */

export function byId(id) {
	return document.getElementById(id);
}

/* make('p', {class: 'x'}, 'text', element...) */
export function make(name, attributes, ...children) {
	const element = document.createElement(name);

	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== null && value !== false)
			element.setAttribute(key, value === true ? '' : value);
	for (const child of children)
		element.append(child);
	return element;
}

export function fill(element, ...children) {
	element.replaceChildren(...children);
}

/* A number with its exact value: <data value="1234" data-key="x">1.21 KiB</data> */
export function number(value, text, key) {
	return make('data', { value: String(value), title: String(value), 'data-key': key || null }, text);
}

/* A canvas that is as sharp as the screen; calls draw(context, width, height) once a frame at most. */
export class Picture {
	constructor(canvas, draw) {
		this.canvas = canvas;
		this.draw = draw;
		this.isWaiting = false;
		this.frames = 0;
		this.paper = null; /* its size while it is printed */
		new ResizeObserver(() => this.redraw()).observe(canvas);
	}

	get width() {
		return this.paper ? this.paper.width : this.canvas.clientWidth;
	}

	get height() {
		return this.paper ? this.paper.height : this.canvas.clientHeight;
	}

	/* As wide as paper is, and finer: at the size of the screen letters would be squeezed. */
	beginPrint(width) {
		this.paper = { width, height: this.canvas.clientHeight };
		this.paint();
	}

	endPrint() {
		this.paper = null;
		this.paint();
	}

	redraw() {
		if (this.isWaiting)
			return;
		this.isWaiting = true;
		requestAnimationFrame(() => {
			this.isWaiting = false;
			this.paint();
		});
	}

	paint() {
		const scale = this.paper ? 3 : window.devicePixelRatio || 1;
		const width = this.width;
		const height = this.height;

		if (!width || !height)
			return;
		if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
			this.canvas.width = Math.round(width * scale);
			this.canvas.height = Math.round(height * scale);
		}
		const context = this.canvas.getContext('2d');

		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, width, height);
		this.draw(context, width, height);
		this.frames++;
	}
}

/* Text that fits, with dots where it is cut. */
export function fitText(context, text, width) {
	const letter = 4; /* no letter of ours is narrower */
	let cut = text.length > width / letter ? text.slice(0, Math.max(0, Math.floor(width / letter))) : text;

	if (cut === text && context.measureText(text).width <= width)
		return text;
	while (cut && context.measureText(cut + '…').width > width)
		cut = cut.slice(0, Math.floor(cut.length * 0.9));
	return cut.length > 1 ? cut + '…' : '';
}
