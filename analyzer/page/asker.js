/* Questions to the worker, and the parts of the page that it needs. */
import { byId } from './dom.js';

export class Asker {
	constructor() {
		const source = byId('worker-source').textContent;

		this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
		this.waiting = new Map();
		this.latest = new Map(); /* of each kind of question the newest */
		this.lastId = 0;
		this.worker.onmessage = (event) => {
			const { id, result, error } = event.data;
			const { resolve, reject } = this.waiting.get(id);

			this.waiting.delete(id);
			if (error)
				reject(new Error(error));
			else
				resolve(result);
		};
	}

	ask(ask, fields) {
		const id = ++this.lastId;

		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.worker.postMessage({ id, ask, ...fields });
		});
	}

	/*
	 * For questions that follow the pointer: while one of a kind is under way, only the newest of
	 * those that come meanwhile is asked. Resolves to null for the others.
	 */
	async askNewest(ask, fields) {
		const state = this.latest.get(ask) || { isBusy: false, next: null };

		this.latest.set(ask, state);
		if (state.isBusy) {
			if (state.next)
				state.next.resolve(null);
			return new Promise((resolve) => {
				state.next = { fields, resolve };
			});
		}
		state.isBusy = true;
		const result = await this.ask(ask, fields);

		state.isBusy = false;
		if (state.next) {
			const { fields: nextFields, resolve } = state.next;

			state.next = null;
			this.askNewest(ask, nextFields).then(resolve);
			return null;
		}
		return result;
	}

	/* All parts of a trace; they leave the page on the way, so that no byte is there twice. */
	async load(number, trace, onPart) {
		const parts = [...document.querySelectorAll(`script.part[data-trace="${number}"]`)];
		const take = (part) => {
			const text = part.textContent;

			part.remove();
			return text;
		};
		const tables = parts.find((part) => part.dataset.kind === 'tables');
		const changes = parts.filter((part) => part.dataset.kind === 'changes');

		await this.ask('begin', { trace: number, changes: trace.changes, items: trace.items, tables: take(tables) });
		for (let i = 0; i < changes.length; i++) {
			await this.ask('part', { trace: number, text: take(changes[i]) });
			onPart((i + 1) / changes.length);
		}
		const categories = parts.find((part) => part.dataset.kind === 'categories');

		return this.ask('end', { trace: number, categories: categories ? take(categories) : null });
	}
}
