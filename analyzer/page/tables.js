/* Tables that sort and search. Rows are made as they come into sight: nothing is left out. */
import { byId, make, fill } from './dom.js';
import { countText } from './units.js';

const ROW_PIXELS = 28;
const MORE_ROWS = 12; /* beyond what is in sight */
const PRINTED_ROWS = 60;

export class Tables {
	/* tell: onSort(column, is down), onRow(row) */
	constructor(tell) {
		this.tell = tell;
		this.panel = byId('table-panel');
		this.table = byId('rows');
		this.columns = [];
		this.rows = [];
		this.found = [];
		this.query = '';
		this.sort = { key: '', isDown: true };
		this.isWaiting = false;
		this.panel.addEventListener('scroll', () => this.scroll());
		new ResizeObserver(() => this.scroll()).observe(this.panel);
		window.addEventListener('beforeprint', () => this.draw(0, PRINTED_ROWS));
		window.addEventListener('afterprint', () => this.drawSeen());
	}

	/* columns: {key, title, isNumber, put(row) text or element, value(row), width, isWide, isExtra}; wide ones
	 * are not shown on small screens, extra ones not on a telephone's */
	show(name, columns, rows, sort) {
		this.name = name;
		this.columns = columns;
		this.rows = rows;
		this.sort = columns.some((column) => column.key === sort.key) ? sort : { key: columns[0].key, isDown: true };
		this.panel.scrollTop = 0;
		this.update();
	}

	search(query) {
		this.query = query.toLowerCase();
		this.panel.scrollTop = 0;
		this.update();
	}

	update() {
		const column = this.columns.find((one) => one.key === this.sort.key);
		const sign = this.sort.isDown ? -1 : 1;

		this.found = this.query ? this.rows.filter((row) => row.text.toLowerCase().includes(this.query)) : this.rows.slice();
		if (column.isNumber)
			this.found.sort((a, b) => sign * (column.value(a) - column.value(b)));
		else
			this.found.sort((a, b) => -sign * (column.value(a) < column.value(b) ? -1 : column.value(a) > column.value(b) ? 1 : 0));
		this.drawHead();
		this.drawSeen();
		byId('table-status').textContent = this.query
			? `${countText(this.found.length)} of ${countText(this.rows.length)} rows`
			: `${countText(this.rows.length)} rows`;
	}

	drawHead() {
		const cells = this.columns.map((column) => {
			const isSorted = column.key === this.sort.key;
			const button = make('button', { type: 'button' }, column.title + (isSorted ? (this.sort.isDown ? ' ▾' : ' ▴') : ''));
			const cell = make('th', {
				scope: 'col', class: [column.isNumber ? 'number' : '', column.isWide ? 'wide' : '', column.isExtra ? 'narrow' : ''].join(' ').trim() || null,
				'aria-sort': isSorted ? (this.sort.isDown === column.isNumber ? 'descending' : 'ascending') : 'none',
			}, button);

			if (column.width)
				cell.style.width = column.width;
			button.addEventListener('click', () => {
				this.sort = { key: column.key, isDown: isSorted ? !this.sort.isDown : true };
				this.update();
				this.tell.onSort(this.sort);
				this.table.querySelectorAll('th button')[this.columns.indexOf(column)].focus();
			});
			return cell;
		});

		fill(this.table.tHead, make('tr', null, ...cells));
	}

	scroll() {
		if (this.isWaiting)
			return;
		this.isWaiting = true;
		requestAnimationFrame(() => {
			this.isWaiting = false;
			this.drawSeen();
		});
	}

	drawSeen() {
		const first = Math.max(0, Math.floor(this.panel.scrollTop / ROW_PIXELS) - MORE_ROWS);

		this.draw(first, first + Math.ceil(this.panel.clientHeight / ROW_PIXELS) + 2 * MORE_ROWS);
	}

	space(rows) {
		const cell = make('td'); /* of one column only: others may be hidden, and would come back empty */
		const row = make('tr', { class: 'space', 'aria-hidden': 'true' }, cell);

		cell.style.height = `${rows * ROW_PIXELS}px`;
		return row;
	}

	draw(first, last) {
		const end = Math.min(last, this.found.length);
		const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.row : undefined;
		const rows = [];

		if (first > 0)
			rows.push(this.space(first));
		for (let i = first; i < end; i++)
			rows.push(this.makeRow(i));
		if (end < this.found.length)
			rows.push(this.space(this.found.length - end));
		this.table.setAttribute('aria-rowcount', this.found.length + 1);
		fill(this.table.tBodies[0], ...rows);
		if (focused !== undefined) {
			const row = this.table.querySelector(`tr[data-row="${focused}"]`);

			if (row)
				row.focus({ preventScroll: true });
		}
	}

	makeRow(i) {
		const row = this.found[i];
		const cells = this.columns.map((column) => make('td', {
			class: [column.isNumber ? 'number' : 'name', column.isWide ? 'wide' : '', column.isExtra ? 'narrow' : ''].join(' ').trim(),
			title: column.isNumber ? null : String(column.value(row)).slice(0, 2000),
		}, column.put(row)));
		const element = make('tr', { class: i % 2 ? 'odd' : null, 'aria-rowindex': i + 2, tabindex: row.onChoose ? '0' : null, 'data-row': i }, ...cells);

		if (row.onChoose) {
			element.addEventListener('click', row.onChoose);
			element.addEventListener('keydown', (event) => {
				const next = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];

				if (event.key === 'Enter')
					row.onChoose();
				else if (next && element[next])
					element[next].focus();
				else
					return;
				event.preventDefault();
			});
		}
		return element;
	}
}
